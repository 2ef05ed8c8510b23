"""`midfill tune`: the embedded model learns a code base; what it was before and what it is after, on files held out.

The adapter, low-rank as it is, goes on learning on the user's own files. The base stays as it is, so that a tuned model is
9 MB beside it, and what is read of a document costs and gives what it did. Nothing leaves the machine.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from engine.check import check, dig
from engine.check.metrics import percentile
from engine.denoisers.block_causal import BlockCausalDenoiser
from engine.denoisers.device import multiplies_int8, pick_device, pick_precision
from engine.denoisers.loading import DESCRIPTION, Description, load_denoiser, read_description
from engine.denoisers.transformer import Adapter
from engine.denoisers.weights import load_adapter, load_base, read_config, read_tensors
from engine.diffusion import DiffusionFiller
from engine.errors import BadInput
from engine.filler import CancelToken, FillSettings
from engine.memory import give_back
from engine.text import Document
from engine.tokenizer import Tokenizer
from engine.training import checkpoint
from engine.training.corpus import SourceFile
from engine.training.examples import ExampleMaker
from engine.training.export import ADAPTER_FILE, write_adapter
from engine.training.learner import Learner, Limits, learn, mean_loss
from engine.training.trainer import trained_precision

SMALLEST = 300  # characters of a file that is learned from
HELD_OUT = 6  # one file in so many is measured on, and never learned from
DOCUMENTS = 24  # of held-out files, that the loss is measured on
KINDS = (dig.Kind.LINE_REST, dig.Kind.LINE, dig.Kind.EXPRESSION, dig.Kind.ARGUMENT)


@dataclass(frozen=True)
class Tuning:
    """What is asked. out: the folder that is written, if it is better. holes: dug in the held-out files."""

    model: Path
    out: Path
    work: Path
    minutes: float
    holes: int = 60
    learning_rate: float = 3e-4
    seed: int = 1
    device: str = "auto"
    precision: str = "auto"
    training_precision: str = "auto"
    threads: int | None = None


@dataclass(frozen=True)
class Measured:
    """On the held-out files. exact, similarity, empty: 0 to 1; steps: the mean; ms: the median fill; loss: nats a masked slot."""

    exact: float
    similarity: float
    empty: float
    steps: float
    ms: float
    loss: float


@dataclass(frozen=True)
class Tuned:
    """kept: whether the tuned weights are better, and so were written."""

    before: Measured
    after: Measured
    kept: bool
    files: int
    held_out: int
    holes: int
    canvases: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def split(documents: Sequence[Document]) -> tuple[list[Document], list[Document]]:
    """The files to learn from, and those held out: by a digest of their text, so that a second run has the same sides.

    Raises `BadInput` where there are not two files to learn from and to measure on."""
    usable = [d for d in documents if len(d.text) >= SMALLEST]
    ranked = sorted(usable, key=lambda d: hashlib.sha1(d.text.encode(errors="replace")).digest())
    count = max(1, len(ranked) // HELD_OUT)
    if len(ranked) < 2:
        raise BadInput(
            f"{len(ranked)} file with {SMALLEST} characters or more is too little to learn from and to measure on"
        )
    return ranked[count:], ranked[:count]


def better(before: Measured, after: Measured) -> bool:
    """Fewer nats on files it has not seen, and no hole less that comes out right."""
    return after.loss < before.loss and after.exact >= before.exact


def tune(documents: Sequence[Document], tuning: Tuning, say: Callable[[str], None]) -> Tuned:
    """Measures, learns until the minutes are over (or SIGINT, SIGTERM), measures again, and writes `out` if it is better.

    A run that was killed is gone on with from `work`. Raises `BadInput` and `ModelUnavailable`.
    """
    if tuning.threads:
        torch.set_num_threads(tuning.threads)
    device = pick_device(tuning.device)
    description = read_description(tuning.model, read_config(tuning.model))
    if description.family != "block-causal" or not description.rank:
        raise BadInput(f"only a model with a low-rank adapter, as the embedded one, can be tuned, not {tuning.model}")
    learn_from, held_out = split(documents)
    holes = dig.draw(held_out, tuning.holes, tuning.seed, KINDS)
    say(
        f"{len(learn_from)} files to learn from, {len(held_out)} held out, {len(holes)} holes dug in these; measuring before"
    )
    before = _filled(tuning.model, tuning, device, holes, say)
    taught = _teach(tuning, description, device, learn_from, held_out, say)
    after = _filled(taught.folder, tuning, device, holes, say)
    before, after = replace(before, loss=taught.loss_before), replace(after, loss=taught.loss_after)
    kept = better(before, after)
    if kept:
        tuning.out.parent.mkdir(parents=True, exist_ok=True)
        _put(taught.folder, tuning.out)
    shutil.rmtree(tuning.work, ignore_errors=True)
    return Tuned(before, after, kept, len(learn_from), len(held_out), len(holes), taught.canvases)


@dataclass(frozen=True)
class _Taught:
    """A model's folder with the adapter as it has become, and the loss on held-out files (nats a masked slot)."""

    folder: Path
    loss_before: float
    loss_after: float
    canvases: int


def _teach(
    tuning: Tuning,
    description: Description,
    device: torch.device,
    learn_from: Sequence[Document],
    held_out: Sequence[Document],
    say: Callable[[str], None],
) -> _Taught:
    learner = _learner(tuning, description, device)
    tokenizer = Tokenizer(tuning.model / "tokenizer.json")
    seed = tuning.seed + learner.progress.documents
    maker = ExampleMaker(_sources(learn_from), tokenizer, description.fill_end, seed)
    held = ExampleMaker(_sources(held_out), tokenizer, description.fill_end, seed=0, spots=2)
    documents = [held.draw() for _ in range(DOCUMENTS)]

    def loss(adapter: Adapter) -> float:
        return mean_loss(learner.model, adapter, documents, causal=False)

    own = load_adapter(learner.model.shape, description.rank, read_tensors(tuning.model), torch.float32)
    before = loss(own.to(device))
    limits = Limits(tuning.minutes, None, tuning.learning_rate, 2, checkpoint_minutes=5.0)
    say(f"held-out loss {before:.3f}; learning for {tuning.minutes:g} minutes (Ctrl-C ends it sooner)")
    learn(learner, maker, tuning.work, limits, say, lambda: f"held-out loss {loss(learner.averaged()):.3f}")
    made = tuning.work / "model"
    _write(tuning.model, made, learner)
    return _Taught(made, before, loss(learner.averaged()), learner.progress.canvases)


def _learner(tuning: Tuning, description: Description, device: torch.device) -> Learner:
    """The model's own adapter, or where an earlier run on the way to the same folder was stopped."""
    dtype = trained_precision(tuning.training_precision, device)
    model = load_base(tuning.model, dtype).to(device)
    reader = load_base(tuning.model, torch.int8) if multiplies_int8(device) else None
    adapter = load_adapter(model.shape, description.rank, read_tensors(tuning.model), torch.float32)
    adapter = adapter.to(device).requires_grad_(True)
    torch.manual_seed(tuning.seed)
    learner = Learner.fresh(model, reader, adapter, checkpoint.Progress())
    if content := checkpoint.load(tuning.work):
        learner.resume(content)
    return learner


def _filled(
    folder: Path, tuning: Tuning, device: torch.device, holes: Sequence[dig.Dug], say: Callable[[str], None]
) -> Measured:
    """The holes, filled by a model's folder as in use."""
    denoiser = load_denoiser(folder, str(folder), device, pick_precision(tuning.precision, device))
    assert isinstance(denoiser, BlockCausalDenoiser)

    def progress(done: int, of: int) -> None:
        if done % 20 == 0 or done == of:
            say(f"measured {done} of {of} holes")

    settings = FillSettings(seed=tuning.seed)
    judged = list(check.check([DiffusionFiller(denoiser)], holes, settings, CancelToken(), progress))
    count = max(len(judged), 1)
    found = Measured(
        exact=sum(j.exact for j in judged) / count,
        similarity=sum(j.similarity for j in judged) / count,
        empty=sum(j.empty for j in judged) / count,
        steps=sum(j.steps for j in judged) / count,
        ms=percentile([j.ms for j in judged], 0.5) or 0.0,
        loss=0.0,
    )
    del denoiser
    give_back()
    return found


def _sources(documents: Sequence[Document]) -> list[SourceFile]:
    # one project a file: `ExampleMaker` draws projects by the square root of their size
    return [SourceFile(d.path or str(n), d.path or str(n), d.text) for n, d in enumerate(documents)]


def _write(model: Path, target: Path, learner: Learner) -> None:
    """The model's folder with the learned adapter in place of its own; the base's files are shared where that can be."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    names = ["config.json", "tokenizer.json", DESCRIPTION]
    for file in [*(model / name for name in names), *sorted(model.glob("*.safetensors"))]:
        if file.name == ADAPTER_FILE:
            continue
        try:
            os.link(file, target / file.name)
        except OSError:  # another disk, or a file system without links
            shutil.copyfile(file, target / file.name)
    write_adapter(target, learner.average)
    checkpoint.write_provenance(target, learner.progress)


def _put(made: Path, out: Path) -> None:
    """Puts a finished folder where an older one may stand; whoever looks finds a whole one or, for a moment, none."""
    old = out.with_name(out.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if out.exists():
        out.rename(old)
    shutil.move(made, out)
    shutil.rmtree(old, ignore_errors=True)
