"""The sampler's rules, on logits that are written out."""

from __future__ import annotations

import pytest
import torch

from engine.canvas import Canvas
from engine.denoisers.base import Noise
from engine.sampler import Rule, Sampler, SamplerSettings
from tests import tiny

CPU = torch.device("cpu")
WORDS = tiny.tokenizer().token_bytes


def logits_for(tokens: list[int], sure: list[float]) -> torch.Tensor:
    """[slots, vocabulary]: each slot's token with its probability, the rest spread evenly."""
    p = torch.empty(len(tokens), tiny.VOCABULARY)
    for row, (token, s) in enumerate(zip(tokens, sure, strict=True)):
        p[row] = (1 - s) / (tiny.VOCABULARY - 1)
        p[row, token] = s
    return p.log()


def run(settings: SamplerSettings, steps: list[torch.Tensor], canvas: Canvas | None = None, noise=Noise.ABSORBING):
    """Plays logits step by step; returns the canvas and the decided flags after each step."""
    sampler = Sampler(tiny.traits(noise), WORDS, settings)
    canvas = canvas or Canvas.empty(len(steps[0]), CPU)
    state = sampler.begin(canvas, seed=0)
    flags = []
    for logits in steps:
        sampler.advance(canvas, logits, state)
        flags.append(canvas.decided.tolist())
    return canvas, flags, state


def test_sure_slots_and_the_leftmost_are_accepted():
    step = logits_for([10, 11, 12, 13], [0.2, 0.95, 0.5, 0.99])
    canvas, flags, _ = run(SamplerSettings(threshold=0.9), [step])
    assert flags == [[True, True, False, True]]
    assert canvas.slots[canvas.decided].tolist() == [10, 11, 13]


def test_an_entropy_bound_of_zero_takes_one_slot_a_step_and_a_large_one_all():
    step = logits_for([10, 11, 12], [0.5, 0.6, 0.7])
    _, flags, _ = run(SamplerSettings(rule=Rule.ENTROPY, entropy_bound=0.0), [step])
    assert flags == [[True, False, True]]  # the most certain one, and the leftmost
    _, flags, _ = run(SamplerSettings(rule=Rule.ENTROPY, entropy_bound=100.0), [step])
    assert flags == [[True, True, True]]


def test_a_fill_end_empties_all_slots_behind_it():
    step = logits_for([10, tiny.FILL_END, 12, 13], [0.95, 0.95, 0.95, 0.2])
    canvas, flags, state = run(SamplerSettings(), [step])
    assert canvas.slots.tolist() == [10, 0, 0, 0]
    assert flags == [[True] * 4] and state.finished
    assert canvas.tokens(tiny.FILL_END) == [10]


def test_a_slot_no_longer_believed_goes_back_to_noise_once():
    first = logits_for([10, 11, 12, 13], [0.95, 0.95, 0.2, 0.2])
    other = logits_for([10, 99, 12, 13], [0.95, 0.5, 0.2, 0.2])
    settings = SamplerSettings(revoke_below=0.02, max_revocations=1)
    canvas, flags, _ = run(settings, [first, other])
    assert flags[0] == [True, True, False, False]
    assert canvas.slots[1].item() == 99  # leftmost undecided again, and so decided anew
    _, flags, _ = run(settings, [first, other, logits_for([10, 98, 12, 13], [0.95, 0.9, 0.2, 0.2])])
    assert canvas.revoked.tolist() == [0, 1, 0, 0]
    assert flags[2][1]  # not taken back a second time


def test_the_loop_ends_whatever_the_model_says():
    """Logits that change at every step take back what they can, and the run still ends."""
    generator = torch.Generator().manual_seed(5)
    sampler = Sampler(tiny.traits(), WORDS, SamplerSettings(threshold=0.99, revoke_below=0.9, max_revocations=2))
    canvas = Canvas.empty(12, CPU)
    state = sampler.begin(canvas, seed=0)
    steps = 0
    while not state.finished:
        sampler.advance(canvas, torch.randn(12, tiny.VOCABULARY, generator=generator), state)
        steps += 1
        assert steps <= 12 * 3
    assert canvas.finished


def test_the_cap_on_steps_decides_everything():
    step = logits_for([10, 11, 12], [0.1, 0.1, 0.1])
    canvas, _, state = run(SamplerSettings(max_steps=1), [step])
    assert state.finished and canvas.slots.tolist() == [10, 11, 12]


def test_two_equal_drafts_that_are_sure_end_the_run():
    step = logits_for([10, 11, 12, 13, 14], [0.8, 0.85, 0.85, 0.85, 0.85])
    settings = SamplerSettings(threshold=0.9, sure_entropy=2.0)
    _, _, state = run(settings, [step])
    assert not state.finished
    canvas, _, state = run(settings, [step, step])
    assert state.finished and canvas.slots.tolist() == [10, 11, 12, 13, 14]


@pytest.mark.parametrize("noise", list(Noise))
def test_one_seed_gives_one_canvas(noise):
    generator = torch.Generator().manual_seed(1)
    steps = [torch.randn(8, tiny.VOCABULARY, generator=generator) for _ in range(4)]
    settings = SamplerSettings(temperature=0.8, threshold=0.5)
    first, _, _ = run(settings, steps, noise=noise)
    torch.manual_seed(99)  # the global generator has no say
    again, _, _ = run(settings, steps, noise=noise)
    assert first.slots.tolist() == again.slots.tolist()


def test_uniform_noise_is_drawn_from_the_vocabulary_and_every_slot_is_judged_again():
    first = logits_for([10, 11, 12, 13], [0.95, 0.2, 0.2, 0.2])
    other = logits_for([20, 11, 12, 13], [0.95, 0.2, 0.2, 0.2])
    canvas, _, _ = run(SamplerSettings(), [first], noise=Noise.UNIFORM)
    assert len(set(canvas.slots.tolist())) > 1
    canvas, _, _ = run(SamplerSettings(), [first, other], noise=Noise.UNIFORM)
    assert canvas.slots[0].item() == 20


def test_control_tokens_are_never_emitted():
    step = logits_for([tiny.MASK, tiny.MASK], [0.99, 0.99])
    canvas, _, _ = run(SamplerSettings(max_steps=1), [step])
    assert tiny.MASK not in canvas.slots.tolist()


def test_the_remnant_is_typed_again_before_anything_else():
    tokenizer = tiny.tokenizer()
    wrong = tokenizer.encode("handle")[0]
    canvas = Canvas.empty(6, CPU, required=b"loa")
    steps = [logits_for([wrong] * 6, [0.99] * 6) for _ in range(8)]
    canvas, flags, state = run(SamplerSettings(), steps[:1], canvas)
    assert sum(flags[0]) == 1  # only the leftmost while the remnant is not typed
    canvas = Canvas.empty(6, CPU, required=b"loa")
    canvas, _, state = run(SamplerSettings(), steps, canvas)
    assert state.finished
    assert tokenizer.decode_bytes(canvas.slots.tolist()).startswith(b"loa")


def test_pinned_tokens_are_not_part_of_what_is_written():
    canvas = Canvas.empty(3, CPU, pinned=[5, 6, 7])
    canvas, _, _ = run(SamplerSettings(max_steps=1), [logits_for([10, 11, 12], [0.9] * 3)], canvas)
    assert canvas.pinned == (5, 6, 7) and len(canvas.slots) == 3
