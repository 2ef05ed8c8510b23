"""What holds for every family of denoisers, through one suite; then what each family does of its own."""

from __future__ import annotations

import itertools
import json

import pytest
import torch

from engine.canvas import Canvas
from engine.denoisers.base import BatchDenoiser, BlockwiseDenoiser, Edit, Encoded, Step, SuffixPlace
from engine.denoisers.length_search import best_length, bias
from engine.diffusion import DiffusionFiller
from engine.errors import Cancelled, ModelUnavailable
from engine.filler import CancelToken, Completion, Draft, FillSettings, run
from engine.hole import Hole, HoleKind
from engine.infill import load_filler
from engine.sampler import Sampler, SamplerSettings
from engine.text import Document
from engine.together import Mark, fill_together
from tests import tiny, tiny_families

pytest.importorskip("transformers.models.diffusion_gemma")
CPU = torch.device("cpu")
FAMILIES = ["block-causal", "diffusion-gemma", *tiny_families.MASKED]
TEXT = "def load(path):\n    x = \n    return json.load(path)\n"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {}

    def folder(family):
        if family not in made:
            at = tmp_path_factory.mktemp("family") / family
            if family == "block-causal":
                made[family] = tiny.write_folder(at)
            elif family == "diffusion-gemma":
                made[family] = tiny_families.write_gemma(at, canvas=64)
            else:
                made[family] = tiny_families.write_masked(at, family)
        return made[family]

    return folder


@pytest.fixture(params=FAMILIES)
def load(request, folders):
    """Loads a fresh filler of the family."""

    def fresh():
        return load_filler(str(folders(request.param)), device="cpu", precision="fp32", trust_remote_code=True)

    fresh.family = request.param
    return fresh


def hole_of(text=TEXT, behind="x = ", slots=10, language="plaintext"):
    at = text.index(behind) + len(behind)
    return Document(text, language), Hole(at, at, HoleKind.SELECTION, slots)


SETTINGS = FillSettings(seed=3, steps=12)


class Watched:
    """Every canvas that the model was given, as it was given it: what stood before the slots and behind them."""

    def __init__(self, denoiser, monkeypatch):
        self.steps = 0
        self.rows: list[tuple[list[int], list[int], Canvas]] = []
        inner, one, many = torch.nn.functional.embedding, denoiser.step, getattr(denoiser, "step_many", None)
        seen: list[list[int]] = []

        def embedding(ids, *args, **kwargs):
            seen.extend(ids.tolist() if ids.dim() == 2 else [ids.tolist()])
            return inner(ids, *args, **kwargs)

        def watching(canvases, call):
            seen.clear()
            self.steps += 1
            found = call()
            for row, canvas in zip(seen, canvases, strict=True):
                self.rows.append((row, list(canvas.pinned), canvas))
            return found

        def step(encoded, canvas, carry=None):
            return watching([canvas], lambda: one(encoded, canvas, carry))

        def step_many(encoded, canvases, carries):
            return watching(canvases, lambda: many(encoded, canvases, carries))

        monkeypatch.setattr(torch.nn.functional, "embedding", embedding)
        if many is None or type(denoiser).__name__ == "BlockCausalDenoiser":
            monkeypatch.setattr(denoiser, "step", step)
        if many is not None:
            monkeypatch.setattr(denoiser, "step_many", step_many)


def test_the_suffix_is_pinned_unchanged_in_every_input(load, monkeypatch):
    filler = load()
    denoiser = filler._denoiser
    watched = Watched(denoiser, monkeypatch)
    document, where = hole_of()
    run(filler, document, where, SETTINGS)
    suffix = denoiser.tokenizer.encode(document.text[where.end :])
    assert watched.rows and watched.steps > 1
    pinned_somewhere = 0
    for row, pinned, canvas in watched.rows:
        assert pinned == suffix[: len(pinned)]
        fits = len(pinned)
        if isinstance(denoiser, BlockwiseDenoiser):
            fits = min(fits, max(0, denoiser._block - len(canvas)))
        if not fits:
            continue
        # somewhere behind the slots what is pinned stands whole, or up to the end of the block
        ends = [row[i:] for i in range(len(canvas), len(row)) if row[i] == pinned[0]]
        longest = max((sum(1 for _ in _same(end, pinned)) for end in ends), default=0)
        if isinstance(denoiser, BlockwiseDenoiser):
            assert longest > 0 or len(row) % denoiser._block == 0
            pinned_somewhere += longest > 0
        else:
            assert longest == len(pinned)
            pinned_somewhere += 1
    assert pinned_somewhere


def _same(one, other):
    for a, b in zip(one, other, strict=False):
        if a != b:
            return
        yield a


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("\n", "\r\n"), "é = 'ü😀'\nx = ¦\n# 日本\n".replace("¦", "")])
def test_joins_are_exact_byte_for_byte(load, text):
    document, where = hole_of(text)
    events = list(load().fill(document, where, SETTINGS, CancelToken()))
    done = events[-1]
    assert isinstance(done, Completion) and all(isinstance(event, Draft) for event in events[:-1])
    joined = done.apply(document.text).encode()
    assert joined == text[: where.start].encode() + done.text.encode() + text[where.end :].encode()
    assert done.steps == len(events) - 1 >= 1


def test_cancel_is_honoured_within_a_step(load, monkeypatch):
    filler = load()
    watched = Watched(filler._denoiser, monkeypatch)
    document, where = hole_of()
    cancel = CancelToken()
    events = filler.fill(document, where, SETTINGS, cancel)
    next(events)
    steps = watched.steps
    cancel.cancel()
    with pytest.raises(Cancelled):
        list(events)
    assert watched.steps == steps
    with pytest.raises(Cancelled):
        list(filler.fill(document, where, SETTINGS, cancel))
    assert watched.steps == steps
    after, fresh = run(filler, document, where, SETTINGS), run(load(), document, where, SETTINGS)
    assert (after.text, after.steps) == (fresh.text, fresh.steps)  # what was cancelled left nothing wrong behind


def test_one_seed_gives_one_completion(load):
    document, where = hole_of()
    first = run(load(), document, where, SETTINGS)
    torch.manual_seed(99)  # the global generator has no say
    again = run(load(), document, where, SETTINGS)
    assert (first.text, first.confidence, first.steps) == (again.text, again.confidence, again.steps)


def test_a_reused_cache_gives_what_a_fresh_one_gives(load):
    """A person types, deletes, and edits behind the cursor: one filler all along against a fresh one each time."""
    filler = load()
    texts = [
        "def load(path):\n    x = ¦\n    return json.load(path)\n",
        "def load(path):\n    x = path¦\n    return json.load(path)\n",
        "def load(path):\n    x = path + han¦\n    return json.load(path)\n",
        "def load(path):\n    x = ha¦\n    return json.load(path)\n",
        "def load(path):\n    x = ha¦\n    return path\n",
        "import json\n\ndef load(path):\n    x = ha¦\n    return path\n",
    ]
    reused = 0
    for marked in texts:
        at = marked.index("¦")
        document, where = Document(marked.replace("¦", ""), "plaintext"), Hole(at, at, HoleKind.SELECTION, 8)
        ours, fresh = run(filler, document, where, SETTINGS), run(load(), document, where, SETTINGS)
        assert (ours.text, ours.steps) == (fresh.text, fresh.steps)
        assert ours.confidence == pytest.approx(fresh.confidence, abs=1e-5)
        reused += ours.cached_tokens
    exact = filler._denoiser.traits.exact_cache
    assert bool(reused) == exact, "a cache that is said to be there was never used, or the other way round"


def test_control_tokens_in_a_document_are_plain_text_and_none_is_emitted(load):
    filler = load()
    traits = filler._denoiser.traits
    document, where = hole_of("m = '<|endoftext|><mask><|turn>'\nx = \ny = '<turn|>'\n")
    done = run(filler, document, where, SETTINGS)
    ids = filler._denoiser.tokenizer.encode(document.text)
    assert not traits.control & set(ids)
    assert not traits.control & set(filler._denoiser.tokenizer.encode(done.text))


def test_a_half_typed_word_is_not_typed_twice(load):
    document, where = hole_of("return json.lo\n", behind="json.lo")
    filler = load()
    inner, whole = filler._decoded, []
    filler._decoded = lambda window, tokens: whole.append((tokens, found := inner(window, tokens))) or found
    first = []
    for event in filler.fill(document, where, SETTINGS, CancelToken()):
        if isinstance(event, Draft) and event.block == 0 and event.slots and event.slots[0].decided:
            first.append(event.slots[0].text)
    assert first and all(text.startswith("lo") or "lo".startswith(text) for text in first)
    ended = [found for tokens, found in whole if len(tokens) > 2]
    assert ended and None not in ended  # the remnant was typed again, in however many canvases, and taken off


def test_alternatives_are_distinct(load):
    document, where = hole_of()
    done = run(load(), document, where, FillSettings(seed=3, steps=6, alternatives=3))
    texts = [done.text, *(other.text for other in done.alternatives)]
    assert len(set(texts)) == len(texts)


def test_several_holes_are_filled_together(load):
    text = "a = \nb = \n"
    marks = [Mark(Hole(4, 4, HoleKind.SELECTION, 6)), Mark(Hole(9, 9, HoleKind.SELECTION, 6))]
    *_, filled = fill_together(load(), Document(text, "plaintext"), marks, SETTINGS, CancelToken())
    assert [one.mark for one in filled] == marks


def test_what_is_selected_can_seed_the_canvas(load):
    text = "x = path.name\ny = 2\n"
    done = run(
        load(), Document(text, "plaintext"), Hole(4, 13, HoleKind.SELECTION, 8), FillSettings(steps=4, rewrite=True)
    )
    assert done.apply(text) == "x = " + done.text + "\ny = 2\n"
    several = FillSettings(steps=1, rewrite=True, alternatives=2)
    assert run(load(), Document(text, "plaintext"), Hole(4, 13, HoleKind.SELECTION, 8), several).steps >= 1


def test_a_number_of_slots_that_is_asked_for_is_taken(load):
    filler = load()
    document, where = hole_of(behind="x =")
    most = 0
    for event in filler.fill(document, where, FillSettings(steps=2, slots=3), CancelToken()):
        if isinstance(event, Draft) and event.block == 0:
            most = max(most, len(event.slots))
    remnant = len(filler._denoiser.tokenizer.encode(" ="))
    assert 1 <= most <= 3 + remnant or load.family == "dreamon"  # which may lengthen it


# --- the passes, against transformers' own


def reference(family):
    return tiny.hugging_face(tiny_families.MASKED[family][0])


def canvas_with(slots, pinned=(), decided=()):
    canvas = Canvas.empty(slots, CPU, pinned)
    for slot, token in decided:
        canvas.slots[slot], canvas.decided[slot] = token, True
    return canvas


def full(n):
    return torch.zeros(1, 1, n, n)


def blocks(n, size):
    at = torch.arange(n)
    return torch.zeros(n, n).masked_fill(at[:, None] // size < at[None, :] // size, -torch.inf)[None, None]


@pytest.mark.parametrize("family", ["dream-coder", "open-dcoder", "llada"])
def test_a_whole_sequence_is_read_as_the_model_itself_reads_it(folders, family):
    denoiser = load_filler(str(folders(family)), device="cpu", precision="fp32")._denoiser
    prefix, suffix = [20, 21, 22, 23], [30, 31, 32]
    canvas = canvas_with(5, suffix, [(1, 40)])
    logits = denoiser.step(denoiser.encode(prefix, suffix, CancelToken()), canvas).logits
    mask = tiny.MASK
    ids = [tiny.FILL_END, *prefix, mask, 40, mask, mask, mask, *suffix]
    ids += [tiny.FILL_END] if family == "dream-coder" else []
    with torch.inference_mode():
        theirs = reference(family)(torch.tensor([ids]), attention_mask=full(len(ids))).logits[0]
    first = 5 if family == "llada" else 4  # the others predict a token at the place before it
    assert torch.allclose(logits, theirs[first : first + 5], atol=1e-4)


@pytest.mark.parametrize("family", ["sdar", "fast-dllm", "llada2"])
@pytest.mark.parametrize("prefix", [3, 13, 26, 29, 40])
def test_a_block_is_read_as_the_model_itself_reads_it(folders, family, prefix):
    """Canvases at the start, the middle and the end of a block, with the cache cold and warm."""
    denoiser = load_filler(str(folders(family)), device="cpu", precision="fp32", trust_remote_code=True)._denoiser
    size, shifted = denoiser._block, family == "fast-dllm"
    suffix, before = [30, 31, 32], list(range(40, 40 + prefix))
    room = denoiser.room(before, suffix)
    canvas = canvas_with(min(2, room), suffix)
    ids = [tiny.FILL_END, *suffix, tiny.FILL_END, *before]
    first = len(ids) - shifted
    pinned = suffix[: room - len(canvas)]
    ids += [tiny.MASK] * len(canvas) + pinned
    with torch.inference_mode():
        theirs = reference(family)(torch.tensor([ids]), attention_mask=blocks(len(ids), size)).logits[0]
    for _ in range(2):
        encoded = denoiser.encode(before, suffix, CancelToken())
        logits = denoiser.step(encoded, canvas).logits
        assert torch.allclose(logits, theirs[first : first + len(canvas)], atol=1e-4)
    total = len(before) + 5
    again = size if shifted and total % size == 0 else 0  # what the last block says of the next token is not kept
    assert encoded.cached_tokens == (total // size * size - again if denoiser.traits.exact_cache else 0)


@pytest.mark.parametrize("family", ["dream-coder", "llada", "sdar", "fast-dllm", "llada2"])
def test_canvases_of_different_length_in_one_batch_are_what_each_is_alone(folders, family):
    denoiser = load_filler(str(folders(family)), device="cpu", precision="fp32", trust_remote_code=True)._denoiser
    assert isinstance(denoiser, BatchDenoiser)
    prefix, suffix = list(range(20, 41)), [30, 31]
    encoded = denoiser.encode(prefix, suffix, CancelToken())
    canvases = [canvas_with(n, suffix) for n in (1, 2, 4)]
    for canvas, step in zip(canvases, denoiser.step_many(encoded, canvases, [None] * 3), strict=True):
        assert torch.allclose(step.logits, denoiser.step(encoded, canvas).logits, atol=1e-5)


# --- length


class Told:
    """A denoiser that is surest of canvases of one length, before the bias: scores follow it alone."""

    def __init__(self, length, many=True):
        self.traits = tiny.traits(learns_length=False, suffix=SuffixPlace.BOTH, max_pinned=4, max_slots=256)
        self.length, self.passes = length, 0
        if many:
            self.step_many = lambda encoded, canvases, carries: [self.step(encoded, c, None) for c in canvases]

    def step(self, encoded, canvas, carry):
        sure = 0.9 * bias(len(canvas)) / (1 + 0.2 * abs(len(canvas) - self.length))
        p = torch.full((len(canvas), tiny.VOCABULARY), (1 - sure) / (tiny.VOCABULARY - 1))
        p[:, 7] = sure
        return Step(p.log())


@pytest.mark.parametrize("many", [True, False])
@pytest.mark.parametrize("length", [1, 2, 5, 7, 14, 22, 60, 64])
def test_the_length_that_the_model_is_surest_of_is_found(length, many):
    denoiser = Told(length, many)
    found = best_length(denoiser, None, 1, 64, lambda n: Canvas.empty(n, CPU), lambda: None)
    assert abs(found - length) <= max(1, length // 8)


def test_the_bias_to_short_canvases_is_divided_out():
    assert bias(1) > bias(4) > bias(16) > bias(64) > 0.24

    class Flat(Told):
        def step(self, encoded, canvas, carry):
            sure = bias(len(canvas)) * (1.02 if len(canvas) == 12 else 1.0) * 0.5
            p = torch.full((len(canvas), tiny.VOCABULARY), (1 - sure) / (tiny.VOCABULARY - 1))
            p[:, 7] = sure
            return Step(p.log())

    assert best_length(Flat(12), None, 1, 32, lambda n: Canvas.empty(n, CPU), lambda: None) == 12


def test_a_search_can_be_cancelled_between_two_passes():
    cancel = CancelToken()
    denoiser = Told(5)
    inner = denoiser.step_many

    def once(*args):
        cancel.cancel()
        return inner(*args)

    denoiser.step_many = once
    with pytest.raises(Cancelled):
        best_length(denoiser, None, 1, 256, lambda n: Canvas.empty(n, CPU), cancel.check)


class Lengthy(tiny.ScriptedDenoiser):
    """Writes a text, and is surest of a canvas that it fits; it has no fill end."""

    def __init__(self, text, **changes):
        super().__init__([text], learns_length=False, fill_end=-1, **changes)
        self.tokens = self.tokenizer.encode(text)

    def step(self, encoded, canvas, carry):
        self.seen.append((canvas.slots.tolist(), canvas.pinned))
        sure = min(0.99, 0.95 * bias(len(canvas))) if len(canvas) == len(self.tokens) else 0.3 * bias(len(canvas))
        if canvas.decided.any() or len(canvas) == len(self.tokens):
            sure = 0.99
        p = torch.full((len(canvas), tiny.VOCABULARY), (1 - sure) / (tiny.VOCABULARY - 1))
        tokens = (self.tokens * 99)[: len(canvas)]
        p[torch.arange(len(canvas)), torch.tensor(tokens)] = sure
        return Step(p.log())


def test_a_model_that_does_not_learn_length_gets_the_slots_that_it_is_surest_of():
    document, where = hole_of("x =\ny = 2\n", behind="x =", slots=24)
    denoiser = Lengthy(" = load(path, handle)", suffix=SuffixPlace.BOTH, max_pinned=4)
    done = run(DiffusionFiller(denoiser), document, where)
    assert done.text == " load(path, handle)"
    told = run(DiffusionFiller(Lengthy(" = load(path, handle)")), document, where, FillSettings(slots=2))
    assert len(told.text) < len(done.text)


def test_the_suffix_is_pinned_behind_the_last_canvas_alone():
    document, where = hole_of("x =\ny = 2\n", behind="x =", slots=24)
    denoiser = Lengthy(" = load(path)", suffix=SuffixPlace.BOTH, max_pinned=4, max_slots=3)
    settings = FillSettings(slots=7)
    run(DiffusionFiller(denoiser), document, where, settings)
    pinned = [bool(p) for _, p in denoiser.seen]
    assert pinned[0] is False and True in pinned


# --- edits


def logits_for(tokens, sure):
    p = torch.full((len(tokens), tiny.VOCABULARY), (1 - sure) / (tiny.VOCABULARY - 1))
    p[torch.arange(len(tokens)), torch.tensor(tokens)] = sure
    return p.log()


def sampler_with(**settings):
    return Sampler(tiny.traits(fill_end=-1), tiny.tokenizer().token_bytes, SamplerSettings(**settings))


def test_an_accepted_edit_makes_two_slots_of_one_or_none():
    sampler = sampler_with()
    canvas = Canvas.empty(4, CPU)
    state = sampler.begin(canvas, 0)
    edits = (Edit(1, True, 0.95), Edit(3, False, 0.95))
    sampler.advance(canvas, logits_for([10, 11, 12, 13], 0.95), state, edits)
    assert canvas.decided.tolist() == [True, False, False, True] and len(canvas) == 4
    assert canvas.slots[canvas.decided].tolist() == [10, 12]
    assert state.edits == 2 and not state.finished


def test_an_edit_that_is_not_sure_waits_unless_it_is_the_leftmost():
    sampler = sampler_with()
    canvas = Canvas.empty(3, CPU)
    state = sampler.begin(canvas, 0)
    sampler.advance(canvas, logits_for([10, 11, 12], 0.95), state, (Edit(1, False, 0.5),))
    assert canvas.decided.tolist() == [True, False, True]
    sampler.advance(canvas, logits_for([10, 11, 12], 0.95), state, (Edit(1, False, 0.5),))
    assert canvas.tokens(-1) == [10, 12] and state.finished


def test_a_canvas_grows_no_longer_than_it_may_and_the_loop_ends():
    sampler = sampler_with(max_steps=None)
    canvas = Canvas.empty(4, CPU)
    state = sampler.begin(canvas, 0)
    generator, steps = torch.Generator().manual_seed(2), 0
    while not state.finished:
        n = len(canvas)
        edits = tuple(
            Edit(i, bool(torch.rand(1, generator=generator) < 0.6), 0.99) for i in range(n) if not canvas.decided[i]
        )
        sampler.advance(canvas, torch.randn(n, tiny.VOCABULARY, generator=generator), state, edits)
        assert len(canvas) <= 16
        steps += 1
        assert steps < 200
    assert canvas.finished


def test_forced_tokens_move_with_their_slots():
    canvas = Canvas.empty(3, CPU)
    canvas.forced = {2: 77}
    canvas.expand(0)
    assert canvas.forced == {3: 77} and len(canvas) == 4
    canvas.delete(1)
    assert canvas.forced == {2: 77}


def test_dreamon_proposes_what_its_tokens_say(folders):
    filler = load_filler(str(folders("dreamon")), device="cpu", precision="fp32")
    denoiser = filler._denoiser
    assert denoiser.traits.learns_length and {398, 399} <= denoiser.traits.control
    logits = logits_for([tiny_families.EXPAND, 20, tiny_families.DELETE, tiny_families.EXPAND], 0.8)
    canvas = canvas_with(4, decided=[(3, 20)])
    edits = denoiser._edits(logits, canvas)
    assert [(e.slot, e.expand) for e in edits] == [(0, True), (2, False)]
    assert edits[0].confidence == pytest.approx(0.8)


def test_dreamons_canvas_changes_its_length_on_the_way(folders, monkeypatch):
    filler = load_filler(str(folders("dreamon")), device="cpu", precision="fp32")
    denoiser, inner = filler._denoiser, filler._denoiser._run.logits
    calls = []

    def logits(rows, places, block=0):
        found = inner(rows, places, block)
        calls.append([len(p) for p in places])
        found = [one.clone() for one in found]
        for one in found:
            one[0, tiny_families.EXPAND if len(calls) == 1 else tiny_families.DELETE] += 60 if len(calls) < 4 else 0
        return found

    monkeypatch.setattr(denoiser._run, "logits", logits)
    document, where = hole_of("\ny\n", behind="", slots=4)  # no word before it that has to be typed again first
    run(filler, document, where, FillSettings(slots=4))
    lengths = [n for call in calls for n in call]
    assert lengths[0] < lengths[1] > lengths[2]  # longer, then shorter again


def test_a_token_that_the_model_corrects_is_replaced_once():
    sampler = sampler_with(replace_above=0.9, revoke_below=0.0)
    canvas = Canvas.empty(2, CPU)
    state = sampler.begin(canvas, 0)
    sampler.advance(canvas, logits_for([10, 11], 0.95), state)
    assert canvas.finished and not state.finished  # one more look
    sampler.advance(canvas, logits_for([10, 99], 0.95), state)
    assert canvas.slots.tolist() == [10, 99] and not state.finished
    sampler.advance(canvas, logits_for([10, 98], 0.95), state)
    assert canvas.slots.tolist() == [10, 99] and state.finished


# --- what is refused


def test_a_models_own_code_is_not_run_unless_it_is_trusted(tmp_path):
    folder = tiny_families.write_masked(tmp_path / "llada2", "llada2")
    ran = tmp_path / "ran"
    (folder / "own_code.py").write_text(f"open({str(ran)!r}, 'w').close()\n" + tiny_families.OWN_CODE)
    with pytest.raises(ModelUnavailable, match="--trust-remote-code") as refused:
        load_filler(str(folder), device="cpu")
    assert "own_code.py" in str(refused.value) and "\n" not in str(refused.value) and not ran.exists()
    load_filler(str(folder), device="cpu", trust_remote_code=True)
    assert ran.exists()


@pytest.mark.parametrize("family", ["dream-coder", "sdar", "diffusion-gemma"])
def test_code_beside_a_model_that_does_not_need_it_is_never_run(tmp_path, family):
    folder = tmp_path / family
    if family == "diffusion-gemma":
        tiny_families.write_gemma(folder)
    else:
        tiny_families.write_masked(folder, family)
    ran = tmp_path / "ran"
    (folder / "own_code.py").write_text(f"open({str(ran)!r}, 'w').close()\n" + tiny_families.OWN_CODE)
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoConfig": "own_code.TinyConfig", "AutoModel": "own_code.TinyModel"}
    (folder / "config.json").write_text(json.dumps(config))
    for trust in (False, True):
        load_filler(str(folder), device="cpu", precision="fp32", trust_remote_code=trust)
    assert not ran.exists()


@pytest.mark.parametrize(
    "family, change, words",
    [
        ("dream-coder", {"mask_token_id": 100_000}, "token 100000 is not among"),
        ("llada", {"block_type": "sequential"}, "block_type"),
        ("sdar", {"block_size": 0}, "block"),
        ("open-dcoder", {"mask_token_id": None}, "mask token"),
    ],
)
def test_a_config_that_says_nonsense_is_refused(tmp_path, family, change, words):
    folder = tiny_families.write_masked(tmp_path / family, family)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(ModelUnavailable, match=words) as refused:
        load_filler(str(folder), device="cpu")
    assert "\n" not in str(refused.value)


def test_a_model_of_an_unknown_class_is_refused(tmp_path):
    folder = tiny_families.write_masked(tmp_path / "other", "dream-coder")
    config = json.loads((folder / "config.json").read_text()) | {"model_type": "novel"}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelUnavailable, match="novel"):
        load_filler(str(folder), device="cpu")
    (folder / "denoiser.json").write_text(json.dumps({"family": "whole-sequence"}))
    with pytest.raises(ModelUnavailable, match="no code comes with it"):
        load_filler(str(folder), device="cpu")


def test_own_code_that_breaks_is_one_line(tmp_path):
    folder = tiny_families.write_masked(tmp_path / "llada2", "llada2")
    (folder / "own_code.py").write_text("raise RuntimeError('no\\nway')\n")
    with pytest.raises(ModelUnavailable, match="no way") as refused:
        load_filler(str(folder), device="cpu", trust_remote_code=True)
    assert "\n" not in str(refused.value)


def test_a_name_of_the_hub_that_was_not_pulled_says_how(tmp_path, monkeypatch):
    monkeypatch.setenv("MIDFILL_CACHE", str(tmp_path))
    with pytest.raises(ModelUnavailable, match="midfill models pull Dream-org/DreamOn-v0-7B"):
        load_filler("Dream-org/DreamOn-v0-7B", device="cpu")
    tiny_families.write_masked(tmp_path / "models" / "Dream-org--DreamOn-v0-7B", "dreamon")
    assert load_filler("Dream-org/DreamOn-v0-7B", device="cpu").name == "Dream-org/DreamOn-v0-7B"


def test_a_search_never_asks_for_fewer_slots_than_the_remnant_needs():
    asked = []

    def make(n):
        asked.append(n)
        return Canvas.empty(n, CPU)

    best_length(Told(1), Encoded(0, 0, None), 3, 10, make, lambda: None)
    assert min(asked) == 3 and max(asked) == 10


def test_a_remnant_longer_than_a_canvas_goes_on_in_the_next():
    filler = DiffusionFiller(tiny.denoiser(max_slots=1))
    inner, whole = filler._decoded, []
    filler._decoded = lambda window, tokens: whole.append((tokens, found := inner(window, tokens))) or found
    document, where = hole_of("return json.handqz\n", behind="handqz")
    run(filler, document, where, SETTINGS)
    typed = len(filler._denoiser.tokenizer.encode("handqz"))
    ended = [found for tokens, found in whole if len(tokens) >= len("handqz")]
    assert typed > 1 and ended and None not in ended


def test_how_likely_a_text_is_can_be_asked(load):
    filler = load()
    texts = ["x = json.load(path)", "x = path"]
    once = filler.read("def f(path):\n    ", texts, "\n    return x\n", CancelToken())
    assert once == filler.read("def f(path):\n    ", texts, "\n    return x\n", CancelToken())
    for text, tokens in zip(texts, once, strict=True):
        assert tokens[0].start == 0 and all(a.end == b.start for a, b in itertools.pairwise(tokens))
        assert tokens[-1].end <= len(text) and all(token.logp <= token.rivals[0][1] <= 0 for token in tokens)
    stop = CancelToken()
    stop.cancel()
    with pytest.raises(Cancelled):
        filler.read("def f(path):\n    ", ["y"], "", stop)
