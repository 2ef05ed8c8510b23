"""How many slots a hole needs, for models that did not learn to end a fill: asked of the model itself, before it denoises.

After CAL (arXiv 2602.00476): a canvas of the right length is one whose slots the model is surest of in its very first step,
once the bias to short canvases is divided out. Candidates are scored side by side where the denoiser takes several canvases
in a pass: some lengths far apart, then those around the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from engine.canvas import Canvas
from engine.denoisers.base import BatchDenoiser, BlockwiseDenoiser, Denoiser, Encoded

COARSE = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
FINE = 6  # further lengths tried around the best
ROWS = 8  # canvases in one pass


def bias(slots: int) -> float:
    """How sure a model is of a canvas of so many slots whatever stands there, as fitted by CAL's authors (their appendix
    A) on code, for Dream-Coder and LLaDA alike. Fitted to no other model."""
    return math.exp(-1.77 * slots) + 0.56 * math.exp(-0.06 * slots) + 0.24


def room(denoiser: Denoiser, prefix: Sequence[int], suffix: Sequence[int]) -> int:
    """The most slots that the next canvas may have."""
    if isinstance(denoiser, BlockwiseDenoiser):
        return min(denoiser.traits.max_slots, denoiser.room(prefix, suffix))
    return denoiser.traits.max_slots


def best_length(
    denoiser: Denoiser,
    encoded: Encoded,
    least: int,
    most: int,
    make: Callable[[int], Canvas],
    check: Callable[[], None],
) -> int:
    """A number of slots from `least` to `most`. make: an empty canvas of so many. check: called before each pass."""
    scores: dict[int, float] = {}

    def score(lengths: Sequence[int]) -> None:
        new = sorted({n for n in lengths if least <= n <= most} - set(scores))
        for begin in range(0, len(new), ROWS):
            check()
            canvases = [make(n) for n in new[begin : begin + ROWS]]
            if isinstance(denoiser, BatchDenoiser):
                steps = denoiser.step_many(encoded, canvases, [None] * len(canvases))
            else:
                steps = [denoiser.step(encoded, canvas, None) for canvas in canvases]
            for canvas, step in zip(canvases, steps, strict=True):
                sure = torch.softmax(step.logits, dim=-1).max(-1).values.mean()
                scores[len(canvas)] = float(sure) / bias(len(canvas))

    score([*COARSE, least, most])
    lengths = sorted(scores)
    at = lengths.index(_best(scores))
    below, above = lengths[max(0, at - 1)], lengths[min(len(lengths) - 1, at + 1)]
    stride = max(1, (above - below) // FINE)
    score(range(below, above, stride))
    return _best(scores)


def _best(scores: dict[int, float]) -> int:
    """The best scored length; of two that are equal, the shorter."""
    return max(sorted(scores), key=lambda n: scores[n])
