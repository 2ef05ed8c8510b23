"""The contract between whoever wants a hole filled and whoever fills it. Names no tensor and imports no torch.

A `Filler` turns a document and a hole into a stream of `Draft`s, one a denoising step, that ends in one
`Completion`. The diffusion filler (`engine.infill`) is one; a scripted one (`engine.scripted`) serves tests of
servers and editors; a remote one can stand beside them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

from engine.errors import BadInput, Cancelled
from engine.hole import Hole
from engine.text import Document


class CancelToken:
    """One shared flag. Whoever waits sets it; whoever works checks it between steps and prefill chunks."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        self._event.set()

    @property
    def cancelled(self) -> bool:
        return self._event.is_set()

    def check(self) -> None:
        """Raises `Cancelled` if the flag is set."""
        if self._event.is_set():
            raise Cancelled


@dataclass(frozen=True)
class FillSettings:
    """What a request may choose. None means: the model's or the hole's own default.

    slots: the canvas's slots (tokens); 1 or more. steps: a cap on denoising steps a canvas; 1 or more.
    alternatives: how many completions to look for, the best first. min_confidence: below this mean confidence
    (0 to 1) the completion is empty rather than a guess. seed: of the sampler's own generator. rewrite: what stands in
    the hole seeds the canvas, so that part of it may stay. context: text of other files that is read before the prefix.
    Raises `BadInput` where a value is out of range.
    """

    slots: int | None = None
    steps: int | None = None
    alternatives: int = 1
    min_confidence: float = 0.0
    seed: int = 0
    rewrite: bool = False
    context: str = ""

    def __post_init__(self) -> None:
        for name, low, high in (("slots", 1, 4096), ("steps", 1, 4096), ("alternatives", 1, 16)):
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise BadInput(f"{name} must be a whole number from {low} to {high}, not {value}")
        if not 0.0 <= self.min_confidence <= 1.0:
            raise BadInput(f"min_confidence must be from 0 to 1, not {self.min_confidence}")

    def with_(self, **changes: object) -> FillSettings:
        return replace(self, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True)
class DraftSlot:
    """One slot of a canvas as a person may see it: its text (a marker where undecided) and the model's confidence (0 to 1)."""

    text: str
    confidence: float
    decided: bool


@dataclass(frozen=True)
class Draft:
    """The canvas after one denoising step. `text` is its best text so far, undecided slots left out or guessed.

    block: from 0, of a hole longer than a canvas. candidate: from 1; a further one is denoised where the text of those
    before it did not fit, or where alternatives are asked for.
    """

    step: int
    block: int
    text: str
    slots: tuple[DraftSlot, ...] = ()
    candidate: int = 1


@dataclass(frozen=True)
class Alternative:
    text: str
    confidence: float


@dataclass(frozen=True)
class Timing:
    """Milliseconds spent: encoding (prefill), denoising, checking (filters and the syntax gate)."""

    encode: float = 0.0
    denoise: float = 0.0
    check: float = 0.0

    @property
    def total(self) -> float:
        return self.encode + self.denoise + self.check


@dataclass(frozen=True)
class Completion:
    """What is offered. An empty `text` means that nothing could be filled.

    The result is document.text[:start] + text + document.text[end:], nothing else changed.
    start, end: offsets in code points into the document (the hole's own range). confidence: mean over the
    decided slots that the text is made of. steps: denoising steps run. tokens: slots that the text came from.
    cached_tokens: how many of the encoded tokens were found in the cache.
    encoded_tokens: how many tokens were to be encoded in all (cached ones included). why: of an empty text, in a few words.
    """

    text: str
    start: int
    end: int
    confidence: float = 0.0
    steps: int = 0
    tokens: int = 0
    cached_tokens: int = 0
    encoded_tokens: int = 0
    ms: Timing = field(default_factory=Timing)
    alternatives: tuple[Alternative, ...] = ()
    why: str = ""

    def apply(self, text: str) -> str:
        """The document's text with the completion in place."""
        return text[: self.start] + self.text + text[self.end :]


@runtime_checkable
class Filler(Protocol):
    """Whoever fills holes. One fill at a time: callers serialise (the server has an executor for that)."""

    name: str

    def fill(
        self, document: Document, hole: Hole, settings: FillSettings, cancel: CancelToken
    ) -> Iterator[Draft | Completion]:
        """Yields a `Draft` a step and ends in exactly one `Completion`.

        Raises `Cancelled` within one step or prefill chunk of `cancel` being set, and `BadInput` where the hole
        or the settings do not fit the document or the model.
        """
        ...


@runtime_checkable
class SharingFiller(Protocol):
    """A filler that can be had several times over one model, one for each thread."""

    def siblings(self, count: int) -> list[Filler]:
        """So many more, or none where the model cannot be shared."""
        ...


@dataclass(frozen=True)
class TokenRead:
    """One token of a text that was read: [start, end) of it in code points, the natural logarithm of its probability, and
    what the model would rather have had there: texts and theirs, best first."""

    start: int
    end: int
    logp: float
    rivals: tuple[tuple[str, float], ...]


@runtime_checkable
class Reader(Protocol):
    """A filler that can also say how likely a text is at a place."""

    name: str

    def read(
        self, prefix: str, texts: Sequence[str], suffix: str, cancel: CancelToken, rivals: int = 64
    ) -> list[tuple[TokenRead, ...]]:
        """rivals: how many are told for each token; telling them costs more than reading. Each text's tokens, given what stands before it (and, where the model reads that, behind it). Texts must not be
        empty. Raises `Cancelled`."""
        ...


def run(
    filler: Filler,
    document: Document,
    hole: Hole,
    settings: FillSettings | None = None,
    cancel: CancelToken | None = None,
) -> Completion:
    """Runs a fill to its end and returns the completion, for callers that do not show drafts."""
    for event in filler.fill(document, hole, settings or FillSettings(), cancel or CancelToken()):
        if isinstance(event, Completion):
            return event
    raise RuntimeError("a filler ended without a completion")
