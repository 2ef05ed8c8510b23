"""The block family: models that denoise a text block after block, each block seeing itself both ways and all before it.

SDAR, Fast-dLLM v2, LLaDA2.x. A canvas ends where a block ends, and so the suffix can be pinned in the hole's last block alone;
what stands behind the hole is also put first, as a document of its own, so that earlier blocks know of it.

    [ start, suffix ][ start, prefix ... | blocks ... ][ rest of the prefix ][ slots ][ suffix, pinned to the block's end ]
                                                       '-------------------- one block ---------------------------'

Keys of whole blocks are exact and kept; those of a block in the making are computed in every step. Putting the suffix first
was not what these models were trained on, and was **not measured**.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from engine.canvas import Canvas
from engine.denoisers.base import PREFILL_CHUNK, Encoded, Noise, Step, SuffixPlace, Traits
from engine.denoisers.cache import Cache
from engine.denoisers.layout import MAX_SUFFIX, last_tokens
from engine.denoisers.passes import OwnPass, Pass
from engine.denoisers.sampling import SamplerSettings
from engine.denoisers.transformer import Transformer
from engine.denoisers.whole_sequence import NO_FILL_END
from engine.filler import CancelToken
from engine.tokenizer import Tokenizer


@dataclass(frozen=True)
class Read:
    """before: all tokens before the canvas. rest: those of them that stand in the canvas's own block, at its start. at: the
    place of the block's first. last: hidden state [h] of the last token before the block, where a shifted model needs it."""

    before: list[int]
    rest: list[int]
    at: int
    last: Tensor | None = None


class BlockDiffusionDenoiser:
    """block: tokens of a block. run: with it, every step is a pass over everything and nothing is cached (a model's own
    code); without it, `model` is run with a cache. The other names are those of `WholeSequenceDenoiser`."""

    def __init__(
        self,
        name: str,
        model: Transformer | None,
        tokenizer: Tokenizer,
        *,
        block: int,
        mask: int,
        shifted: bool,
        control: frozenset[int],
        start: int,
        run: Pass | None = None,
        window: int = 2048,
        sampling: SamplerSettings | None = None,
    ) -> None:
        self.name, self.tokenizer = name, tokenizer
        self._model, self._block, self._mask, self._shifted, self._start = model, block, mask, shifted, start
        assert model is not None or run is not None
        self._run: Pass = run or OwnPass(model)  # type: ignore[arg-type]
        self._cached = run is None
        window = min(window, self._run.context)
        self.traits = Traits(
            noise=Noise.ABSORBING,
            suffix=SuffixPlace.BOTH,
            learns_length=False,
            exact_cache=self._cached,
            fill_end=NO_FILL_END,
            control=control | {mask},
            max_slots=block,
            max_pinned=block,
            window=window,
            vocabulary=self._run.vocabulary,
            sampling=sampling or SamplerSettings(),
        )
        self._cache = Cache(model.shape, model.dtype, model.device, window + MAX_SUFFIX) if model else None

    @property
    def device(self) -> torch.device:
        return self._run.device

    def room(self, prefix: Sequence[int], suffix: Sequence[int]) -> int:
        """Slots up to the end of the block that the prefix ends in."""
        return self._block - len(self._before(prefix, suffix)) % self._block

    def _before(self, prefix: Sequence[int], suffix: Sequence[int]) -> list[int]:
        room = self.traits.window - MAX_SUFFIX - 2 * self._block - 2
        return [self._start, *suffix[: MAX_SUFFIX - 1], self._start, *last_tokens(list(prefix), room)]

    @torch.inference_mode()
    def encode(self, prefix: list[int], suffix: list[int], cancel: CancelToken) -> Encoded:
        """Reads suffix and prefix, in whole blocks; what the cache holds is not encoded again. Raises `Cancelled` between
        two chunks."""
        before = self._before(prefix, suffix)
        at = len(before) // self._block * self._block
        read = Read(before, before[at:], at)
        if not self._cached:
            cancel.check()
            return Encoded(len(before), 0, state=read)
        assert self._cache is not None and self._model is not None
        kept = self._cache.keep_prefix(before[:at]) // self._block * self._block
        if self._shifted and not read.rest and kept == at:
            kept = max(0, at - self._block)  # what the last block says of the next one's first token is not kept
        del self._cache.prefix[kept:]
        chunk = max(self._block, PREFILL_CHUNK // self._block * self._block)
        hidden = None
        for begin in range(kept, at, chunk):
            cancel.check()
            hidden = self._read_blocks(before[begin : min(begin + chunk, at)])
        last = hidden[-1] if self._shifted and not read.rest and hidden is not None else None
        return Encoded(len(before), kept, state=Read(before, read.rest, at, last))

    def step(self, encoded: Encoded, canvas: Canvas, carry: Any = None) -> Step:
        return self.step_many(encoded, [canvas], [carry])[0]

    @torch.inference_mode()
    def step_many(self, encoded: Encoded, canvases: Sequence[Canvas], carries: Sequence[Any]) -> list[Step]:
        """One pass over the block of each canvas; they may differ in their number of slots."""
        read: Read = encoded.state
        rows = [self._row(read, canvas) for canvas in canvases]
        if not self._cached:
            return self._step_whole(read, canvases, rows)
        assert self._cache is not None and self._model is not None
        length = max(len(row) for row in rows)
        ids = torch.stack([torch.nn.functional.pad(row, (0, length - len(row))) for row in rows])
        mask = None
        if any(len(row) != length for row in rows):
            mask = torch.ones(len(rows), length, read.at + length, dtype=torch.bool, device=self.device)
            for seen, row in zip(mask, rows, strict=True):
                seen[:, read.at + len(row) :] = False
        positions = torch.arange(read.at, read.at + length, device=self.device)
        view = self._cache.shared_view(self._cache.prefix_end, MAX_SUFFIX)
        hidden = self._model(self._model.embed(ids), positions, view, mask)
        steps = []
        for row, canvas in zip(hidden, canvases, strict=True):
            if self._shifted:
                row = torch.cat((row[:1] if read.last is None else read.last[None], row))
            first = len(read.rest)  # with the place before put first, that is where a shifted model predicts it
            steps.append(Step(self._model.logits(row[first : first + len(canvas)])))
        return steps

    def _step_whole(self, read: Read, canvases: Sequence[Canvas], rows: list[Tensor]) -> list[Step]:
        start = len(read.before) - (1 if self._shifted else 0)
        head = torch.tensor(read.before[: read.at], dtype=torch.long, device=self.device)
        whole = [torch.cat((head, row)) for row in rows]
        places = [range(start, start + len(canvas)) for canvas in canvases]
        return [Step(logits) for logits in self._run.logits(whole, places, self._block)]

    def _row(self, read: Read, canvas: Canvas) -> Tensor:
        """The canvas's block: rest of the prefix, slots, and what of the pinned suffix fits."""
        slots = torch.where(canvas.decided, canvas.slots, torch.full_like(canvas.slots, self._mask))
        fits = max(0, self._block - len(read.rest) - len(canvas))
        behind = list(canvas.pinned)[:fits]
        return torch.cat(
            (slots.new_tensor(read.rest, dtype=torch.long), slots, slots.new_tensor(behind, dtype=torch.long))
        )

    def _read_blocks(self, ids: list[int]) -> Tensor:
        """Encodes whole blocks behind the cached ones; hidden states [n, h]."""
        assert self._cache is not None and self._model is not None
        begin, count = len(self._cache.prefix), len(ids)
        at = torch.arange(begin + count, device=self.device)
        mask = at[begin:, None] // self._block >= at[None, :] // self._block
        x = self._model.embed(torch.tensor(ids, device=self.device))
        view = self._cache.view(self._cache.prefix_end, MAX_SUFFIX)
        hidden = self._model(x[None], at[begin:], view, mask)[0]
        self._cache.prefix += ids
        return hidden
