"""The key-value cache of a block-causal denoiser: one preallocated buffer, and the tokens that it stands for.

A wrong hit is impossible by construction: a place is only kept while the token that was encoded there, and all
before it, equal the ones that are wanted.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from engine.denoisers.layout import MAX_SUFFIX
from engine.denoisers.transformer import Shape, Transformer

_PAD = 16  # tokens


class Cache:
    """Layout: see `engine.denoisers.layout`. Buffer a layer: keys and values, [1, K, capacity, d] each."""

    def __init__(self, shape: Shape, dtype: torch.dtype, device: torch.device, capacity: int) -> None:
        size = (2, 1, shape.kv_heads, capacity, shape.head_size)
        self._layers = [torch.zeros(size, dtype=dtype, device=device) for _ in range(shape.layers)]
        self.capacity = capacity
        self.suffix: list[int] = []
        self.prefix: list[int] = []

    def keep_prefix(self, wanted: Sequence[int]) -> int:
        """Forgets what follows the common start of the cached prefix and `wanted`; returns how much was kept."""
        kept = 0
        for ours, theirs in zip(self.prefix, wanted, strict=False):
            if ours != theirs:
                break
            kept += 1
        del self.prefix[kept:]
        return kept

    def view(self, at: int, attend_from: int) -> View:
        """Writes behind place `at`, and lets what is written see the places from `attend_from` on."""
        return View(self._layers, at, attend_from)

    def shared_view(self, at: int, attend_from: int) -> SharedView:
        """As `view`, for several canvases side by side: what they write is kept for this pass alone."""
        return SharedView(self._layers, at, attend_from)

    @property
    def prefix_end(self) -> int:
        return MAX_SUFFIX + len(self.prefix)

    @property
    def suffix_start(self) -> int:
        return MAX_SUFFIX - len(self.suffix)


def read_causally(
    model: Transformer, cache: Cache, ids: Sequence[int], at: int, attend_from: int, *, pad_before: bool = False
) -> Tensor:
    """Encodes tokens causally, without an adapter, into the cache from place `at`; hidden states [n, h].

    Few different lengths are run: a matrix library prepares a kernel for each that it meets, and keeps it. What pads a
    pass is seen by none of its tokens, and stands where nothing is kept: behind them, or before them if asked so (then
    they see each other alone).
    """
    n = len(ids)
    padding = 0 if n == 1 else -n % _PAD
    if pad_before:
        assert attend_from == at >= padding
        at, attend_from, ids = at - padding, at - padding, [*[0] * padding, *ids]
    else:
        padding = min(padding, cache.capacity - at - n)
        ids = [*ids, *[0] * padding]
    count, before = len(ids), at - attend_from
    positions = torch.arange(at, at + count, device=model.device)
    mask = torch.ones(count, before + count, dtype=torch.bool, device=model.device).tril(before)
    if pad_before:
        mask[padding:, :padding] = False
    x = model.embed(torch.tensor(ids, device=model.device))
    hidden = model(x[None], positions, cache.view(at, attend_from), mask)[0]
    return hidden[padding:] if pad_before else hidden[:n]


class View:
    """One forward pass's part of the cache (a `Past`). What a canvas writes is overwritten by the next pass."""

    def __init__(self, layers: list[Tensor], at: int, attend_from: int) -> None:
        self._layers, self._at, self._from = layers, at, attend_from

    def extend(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        end = self._at + keys.shape[2]
        buffer = self._layers[layer]
        buffer[0, :, :, self._at : end] = keys
        buffer[1, :, :, self._at : end] = values
        return buffer[0, :, :, self._from : end], buffer[1, :, :, self._from : end]


class SharedView:
    """One forward pass of B canvases over one cache (a `Past`): keys and values [B, K, n, d] stand behind the cached ones."""

    def __init__(self, layers: list[Tensor], at: int, attend_from: int) -> None:
        self._layers, self._at, self._from = layers, at, attend_from

    def extend(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        before = self._layers[layer][:, :, :, self._from : self._at].expand(-1, keys.shape[0], -1, -1, -1)
        return torch.cat((before[0], keys), 2), torch.cat((before[1], values), 2)
