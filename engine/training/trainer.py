"""`midfill train`: makes the embedded model from the fetched base and the corpus."""

from __future__ import annotations

from collections.abc import Callable

import torch

from engine.denoisers.block_causal import BlockCausalDenoiser
from engine.denoisers.device import float_precision, multiplies_int8, pick_device, pick_precision
from engine.denoisers.transformer import Adapter, Transformer
from engine.denoisers.weights import load_adapter, load_base, read_tensors
from engine.errors import BadInput
from engine.tokenizer import Tokenizer
from engine.training import checkpoint, corpus
from engine.training.base import LAST_CONTROL, base_folder
from engine.training.base import START as FILL_END
from engine.training.checkpoint import Progress
from engine.training.evaluate import exact_match
from engine.training.examples import ExampleMaker, TrainingDocument
from engine.training.learner import Learner, Limits, learn, mean_loss
from engine.training.options import TrainingOptions

HELD_OUT_DOCUMENTS = 16


def train(options: TrainingOptions, say: Callable[[str], None]) -> Progress:
    """Trains until the minutes or canvases are used up, or SIGINT or SIGTERM comes; always leaves a checkpoint.

    Raises `ModelUnavailable` where the base is not on this machine or a checkpoint is broken.
    """
    if options.threads:
        torch.set_num_threads(options.threads)
    device = pick_device(options.device)
    folder = base_folder()
    dtype = trained_precision(options.precision, device)
    model = load_base(folder, dtype).to(device)
    # the context needs no gradient, and is read as it will be in use
    reader = load_base(folder, torch.int8) if multiplies_int8(device) else None
    tokenizer = Tokenizer(folder / "tokenizer.json")
    corpus.fetch(say)
    learner = _start(model, reader, options)
    weights = sum(p.numel() for p in learner.adapter.parameters())
    say(f"{weights:,} weights to train; {learner.progress.canvases:,} canvases seen before")
    training, held_out = corpus.load(held_out=False), corpus.load(held_out=True)
    say(f"corpus: {len(training):,} files to learn from, {len(held_out):,} of other projects held out")
    maker = ExampleMaker(training, tokenizer, FILL_END, seed=options.seed + learner.progress.documents)
    held_maker = ExampleMaker(held_out, tokenizer, FILL_END, seed=0, spots=2)
    held_documents = [held_maker.draw() for _ in range(HELD_OUT_DOCUMENTS)]
    limits = Limits(
        options.minutes, options.canvases, options.learning_rate, options.documents, options.checkpoint_minutes
    )
    learn(learner, maker, options.folder, limits, say, lambda: _held_out_line(learner, tokenizer, held_documents))
    return learner.progress


def trained_precision(name: str, device: torch.device) -> torch.dtype:
    """Of what is trained. Raises `BadInput` for one that has no gradient."""
    dtype = float_precision(device) if name == "auto" else pick_precision(name, device)
    if dtype == torch.int8:
        raise BadInput("what is trained needs a gradient, which int8 has not: use --precision bf16 or fp32")
    return dtype


def _start(model: Transformer, reader: Transformer | None, options: TrainingOptions) -> Learner:
    """From the newest checkpoint, else from another model's folder, else from nothing."""
    content = checkpoint.load(options.folder)
    torch.manual_seed(options.seed)
    adapter = Adapter(model.shape, content["rank"] if content else options.rank).to(model.device)
    progress = Progress()
    if not content and options.start:
        tensors = read_tensors(options.start)
        adapter.load_state_dict(load_adapter(model.shape, adapter.rank, tensors, torch.float32).state_dict())
        progress = checkpoint.read_provenance(options.start)
    else:
        with torch.no_grad():
            adapter.mask_embedding.copy_(model.embedding.float().mean(0))
    learner = Learner.fresh(model, reader, adapter, progress)
    if content:
        learner.resume(content)
    return learner


@torch.no_grad()
def _held_out_line(learner: Learner, tokenizer: Tokenizer, documents: list[TrainingDocument]) -> str:
    """The averaged weights on held-out projects: masked loss, left-to-right loss, and exact match of whole holes."""
    model, adapter = learner.model, learner.averaged()
    noisy, causal = (mean_loss(model, adapter, documents, causal) for causal in (False, True))
    control = frozenset(range(LAST_CONTROL + 1))
    denoiser = BlockCausalDenoiser(
        "held-out", model, tokenizer, start=FILL_END, fill_end=FILL_END, control=control, adapter=adapter
    )
    exact = exact_match(denoiser, documents)
    return f"held-out loss {noisy:.3f}  left to right {causal:.3f}  exact match {exact:.2f}  (checkpoint saved)"
