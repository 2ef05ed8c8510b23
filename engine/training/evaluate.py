"""How good a training run is so far: exact match on held-out holes, filled as they are in use."""

from __future__ import annotations

from engine.canvas import Canvas
from engine.denoisers.base import Denoiser
from engine.filler import CancelToken
from engine.sampler import Sampler, SamplerSettings
from engine.training.examples import TrainingDocument

MOST_HOLES = 12


def exact_match(denoiser: Denoiser, documents: list[TrainingDocument]) -> float:
    """Share of holes (one a document at most, those that fit their canvas) whose every token comes out right."""
    tokenizer, fill_end = denoiser.tokenizer, denoiser.traits.fill_end
    sampler = Sampler(denoiser.traits, tokenizer.token_bytes, SamplerSettings())
    right = holes = 0
    for document in documents:
        whole = [c for c in document.canvases if all(c.masked) and fill_end in c.tokens]
        if not whole or holes == MOST_HOLES:
            continue
        wanted = whole[0]
        suffix = document.suffixes[wanted.spot][1:]
        encoded = denoiser.encode(document.prefix[1 : wanted.prefix_length], suffix, CancelToken())
        canvas = Canvas.empty(len(wanted.tokens), denoiser.device)
        run = sampler.begin(canvas, seed=0)
        while not run.finished:
            sampler.advance(canvas, denoiser.step(encoded, canvas, None).logits, run)
        holes += 1
        right += canvas.slots.tolist() == wanted.tokens
    return right / holes if holes else 0.0
