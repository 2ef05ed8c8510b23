"""Rounds of denoising over several holes: each canvas takes a few steps, then the next one sees what it has become."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.canvas import Canvas, valid_text
from engine.context.window import Window, cut_window
from engine.denoisers import length_search
from engine.denoisers.base import Denoiser, SuffixPlace
from engine.filler import CancelToken, FillSettings
from engine.hole import Hole
from engine.sampler import Run, Sampler
from engine.text import Document
from engine.together import Mark, Round, assembled

STEPS_A_TURN = 4  # of one canvas, before the others see what it has become; each turn reads its context again
# whether a hole's text has gone past the end of its unit
RunsOn = Callable[[Document, Hole, str], bool]


@dataclass
class _Filling:
    """One hole on its way: what earlier canvases of it have written, and the canvas that is open now."""

    left: int
    written: list[int] = field(default_factory=list)
    confidences: list[float] = field(default_factory=list)
    remnant: str = ""
    canvas: Canvas | None = None
    run: Run | None = None
    carry: Any = None
    size: int = 0
    done: bool = False


def rounds(
    denoiser: Denoiser,
    sampler: Sampler,
    runs_on: RunsOn,
    document: Document,
    marks: Sequence[Mark],
    settings: FillSettings,
    cancel: CancelToken,
) -> Iterator[Round]:
    """See `engine.together.JointFiller`."""
    fillings = [_Filling(settings.slots or mark.hole.slots) for mark in marks]
    number = 0
    while not all(filling.done for filling in fillings):
        number += 1
        for index, filling in enumerate(fillings):
            if not filling.done:
                drafts = [_text(denoiser, other) for other in fillings]
                seen, hole = assembled(document, marks, drafts, index)
                _turn(denoiser, sampler, runs_on, seen, hole, filling, settings, cancel)
        means = tuple(sum(f.confidences) / max(len(f.confidences), 1) for f in fillings)
        yield Round(number, tuple(_text(denoiser, filling) for filling in fillings), means)


def _turn(
    denoiser: Denoiser,
    sampler: Sampler,
    runs_on: RunsOn,
    document: Document,
    hole: Hole,
    filling: _Filling,
    settings: FillSettings,
    cancel: CancelToken,
) -> None:
    """Some steps of one hole's canvas, opened or gone on with, in the document as it stands now."""
    traits, tokenizer = denoiser.traits, denoiser.tokenizer
    window = cut_window(document, hole, settings.context)
    suffix = tokenizer.encode(window.suffix)
    if filling.canvas is None:
        filling.canvas, filling.run = _open(denoiser, sampler, window, suffix, filling, settings)
    canvas, run = filling.canvas, filling.run
    assert run is not None
    # what is before the hole may have changed since the remnant was cut off: the first slots go on from the same place
    prefix = tokenizer.encode((window.prefix + window.remnant).removesuffix(filling.remnant))
    encoded = denoiser.encode(prefix + filling.written, suffix, cancel)
    if run.step == 0 and not (traits.learns_length or settings.slots):
        opened = canvas

        def make(slots: int) -> Canvas:
            new = Canvas.empty(slots, denoiser.device, opened.pinned, opened.required)
            filling.run = sampler.begin(new, settings.seed)
            return new

        most = min(len(opened), length_search.room(denoiser, prefix + filling.written, suffix))
        found = length_search.best_length(denoiser, encoded, 1, most, make, cancel.check)
        filling.canvas = canvas = make(found)
        run = filling.run
        assert run is not None
        filling.size = found
        if found < most:
            filling.left = found  # the hole ends with this canvas
    if canvas.pinned:
        canvas.pinned = tuple(suffix[: traits.max_pinned])
    for _ in range(STEPS_A_TURN):
        cancel.check()
        step = denoiser.step(encoded, canvas, filling.carry)
        sampler.advance(canvas, step.logits, run, step.edits)
        filling.carry = run.judged if traits.conditioned else step.carry
        if run.finished or runs_on(document, hole, _text(denoiser, filling)):
            break
    tokens = canvas.tokens(traits.fill_end)
    past = runs_on(document, hole, _text(denoiser, filling))
    if run.finished or past:
        filling.confidences += canvas.confidence[: min(len(tokens) + 1, len(canvas))].tolist()
        filling.written += tokens
        filling.left -= filling.size  # not what an edited canvas has become
        filling.canvas = filling.run = filling.carry = None
        filling.done = past or len(tokens) < len(canvas) or filling.left <= 0


def _open(
    denoiser: Denoiser, sampler: Sampler, window: Window, suffix: list[int], filling: _Filling, settings: FillSettings
) -> tuple[Canvas, Run]:
    traits = denoiser.traits
    required = b""
    if not filling.written:
        filling.remnant = window.remnant
        required = window.remnant.encode("utf-8", errors="replace")
        filling.left += len(denoiser.tokenizer.encode(window.remnant)) if window.remnant else 0
    pinned = () if traits.suffix is SuffixPlace.ENCODED else tuple(suffix[: traits.max_pinned])
    filling.size = min(filling.left, traits.max_slots)
    canvas = Canvas.empty(filling.size, denoiser.device, pinned, required)
    return canvas, sampler.begin(canvas, settings.seed)


def _text(denoiser: Denoiser, filling: _Filling) -> str:
    """What stands there so far, from the left, behind the remnant."""
    tokens = filling.written + (filling.canvas.tokens(denoiser.traits.fill_end) if filling.canvas else [])
    data = denoiser.tokenizer.decode_bytes(tokens)
    remnant = filling.remnant.encode("utf-8", errors="replace")
    return valid_text(data[len(remnant) :]) if data.startswith(remnant) else ""
