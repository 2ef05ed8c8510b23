"""The training loop itself: AdamW on an adapter, an average of its weights beside it, resumable checkpoints."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from engine.denoisers.transformer import Adapter, Transformer
from engine.training import checkpoint
from engine.training.checkpoint import Progress
from engine.training.examples import ExampleMaker, TrainingDocument
from engine.training.loss import document_loss

WARM_UP = 20  # steps
AVERAGE = 0.99  # decay of the exponential average that is shipped in place of the last weights
BETAS = (0.9, 0.98)  # of AdamW


@dataclass
class Learner:
    """What learns. model: frozen. reader: encodes the context in its place, the same weights in int8; None: the model does.

    average: the adapter's weights as they are shipped."""

    model: Transformer
    reader: Transformer | None
    adapter: Adapter
    average: dict[str, torch.Tensor]
    optimizer: torch.optim.Optimizer
    progress: Progress

    @staticmethod
    def fresh(model: Transformer, reader: Transformer | None, adapter: Adapter, progress: Progress) -> Learner:
        """One that begins with this adapter; the optimizer's estimates start at nothing, so its rate warms up."""
        optimizer = torch.optim.AdamW(adapter.parameters(), betas=BETAS, weight_decay=0.0)
        average = {k: v.detach().clone() for k, v in adapter.state_dict().items()}
        return Learner(model, reader, adapter, average, optimizer, progress)

    def resume(self, content: dict[str, Any]) -> None:
        """Goes on from a checkpoint's content, as `checkpoint.load` gave it."""
        self.adapter.load_state_dict(content["adapter"])
        self.optimizer.load_state_dict(content["optimizer"])
        self.average = {k: v.to(self.model.device) for k, v in content["average"].items()}
        self.progress = Progress(**content["progress"])

    def save(self, folder: Path) -> None:
        checkpoint.save(folder, self.adapter, self.average, self.optimizer, self.progress)

    def averaged(self) -> Adapter:
        """The adapter as it is shipped."""
        adapter = Adapter(self.model.shape, self.adapter.rank).to(self.model.device)
        adapter.load_state_dict(self.average)
        return adapter.requires_grad_(False)


@dataclass(frozen=True)
class Limits:
    """When a run ends (None: not by that), how fast it learns, and how often it is saved.

    canvases: seen in all, by this run and those that it resumed."""

    minutes: float | None
    canvases: int | None
    learning_rate: float
    documents: int
    checkpoint_minutes: float


def learn(
    learner: Learner,
    maker: ExampleMaker,
    folder: Path,
    limits: Limits,
    say: Callable[[str], None],
    saved_line: Callable[[], str],
) -> None:
    """Learns until a limit, SIGINT or SIGTERM; always leaves a checkpoint in `folder`. saved_line: said after each."""
    progress = learner.progress
    begun = saved = time.monotonic()
    before, first_step = progress.seconds, progress.steps
    recent: float | None = None
    with _StopOnSignal() as stop:
        while not stop.asked and not _used_up(limits, progress, time.monotonic() - begun):
            rate = limits.learning_rate * min(1.0, (progress.steps - first_step + 1) / WARM_UP)
            documents = [maker.draw() for _ in range(limits.documents)]
            loss, right = _step(learner, documents, rate)
            progress.steps += 1
            progress.documents += len(documents)
            progress.canvases += sum(len(d.canvases) for d in documents)
            progress.seconds = before + time.monotonic() - begun
            _update_average(learner.average, learner.adapter, progress.steps)
            recent = loss if recent is None else 0.95 * recent + 0.05 * loss
            if progress.steps % 10 == 0:
                speed = progress.canvases / progress.seconds
                say(
                    f"step {progress.steps}  canvases {progress.canvases:,}  loss {recent:.3f}  right {right:.2f}  "
                    f"{speed:.2f} canvases/s  {progress.seconds / 60:.0f} min"
                )
            if time.monotonic() - saved > limits.checkpoint_minutes * 60:
                learner.save(folder)
                say(saved_line())
                saved = time.monotonic()
        learner.save(folder)
        say(saved_line())


def _step(learner: Learner, documents: list[TrainingDocument], rate: float) -> tuple[float, float]:
    """One optimizer step over the documents' canvases: (mean masked loss, share right)."""
    total = weight = rights = 0.0
    for document in documents:
        loss, weights, right = document_loss(learner.model, learner.adapter, document, learner.reader)
        loss.backward()
        total, weight, rights = total + loss.item(), weight + weights.item(), rights + right.item()
    for parameter in learner.adapter.parameters():
        if parameter.grad is not None:
            parameter.grad.div_(weight)
    torch.nn.utils.clip_grad_norm_(learner.adapter.parameters(), 1.0)
    for group in learner.optimizer.param_groups:
        group["lr"] = rate
    learner.optimizer.step()
    learner.optimizer.zero_grad(set_to_none=True)
    return total / weight, rights / len(documents)


@torch.no_grad()
def _update_average(average: dict[str, torch.Tensor], adapter: Adapter, steps: int) -> None:
    decay = min(AVERAGE, steps / (steps + 10))  # early on, forget the start soon
    for name, value in adapter.state_dict().items():
        average[name].lerp_(value, 1 - decay)


@torch.no_grad()
def mean_loss(model: Transformer, adapter: Adapter, documents: list[TrainingDocument], causal: bool) -> float:
    """Nats a slot, of the canvases that are read left to right, or of the others."""
    total = weight = 0.0
    for document in documents:
        canvases = [c for c in document.canvases if c.causal is causal]
        if canvases:
            loss, weights, _ = document_loss(model, adapter, replace(document, canvases=canvases))
            total, weight = total + loss.item(), weight + weights.item()
    return total / max(weight, 1e-9)


def _used_up(limits: Limits, progress: Progress, seconds: float) -> bool:
    if limits.minutes is not None and seconds > limits.minutes * 60:
        return True
    return limits.canvases is not None and progress.canvases >= limits.canvases


class _StopOnSignal:
    """SIGINT and SIGTERM ask the loop to end after this step, so that nothing learned is lost."""

    def __init__(self) -> None:
        self.asked = False

    def __enter__(self) -> _StopOnSignal:
        self._before = {number: signal.signal(number, self._ask) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
