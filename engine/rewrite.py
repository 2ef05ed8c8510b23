"""A canvas seeded with what stands there: the tokens that the model believes stay, the others go back to noise.

Each half of the slots is hidden once and judged from the other half, as a token that the model can see would be believed
for that alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from engine.canvas import Canvas
from engine.denoisers.base import Denoiser, Encoded, Noise
from engine.sampler import Sampler

KEEP = 0.1  # probability from which a token that stands there stays


def seed(
    canvas: Canvas,
    tokens: Sequence[int],
    denoiser: Denoiser,
    encoded: Encoded,
    sampler: Sampler,
    check: Callable[[], None],
) -> int:
    """Decides the slots of an empty canvas that keep their token; returns how many steps it took.

    tokens: what stands there, a token a slot from the left; slots without one stay undecided. check: called before each
    step, raises `Cancelled`.
    """
    size = min(len(tokens), len(canvas))
    if not size:
        return 0
    stood = canvas.slots.clone()
    stood[:size] = torch.tensor(tokens[:size], device=stood.device)
    given = torch.arange(len(canvas), device=stood.device) < size
    if denoiser.traits.noise is Noise.UNIFORM:  # a token that stands there is noise like any other: what is denoised
        canvas.slots = stood
        return 0
    believed = torch.zeros_like(canvas.confidence)
    for parity in (0, 1):
        check()
        hidden = given & (torch.arange(len(canvas), device=stood.device) % 2 == parity)
        canvas.slots, canvas.decided = stood, given & ~hidden
        step = denoiser.step(encoded, canvas, None)
        p = torch.softmax(sampler.allowed(canvas, step.logits), dim=-1)
        believed = torch.where(hidden, p.gather(1, stood[:, None])[:, 0].to(believed.dtype), believed)
    kept = given & (believed >= KEEP)
    canvas.slots = torch.where(kept, stood, torch.zeros_like(stood))
    canvas.decided, canvas.confidence = kept, torch.where(kept, believed, torch.zeros_like(believed))
    return 2
