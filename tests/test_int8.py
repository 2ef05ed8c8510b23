"""Matrices in int8: what they cost in exactness, and what they do not depend on."""

from __future__ import annotations

import pytest
import torch

from engine.canvas import Canvas
from engine.denoisers.device import float_precision, pick_precision
from engine.denoisers.int8 import Int8Weight
from engine.denoisers.loading import load_denoiser
from engine.denoisers.transformer import NoPast, Shape, Transformer
from engine.errors import BadInput
from engine.filler import CancelToken
from tests import tiny

CPU = torch.device("cpu")


@pytest.fixture
def weight() -> torch.Tensor:
    return torch.randn(48, 32, generator=torch.Generator().manual_seed(0))


def test_a_product_is_close_to_that_of_the_matrix_itself(weight):
    x = torch.randn(2, 7, 32, generator=torch.Generator().manual_seed(1))
    bias = torch.arange(48.0)
    found, wanted = Int8Weight.of(weight).linear(x, bias), x @ weight.T + bias
    assert found.shape == wanted.shape
    # a rounding of half a step (1/254 of the largest) on either side, over 32 terms
    assert float((found - wanted).abs().max()) < 0.3 and float((found - wanted).abs().mean()) < 0.06


def test_a_tokens_result_depends_on_nothing_else_in_the_pass(weight):
    kept, x = Int8Weight.of(weight), torch.randn(40, 32, generator=torch.Generator().manual_seed(2))
    together = kept.linear(x)
    before = torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            assert all(torch.equal(kept.linear(x[i : i + 1])[0], together[i]) for i in range(len(x)))
            assert torch.equal(kept.linear(x), together)
    finally:
        torch.set_num_threads(before)


def test_nothing_times_a_matrix_is_nothing(weight):
    assert not Int8Weight.of(weight).linear(torch.zeros(3, 32)).any()
    assert not Int8Weight.of(torch.zeros(48, 32)).linear(torch.ones(3, 32)).any()


def test_rows_and_joined_parts_are_those_of_the_matrix(weight):
    whole = Int8Weight.of(weight)
    parts = Int8Weight.joined([Int8Weight.of(weight[:20]), Int8Weight.of(weight[20:])])
    assert torch.equal(parts.values, whole.values) and torch.equal(parts.scale, whole.scale)
    ids = torch.tensor([[3, 40], [0, 3]])
    torch.testing.assert_close(whole.rows(ids), weight[ids], atol=0.02, rtol=0)


@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
def test_a_model_in_int8_is_the_model(family):
    state, shape = tiny.state(family), Shape.from_config(tiny.config(family))
    exact, whole = Transformer(shape, state), Transformer(shape, state, torch.int8)
    assert isinstance(whole.head, Int8Weight) and whole.dtype == torch.float32
    ids, positions = torch.arange(5, 25)[None], torch.arange(20)
    found, wanted = (m.logits(m(m.embed(ids), positions, NoPast())) for m in (whole, exact))
    assert float((found - wanted).abs().max()) < 0.1 * float(wanted.abs().max())


def test_a_folder_is_run_in_int8_and_its_own_int8_is_not_rounded_again(tmp_path):
    folder = tiny.write_folder(tmp_path / "model", described=True)
    denoiser = load_denoiser(folder, "tiny", CPU, torch.int8)
    encoded = denoiser.encode(list(range(20, 50)), [5, 6], CancelToken())
    logits = denoiser.step(encoded, Canvas.empty(6, CPU), None).logits
    assert logits.dtype == torch.float32 and bool(logits.isfinite().all())


def test_what_cannot_be_run_in_int8_is_run_in_a_float():
    assert float_precision(CPU) in (torch.float32, torch.bfloat16)
    assert float_precision(CPU, torch.bfloat16) == torch.bfloat16
    assert pick_precision("int8", CPU) == torch.int8
    with pytest.raises(BadInput, match="int8 is for the CPU"):
        pick_precision("int8", torch.device("cuda"))
    with pytest.raises(BadInput, match="int4"):
        pick_precision("int4", CPU)
