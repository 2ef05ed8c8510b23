"""The block-causal denoiser: what a canvas sees, and a cache that can never be wrong."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.canvas import Canvas
from engine.denoisers.base import SuffixPlace
from engine.errors import Cancelled
from engine.filler import CancelToken
from tests import tiny

tokens = st.lists(st.integers(2, tiny.VOCABULARY - 1), max_size=40)


def score(denoiser, prefix, suffix, slots=6, pinned=()):
    encoded = denoiser.encode(prefix, suffix, CancelToken())
    canvas = Canvas.empty(slots, denoiser.device, pinned)
    return denoiser.step(encoded, canvas, None).logits, encoded


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(tokens, tokens), min_size=2, max_size=5))
def test_a_reused_cache_gives_what_a_fresh_one_gives(requests):
    used = tiny.denoiser()
    for prefix, suffix in requests:
        logits, encoded = score(used, prefix, suffix)
        fresh, _ = score(tiny.denoiser(), prefix, suffix)
        torch.testing.assert_close(logits, fresh, rtol=1e-4, atol=1e-4)
        assert torch.equal(logits.argmax(-1), fresh.argmax(-1))
        assert 0 <= encoded.cached_tokens <= encoded.tokens


def test_in_bf16_reuse_stays_within_a_tolerance():
    """bf16 rounds differently when a prefix is read in other pieces: 0.15 on logits of order 10 is what that may cost."""
    used = tiny.denoiser(dtype=torch.bfloat16)
    for length in (10, 11, 30, 12):
        logits, _ = score(used, list(range(20, 20 + length)), [5, 6])
        fresh, _ = score(tiny.denoiser(dtype=torch.bfloat16), list(range(20, 20 + length)), [5, 6])
        assert float((logits - fresh).abs().max()) < 0.15


def test_typing_one_character_encodes_only_the_new_tokens():
    denoiser = tiny.denoiser()
    _, first = score(denoiser, list(range(20, 50)), [7, 8, 9])
    assert first.cached_tokens == 0
    _, then = score(denoiser, [*range(20, 50), 60], [7, 8, 9])
    assert then.tokens - then.cached_tokens == 1


def test_another_suffix_or_prefix_is_not_taken_from_the_cache():
    denoiser = tiny.denoiser()
    score(denoiser, list(range(20, 50)), [7, 8, 9])
    _, other = score(denoiser, [99, *range(21, 50)], [7, 8, 10])
    assert other.cached_tokens == 1  # the start token alone


@pytest.mark.parametrize("suffix", list(SuffixPlace))
def test_the_suffix_is_seen_wherever_the_denoiser_wants_it(suffix):
    denoiser = tiny.denoiser(suffix=suffix)
    pins = suffix is not SuffixPlace.ENCODED
    one, _ = score(denoiser, [20, 21], [30, 31, 32], pinned=[30, 31, 32] if pins else ())
    two, _ = score(denoiser, [20, 21], [40, 41, 42], pinned=[40, 41, 42] if pins else ())
    assert not torch.allclose(one, two)


def test_a_canvas_is_attended_both_ways():
    denoiser = tiny.denoiser()
    encoded = denoiser.encode([20, 21], [], CancelToken())
    canvas = Canvas.empty(4, denoiser.device)
    before = denoiser.step(encoded, canvas, None).logits
    canvas.slots[3], canvas.decided[3] = 33, True
    after = denoiser.step(encoded, canvas, None).logits
    assert not torch.allclose(before[0], after[0])


def test_a_step_leaves_canvas_and_cache_as_they_were():
    denoiser = tiny.denoiser(suffix=SuffixPlace.PINNED)
    encoded = denoiser.encode([20, 21, 22], [30, 31], CancelToken())
    canvas = Canvas.empty(4, denoiser.device, [30, 31])
    slots = canvas.slots.clone()
    first = denoiser.step(encoded, canvas, None).logits
    assert torch.equal(denoiser.step(encoded, canvas, None).logits, first)
    assert torch.equal(canvas.slots, slots) and canvas.pinned == (30, 31)


def test_cancel_is_honoured_between_two_chunks_and_leaves_a_usable_cache():
    class AfterOneChunk(CancelToken):
        checks = 0

        def check(self):
            self.checks += 1
            if self.checks == 3:  # the suffix, the first chunk, the second
                self.cancel()
            super().check()

    denoiser = tiny.denoiser()
    prefix = [20 + i % 300 for i in range(400)]
    with pytest.raises(Cancelled):
        denoiser.encode(prefix, [5], AfterOneChunk())
    logits, encoded = score(denoiser, prefix, [5])
    assert encoded.cached_tokens == 128 + 2  # one chunk, and the suffix with its start token
    fresh, _ = score(tiny.denoiser(), prefix, [5])
    torch.testing.assert_close(logits, fresh, rtol=1e-4, atol=1e-4)


def test_a_prefix_longer_than_the_window_loses_its_start():
    denoiser = tiny.denoiser()
    prefix = [2 + i % 390 for i in range(5000)]
    _, encoded = score(denoiser, prefix, [5] * 500)
    assert encoded.tokens <= denoiser.traits.window


def test_several_canvases_in_one_pass_score_as_one_by_one():
    denoiser = tiny.denoiser()
    encoded = denoiser.encode(tiny.tokenizer().encode("def load(path):\n"), [5, 6, 7], CancelToken())
    canvases = [Canvas.empty(6, denoiser.device) for _ in range(3)]
    for number, canvas in enumerate(canvases):
        canvas.slots[:number], canvas.decided[:number] = 40 + number, True
    together = denoiser.step_many(encoded, canvases, [None] * 3)
    for canvas, step in zip(canvases, together, strict=True):
        torch.testing.assert_close(step.logits, denoiser.step(encoded, canvas).logits, atol=1e-4, rtol=1e-4)


def test_what_pads_a_pass_is_seen_by_no_token(monkeypatch):
    """Passes of one length, padded, and of the lengths as they come, bare, score the same."""
    from engine.denoisers import cache

    requests = [
        (list(range(2, 2 + n)), list(range(50, 50 + m))) for n, m in ((1, 1), (7, 30), (16, 95), (40, 3), (41, 3))
    ]
    padded, bare = tiny.denoiser(), tiny.denoiser()
    for prefix, suffix in requests:
        wanted, _ = score(padded, prefix, suffix)
        with monkeypatch.context() as patch:
            patch.setattr(cache, "_PAD", 1)
            found, _ = score(bare, prefix, suffix)
        torch.testing.assert_close(wanted, found, rtol=1e-4, atol=1e-4)
