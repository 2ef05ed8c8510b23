"""Every setting of the server, defined once: its default, its range and the help that documentation is made from.

They come from the person alone: the command line that starts the server, the client's `initializationOptions`, and
`workspace/didChangeConfiguration`. Nothing is ever read from a repository.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.errors import BadInput
from engine.filler import FillSettings

SECTION = "midfill"  # clients may send the settings under this key, beside those of other servers


@dataclass(frozen=True)
class Kind:
    """What values a setting takes. `words` completes the sentence "must be ...". `optional`: null means the default."""

    words: str
    type: type | tuple[type, ...]
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] | None = None
    pattern: str | None = None
    optional: bool = False

    def accepts(self, value: object) -> bool:
        if isinstance(value, bool) and self.type is not bool:
            return False
        if not isinstance(value, self.type):
            return False
        if isinstance(value, int | float) and self.low is not None and self.high is not None:
            return self.low <= value <= self.high
        if isinstance(value, str) and self.choices is not None:
            return value in self.choices
        if isinstance(value, str) and self.pattern is not None:
            return re.fullmatch(self.pattern, value) is not None
        if isinstance(value, dict):
            return all(isinstance(key, str) and isinstance(on, bool) for key, on in value.items())
        return True


def _whole(low: int, high: int, optional: bool = False) -> Kind:
    words = f"a whole number from {low} to {high}" + (", or null" if optional else "")
    return Kind(words, int, low, high, optional=optional)


def _choice(*choices: str) -> Kind:
    return Kind("one of " + ", ".join(json.dumps(choice) for choice in choices), str, choices=choices)


def _setting(default: Any, kind: Kind, help: str) -> Any:
    metadata = {"kind": kind, "help": help}
    if default is dict:
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Settings:
    """The settings in force. Immutable: a change makes a new one."""

    model: str = _setting(
        "embedded",
        Kind("a name or a path", str, pattern=r"(?s).*\S.*"),
        'What fills: "embedded", the path of a model\'s folder, or "scripted:FILE".',
    )
    device: str = _setting(
        "auto",
        Kind('"auto", "cpu", "cuda", "cuda:N" or "mps"', str, pattern=r"auto|cpu|mps|cuda(:\d+)?"),
        "Where the model runs. auto: a GPU if there is one.",
    )
    precision: str = _setting(
        "auto",
        _choice("auto", "int8", "bf16", "fp32"),
        "Number format of the weights. auto: int8 on a CPU that multiplies it natively, else bf16 where that is native, else fp32.",
    )
    threads: int | None = _setting(None, _whole(1, 1024, True), "CPU threads. null: as many as the machine has cores.")
    slots: int | None = _setting(
        None, _whole(1, 4096, True), "Slots of the canvas, in tokens. null: as many as the hole may need."
    )
    steps: int | None = _setting(
        None, _whole(1, 4096, True), "A cap on denoising steps a canvas. null: the model's own."
    )
    alternatives: int = _setting(3, _whole(1, 16), "Completions looked for when they are asked for by hand.")
    min_confidence: float = _setting(
        0.0,
        Kind("a number from 0 to 1", (int, float), 0, 1),
        "Below this mean confidence nothing is offered rather than a guess.",
    )
    seed: int = _setting(0, _whole(0, 2**31 - 1), "Seed of the sampler.")
    debounce: int = _setting(
        0, _whole(0, 5000), "Milliseconds that an automatic request waits for a newer one. Editors wait by themselves."
    )
    time_limit: int = _setting(
        10_000,
        _whole(100, 3_600_000),
        "Milliseconds of the model's work after which an automatic request is answered with nothing.",
    )
    cache_entries: int = _setting(
        64, _whole(0, 10_000), "Completions remembered, so that typing what ghost text shows costs no model run."
    )
    context_tokens: int = _setting(
        256,
        _whole(0, 100_000),
        "Tokens of related code of other files that are read before the prefix. 0: none.",
    )
    ahead: bool = _setting(
        True, Kind("true or false", bool), "After an accept, prepare the next completion while the machine is idle."
    )
    drafts: bool = _setting(
        False, Kind("true or false", bool), "Send `midfill/draft` notifications: the canvas after each denoising step."
    )
    status: bool = _setting(
        True, Kind("true or false", bool), "Send `midfill/status` notifications: loading, ready, busy, off, error."
    )
    memory_limit: int | None = _setting(
        None,
        _whole(100, 10_000_000, True),
        "Megabytes; above it the caches are dropped, and where that is not enough the model is let go until it is "
        "asked for again. null: no limit.",
    )
    completion: bool = _setting(
        False,
        Kind("true or false", bool),
        "Also offer the completion in the ordinary completion list, for editors without inline completion.",
    )
    languages: Mapping[str, bool] = _setting(
        dict,
        Kind("an object of language ids, each true or false", dict),
        'Languages on or off by language id, as {"markdown": false}. "*" stands for all that are not named.',
    )

    def model_choice(self) -> tuple[str, str, str, int | None]:
        """What a loaded model depends on; when it changes, the model is loaded again."""
        return (self.model, self.device, self.precision, self.threads)

    def fill_settings(self, alternatives: int) -> FillSettings:
        return FillSettings(
            slots=self.slots,
            steps=self.steps,
            alternatives=alternatives,
            min_confidence=self.min_confidence,
            seed=self.seed,
        )

    def offer_choice(self) -> tuple:
        """What an offered completion depends on besides the text."""
        return (self.model_choice(), self.slots, self.steps, self.min_confidence, self.seed)

    @property
    def off(self) -> bool:
        """Whether no language at all is served."""
        return not self.languages.get("*", True) and not any(self.languages.values())

    def language_on(self, language_id: str) -> bool:
        return self.languages.get(language_id, self.languages.get("*", True))


@dataclass(frozen=True)
class Definition:
    """One row of the settings' table."""

    name: str
    default: Any
    values: str
    help: str
    kind: Kind


def definitions() -> tuple[Definition, ...]:
    """All settings in order, for tables and for a command line's options."""
    defaults = Settings()
    return tuple(
        Definition(
            name=item.name,
            default=getattr(defaults, item.name),
            values=item.metadata["kind"].words,
            help=item.metadata["help"],
            kind=item.metadata["kind"],
        )
        for item in dataclasses.fields(Settings)
    )


def settings_table() -> str:
    """The settings as a Markdown table."""
    rows = ["| setting | default | values | what it does |", "| --- | --- | --- | --- |"]
    rows += [f"| `{row.name}` | `{_shown(row.default)}` | {row.values} | {row.help} |" for row in definitions()]
    return "\n".join(rows) + "\n"


def apply(base: Settings, values: object) -> tuple[Settings, list[str]]:
    """`base` changed by what a client sent, and one line for everything that was wrong in it.

    Accepts the settings themselves or an object that holds them under "midfill". A wrong value or an unknown key is
    told and left out; the rest holds. None and an empty list (Lua's empty table) change nothing.
    """
    if values is None or values == []:
        return base, []
    if not isinstance(values, Mapping):
        return base, [f"settings must be an object, not {_shown(values)}"]
    if SECTION in values:
        return apply(base, values[SECTION])
    known = {definition.name: definition for definition in definitions()}
    changes: dict[str, Any] = {}
    problems = []
    for key, value in values.items():
        definition = known.get(key)
        if definition is None:
            near = difflib.get_close_matches(str(key).lower(), known, n=1, cutoff=0.5)
            problems.append(f"unknown setting {key!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
        elif value is None:
            if definition.kind.optional:
                changes[key] = None
        elif definition.kind.accepts(value):
            changes[key] = dict(value) if isinstance(value, dict) else value
        else:
            problems.append(f"setting {key!r} must be {definition.values}, not {_shown(value)}")
    return dataclasses.replace(base, **changes), problems


def from_command_line(values: Mapping[str, object]) -> Settings:
    """Settings from a command line's options. Raises `BadInput` for the first that is wrong."""
    settings, problems = apply(Settings(), values)
    if problems:
        raise BadInput(problems[0])
    return settings


class SettingsLayers:
    """Who set what: the command line, over it `initializationOptions`, over it the last `didChangeConfiguration`.

    Each new configuration replaces the one before, so a key that is gone from it falls back to the layer below.
    """

    def __init__(self, start: Settings) -> None:
        self._start = start
        self._initial: object = None
        self._changed: object = None
        self.current = start

    def initialize(self, options: object) -> list[str]:
        """Takes `initializationOptions`; returns what was wrong in them."""
        self._initial = options
        self.current, problems = apply(self._start, options)
        return problems

    def change(self, settings: object) -> list[str]:
        """Takes the settings of `workspace/didChangeConfiguration`; returns what was wrong in them."""
        self._changed = settings
        below, _ = apply(self._start, self._initial)
        self.current, problems = apply(below, settings)
        return problems


def _shown(value: object) -> str:
    """A value as a person wrote it, short."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
