"""How likely a text is to a denoiser: read left to right where it can, else slot by slot with its neighbours in sight."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from engine.canvas import Canvas
from engine.denoisers.base import BlockwiseDenoiser, CausalReader, Denoiser, Likelihood, Noise, SuffixPlace
from engine.filler import CancelToken

RIVALS = 64  # tokens told for each place


def read(
    denoiser: Denoiser,
    prefix: list[int],
    suffix: list[int],
    texts: Sequence[list[int]],
    cancel: CancelToken,
    rivals: int = RIVALS,
) -> list[Likelihood]:
    """How likely each text is between prefix and suffix; what does not fit a canvas is cut off.

    A denoiser that reads left to right gives the chain rule's own terms, the suffix unread. Any other gives
    pseudo-likelihoods: each token's with every other one of two in sight, over two passes (after Wang and Cho's, arXiv
    1902.04094). Raises `Cancelled`.
    """
    if isinstance(denoiser, CausalReader):
        return denoiser.read(prefix, texts, cancel, rivals)
    traits = denoiser.traits
    encoded = denoiser.encode(prefix, [] if traits.suffix is SuffixPlace.PINNED else suffix, cancel)
    room = denoiser.room(prefix, suffix) if isinstance(denoiser, BlockwiseDenoiser) else traits.max_slots
    pinned = suffix[: traits.max_pinned] if traits.suffix is not SuffixPlace.ENCODED else []
    generator = torch.Generator().manual_seed(0)
    found = []
    for text in texts:
        ids = torch.tensor(text[:room], device=denoiser.device)
        noise = torch.randint(traits.vocabulary, ids.shape, generator=generator).to(denoiser.device)
        logits = torch.zeros(len(ids), traits.vocabulary, device=denoiser.device)
        for hidden in (0, 1):
            cancel.check()
            canvas = Canvas.empty(len(ids), denoiser.device, pinned)
            canvas.decided[1 - hidden :: 2] = True
            canvas.slots = torch.where(canvas.decided | (traits.noise is Noise.ABSORBING), ids, noise)
            step = denoiser.step(encoded, canvas, None)
            logits[hidden::2] = step.logits[hidden::2, : traits.vocabulary]
        found.append(likelihood(logits, ids, denoiser.tokenizer.size, rivals))
    return found


def likelihood(logits: Tensor, ids: Tensor, size: int, rivals: int = RIVALS) -> Likelihood:
    """logits: [n, vocabulary] of the places where `ids` [n] stand. size: tokens that the tokenizer has; a model may have room for
    more."""
    logits = logits[:, :size].float()
    whole = logits.logsumexp(-1, keepdim=True)
    top, places = logits.topk(min(rivals, size), -1) if rivals else (logits[:, :0], ids[:, None][:, :0])
    return Likelihood((logits.gather(-1, ids[:, None]) - whole)[:, 0], places, top - whole)
