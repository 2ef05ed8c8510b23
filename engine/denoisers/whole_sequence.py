"""The whole-sequence family: masked models that read prefix, canvas and suffix at once, both ways, in every step.

Dream-Coder, DreamOn, LLaDA, Open-dCoder. The suffix simply stands behind the canvas. Nothing is cached: each token's keys
depend on all the others, and so a step costs a pass over all that is read.

    [ start ][ prefix ][ slots ][ suffix, pinned ][ end ]

DreamOn also says, in place of a token, that a slot shall be two or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from engine.canvas import Canvas
from engine.denoisers.base import Edit, Encoded, Noise, Step, SuffixPlace, Traits
from engine.denoisers.layout import last_tokens
from engine.denoisers.passes import Pass
from engine.denoisers.sampling import SamplerSettings
from engine.filler import CancelToken
from engine.tokenizer import Tokenizer

MAX_SLOTS = 256
MAX_SUFFIX = 256  # tokens; all that is read of a document behind the hole fits
NO_FILL_END = -1  # the suffix says where the hole ends


@dataclass(frozen=True)
class Read:
    """prefix: with the start token. suffix: all of it, to know whether a canvas pins the whole."""

    prefix: list[int]
    suffix: list[int]


class WholeSequenceDenoiser:
    """mask: the noise token. shifted: whether a place's token is predicted at the place before it (Dream, Open-dCoder: made
    from a left-to-right model). start, end: tokens put around what is read, None for none. expand, delete: DreamOn's."""

    def __init__(
        self,
        name: str,
        run: Pass,
        tokenizer: Tokenizer,
        *,
        mask: int,
        shifted: bool,
        control: frozenset[int],
        start: int,
        end: int | None = None,
        expand: int | None = None,
        delete: int | None = None,
        window: int = 2048,
        sampling: SamplerSettings | None = None,
    ) -> None:
        self.name, self.tokenizer = name, tokenizer
        self._run, self._mask, self._shifted = run, mask, shifted
        self._start, self._end, self._expand, self._delete = start, end, expand, delete
        edits = {token for token in (expand, delete) if token is not None}
        window = min(window, run.context)
        self.traits = Traits(
            noise=Noise.ABSORBING,
            suffix=SuffixPlace.PINNED,
            learns_length=bool(edits),
            exact_cache=False,
            fill_end=NO_FILL_END,
            control=control | {mask} | edits,
            max_slots=min(MAX_SLOTS, window // 4),
            max_pinned=min(MAX_SUFFIX, window // 4),
            window=window,
            vocabulary=run.vocabulary,
            sampling=sampling or SamplerSettings(),
        )

    @property
    def device(self) -> torch.device:
        return self._run.device

    def encode(self, prefix: list[int], suffix: list[int], cancel: CancelToken) -> Encoded:
        """Encodes nothing; prefixes too long lose their start."""
        cancel.check()
        room = self.traits.window - self.traits.max_slots - self.traits.max_pinned - 2
        read = Read([self._start, *last_tokens(prefix, room)], suffix)
        return Encoded(len(read.prefix) + min(len(suffix), self.traits.max_pinned), 0, state=read)

    def step(self, encoded: Encoded, canvas: Canvas, carry: Any = None) -> Step:
        return self.step_many(encoded, [canvas], [carry])[0]

    def step_many(self, encoded: Encoded, canvases: Sequence[Canvas], carries: Sequence[Any]) -> list[Step]:
        """One pass over all canvases with what stands around them; they may differ in their number of slots."""
        read: Read = encoded.state
        at = len(read.prefix) - (1 if self._shifted else 0)
        rows = [self._row(read, canvas) for canvas in canvases]
        places = [range(at, at + len(canvas)) for canvas in canvases]
        found = self._run.logits(rows, places)
        return [Step(logits, self._edits(logits, canvas)) for logits, canvas in zip(found, canvases, strict=True)]

    def _row(self, read: Read, canvas: Canvas) -> Tensor:
        slots = torch.where(canvas.decided, canvas.slots, torch.full_like(canvas.slots, self._mask))
        behind = list(canvas.pinned)
        if self._end is not None and behind == read.suffix:
            behind.append(self._end)
        return torch.cat((slots.new_tensor(read.prefix), slots, slots.new_tensor(behind, dtype=torch.long)))

    def _edits(self, logits: Tensor, canvas: Canvas) -> tuple[Edit, ...]:
        """Of the undecided slots whose best token is to expand or to delete."""
        if self._expand is None and self._delete is None:
            return ()
        sure, best = torch.softmax(logits, dim=-1).max(-1)
        proposed = zip(best.tolist(), sure.tolist(), canvas.decided.tolist(), strict=True)
        return tuple(
            Edit(slot, token == self._expand, p)
            for slot, (token, p, decided) in enumerate(proposed)
            if token in (self._expand, self._delete) and not decided
        )
