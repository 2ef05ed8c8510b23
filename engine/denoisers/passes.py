"""One pass over whole sequences, with nothing cached: by our own transformer, or by a model's own code where that is trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from engine.denoisers.transformer import NoPast, Transformer


class Pass(Protocol):
    """vocabulary: rows of the head. context: tokens that fit."""

    vocabulary: int
    context: int

    @property
    def device(self) -> torch.device: ...

    def logits(self, rows: Sequence[Tensor], places: Sequence[range], block: int = 0) -> list[Tensor]:
        """rows: token ids, [n] each, of any lengths. Logits [len(p), vocabulary] in fp32 at the places p of each row.

        block: 0 lets every token see all of its row; else tokens see their own block of so many, and those before it.
        """
        ...


class OwnPass:
    """The families that are shaped like Llama or Qwen, run by our own transformer: side by side, whatever their lengths."""

    def __init__(self, model: Transformer) -> None:
        self._model = model
        self.vocabulary, self.context = model.shape.vocabulary, model.shape.context

    @property
    def device(self) -> torch.device:
        return self._model.device

    @torch.inference_mode()
    def logits(self, rows: Sequence[Tensor], places: Sequence[range], block: int = 0) -> list[Tensor]:
        length = max(len(row) for row in rows)
        ids = torch.stack([torch.nn.functional.pad(row, (0, length - len(row))) for row in rows])
        at = torch.arange(length, device=self.device)
        mask = None
        if block or any(len(row) != length for row in rows):
            ends = torch.tensor([len(row) for row in rows], device=self.device)
            mask = (at[None, None, :] < ends[:, None, None]).expand(len(rows), length, length)
            if block:
                mask = mask & (at[None, :, None] // block >= at[None, None, :] // block)
        hidden = self._model(self._model.embed(ids), at, NoPast(), mask)
        return [self._model.logits(row[p.start : p.stop]) for row, p in zip(hidden, places, strict=True)]


class OwnCodePass:
    """A model run by the code that came with it. One row at a time: what masks it takes for several is its own affair."""

    def __init__(self, model: Any, context: int) -> None:
        self._model = model
        self.vocabulary, self.context = model.config.vocab_size, context

    @property
    def device(self) -> torch.device:
        return self._model.device

    @torch.inference_mode()
    def logits(self, rows: Sequence[Tensor], places: Sequence[range], block: int = 0) -> list[Tensor]:
        found = []
        for row, p in zip(rows, places, strict=True):
            options = {} if not block else self._blocks(len(row), block)
            found.append(self._model(input_ids=row[None], **options).logits[0, p.start : p.stop].float())
        return found

    def _blocks(self, length: int, block: int) -> dict[str, Tensor]:
        """The additive mask [1, 1, n, n] that LLaDA2.x's own `generate` passes, and the positions."""
        at = torch.arange(length, device=self.device)
        seen = at[:, None] // block >= at[None, :] // block
        mask = torch.zeros(length, length, dtype=self._model.dtype, device=self.device)
        return {"attention_mask": mask.masked_fill(~seen, -torch.inf)[None, None], "position_ids": at[None]}
