"""The diffusion filler with a scripted denoiser: drafts, blocks, healing, cancel, determinism, exact joins."""

from __future__ import annotations

import dataclasses

import pytest

from engine.denoisers.base import Noise, SuffixPlace
from engine.diffusion import DiffusionFiller
from engine.errors import BadInput, Cancelled
from engine.filler import CancelToken, Completion, Draft, Filler, FillSettings, run
from engine.hole import Hole, HoleKind, hole_at
from engine.sampler import SamplerSettings
from engine.syntax import compiles
from engine.text import Document
from tests import tiny


def document_of(marked: str, language: str = "python") -> tuple[Document, int]:
    at = marked.index("¦")
    return Document(marked.replace("¦", "", 1), language), at


def fill(marked: str, texts: list[str], *, language="python", kind=None, slots=16, sampler=None, **denoiser):
    """Fills the hole at ¦ with a denoiser that writes `texts`; returns completion, drafts and the denoiser."""
    document, at = document_of(marked, language)
    hole = hole_at(document, at)
    hole = dataclasses.replace(hole, kind=kind or hole.kind, slots=slots)
    scripted = tiny.ScriptedDenoiser(texts, **denoiser)
    filler = DiffusionFiller(scripted, sampler)
    assert isinstance(filler, Filler)
    events = list(filler.fill(document, hole, FillSettings(), CancelToken()))
    assert [type(e) for e in events] == [Draft] * (len(events) - 1) + [Completion]
    return document, events[-1], events[:-1], scripted


def test_a_completion_joins_exactly_and_counts_what_it_took():
    document, done, drafts, _ = fill("def f(path):\n    return path¦\n", [" path.name"])
    assert done.text == ".name"
    assert done.apply(document.text) == "def f(path):\n    return path.name\n"
    assert done.steps == len(drafts) >= 1
    assert 0.9 < done.confidence <= 1.0
    assert done.encoded_tokens > 0 and done.ms.total > 0
    assert drafts[-1].text == ".name"


def test_a_half_typed_word_is_completed_and_not_typed_twice():
    document, done, _, scripted = fill("return json.lo¦(handle)\n", ["load"])
    assert done.text == "ad"
    assert scripted.tokenizer.decode(scripted.prefixes[0]).endswith("json.")
    assert done.apply(document.text) == "return json.load(handle)\n"


def test_an_unsure_model_takes_more_steps_than_a_sure_one():
    _, _, quick, _ = fill("x = ¦\n", [" load(path)"], sure=0.99)
    _, _, slow, _ = fill("x = ¦\n", [" load(path)"], sure=0.5)
    assert len(quick) < len(slow)
    assert [d.step for d in slow] == list(range(1, len(slow) + 1))


def test_a_hole_longer_than_a_canvas_goes_block_by_block():
    long = "load(path, handle, json, Stack, path, handle, json)"
    size = len(tiny.tokenizer().encode(long))
    assert size > 16

    class Continuing(tiny.ScriptedDenoiser):
        def encode(self, prefix, suffix, cancel):
            encoded = super().encode(prefix, suffix, cancel)
            written = self.tokenizer.decode(prefix).removeprefix("x =")
            self.texts = [" " + long if not written else (" " + long).removeprefix(written)]
            return encoded

    document, at = document_of("x = ¦\n")
    hole = Hole(at, at, HoleKind.SELECTION, 64)
    scripted = Continuing([""])
    done = run(DiffusionFiller(scripted), document, hole)
    assert done.text == long
    assert scripted.canvases >= 1


@pytest.mark.parametrize("suffix", [SuffixPlace.PINNED, SuffixPlace.BOTH])
@pytest.mark.parametrize("noise", list(Noise))
def test_pinned_tokens_stand_unchanged_in_every_step(suffix, noise):
    _, _, _, scripted = fill(
        "x = ¦\nreturn path\n",
        [" load"],
        sure=0.6,
        noise=noise,
        suffix=suffix,
        max_pinned=4,
        sampler=SamplerSettings(max_steps=8),
    )
    wanted = tuple(scripted.tokenizer.encode("\nreturn path\n")[:4])
    assert len(scripted.seen) > 1
    assert all(pinned == wanted for _, pinned in scripted.seen)


def test_cancel_is_honoured_between_two_steps():
    document, at = document_of("x = ¦\n")
    scripted = tiny.ScriptedDenoiser([" load(path)"], sure=0.5)
    cancel = CancelToken()
    drafts = DiffusionFiller(scripted).fill(document, hole_at(document, at), FillSettings(), cancel)
    next(drafts)
    steps = len(scripted.seen)
    cancel.cancel()
    with pytest.raises(Cancelled):
        list(drafts)
    assert len(scripted.seen) == steps


def test_the_same_seed_gives_the_same_completion():
    def once():
        document, at = document_of("x = ¦\n")
        filler = DiffusionFiller(tiny.denoiser(), SamplerSettings(temperature=1.0, threshold=0.5))
        return run(filler, document, Hole(at, at, HoleKind.SELECTION, 12), FillSettings(seed=3))

    first, again = once(), once()
    assert (first.text, first.steps, first.confidence) == (again.text, again.steps, again.confidence)


def test_a_completion_that_breaks_the_syntax_is_not_offered():
    document, done, _, _ = fill("def f(path):\n    return ¦\n", [" path) + )"])
    assert done.text in ("", "path")  # a shorter start of it may do
    assert compiles(done.apply(document.text))


def test_the_next_best_candidate_begins_with_another_word():
    """The first canvas breaks the syntax; the second one's first word is another, the white space before it is not."""
    document, done, _, scripted = fill("def f(path):\n    return ¦\n", [" )", " path"])
    assert scripted.canvases >= 1
    firsts = [slots for slots, _ in scripted.seen if any(slots)]
    assert firsts
    assert done.text and compiles(done.apply(document.text))


def test_alternatives_are_distinct_and_begin_with_different_words():
    document, at = document_of("x = ¦\n")
    hole = hole_at(document, at)
    done = run(
        DiffusionFiller(tiny.ScriptedDenoiser([" load"], sure=0.9)), document, hole, FillSettings(alternatives=3)
    )
    texts = [done.text, *(other.text for other in done.alternatives)]
    assert len(texts) >= 2 and len(set(texts)) == len(texts)


def test_below_the_asked_confidence_the_answer_is_empty():
    document, at = document_of("x = ¦\n")
    filler = DiffusionFiller(tiny.ScriptedDenoiser([" load"], sure=0.5))
    assert run(filler, document, hole_at(document, at), FillSettings(min_confidence=0.9)).text == ""
    assert run(filler, document, hole_at(document, at), FillSettings(min_confidence=0.1)).text == "load"


def test_a_canvas_longer_than_the_context_is_refused():
    document, at = document_of("x = ¦\n")
    with pytest.raises(BadInput, match="context"):
        run(DiffusionFiller(tiny.denoiser()), document, hole_at(document, at), FillSettings(slots=4000))


def test_control_tokens_in_a_document_are_plain_text_before_and_behind_the_hole():
    marked = 'MARKERS = ["<|endoftext|>", "<mask>"]\nx = ¦\ny = "<mask>"\n'
    document, done, _, scripted = fill(marked, [" load"])
    assert not {tiny.FILL_END, tiny.MASK} & set(scripted.prefixes[0])
    assert done.apply(document.text) == marked.replace("¦", "load")


def test_candidates_denoised_side_by_side_are_those_denoised_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from engine import diffusion

    document = Document("def f(a, b):\n    total = \n    return total\n", "python")
    hole = hole_at(document, document.text.index("total = ") + 8)

    def texts() -> list[str]:
        found = run(DiffusionFiller(tiny.denoiser()), document, hole, FillSettings(alternatives=4))
        return [found.text, *sorted(a.text for a in found.alternatives)]

    together = texts()
    monkeypatch.setattr(diffusion.DiffusionFiller, "_denoise_many", lambda *_: iter_nothing())
    assert together[0] == texts()[0] and len(set(together)) == len(together)


def iter_nothing():
    yield from ()
    return {}


def test_candidates_differ_behind_a_remnant_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first slots type the remnant again; what is varied is the first word behind it."""
    document = Document("def f(a):\n    \n", "python")
    hole = hole_at(document, len("def f(a):\n    "))
    last: dict[int, str] = {}
    for event in DiffusionFiller(tiny.denoiser()).fill(document, hole, FillSettings(alternatives=4), CancelToken()):
        if isinstance(event, Draft):
            last[event.candidate] = event.text
    assert len(set(last.values())) >= 4


def test_a_fill_that_finds_nothing_ends_after_a_bounded_number_of_steps() -> None:
    """The first candidate is brought to its end; the others may not make a person wait for nothing."""
    from engine import diffusion

    document = Document("def f():\n    \n", "python")
    hole = dataclasses.replace(hole_at(document, len("def f():\n    ")), slots=200)
    slow = tiny.ScriptedDenoiser([") ) ) ) ) ) ) ) ) ) ) ) ) ) ) ) ) ) )"], sure=0.5)
    found = run(DiffusionFiller(slow), document, hole, FillSettings())
    assert found.text == "" or compiles(found.apply(document.text))
    # the first candidate's canvases, and at most one canvas begun just before the limit
    assert found.steps <= max(200, diffusion.MAX_STEPS) + 2 * slow.traits.max_slots
