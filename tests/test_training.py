"""The trainer on a tiny base: what is masked, what is learned, and that a run goes on where it stopped."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import torch

from engine.denoisers.layout import CANVAS_SIZES, MAX_SUFFIX
from engine.denoisers.transformer import Adapter, Shape, Transformer
from engine.errors import BadInput, ModelUnavailable
from engine.training import checkpoint, corpus
from engine.training.corpus import SourceFile
from engine.training.examples import ExampleMaker
from engine.training.loss import document_loss
from tests import tiny

SOURCE = "".join(
    f"def load_{n}(path, handle):\n    with open(path) as handle:\n        return json.load(handle)\n\n\n"
    for n in range(30)
)
FILES = [SourceFile("a", "a.py", SOURCE), SourceFile("b", "b.py", SOURCE.replace("load", "read"))]


def maker(seed: int = 0) -> ExampleMaker:
    return ExampleMaker(FILES, tiny.tokenizer(), tiny.FILL_END, seed, spots=3)


def tiny_model() -> tuple[Transformer, Adapter]:
    shape = Shape.from_config(tiny.config())
    torch.manual_seed(0)
    return Transformer(shape, tiny.state()), Adapter(shape, 4)


def test_every_canvas_continues_its_prefix_and_ends_where_its_suffix_begins():
    draw = maker()
    tokenizer = tiny.tokenizer()
    seen = 0
    for _ in range(20):
        document = draw.draw()
        for canvas in document.canvases:
            tokens = [t for t in canvas.tokens if t != tiny.FILL_END]
            assert canvas.causal or len(canvas.tokens) in CANVAS_SIZES
            text = tokenizer.decode(document.prefix[1 : canvas.prefix_length] + tokens)
            suffix = tokenizer.decode(document.suffixes[canvas.spot][1:])
            whole = len(tokens) < len(canvas.tokens)
            joined = text + suffix if whole else text
            assert joined in SOURCE or joined in FILES[1].text
            seen += 1
    assert seen > 300


def test_only_masked_slots_are_learned_from_and_empty_ones_weigh_little():
    for _ in range(30):
        for canvas in maker(random.randrange(1000)).draw().canvases:
            ends = [i for i, t in enumerate(canvas.tokens) if t == tiny.FILL_END]
            for i, (masked, weight) in enumerate(zip(canvas.masked, canvas.weights, strict=True)):
                assert bool(weight) == (masked or canvas.causal)
                assert not masked or (weight == 1.0) == (not ends or i <= ends[0])


def test_the_same_seed_draws_the_same_documents():
    assert maker(4).draw() == maker(4).draw()
    assert maker(4).draw() != maker(5).draw()


def test_suffixes_fit_their_room():
    draw = maker()
    assert max(len(s) for _ in range(60) for s in draw.draw().suffixes) <= MAX_SUFFIX


def test_the_loss_is_what_the_denoiser_would_be_scored_by():
    """One canvas through the training pass and through the denoiser's own step: the same cross-entropy."""
    from engine.canvas import Canvas
    from engine.denoisers.base import SuffixPlace
    from engine.denoisers.block_causal import BlockCausalDenoiser
    from engine.filler import CancelToken
    from engine.training.examples import TrainingDocument

    document = maker(2).draw()
    model, adapter = tiny_model()
    with torch.no_grad():
        for parameter in adapter.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    denoiser = BlockCausalDenoiser(
        "tiny",
        model,
        tiny.tokenizer(),
        start=tiny.FILL_END,
        fill_end=tiny.FILL_END,
        control=frozenset({0, 1}),
        adapter=adapter,
        suffix=SuffixPlace.ENCODED,
    )
    for canvas in [c for c in document.canvases if not c.causal][:4]:
        one = TrainingDocument(document.prefix, document.suffixes, [canvas])
        loss, weight, _ = document_loss(model, adapter, one)
        cancel = CancelToken()
        encoded = denoiser.encode(document.prefix[1 : canvas.prefix_length], document.suffixes[canvas.spot][1:], cancel)
        slots = Canvas.empty(len(canvas.tokens), denoiser.device)
        slots.slots = torch.tensor(canvas.tokens)
        slots.decided = ~torch.tensor(canvas.masked)
        with torch.no_grad():
            log_p = denoiser.step(encoded, slots, None).logits.log_softmax(-1)
        each = -log_p[torch.arange(len(canvas.tokens)), torch.tensor(canvas.tokens)]
        weights = torch.tensor(canvas.weights)
        torch.testing.assert_close(loss.detach(), (each * weights).sum(), rtol=1e-3, atol=1e-3)
        torch.testing.assert_close(weight, weights.sum())


def test_a_canvas_read_left_to_right_costs_an_untrained_adapter_what_the_same_text_costs_the_base():
    from engine.denoisers.transformer import NoPast
    from engine.training.examples import TrainingDocument

    document = maker(2).draw()
    model, adapter = tiny_model()
    canvas = next(c for c in document.canvases if c.causal and len(c.tokens) > 3)
    one = TrainingDocument(document.prefix[: canvas.prefix_length], [[]], [replace(canvas, spot=0)])
    loss, _, _ = document_loss(model, adapter, one)
    ids = torch.tensor(one.prefix + canvas.tokens)
    mask = torch.ones(len(ids), len(ids), dtype=torch.bool).tril()
    logits = model.logits(model(model.embed(ids[None]), torch.arange(len(ids)), NoPast(), mask)[0])
    at = canvas.prefix_length - 1
    wanted = torch.nn.functional.cross_entropy(logits[at:-1], ids[at + 1 :], reduction="sum")
    torch.testing.assert_close(loss.detach(), wanted, rtol=1e-3, atol=1e-3)


def test_training_lowers_the_loss_and_leaves_the_base_alone():
    model, adapter = tiny_model()
    before = {k: v.clone() for k, v in model.layer_weights[0].items()}
    optimizer = torch.optim.AdamW(adapter.parameters(), lr=1e-2)
    document = maker().draw()
    losses = []
    for _ in range(60):
        loss, weight, _ = document_loss(model, adapter, document)
        (loss / weight).backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach() / weight))
    assert losses[-1] < 0.8 * losses[0]
    assert all(torch.equal(before[k], v) for k, v in model.layer_weights[0].items())


@pytest.fixture
def trained(tmp_path, monkeypatch):
    """A cache folder with a tiny base and a tiny corpus, and a way to run the trainer in it."""
    from engine.training import trainer
    from engine.training.options import TrainingOptions

    monkeypatch.setenv("MIDFILL_CACHE", str(tmp_path))
    tiny.write_folder(tmp_path / "base")
    monkeypatch.setattr(corpus, "fetch", lambda say: tmp_path)
    monkeypatch.setattr(corpus, "load", lambda held_out: FILES)

    def run(canvases: int, said: list[str] | None = None):
        options = TrainingOptions(folder=tmp_path / "run", canvases=canvases, rank=4, device="cpu")
        return trainer.train(options, (said if said is not None else []).append)

    return tmp_path, run


def test_a_run_resumes_from_its_checkpoint_and_is_exported(trained):
    from engine.infill import load_filler
    from engine.training.export import export

    folder, run = trained
    said: list[str] = []
    first = run(40, said)
    assert first.canvases >= 40
    assert any("held-out loss" in line and "exact" in line for line in said)
    then = run(120)
    assert then.steps > first.steps and then.canvases >= 120
    export(folder / "run", folder / "model", said.append)
    filler = load_filler(str(folder / "model"), device="cpu", precision="fp32")
    assert filler.name


def test_a_broken_checkpoint_is_named_and_not_overwritten(trained):
    folder, run = trained
    (folder / "run").mkdir()
    (folder / "run" / checkpoint.NAME).write_bytes(b"half")
    with pytest.raises(ModelUnavailable, match="checkpoint"):
        run(10)
    assert (folder / "run" / checkpoint.NAME).read_bytes() == b"half"


def test_export_without_a_checkpoint_says_what_to_run(tmp_path):
    from engine.training.export import export

    with pytest.raises(BadInput, match="midfill train"):
        export(tmp_path, tmp_path / "out", print)


def test_no_project_stands_on_both_sides_and_the_benchmark_on_neither(tmp_path, monkeypatch):
    monkeypatch.setenv("MIDFILL_CACHE", str(tmp_path))
    listed = corpus.projects()
    assert len({p.name for p in listed}) == len(listed)
    assert {p.held_out for p in listed} == {True, False}
    for side in (True, False):
        names = {p.name for p in listed if p.held_out == side}
        assert {f.project for f in corpus.load(side)} <= names
    assert corpus._usable("x.py", b"def has_close_elements(numbers, threshold):\n    pass\n" * 20) is None
    assert corpus._usable("x.py", b"def has_far_elements(numbers, threshold):\n    pass\n" * 20) is not None
