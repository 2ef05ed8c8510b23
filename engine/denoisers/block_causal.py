"""The block-causal family: a causal transformer whose cache is read by a canvas that sees itself both ways.

Any Llama- or Qwen-shaped model will do. The embedded model is one, with a low-rank adapter for its canvases. The
prediction of a slot is read at the place before it (shifted, as the base was trained); the last prefix token opens
the canvas as its anchor. After BD3-LM (arXiv 2503.09573) and Fast-dLLM v2 (arXiv 2509.26328).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from engine.canvas import Canvas
from engine.denoisers.base import PREFILL_CHUNK, Encoded, Likelihood, Noise, Step, SuffixPlace, Traits
from engine.denoisers.cache import Cache, read_causally
from engine.denoisers.layout import MAX_SUFFIX, last_tokens
from engine.denoisers.likelihood import RIVALS, likelihood
from engine.denoisers.transformer import Adapter, Transformer
from engine.errors import BadInput
from engine.filler import CancelToken
from engine.tokenizer import Tokenizer


class BlockCausalDenoiser:
    """`start`: the token that opens each stream. `mask`: the id of the noise token, None where the adapter has its own
    embedding for it. `window`: tokens of context that are read at most."""

    def __init__(
        self,
        name: str,
        model: Transformer,
        tokenizer: Tokenizer,
        *,
        start: int,
        fill_end: int,
        control: frozenset[int],
        adapter: Adapter | None = None,
        mask: int | None = None,
        suffix: SuffixPlace = SuffixPlace.ENCODED,
        max_slots: int = 32,
        max_pinned: int = 32,
        window: int = 2048,
    ) -> None:
        if adapter is None and mask is None:
            raise BadInput("a block-causal denoiser needs a mask token or an adapter with a mask embedding")
        self.name, self.tokenizer = name, tokenizer
        self._model, self._adapter, self._start, self._mask = model, adapter, start, mask
        window = min(window, model.shape.context)
        self.traits = Traits(
            noise=Noise.ABSORBING,
            suffix=suffix,
            learns_length=True,
            exact_cache=True,
            fill_end=fill_end,
            control=control,
            max_slots=max_slots,
            max_pinned=0 if suffix is SuffixPlace.ENCODED else max_pinned,
            window=window,
            vocabulary=model.shape.vocabulary,
        )
        self._cache = Cache(model.shape, model.dtype, model.device, window)

    @property
    def device(self) -> torch.device:
        return self._model.device

    def sibling(self) -> BlockCausalDenoiser:
        """See `SharingDenoiser`."""
        other = copy.copy(self)
        other._cache = Cache(self._model.shape, self._model.dtype, self._model.device, self._cache.capacity)
        return other

    @torch.inference_mode()
    def encode(self, prefix: list[int], suffix: list[int], cancel: CancelToken) -> Encoded:
        """Reads prefix and suffix; only what the cache does not hold is encoded. Prefixes too long lose their start.

        Raises `Cancelled` between two chunks; what was encoded until then stays in the cache.
        """
        room = self.traits.window - MAX_SUFFIX - self.traits.max_slots - self.traits.max_pinned - 2
        ids = [self._start, *last_tokens(prefix, room)]
        before = ids[:-1]  # the last token opens the canvas, and so is not in the cache
        encodes_suffix = self.traits.suffix is not SuffixPlace.PINNED
        after = [self._start, *suffix[: MAX_SUFFIX - 1]] if encodes_suffix else []
        kept_suffix = len(after) if after == self._cache.suffix else 0
        if not kept_suffix and after:
            cancel.check()
            self._cache.suffix = []
            at = MAX_SUFFIX - len(after)
            read_causally(self._model, self._cache, after, at, at, pad_before=True)
            self._cache.suffix = after
        elif not after:
            self._cache.suffix = []
        kept = self._cache.keep_prefix(before)
        for begin in range(kept, len(before), PREFILL_CHUNK):
            cancel.check()
            chunk = before[begin : begin + PREFILL_CHUNK]
            read_causally(self._model, self._cache, chunk, self._cache.prefix_end, MAX_SUFFIX)
            self._cache.prefix += chunk
        return Encoded(len(before) + len(after), kept + kept_suffix, state=ids[-1])

    @torch.inference_mode()
    def step(self, encoded: Encoded, canvas: Canvas, carry: Any = None) -> Step:
        """One pass over anchor, slots and pinned tokens; logits of the slots alone. Only the canvas is computed."""
        x, at = self._embedded(encoded, canvas), self._cache.prefix_end
        positions = torch.arange(at, at + len(x), device=self.device)
        view = self._cache.view(at, self._cache.suffix_start)
        hidden = self._model(x[None], positions, view, None, self._adapter)[0, : len(canvas)]
        return Step(self._model.logits(hidden))

    @torch.inference_mode()
    def step_many(self, encoded: Encoded, canvases: Sequence[Canvas], carries: Sequence[Any]) -> list[Step]:
        """`step` for several canvases of one size over the same context, in one pass."""
        x = torch.stack([self._embedded(encoded, canvas) for canvas in canvases])
        at = self._cache.prefix_end
        positions = torch.arange(at, at + x.shape[1], device=self.device)
        view = self._cache.shared_view(at, self._cache.suffix_start)
        hidden = self._model(x, positions, view, None, self._adapter)[:, : len(canvases[0])]
        return [Step(logits) for logits in self._model.logits(hidden)]

    @torch.inference_mode()
    def read(
        self, prefix: list[int], texts: Sequence[list[int]], cancel: CancelToken, rivals: int = RIVALS
    ) -> list[Likelihood]:
        """See `CausalReader`: by the base's own weights, all texts in one pass behind one cached prefix."""
        cancel.check()
        longest = max(map(len, texts))
        encoded = self.encode(last_tokens(prefix, self.traits.window - MAX_SUFFIX - longest - 2), [], cancel)
        at = self._cache.prefix_end
        # what pads a text stands behind it, where a causal pass does not see it; few lengths, few kernels kept
        count = -(-longest // 16) * 16
        ids = torch.tensor([[encoded.state, *text[:-1], *[0] * (count - len(text))] for text in texts])
        mask = torch.ones(count, at - MAX_SUFFIX + count, dtype=torch.bool).tril(at - MAX_SUFFIX).to(self.device)
        positions = torch.arange(at, at + count, device=self.device)
        x = self._model.embed(ids.to(self.device))
        hidden = self._model(x, positions, self._cache.shared_view(at, MAX_SUFFIX), mask)
        return [
            likelihood(
                self._model.logits(rows[: len(text)]),
                torch.tensor(text, device=self.device),
                self.tokenizer.size,
                rivals,
            )
            for rows, text in zip(hidden, texts, strict=True)
        ]

    def _embedded(self, encoded: Encoded, canvas: Canvas) -> Tensor:
        """Anchor, slots (noise where undecided) and pinned tokens, [1 + slots + pinned, h]."""
        anchor = torch.tensor([encoded.state], device=self.device)
        pinned = torch.tensor(canvas.pinned, dtype=torch.long, device=self.device)
        x = self._model.embed(torch.cat((anchor, canvas.slots, pinned)))
        x[1 : 1 + len(canvas)][~canvas.decided] = self._noise().to(x.dtype)
        return x

    def _noise(self) -> Tensor:
        if self._adapter is not None:
            return self._adapter.mask_embedding
        assert self._mask is not None
        return self._model.embedding_of(self._mask)
