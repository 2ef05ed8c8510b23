"""A filler that plays a script: no model, no torch. For tests of servers and editors, behind `--model scripted:FILE`.

The script is a JSON object, every key optional:

    {"name": "hello", "load_ms": 0, "step_ms": 0, "default": "pass",
     "fills": [{"when": "return ", "drafts": ["a", "a +"], "text": "a + b", "alternatives": ["b + a"],
                "confidence": 0.9}]}

`when` picks the fill: one whose `when` the prefix ends with, else one that the prefix contains, else one without
`when`, else `default`. What is written is played exactly: neither filters nor the syntax gate touch it.
"""

from __future__ import annotations

import difflib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path

from engine.errors import ModelUnavailable
from engine.filler import Alternative, CancelToken, Completion, Draft, DraftSlot, FillSettings, Timing
from engine.hole import Hole
from engine.text import Document

_LOAD_SLICES = 10  # how many times a slow load reports progress


@dataclass(frozen=True)
class ScriptedFill:
    """One answer of a script. `drafts`: the text after each step; without any, the only step shows `text`."""

    when: str | None = None
    drafts: tuple[str, ...] = ()
    text: str = ""
    alternatives: tuple[str, ...] = ()
    confidence: float = 0.9


@dataclass(frozen=True)
class Script:
    """A whole script. `load_ms` and `step_ms`: milliseconds that loading and each step are made to take."""

    name: str = "scripted"
    load_ms: float = 0.0
    step_ms: float = 0.0
    fills: tuple[ScriptedFill, ...] = ()
    default: str = ""


class ScriptedFiller:
    """Plays a `Script`. A `Filler` (see `engine.filler`)."""

    def __init__(self, script: Script) -> None:
        self.name = script.name
        self._script = script

    @classmethod
    def load(cls, path: str | Path, progress: Callable[[float, str], None] | None = None) -> ScriptedFiller:
        """Reads the script and takes `load_ms` over it, telling `progress` (a share from 0 to 1, and a text).

        Raises `ModelUnavailable` if there is no such file or it is no script, naming the key that is wrong.
        """
        script = read_script(path)
        for part in range(_LOAD_SLICES):
            if progress is not None:
                progress(part / _LOAD_SLICES, f"loading {script.name}")
            time.sleep(script.load_ms / 1000 / _LOAD_SLICES)
        return cls(script)

    def fill(
        self, document: Document, hole: Hole, settings: FillSettings, cancel: CancelToken
    ) -> Iterator[Draft | Completion]:
        """Yields the script's drafts, `step_ms` apart, then its completion. Raises `Cancelled` between steps."""
        began = time.perf_counter()
        fill = self._pick(document.text[: hole.start])
        drafts = (fill.drafts or (fill.text,))[: settings.steps]
        for step, text in enumerate(drafts, start=1):
            cancel.check()
            time.sleep(self._script.step_ms / 1000)
            yield Draft(step=step, block=0, text=text, slots=(DraftSlot(text, fill.confidence, decided=True),))
        cancel.check()
        sure = fill.confidence >= settings.min_confidence
        yield Completion(
            text=fill.text if sure else "",
            start=hole.start,
            end=hole.end,
            confidence=fill.confidence,
            steps=len(drafts),
            tokens=len(fill.text.split()),
            ms=Timing(denoise=(time.perf_counter() - began) * 1000),
            alternatives=tuple(
                Alternative(text, fill.confidence) for text in fill.alternatives[: settings.alternatives - 1] if sure
            ),
        )

    def _pick(self, prefix: str) -> ScriptedFill:
        fills = self._script.fills
        ending = [fill for fill in fills if fill.when is not None and prefix.endswith(fill.when)]
        containing = [fill for fill in fills if fill.when is not None and fill.when in prefix]
        anywhere = [fill for fill in fills if fill.when is None]
        return next(iter(ending + containing + anywhere), ScriptedFill(text=self._script.default))


def read_script(path: str | Path) -> Script:
    """Reads and checks a script file. Raises `ModelUnavailable`."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelUnavailable(f"cannot read the script {path}: {error.strerror}") from None
    except ValueError as error:
        raise ModelUnavailable(f"{path} is not JSON: {error}") from None
    values = _object(data, Script, str(path))
    fills = values.get("fills", [])
    if not isinstance(fills, list):
        raise ModelUnavailable(f"{path}: fills must be a list")
    values["fills"] = tuple(_fill(item, f"{path}: fills[{index}]") for index, item in enumerate(fills))
    for key in ("name", "default"):
        _require(isinstance(values.get(key, ""), str), path, key, "a text")
    for key in ("load_ms", "step_ms"):
        duration = values.get(key, 0)
        _require(_is_number(duration) and 0 <= duration < 1e7, path, key, "a number of milliseconds")
    return Script(**values)


def _fill(data: object, where: str) -> ScriptedFill:
    values = _object(data, ScriptedFill, where)
    _require(isinstance(values.get("text", ""), str), where, "text", "a text")
    _require(values.get("when") is None or isinstance(values["when"], str), where, "when", "a text or null")
    confidence = values.get("confidence", 0.9)
    _require(_is_number(confidence) and 0 <= confidence <= 1, where, "confidence", "a number from 0 to 1")
    for key in ("drafts", "alternatives"):
        texts = values.get(key, [])
        are_texts = isinstance(texts, list) and all(isinstance(text, str) for text in texts)
        _require(are_texts, where, key, "a list of texts")
        values[key] = tuple(texts)
    return ScriptedFill(**values)


def _object(data: object, shape: type, where: str) -> dict:
    if not isinstance(data, dict):
        raise ModelUnavailable(f"{where} must be an object")
    known = [item.name for item in fields(shape)]
    for key in data:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            raise ModelUnavailable(f"{where}: unknown key {key!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    return dict(data)


def _require(fits: bool, where: object, key: str, what: str) -> None:
    if not fits:
        raise ModelUnavailable(f"{where}: {key} must be {what}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
