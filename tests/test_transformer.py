"""The lean forward pass against transformers' own classes, weight for weight."""

from __future__ import annotations

import pytest
import torch

from engine.denoisers.transformer import Adapter, NoPast, Shape, Transformer
from engine.errors import ModelUnavailable
from tests import tiny


@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
def test_causal_logits_equal_those_of_transformers(family):
    theirs = tiny.hugging_face(family)
    ours = Transformer(Shape.from_config(tiny.config(family)), tiny.state(family))
    ids = torch.randint(0, tiny.VOCABULARY, (1, 23), generator=torch.Generator().manual_seed(3))
    causal = torch.ones(23, 23, dtype=torch.bool).tril()
    with torch.inference_mode():
        hidden = ours(ours.embed(ids), torch.arange(23), NoPast(), causal)
        torch.testing.assert_close(ours.logits(hidden), theirs(ids).logits, rtol=1e-4, atol=1e-4)


def test_a_fresh_adapter_changes_nothing_and_a_trained_one_does():
    shape = Shape.from_config(tiny.config())
    model = Transformer(shape, tiny.state())
    x = model.embed(torch.randint(0, tiny.VOCABULARY, (1, 9)))
    adapter = Adapter(shape, 4)
    with torch.inference_mode():
        plain = model(x, torch.arange(9), NoPast())
        torch.testing.assert_close(model(x, torch.arange(9), NoPast(), None, adapter), plain)
        adapter.qkv_b.add_(0.5)
        assert not torch.allclose(model(x, torch.arange(9), NoPast(), None, adapter), plain)


@pytest.mark.parametrize(
    "change, names",
    [
        ({"model_type": "gpt2"}, "gpt2"),
        ({"rope_scaling": {"rope_type": "yarn"}}, "yarn"),
        ({"hidden_size": None}, ""),
    ],
)
def test_a_config_that_this_pass_does_not_know_is_refused(change, names):
    config = tiny.config() | change
    if change == {"hidden_size": None}:
        del config["hidden_size"]
        names = "hidden_size"
    with pytest.raises(ModelUnavailable, match=names):
        Shape.from_config(config)


def test_missing_and_misshapen_weights_are_refused():
    state = tiny.state()
    del state["model.layers.1.mlp.up_proj.weight"]
    with pytest.raises(ModelUnavailable, match="up_proj"):
        Transformer(Shape.from_config(tiny.config()), state)
    with pytest.raises(ModelUnavailable, match="shapes"):
        Transformer(Shape.from_config(tiny.config() | {"vocab_size": 401}), tiny.state())
