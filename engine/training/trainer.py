"""The training loop: AdamW on the adapter alone, an average of its weights beside it, resumable checkpoints."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

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
from engine.training.loss import document_loss
from engine.training.options import TrainingOptions

WARM_UP = 20  # steps
AVERAGE = 0.99  # decay of the exponential average that is shipped in place of the last weights
HELD_OUT_DOCUMENTS = 16


def train(options: TrainingOptions, say: Callable[[str], None]) -> Progress:
    """Trains until the minutes or canvases are used up, or SIGINT or SIGTERM comes; always leaves a checkpoint.

    Raises `ModelUnavailable` where the base is not on this machine or a checkpoint is broken.
    """
    if options.threads:
        torch.set_num_threads(options.threads)
    device = pick_device(options.device)
    folder = base_folder()
    auto = options.precision == "auto"
    dtype = float_precision(device) if auto else pick_precision(options.precision, device)
    if dtype == torch.int8:
        raise BadInput("what is trained needs a gradient, which int8 has not: use --precision bf16 or fp32")
    model = load_base(folder, dtype).to(device)
    # the context needs none, and is read as it will be in use
    reader = load_base(folder, torch.int8) if multiplies_int8(device) else None
    tokenizer = Tokenizer(folder / "tokenizer.json")
    corpus.fetch(say)
    adapter, average, optimizer, progress = _start(model, options)
    say(
        f"{sum(p.numel() for p in adapter.parameters()):,} weights to train; {progress.canvases:,} canvases seen before"
    )
    training, held_out = corpus.load(held_out=False), corpus.load(held_out=True)
    say(f"corpus: {len(training):,} files to learn from, {len(held_out):,} of other projects held out")
    maker = ExampleMaker(training, tokenizer, FILL_END, seed=options.seed + progress.documents)
    held_maker = ExampleMaker(held_out, tokenizer, FILL_END, seed=0, spots=2)
    held_documents = [held_maker.draw() for _ in range(HELD_OUT_DOCUMENTS)]

    stop = _StopOnSignal()
    begun = saved = time.monotonic()
    before, first_step = progress.seconds, progress.steps
    recent: float | None = None
    while not stop.asked and not _used_up(options, progress, time.monotonic() - begun):
        rate = options.learning_rate * min(1.0, (progress.steps - first_step + 1) / WARM_UP)
        documents = [maker.draw() for _ in range(options.documents)]
        loss, right = _step(model, adapter, optimizer, documents, rate, reader)
        progress.steps += 1
        progress.documents += len(documents)
        progress.canvases += sum(len(d.canvases) for d in documents)
        progress.seconds = before + time.monotonic() - begun
        _update_average(average, adapter, progress.steps)
        recent = loss if recent is None else 0.95 * recent + 0.05 * loss
        if progress.steps % 10 == 0:
            speed = progress.canvases / progress.seconds
            say(
                f"step {progress.steps}  canvases {progress.canvases:,}  loss {recent:.3f}  right {right:.2f}  "
                f"{speed:.2f} canvases/s  {progress.seconds / 60:.0f} min"
            )
        if time.monotonic() - saved > options.checkpoint_minutes * 60:
            checkpoint.save(options.folder, adapter, average, optimizer, progress)
            say(_held_out_line(model, average, adapter.rank, tokenizer, held_documents))
            saved = time.monotonic()
    checkpoint.save(options.folder, adapter, average, optimizer, progress)
    say(_held_out_line(model, average, adapter.rank, tokenizer, held_documents))
    return progress


def _start(model: Transformer, options: TrainingOptions):
    content = checkpoint.load(options.folder)
    torch.manual_seed(options.seed)
    adapter = Adapter(model.shape, content["rank"] if content else options.rank).to(model.device)
    with torch.no_grad():
        adapter.mask_embedding.copy_(model.embedding.float().mean(0))
    optimizer = torch.optim.AdamW(adapter.parameters(), lr=options.learning_rate, betas=(0.9, 0.98), weight_decay=0.0)
    if not content and options.start:
        return _start_from(options.start, model, optimizer, adapter)
    if not content:
        return adapter, {k: v.detach().clone() for k, v in adapter.state_dict().items()}, optimizer, Progress()
    adapter.load_state_dict(content["adapter"])
    optimizer.load_state_dict(content["optimizer"])
    average = {k: v.to(model.device) for k, v in content["average"].items()}
    return adapter, average, optimizer, Progress(**content["progress"])


def _start_from(folder: Path, model: Transformer, optimizer, adapter: Adapter):
    """A run that goes on from a model's folder, as `export` wrote it, with a fresh optimizer."""
    adapter.load_state_dict(load_adapter(model.shape, adapter.rank, read_tensors(folder), torch.float32).state_dict())
    progress = checkpoint.read_provenance(folder)
    # the optimizer's estimates start at nothing, so its rate warms up again
    average = {k: v.detach().clone() for k, v in adapter.state_dict().items()}
    return adapter, average, optimizer, progress


def _step(
    model: Transformer,
    adapter: Adapter,
    optimizer,
    documents: list[TrainingDocument],
    rate: float,
    reader: Transformer | None = None,
) -> tuple[float, float]:
    """One optimizer step over the documents' canvases: (mean masked loss, share right)."""
    total = weight = rights = 0.0
    for document in documents:
        loss, weights, right = document_loss(model, adapter, document, reader)
        loss.backward()
        total, weight, rights = total + loss.item(), weight + weights.item(), rights + right.item()
    for parameter in adapter.parameters():
        if parameter.grad is not None:
            parameter.grad.div_(weight)
    torch.nn.utils.clip_grad_norm_(adapter.parameters(), 1.0)
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return total / weight, rights / len(documents)


@torch.no_grad()
def _update_average(average: dict[str, torch.Tensor], adapter: Adapter, steps: int) -> None:
    decay = min(AVERAGE, steps / (steps + 10))  # early on, forget the start soon
    for name, value in adapter.state_dict().items():
        average[name].lerp_(value, 1 - decay)


@torch.no_grad()
def _held_out_line(
    model: Transformer,
    average: dict[str, torch.Tensor],
    rank: int,
    tokenizer: Tokenizer,
    documents: list[TrainingDocument],
) -> str:
    """The averaged weights on held-out projects: masked loss, left-to-right loss, and exact match of whole holes."""
    adapter = Adapter(model.shape, rank).to(model.device)
    adapter.load_state_dict(average)
    noisy, causal = (_mean_loss(model, adapter, documents, causal) for causal in (False, True))
    control = frozenset(range(LAST_CONTROL + 1))
    denoiser = BlockCausalDenoiser(
        "held-out", model, tokenizer, start=FILL_END, fill_end=FILL_END, control=control, adapter=adapter
    )
    exact = exact_match(denoiser, documents)
    return f"held-out loss {noisy:.3f}  left to right {causal:.3f}  exact match {exact:.2f}  (checkpoint saved)"


def _mean_loss(model: Transformer, adapter: Adapter, documents: list[TrainingDocument], causal: bool) -> float:
    """Of the canvases that are read left to right, or of the others."""
    total = weight = 0.0
    for document in documents:
        canvases = [c for c in document.canvases if c.causal is causal]
        if canvases:
            loss, weights, _ = document_loss(model, adapter, replace(document, canvases=canvases))
            total, weight = total + loss.item(), weight + weights.item()
    return total / max(weight, 1e-9)


def _used_up(options: TrainingOptions, progress: Progress, seconds: float) -> bool:
    if options.minutes is not None and seconds > options.minutes * 60:
        return True
    return options.canvases is not None and progress.canvases >= options.canvases


class _StopOnSignal:
    """SIGINT and SIGTERM ask the loop to end after this step, so that nothing learned is lost."""

    def __init__(self) -> None:
        self.asked = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._ask)

    def _ask(self, *_: object) -> None:
        self.asked = True
