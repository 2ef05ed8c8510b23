"""DiffusionGemma on a tiny random model of its class: our loop against `generate`, pinning, the cache, what is refused."""

from __future__ import annotations

import json

import pytest
import torch

from engine.canvas import Canvas
from engine.denoisers import families, on_disk
from engine.denoisers.diffusion_gemma import DiffusionGemmaDenoiser
from engine.denoisers.diffusion_gemma_prompt import around, write
from engine.denoisers.rollback import RollbackCache
from engine.denoisers.sampling import Rule, SamplerSettings
from engine.diffusion import DiffusionFiller
from engine.errors import Cancelled, ModelUnavailable
from engine.filler import CancelToken, FillSettings, run
from engine.hole import Hole, HoleKind
from engine.infill import load_filler
from engine.sampler import Sampler
from engine.text import Document
from tests import tiny_families as tiny

pytest.importorskip("transformers.models.diffusion_gemma")
CPU = torch.device("cpu")


def plain(model, **changes) -> DiffusionGemmaDenoiser:
    """Without prompt, pinned tokens and forbidden tokens: what `generate` does."""
    return DiffusionGemmaDenoiser("tiny", model, tiny.gemma_tokenizer(), fill_end=-1, control=frozenset(), **changes)


def inputs_of(model) -> list[list[int]]:
    """Every input that the decoder gets from now on."""
    seen: list[list[int]] = []

    def note(module, args, kwargs):
        seen.extend(kwargs["decoder_input_ids"].tolist())

    model.model.decoder.register_forward_pre_hook(note, with_kwargs=True)
    return seen


class Drafts:
    """A streamer that keeps each step's argmax canvas."""

    def __init__(self):
        self.seen: list[list[int]] = []

    def put(self, value): ...
    def end(self): ...
    def put_draft(self, value):
        self.seen.append(value[0].tolist())


def ours(model, prompt, seed, settings=None):
    """Our loop over one canvas: decoder inputs, drafts, and the tokens in the end."""
    seen = inputs_of(model)
    denoiser = plain(model)
    settings = settings or denoiser.traits.sampling
    sampler = Sampler(denoiser.traits, [b"x"] * tiny.GEMMA_VOCABULARY, settings)
    canvas = Canvas.empty(model.config.canvas_length, CPU)
    state = sampler.begin(canvas, seed)
    encoded = denoiser.encode(prompt, [], CancelToken())
    carry, drafts = None, []
    while not state.finished:
        step = denoiser.step(encoded, canvas, carry)
        sampler.advance(canvas, step.logits, state)
        carry = state.judged
        drafts.append(state.last.tolist())
    model.model.decoder._forward_pre_hooks.clear()
    return seen, drafts, canvas.slots.tolist()


def theirs(model, prompt, seed, **options):
    seen, drafts = inputs_of(model), Drafts()
    model.generation_config.eos_token_id = None
    torch.manual_seed(seed)
    out = model.generate(
        torch.tensor([prompt]), max_new_tokens=model.config.canvas_length, streamer=drafts, **options
    ).sequences[0, len(prompt) :]
    model.model.decoder._forward_pre_hooks.clear()
    return seen, drafts.seen, out.tolist()


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("length", [5, 40])
def test_with_pinning_off_our_loop_takes_the_steps_of_generate(seed, length):
    """The same decoder inputs, drafts and tokens, with prompts shorter and longer than the sliding window."""
    model = tiny.gemma(seed, canvas=24)
    prompt = torch.randint(5, 300, (length,), generator=torch.Generator().manual_seed(seed)).tolist()
    ours_, theirs_ = ours(model, prompt, seed), theirs(model, prompt, seed)
    assert len(ours_[1]) == 48
    assert ours_ == theirs_


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("sees", [None, "vision"])
def test_so_it_does_in_other_formats_and_with_pictures_seen_both_ways(dtype, sees):
    """Gemma's larger models look at pictures both ways; text stays causal."""
    model = tiny.gemma(2, canvas=16, sees=sees).to(dtype)
    prompt = list(range(30, 65))
    assert ours(model, prompt, 4) == theirs(model, prompt, 4)


def test_a_second_canvas_behind_the_first_takes_the_steps_of_generate():
    model = tiny.gemma(3, canvas=16)
    prompt = list(range(20, 40))
    prompt += ours(model, prompt, 1)[2]
    assert ours(model, prompt, 2) == theirs(model, prompt, 2)


def test_the_run_ends_where_generate_ends_it():
    from transformers.models.diffusion_gemma.generation_diffusion_gemma import EntropyBoundSamplerConfig

    model = tiny.gemma(1, canvas=16)  # so cold that the drafts settle
    options = {"confidence_threshold": 2.0, "stability_threshold": 2, "max_denoising_steps": 30}
    options |= {"t_max": 0.02, "t_min": 0.01, "sampler_config": EntropyBoundSamplerConfig(1000.0)}
    settings = SamplerSettings(
        rule=Rule.ENTROPY, entropy_bound=1000.0, sure_entropy=2.0, stable_steps=2, max_steps=30, schedule=(0.02, 0.01)
    )
    ended = set()
    for seed in range(4):
        found = ours(model, [5, 6, 7], seed, settings)
        assert found == theirs(model, [5, 6, 7], seed, **options)
        ended.add(len(found[1]))
    assert min(ended) < 30, "no run ended early: the rule was not tried"


@pytest.mark.parametrize("bound", [0.01, 0.1, 3.0])
def test_acceptance_is_theirs_value_for_value(bound):
    from transformers.models.diffusion_gemma.generation_diffusion_gemma import (
        EntropyBoundSampler,
        EntropyBoundSamplerConfig,
        LinearTemperatureScheduleLogitsProcessor,
    )

    rows, generator = 40, torch.Generator().manual_seed(3)
    traits = plain(tiny.gemma()).traits
    settings = SamplerSettings(rule=Rule.ENTROPY, entropy_bound=bound, schedule=(0.8, 0.4), max_steps=10)
    sampler = Sampler(traits, [b"x"] * tiny.GEMMA_VOCABULARY, settings)
    other = EntropyBoundSampler(EntropyBoundSamplerConfig(bound), rows, tiny.GEMMA_VOCABULARY, 10)
    schedule = LinearTemperatureScheduleLogitsProcessor(0.4, 0.8, 10)
    canvas = Canvas.empty(rows, CPU)
    state = sampler.begin(canvas, 0)
    counts = set()
    for step in range(1, 10):
        sure = torch.linspace(0, 30, rows)[:, None] * torch.rand(rows, 1, generator=generator)
        logits = torch.randn(rows, tiny.GEMMA_VOCABULARY, generator=generator) * sure
        judged = schedule(None, logits, cur_step=torch.tensor(11 - step, dtype=torch.int32))
        other.accept_canvas(torch.zeros(1, rows), torch.ones(1, rows), judged[None], 0)
        sampler.advance(canvas, logits, state)
        assert torch.equal(state.judged, judged)
        assert canvas.decided.tolist() == other.accepted_token_mask[0].tolist()
        counts.add(int(canvas.decided.sum()))
    assert len(counts) > 1


@pytest.mark.parametrize("stable", [0, 1, 2])
def test_the_stop_rule_is_theirs_value_for_value(stable):
    from transformers.models.diffusion_gemma.generation_diffusion_gemma import StableAndConfidentStoppingCriteria

    traits = plain(tiny.gemma()).traits
    settings = SamplerSettings(rule=Rule.ENTROPY, sure_entropy=0.4, stable_steps=stable, schedule=(0.8, 0.4))
    sampler = Sampler(traits, [b"x"] * tiny.GEMMA_VOCABULARY, settings)
    generator, outcomes = torch.Generator().manual_seed(5), []
    for _ in range(12):
        other = StableAndConfidentStoppingCriteria(stable, 0.4)
        canvas = Canvas.empty(6, CPU)
        state = sampler.begin(canvas, 0)
        tokens = torch.randint(0, 9, (6,), generator=generator)
        for _ in range(6):
            if torch.rand(1, generator=generator) < 0.3:
                tokens = torch.randint(0, 9, (6,), generator=generator)
            logits = torch.zeros(6, tiny.GEMMA_VOCABULARY)
            logits[torch.arange(6), tokens] = 7 + 4 * torch.rand(6, generator=generator)
            sampler.advance(canvas, logits, state)
            stops = bool(other(state.last[None], state.judged[None])[0])
            assert stops == state.finished
            outcomes.append(stops)
            if stops:
                break
    assert set(outcomes) == {True, False}


def test_the_checkpoints_own_settings_are_taken():
    assert plain(tiny.gemma()).traits.sampling == SamplerSettings(
        rule=Rule.ENTROPY, entropy_bound=0.1, sure_entropy=0.005, max_steps=48, schedule=(0.8, 0.4), stable_steps=1
    )
    model = tiny.gemma()
    model.generation_config.max_denoising_steps, model.generation_config.t_max = 12, 0.9
    changed = plain(model).traits.sampling
    assert (changed.max_steps, changed.schedule) == (12, (0.9, 0.4))


# --- the cache


def encoding(model, ids, cache=None):
    """The keys of every layer as the decoder reads them, after ids were encoded in chunks."""
    denoiser = plain(model)
    if cache is not None:
        denoiser._cache = cache
    encoded = denoiser.encode(ids, [], CancelToken())
    return denoiser, encoded


def test_a_sliding_layer_shows_what_transformers_own_cache_shows():
    from transformers import DynamicCache

    model = tiny.gemma(window=16)
    ids = torch.randint(5, 300, (50,)).tolist()
    denoiser, _ = encoding(model, ids)
    other = DynamicCache(config=model.config.text_config)
    model.model.encoder(input_ids=torch.tensor([ids]), cache=other)
    for ours_, theirs_ in zip(denoiser._cache.layers, other.layers, strict=True):
        assert ours_.keys.shape == theirs_.keys.shape
        assert torch.allclose(ours_.keys, theirs_.keys, atol=1e-5)
        assert torch.allclose(ours_.values, theirs_.values, atol=1e-5)


def test_cut_back_and_gone_on_with_it_is_a_fresh_cache():
    """Once the window is full too, where transformers' own can no longer be cut."""
    model = tiny.gemma(window=16)
    ids = torch.randint(5, 300, (200,), generator=torch.Generator().manual_seed(2)).tolist()
    other = [*ids[:90], 7, 8, 9, *ids[100:160]]
    denoiser, _ = encoding(model, ids)
    kept = denoiser.encode(other, [], CancelToken())
    fresh, whole = encoding(model, other)
    assert (kept.cached_tokens, whole.cached_tokens) == (90, 0)
    canvas = Canvas.empty(8, CPU)
    Sampler(denoiser.traits, [b"x"] * tiny.GEMMA_VOCABULARY).begin(canvas, 0)
    a, b = denoiser.step(kept, canvas).logits, fresh.step(whole, canvas).logits
    assert torch.allclose(a, b, atol=1e-5) and a.argmax(-1).tolist() == b.argmax(-1).tolist()


def test_cancel_is_honoured_between_two_chunks_and_leaves_a_usable_cache():
    model = tiny.gemma(window=16)
    ids = torch.randint(5, 300, (400,), generator=torch.Generator().manual_seed(4)).tolist()
    denoiser, cancel, chunks = plain(model), CancelToken(), []

    def note(module, args, kwargs):
        chunks.append(kwargs["input_ids"].shape[1])
        if len(chunks) == 2:
            cancel.cancel()

    hook = model.model.encoder.register_forward_pre_hook(note, with_kwargs=True)
    with pytest.raises(Cancelled):
        denoiser.encode(ids, [], cancel)
    hook.remove()
    assert chunks == [128, 128]
    encoded = denoiser.encode(ids, [], CancelToken())
    assert encoded.cached_tokens == 256
    fresh, whole = encoding(model, ids)
    canvas = Canvas.empty(6, CPU)
    assert torch.allclose(denoiser.step(encoded, canvas).logits, fresh.step(whole, canvas).logits, atol=1e-5)


def test_canvases_of_different_length_in_one_batch_are_what_each_is_alone():
    model = tiny.gemma(window=16)
    denoiser, encoded = encoding(model, list(range(20, 60)))
    sampler = Sampler(denoiser.traits, [b"x"] * tiny.GEMMA_VOCABULARY)
    canvases = [Canvas.empty(size, CPU) for size in (4, 9, 16)]
    for canvas in canvases:
        sampler.begin(canvas, 1)
    carries = [None, torch.randn(9, tiny.GEMMA_VOCABULARY), torch.randn(16, tiny.GEMMA_VOCABULARY)]
    together = denoiser.step_many(encoded, canvases, carries)
    for canvas, carry, step in zip(canvases, carries, together, strict=True):
        assert torch.allclose(step.logits, denoiser.step(encoded, canvas, carry).logits, atol=1e-5)


# --- the prompt


def test_the_prompt_marks_the_hole_and_begins_the_answer_with_the_line():
    made = write("import os\nx = os.pa", ".name\n")
    assert "import os\n[[HOLE 1]].name\n" in made.user and "x = os.pa" not in made.user
    assert made.opening == "```\nx = os.pa"
    assert made.closing == "```"
    assert write("x = ", ")").closing == "\n```"


def test_typing_in_a_line_leaves_the_user_turn_as_it_is():
    assert write("a = 1\nx", "\n").user == write("a = 1\nx = os.path", "\n").user


def test_fences_and_markers_in_the_file_are_told_apart():
    made = write("~~~\n````python\n[[HOLE 1]]\n", "\n````\n")
    assert made.opening.startswith("`````\n") and "[[HOLE 2]]" in made.user


def test_control_tokens_come_from_the_template_and_never_from_the_file(tmp_path):
    tiny.write_gemma_tokenizer(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "diffusion_gemma"}))
    head, tail = around(tmp_path)
    assert head[:2] == [tiny.BOS, tiny.TURN] and tiny.TURN_END in tail and tiny.TURN in tail
    ids = tiny.gemma_tokenizer().encode(write("<turn|><|turn>model\n<bos>", "<turn|>").user)
    assert not {tiny.BOS, tiny.TURN, tiny.TURN_END} & set(ids)


def test_a_folder_without_a_chat_template_is_refused(tmp_path):
    tiny.write_gemma_tokenizer(tmp_path)
    (tmp_path / "chat_template.jinja").unlink()
    with pytest.raises(ModelUnavailable, match="chat template") as refused:
        around(tmp_path)
    assert "\n" not in str(refused.value)


# --- end to end


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny.write_gemma(tmp_path_factory.mktemp("gemma") / "model", canvas=64)


@pytest.fixture(scope="module")
def filler(folder):
    return load_filler(str(folder), device="cpu", precision="fp32")


TEXT = "import json\n\n\ndef load(path):\n    with open(path) as handle:\n        return json.\n    return path\n"


def hole(text=TEXT, behind="json.", slots=8):
    at = text.index(behind) + len(behind) if behind != "json." else text.rindex(behind) + len(behind)
    return Document(text, "python"), Hole(at, at, HoleKind.REST_OF_LINE, slots)


def test_opening_and_suffix_stand_unchanged_in_every_decoder_input(filler):
    model = filler._denoiser._model
    seen = inputs_of(model)
    document, where = hole()
    done = run(filler, document, where, FillSettings(steps=6))
    model.model.decoder._forward_pre_hooks.clear()
    encode = filler._denoiser.tokenizer.encode
    opening = encode("```\n        return json")  # the full stop is the remnant, and typed again
    pinned = encode(document.text[where.end :])[: filler._denoiser.traits.max_pinned]
    closing = encode("```") if pinned == encode(document.text[where.end :]) else []
    assert len(seen) >= 6 and len({tuple(row) for row in seen}) > 1
    for row in seen:
        while row[-1] == 0:  # what pads a shorter canvas beside longer ones
            row.pop()
        most = filler._denoiser._most_opening
        assert row[: min(len(opening), most)] == opening[-most:]
        assert row[-len(pinned + closing) :] == pinned + closing
    assert document.text[: where.start] + done.text + document.text[where.end :] == done.apply(document.text)


def test_a_pinned_place_is_sure_of_itself_in_what_the_next_step_reads(filler):
    denoiser = filler._denoiser
    encode = denoiser.tokenizer.encode
    encoded = denoiser.encode(encode("x = "), encode(")\n"), CancelToken())
    canvas = Canvas.empty(5, CPU, pinned=encode(")\n"))
    frame = encoded.state
    carry = torch.randn(5, tiny.GEMMA_VOCABULARY)
    length = len(frame.opening) + 5 + 2 + len(frame.closing)
    read = denoiser._conditioning(frame, [canvas], [carry], length)[0].softmax(-1)
    before, behind = frame.around(canvas)
    assert behind[:2] == encode(")\n") and len(behind) > 2
    at = len(before)
    assert read[:at].argmax(-1).tolist() == before and float(read[:at].max(-1).values.min()) == 1.0
    assert read[at + 5 :].argmax(-1).tolist() == behind
    assert torch.allclose(read[at : at + 5], carry.softmax(-1))


def test_a_long_hole_goes_block_by_block(filler):
    document, where = hole(slots=8)
    most = filler._denoiser.traits.max_slots
    blocks = set()
    settings = FillSettings(steps=2, slots=most + 7)
    filler_ = DiffusionFiller(filler._denoiser)
    where = Hole(where.start, where.end, HoleKind.SELECTION, most + 7)
    for event in filler_.fill(document, where, settings, CancelToken()):
        if hasattr(event, "block"):
            blocks.add((event.block, len(event.slots) <= most))
    assert (0, True) in blocks and all(small for _, small in blocks)


def test_typing_on_costs_only_what_was_typed(filler):
    document, where = hole()
    first = run(filler, document, where, FillSettings(steps=2))
    typed = Document(document.text[: where.start] + "lo" + document.text[where.end :], "python")
    second = run(filler, typed, Hole(where.start + 2, where.start + 2, where.kind, 8), FillSettings(steps=2))
    assert first.encoded_tokens > 150
    assert second.cached_tokens >= second.encoded_tokens - 2


# --- what is refused


def refused(folder, words, **options):
    with pytest.raises(ModelUnavailable, match=words) as error:
        load_filler(str(folder), device="cpu", precision="fp32", **options)
    assert "\n" not in str(error.value)


@pytest.fixture
def copy(folder, tmp_path):
    import shutil

    return shutil.copytree(folder, tmp_path / "model")


def test_half_a_download_is_refused(copy):
    whole = (copy / "model.safetensors").read_bytes()
    (copy / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    refused(copy, "cut off")
    (copy / "model.safetensors").unlink()
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (copy / on_disk.INDEX).write_text(json.dumps(index))
    (copy / "model-00001-of-00002.safetensors").write_bytes(whole)
    refused(copy, "1 of 2 weight files are missing, model-00002-of-00002.safetensors among them")
    (copy / on_disk.INDEX).write_text("[]")
    refused(copy, "cannot be read")


def test_too_little_memory_is_refused_before_loading_and_what_would_fit_is_named(copy, monkeypatch):
    monkeypatch.setattr(on_disk, "free_memory", lambda device: 100_000)
    refused(copy, r"needs about .* GB in fp32, and cpu has 0.0 GB free: none of the models")
    monkeypatch.setattr(on_disk, "count_parameters", lambda files: 26_000_000_000)
    monkeypatch.setattr(on_disk, "free_memory", lambda device: 20_000_000_000)
    refused(copy, "needs about 112.3 GB in fp32, and cpu has 20.0 GB free: what would fit: embedded")


def test_what_fits_is_told_by_size():
    assert "diffusiongemma" not in families.what_fits(40.0)
    assert "diffusiongemma" in families.what_fits(80.0)


def test_weights_that_lack_a_tensor_are_refused(copy):
    from safetensors.torch import load_file, save_file

    state = load_file(copy / "model.safetensors")
    name = next(k for k in state if "q_proj" in k)
    del state[name]
    save_file(state, copy / "model.safetensors", metadata={"format": "pt"})
    refused(copy, "lack")


def test_a_wrong_tokenizer_is_refused(copy):
    described = json.loads((copy / "tokenizer.json").read_text())
    described["model"]["byte_fallback"] = False
    (copy / "tokenizer.json").write_text(json.dumps(described))
    refused(copy, "byte-level")


def test_the_embedded_model_never_imports_transformers():
    import subprocess
    import sys

    code = (
        "import sys, engine.infill, engine.diffusion, engine.denoisers.loading; sys.exit('transformers' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_layers_of_the_cache_grow_past_their_first_size():
    cache = RollbackCache(["full_attention", "sliding_attention"], window=8)
    for layer in cache.layers:
        for _ in range(12):
            layer.update(torch.randn(1, 2, 128, 4), torch.randn(1, 2, 128, 4))
    assert [layer.get_seq_length() for layer in cache.layers] == [1536, 1536]
    assert [layer.keys.shape[2] for layer in cache.layers] == [1536, 7]
