"""A key-value cache for transformers' models that can be cut back to any length.

Their own forgets, in a layer with a sliding window, what has left the window, and so cannot be cut back once that is full;
a person who deletes a word would have everything encoded again. Here a sliding layer keeps all places (the window of a
document is short) and shows its model only those that the window reaches. A key depends on the tokens up to its place
alone, so what is left after a cut is what a fresh encoding would give.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

GROWTH = 1024  # places that a full buffer grows by


class RollbackLayer(CacheLayerMixin):
    """`keys`, `values`: [batch, K, places, d], what the decoder reads. window: of the sliding attention, or None.

    The encoder writes with one row; `batch` shows that row to several canvases at once.
    """

    is_compileable = False
    is_croppable = True

    def __init__(self, window: int | None) -> None:
        super().__init__()
        self.window, self.length, self.batch = window, 0, 1
        self.is_sliding = window is not None
        self._buffer: Tensor | None = None  # keys and values, [2, 1, K, capacity, d]

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        self.dtype, self.device = key_states.dtype, key_states.device
        self._grow(key_states, key_states.shape[2])
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *args, **kwargs) -> tuple[Tensor, Tensor]:
        """Stores what an encoder pass has made; returns all that this pass may look at."""
        count = key_states.shape[2]
        if self._buffer is None:
            self.lazy_initialization(key_states, value_states)
        elif self.length + count > self._buffer.shape[3]:
            self._grow(key_states, self.length + count)
        assert self._buffer is not None
        end = self.length + count
        self._buffer[0, :, :, self.length : end] = key_states
        self._buffer[1, :, :, self.length : end] = value_states
        start = self._first_seen()
        self.length = end
        self.show(self.batch)
        return self._buffer[0, :, :, start:end], self._buffer[1, :, :, start:end]

    def cut(self, length: int) -> None:
        """Forgets all places from `length` on."""
        self.length = min(self.length, length)
        self.show(self.batch)

    def show(self, batch: int) -> None:
        """Lets so many canvases read side by side."""
        self.batch = batch
        if self._buffer is not None:
            seen = self._buffer[:, :, :, self._first_seen() : self.length].expand(-1, batch, -1, -1, -1)
            self.keys, self.values = seen[0], seen[1]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        start = self._first_seen()
        return self.length - start + query_length, start

    def get_seq_length(self) -> int:
        return self.length

    def get_max_length(self) -> int:
        return self.window if self.window is not None else -1

    def crop(self, tokens_to_remove: int) -> None:
        self.cut(self.length - abs(tokens_to_remove))

    def reset(self) -> None:
        self.cut(0)

    def _first_seen(self) -> int:
        """The first place that the window still reaches from behind the last one."""
        return 0 if self.window is None else max(0, self.length - self.window + 1)

    def _grow(self, like: Tensor, places: int) -> None:
        capacity = -(-places // GROWTH) * GROWTH
        _, heads, _, size = like.shape
        buffer = torch.zeros(2, 1, heads, capacity, size, dtype=like.dtype, device=like.device)
        if self._buffer is not None:
            buffer[:, :, :, : self.length] = self._buffer[:, :, :, : self.length]
        self._buffer = buffer


class RollbackCache(Cache):
    """One `RollbackLayer` a layer of the model, and the tokens that they stand for.

    A wrong hit is impossible by construction: a place is only kept while its token, and all before it, equal those wanted.
    """

    def __init__(self, layer_types: Sequence[str], window: int) -> None:
        self._rows = [RollbackLayer(window if t == "sliding_attention" else None) for t in layer_types]
        super().__init__(layers=list(self._rows))
        self.tokens: list[int] = []

    def keep(self, wanted: Sequence[int]) -> int:
        """Forgets what follows the common start of what is encoded and `wanted`; returns how much was kept."""
        kept = 0
        for ours, theirs in zip(self.tokens, wanted, strict=False):
            if ours != theirs:
                break
            kept += 1
        del self.tokens[kept:]
        for layer in self._rows:
            layer.cut(kept)
        return kept

    def show(self, batch: int) -> None:
        """Lets so many canvases read side by side."""
        for layer in self._rows:
            layer.show(batch)

    def places_seen(self, layer: int) -> int:
        """How many places of a layer the decoder reads."""
        return self._rows[layer].get_mask_sizes(0)[0]
