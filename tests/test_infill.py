"""From a model's name to its filler: folders, the embedded model's format, and what is refused in one line."""

from __future__ import annotations

import json

import pytest
import torch

from engine.canvas import valid_text
from engine.denoisers.int8 import quantize
from engine.errors import BadInput, ModelUnavailable
from engine.filler import FillSettings, run
from engine.hole import Hole, HoleKind
from engine.infill import describe, load_baseline, load_filler
from engine.text import Document
from tests import tiny


@pytest.fixture
def folder(tmp_path):
    return tiny.write_folder(tmp_path / "model")


@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
@pytest.mark.parametrize("described", [False, True])
def test_any_llama_or_qwen_shaped_folder_with_a_mask_token_fills_holes(tmp_path, family, described):
    folder = tiny.write_folder(tmp_path / "model", family, described=described)
    filler = load_filler(str(folder), device="cpu", precision="fp32")
    document = Document("x = \ny = 2\n", "plaintext")
    done = run(filler, document, Hole(4, 4, HoleKind.SELECTION, 8), FillSettings(seed=1))
    assert done.steps >= 1 and done.encoded_tokens > 0
    assert done.apply(document.text) == "x = " + done.text + "\ny = 2\n"


def test_progress_is_told(folder):
    told = []
    load_filler(str(folder), device="cpu", progress=lambda share, text: told.append((share, text)))
    shares = [share for share, _ in told]
    assert shares == sorted(shares) and shares[0] == 0.0 and shares[-1] == 1.0
    assert all(text for _, text in told)


def test_int8_with_a_scale_a_row_is_close():
    weight = torch.randn(64, 200) * torch.logspace(-3, 1, 64)[:, None]
    whole, scale = quantize(weight)
    assert whole.dtype == torch.int8
    error = (whole.float() * scale[:, None] - weight).norm(dim=1) / weight.norm(dim=1)
    assert float(error.max()) < 0.02


def check_refused(folder, kind, words):
    with pytest.raises(kind, match=words) as refused:
        load_filler(str(folder), device="cpu")
    assert "\n" not in str(refused.value)


def test_what_is_not_a_model_is_refused(tmp_path, folder):
    check_refused(tmp_path / "nothing", ModelUnavailable, "no model")
    (tmp_path / "empty").mkdir()
    check_refused(tmp_path / "empty", ModelUnavailable, r"config\.json")
    (folder / "model.safetensors").write_bytes(b"half a file")
    check_refused(folder, ModelUnavailable, "broken")
    (folder / "model.safetensors").unlink()
    check_refused(folder, ModelUnavailable, "missing")


def test_a_truncated_file_of_weights_is_refused(folder):
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    check_refused(folder, ModelUnavailable, "broken")


def test_a_left_to_right_model_is_refused_with_the_reason(folder):
    config = json.loads((folder / "config.json").read_text())
    del config["mask_token_id"]
    (folder / "config.json").write_text(json.dumps(config))
    check_refused(folder, ModelUnavailable, "left-to-right")


@pytest.mark.parametrize(
    "change, words",
    [
        ({"family": "other"}, "family"),
        ({"suffix": "above"}, "suffix"),
        ({"unknown": 1}, "unknown"),
        ({"rank": 4}, "adapter"),
    ],
)
def test_a_wrong_description_is_named(tmp_path, change, words):
    folder = tiny.write_folder(tmp_path / "model", described=True)
    path = folder / "denoiser.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    check_refused(folder, ModelUnavailable, words)


def test_int8_without_its_scale_is_refused(folder):
    from safetensors.torch import load_file, save_file

    state = load_file(folder / "model.safetensors")
    state["model.embed_tokens.weight"] = quantize(state["model.embed_tokens.weight"])[0]
    save_file(state, folder / "model.safetensors")
    check_refused(folder, ModelUnavailable, "scale")


@pytest.mark.parametrize(
    "options, words",
    [({"device": "abacus"}, "abacus"), ({"precision": "fp3"}, "fp3"), ({"threads": 0}, "threads")],
)
def test_wrong_options_are_named(folder, options, words):
    with pytest.raises(BadInput, match=words):
        load_filler(str(folder), **options)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has the device")
def test_a_device_that_is_not_there_is_named(folder):
    with pytest.raises(ModelUnavailable, match="CUDA"):
        load_filler(str(folder), device="cuda")


def test_the_baseline_without_the_base_names_the_command_that_brings_it(tmp_path, monkeypatch):
    monkeypatch.setenv("MIDFILL_CACHE", str(tmp_path))
    with pytest.raises(ModelUnavailable, match="midfill train --fetch-base"):
        load_baseline()


def test_the_doctor_is_told_what_this_machine_runs_with(folder):
    found = describe(str(folder), device="cpu")
    assert found["device"] == "cpu" and found["precision"] in ("fp32", "bf16", "int8")
    assert found["problem"] is None
    assert describe("no such model", device="cpu")["problem"]


def test_the_left_to_right_baseline_is_the_model_itself(folder):
    """Token by token it takes what transformers' own greedy decoding takes, with and without its cache."""
    from engine.denoisers.weights import load_base
    from engine.filler import CancelToken
    from engine.left_to_right import LeftToRightFiller

    theirs = tiny.hugging_face()
    tokenizer = tiny.tokenizer()
    filler = LeftToRightFiller("ar", load_base(folder), tokenizer, tiny.FILL_END, frozenset({0, 1}))
    for text in ("def load(path):x", "def load(path, handle):x"):
        document = Document(text, "plaintext")
        at = len(text) - 1
        done = filler.fill_left_to_right(document, Hole(at, at, HoleKind.SELECTION, 6), 6, False, CancelToken())
        ids = [tiny.FILL_END, *tokenizer.encode(text[: at - 2])]  # the remnant is "):", which has to be typed again
        required, wanted = text[at - 2 : at].encode(), b""
        with torch.inference_mode():
            for _ in range(done.tokens):
                logits = theirs(torch.tensor([ids])).logits[0, -1].clone()
                logits[tiny.MASK] = -torch.inf
                logits[len(tokenizer.token_bytes) :] = -torch.inf
                rest = required[len(wanted) :] if required.startswith(wanted) else b""
                for i, b in enumerate(tokenizer.token_bytes):
                    if (rest and not (b.startswith(rest) or rest.startswith(b))) or (i == tiny.FILL_END and rest):
                        logits[i] = -torch.inf
                ids.append(int(logits.argmax()))
                wanted += tokenizer.token_bytes[ids[-1]]
        assert wanted.startswith(required)
        assert done.text == valid_text(wanted[len(required) :])
