"""Matrices kept and multiplied in int8, for CPUs: a quarter of fp32's memory, and several times its speed where the CPU has
the instruction (VNNI).

Weights have one scale a row; what they are multiplied with gets one a token, by its largest value (dynamic, per-token
quantization, as in ZeroQuant, arXiv 2206.01861). Sums are of whole numbers and so exact: a token's result does not depend
on what else is in the pass, nor on how many threads run it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

_TOP = 127
_LEAST = 1e-10


def quantize(weight: Tensor) -> tuple[Tensor, Tensor]:
    """[rows, columns] to int8 with one scale a row (fp32, [rows]): row = int8 * scale, absmax rounding."""
    scale = weight.float().abs().amax(dim=-1).clamp_min(_LEAST) / _TOP
    return (weight.float() / scale[..., None]).round().to(torch.int8), scale


class Int8Weight:
    """A matrix [out, in]: `values` in int8, `scale` [out] in fp32."""

    def __init__(self, values: Tensor, scale: Tensor) -> None:
        self.values, self.scale = values, scale.float()

    @staticmethod
    def of(weight: Tensor | Int8Weight) -> Int8Weight:
        return weight if isinstance(weight, Int8Weight) else Int8Weight(*quantize(weight))

    @staticmethod
    def joined(parts: Sequence[Int8Weight]) -> Int8Weight:
        """The rows of several, one below the other."""
        return Int8Weight(torch.cat([p.values for p in parts]), torch.cat([p.scale for p in parts]))

    @property
    def shape(self) -> torch.Size:
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def mapped(self, function: Callable[[Tensor], Tensor]) -> Int8Weight:
        """On another device, say; the scale stays fp32."""
        return Int8Weight(function(self.values), function(self.scale))

    def rows(self, ids: Tensor) -> Tensor:
        """The rows that `ids` name, in fp32: [..., in]."""
        return self.values[ids].float() * self.scale[ids][..., None]

    def linear(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        """x [..., in] times the matrix, [..., out], in fp32."""
        flat = x.reshape(-1, x.shape[-1]).float()
        scale = flat.abs().amax(-1, keepdim=True).clamp_min_(_LEAST).div_(_TOP)
        whole = torch._int_mm((flat / scale).round_().to(torch.int8), self.values.t())
        y = whole.float().mul_(scale).mul_(self.scale)
        if bias is not None:
            y += bias
        return y.view(*x.shape[:-1], -1)
