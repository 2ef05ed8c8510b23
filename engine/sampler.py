"""The sampler: after each step it decides which slots to accept, which to put back to noise, and when to stop.

Acceptance by confidence is Fast-dLLM's (arXiv 2505.22618), by an entropy bound EB-Sampler's (arXiv 2505.24857) and
DiffusionGemma's; taking accepted slots back follows ReMDM (arXiv 2503.00307).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from engine.canvas import Canvas, may_begin
from engine.denoisers.base import Edit, Noise, Traits
from engine.denoisers.sampling import UNIFORM_STEPS, Rule, SamplerSettings

__all__ = ["Rule", "Run", "Sampler", "SamplerSettings"]


@dataclass
class Run:
    """One canvas's way through the sampler: the step it is at, its own random numbers, the last draft.

    judged: logits [slots, vocabulary] that the last step was decided by, for a denoiser that is conditioned on them.
    stable: how many drafts in a row were equal to the one before. edits: how many slots were added or taken out.
    """

    generator: torch.Generator
    step: int = 0
    last: Tensor | None = None
    finished: bool = False
    first_logits: Tensor | None = field(default=None, repr=False)
    judged: Tensor | None = field(default=None, repr=False)
    stable: int = 0
    edits: int = 0


class Sampler:
    """Updates a canvas in place from a denoiser's logits. Only slots are ever written."""

    def __init__(self, traits: Traits, token_bytes: Sequence[bytes], settings: SamplerSettings | None = None) -> None:
        self.settings = settings or SamplerSettings()
        self._traits, self._bytes = traits, token_bytes
        never = [i for i in traits.control if i != traits.fill_end]
        never += [i for i, b in enumerate(token_bytes) if not b]
        never += range(len(token_bytes), traits.vocabulary)  # padding rows of the vocabulary
        self._never = torch.tensor(sorted(set(never)), dtype=torch.long)
        self._beginnings: dict[bytes, Tensor] = {}

    def with_settings(self, settings: SamplerSettings) -> Sampler:
        """Another sampler that shares this one's tables of the vocabulary."""
        other = copy.copy(self)
        other.settings = settings
        return other

    def begin(self, canvas: Canvas, seed: int) -> Run:
        """Fills the canvas with noise. The run draws from its own generator, so that one seed gives one completion."""
        # uniform noise is drawn where the logits are: a vocabulary a slot is too much to carry to the CPU each step
        device = canvas.slots.device if self._traits.noise is Noise.UNIFORM else "cpu"
        run = Run(torch.Generator(device).manual_seed(seed))
        self._renoise(canvas, run)
        return run

    def advance(self, canvas: Canvas, logits: Tensor, run: Run, edits: Sequence[Edit] = ()) -> None:
        """One step: logits [slots, vocabulary] in, the canvas updated, `run.finished` set when nothing is left to do.

        edits: proposed by the model; a slot that has one takes no token, unless it is the last step.
        """
        s = self.settings
        run.step += 1
        logits = self.allowed(canvas, logits)
        if run.first_logits is None:
            run.first_logits = logits
        if self._traits.noise is Noise.UNIFORM:
            return self._advance_uniform(canvas, logits, run)
        log_p = torch.log_softmax(logits, dim=-1)
        tokens = self._choose(logits, run)
        for slot, token in canvas.forced.items():
            tokens[slot] = token
        chosen = log_p.gather(1, tokens[:, None])[:, 0].exp()
        entropy = -(log_p.exp() * log_p.clamp_min(-1e4)).sum(-1)

        self._revoke(canvas, log_p)
        # a model that edits its tokens gets one more look at a canvas that is full
        full, replaced = canvas.finished, self._replace(canvas, log_p)
        looked = s.replace_above is None or (full and not replaced)
        open_slots = ~canvas.decided
        accepted = self._accept(chosen, entropy, open_slots)
        if self._healing(canvas):
            accepted &= torch.arange(len(canvas), device=accepted.device) == int(open_slots.nonzero()[0])
        last = s.max_steps is not None and run.step >= s.max_steps
        edits = [] if last or self._healing(canvas) else self._possible(canvas, edits, run)
        for edit in edits:
            accepted[edit.slot] = False
        leftmost = (
            int(open_slots.nonzero()[0]) if edits else -1
        )  # as with tokens: always eligible, so that the loop ends
        if last:
            accepted = open_slots
        canvas.slots = torch.where(accepted, tokens, canvas.slots)
        canvas.confidence = torch.where(accepted, chosen, torch.where(canvas.decided, canvas.confidence, chosen))
        canvas.decided = canvas.decided | accepted
        self._close(canvas)
        if self._edit(canvas, edits, leftmost, run):
            run.last, run.finished = None, canvas.finished
            return self._renoise(canvas, run)
        best = torch.where(canvas.decided, canvas.slots, tokens)
        if (canvas.finished and looked) or last:
            run.finished = True
        elif not self._healing(canvas) and self._settled(best, entropy, canvas, run):
            canvas.slots, canvas.decided = best, torch.ones_like(canvas.decided)
            self._close(canvas)
            run.finished = True
        else:
            self._renoise(canvas, run)
        run.last = best

    def _advance_uniform(self, canvas: Canvas, logits: Tensor, run: Run) -> None:
        """The step where noise is a random token: with no mask to tell them apart, every slot is judged anew.

        What is drawn goes on in the accepted slots, the best tokens are the answer. Value for value what
        DiffusionGemma's own sampler and stopping rule do, in the order in which they draw.
        """
        s = self.settings
        steps = s.max_steps or UNIFORM_STEPS
        judged = logits / self._temperature(run.step, steps, logits.device)
        entropy = torch.distributions.Categorical(logits=judged, validate_args=False).entropy()
        best, tokens = judged.argmax(-1), None
        if s.schedule or s.temperature:
            p = torch.softmax(judged, dim=-1, dtype=torch.float32)
            tokens = torch.multinomial(p, 1, generator=run.generator)[:, 0]
        sure = torch.softmax(logits, dim=-1).gather(1, best[:, None])[:, 0]
        accepted = self._accept(sure, entropy, torch.ones_like(canvas.decided))
        canvas.slots = torch.where(accepted, best if tokens is None else tokens, canvas.slots)
        canvas.decided, canvas.answer, canvas.confidence = accepted, best, sure
        self._renoise(canvas, run)
        run.judged = judged
        run.stable = run.stable + 1 if run.last is not None and torch.equal(run.last, best) else 0
        run.last = best
        settled = run.stable >= s.stable_steps and bool(entropy.mean() < s.sure_entropy)
        if settled or run.step >= steps:
            canvas.slots, canvas.decided, canvas.answer = best, torch.ones_like(accepted), None
            self._close(canvas)
            run.finished = True

    def _temperature(self, step: int, steps: int, device: torch.device) -> Tensor | float:
        """Of a step, from 1, out of so many: along the schedule where there is one. Rounded to fp32 on the way, as theirs."""
        if not self.settings.schedule:
            return self.settings.temperature or 1.0
        first, last = self.settings.schedule
        left = torch.tensor(steps - step + 1, dtype=torch.int32, device=device)
        return last + (first - last) * (left / steps)

    def begins_word(self, token: int) -> bool:
        """Whether a token is more than white space, and not the fill end."""
        return token != self._traits.fill_end and bool(self._bytes[token].strip())

    def ranked(self, canvas: Canvas, logits: Tensor, slot: int, count: int = 16) -> list[int]:
        """A slot's best tokens, best first, as far as they are allowed there."""
        values, ids = self.allowed(canvas, logits)[slot].topk(count)
        return [int(i) for v, i in zip(values, ids, strict=True) if v > -torch.inf]

    def allowed(self, canvas: Canvas, logits: Tensor) -> Tensor:
        """No control token but the fill end; and the remnant of a half-typed word is typed again before anything else."""
        logits = logits.clone()
        if len(self._never):
            logits[:, self._never.to(logits.device)] = -torch.inf
        if self._traits.noise is Noise.UNIFORM:
            return self._allowed_uniform(canvas, logits)
        rest, slot = self._remnant(canvas)
        if rest and slot < len(canvas):
            _only(logits, slot, self._beginning(rest))
        return logits

    def _allowed_uniform(self, canvas: Canvas, logits: Tensor) -> Tensor:
        """As no slot is ever decided for good, the remnant is followed along the best tokens, in every step."""
        for slot, token in canvas.forced.items():
            _only(logits, slot, torch.tensor([token]))
        rest = canvas.required
        for slot in range(len(canvas)):
            if not rest:
                break
            if slot not in canvas.forced:
                _only(logits, slot, self._beginning(rest))
            typed = self._bytes[int(logits[slot].argmax())]
            rest = rest[len(typed) :] if rest.startswith(typed) else b""
        return logits

    def _beginning(self, rest: bytes) -> Tensor:
        """Ids of the tokens that may come next while `rest` has to be typed."""
        if rest not in self._beginnings:
            ids = set(may_begin(self._bytes, rest)) - set(self._never.tolist()) - {self._traits.fill_end}
            self._beginnings[rest] = torch.tensor(sorted(ids), dtype=torch.long)
        return self._beginnings[rest]

    def _remnant(self, canvas: Canvas) -> tuple[bytes, int]:
        """What of the required bytes the decided slots from the left have not typed yet, and the slot that is next."""
        rest = canvas.required
        for slot, (token, decided) in enumerate(zip(canvas.slots.tolist(), canvas.decided.tolist(), strict=True)):
            if not rest or not decided:
                return rest, slot
            typed = self._bytes[token]
            rest = rest[len(typed) :] if rest.startswith(typed) else b""
        return rest, len(canvas)

    def _healing(self, canvas: Canvas) -> bool:
        rest, slot = self._remnant(canvas)
        return bool(rest) and slot < len(canvas)

    def _choose(self, logits: Tensor, run: Run) -> Tensor:
        if self.settings.temperature == 0.0:
            return logits.argmax(-1)
        p = torch.softmax(logits.double() / self.settings.temperature, dim=-1)
        return torch.multinomial(p.cpu(), 1, generator=run.generator)[:, 0].to(logits.device)

    def _accept(self, chosen: Tensor, entropy: Tensor, open_slots: Tensor) -> Tensor:
        """The slots to accept now; the leftmost undecided one always, so that every step decides something."""
        if self.settings.rule is Rule.CONFIDENCE:
            accepted = open_slots & (chosen >= self.settings.threshold)
        else:
            order = torch.where(open_slots, entropy, torch.inf).argsort()
            ranked = entropy[order]
            # the joint error of deciding k slots at once is bounded by their entropies' sum less the largest
            within = (ranked.cumsum(0) - ranked) <= self.settings.entropy_bound
            accepted = torch.zeros_like(open_slots)
            accepted[order[within]] = True
            accepted &= open_slots
        if open_slots.any() and not (self._traits.noise is Noise.UNIFORM and self.settings.rule is Rule.ENTROPY):
            accepted[int(open_slots.nonzero()[0])] = True
        return accepted

    def _revoke(self, canvas: Canvas, log_p: Tensor) -> None:
        """Puts decided slots back to noise that the model no longer believes; each slot only so often."""
        if not self.settings.max_revocations:
            return
        believed = log_p.gather(1, canvas.slots[:, None])[:, 0].exp()
        doubted = canvas.decided & (believed < self.settings.revoke_below)
        doubted &= canvas.revoked < self.settings.max_revocations
        for slot in canvas.forced:
            doubted[slot] = False
        doubted[: self._typed_slots(canvas)] = False  # the remnant stands in the document: it is not up for doubt
        ends = (canvas.slots == self._traits.fill_end) & canvas.decided
        if ends.any():
            doubted[int(ends.nonzero()[0]) :] = False  # what a fill end emptied stays empty
        canvas.revoked += doubted.long()
        canvas.decided &= ~doubted

    def _edit(self, canvas: Canvas, edits: Sequence[Edit], leftmost: int, run: Run) -> bool:
        """Makes the edits that are sure enough, from the right, and that of the leftmost undecided slot. Whether any was."""
        before = run.edits
        for edit in sorted(edits, key=lambda edit: -edit.slot):
            if canvas.decided[edit.slot] or (edit.expand and len(canvas) >= self._traits.max_slots):
                continue
            if edit.slot == leftmost or edit.confidence >= self.settings.threshold:
                (canvas.expand if edit.expand else canvas.delete)(edit.slot)
                run.edits += 1
        return run.edits != before

    def _replace(self, canvas: Canvas, log_p: Tensor) -> bool:
        """Gives decided slots another token that the model has become sure of, each slot only so often. Whether any was."""
        above = self.settings.replace_above
        if above is None:
            return False
        best_p, best = log_p.exp().max(-1)
        changed = canvas.decided & (best != canvas.slots) & (best_p >= above)
        changed &= canvas.revoked < max(1, self.settings.max_revocations)
        for slot in canvas.forced:
            changed[slot] = False
        changed[: self._typed_slots(canvas)] = False
        ends = (canvas.slots == self._traits.fill_end) & canvas.decided
        if ends.any():
            changed[int(ends.nonzero()[0]) :] = False
        canvas.slots = torch.where(changed, best, canvas.slots)
        canvas.confidence = torch.where(changed, best_p.to(canvas.confidence.dtype), canvas.confidence)
        canvas.revoked += changed.long()
        return bool(changed.any())

    def _possible(self, canvas: Canvas, edits: Sequence[Edit], run: Run) -> list[Edit]:
        """The edits that may still be made: of undecided slots, within the canvas's longest, and only so many."""
        if run.edits >= 2 * self._traits.max_slots:
            return []
        full = len(canvas) >= self._traits.max_slots
        return [edit for edit in edits if not canvas.decided[edit.slot] and not (edit.expand and full)]

    def _typed_slots(self, canvas: Canvas) -> int:
        """How many slots from the left stand for the remnant."""
        length, slots = 0, 0
        for token, decided in zip(canvas.slots.tolist(), canvas.decided.tolist(), strict=True):
            if length >= len(canvas.required) or not decided:
                break
            length += len(self._bytes[token])
            slots += 1
        return slots

    def _close(self, canvas: Canvas) -> None:
        """A fill end that is accepted empties all slots behind it."""
        ends = (canvas.slots == self._traits.fill_end) & canvas.decided
        if ends.any():
            first = int(ends.nonzero()[0])
            canvas.slots[first:] = self._traits.fill_end
            canvas.decided[first:] = True

    def _settled(self, best: Tensor, entropy: Tensor, canvas: Canvas, run: Run) -> bool:
        """Two steps agree on the text and the undecided slots are sure of it. The mean is over the slots alone."""
        if run.last is None or not torch.equal(run.last, best):
            return False
        return float(entropy[~canvas.decided].mean()) < self.settings.sure_entropy

    def _renoise(self, canvas: Canvas, run: Run) -> None:
        """Fresh noise in every undecided slot; what it is matters for uniform noise only."""
        if self._traits.noise is Noise.ABSORBING:
            noise = torch.zeros(len(canvas), dtype=torch.long)
        else:
            device = run.generator.device
            noise = torch.randint(self._traits.vocabulary, (len(canvas),), generator=run.generator, device=device)
        canvas.slots = torch.where(canvas.decided, canvas.slots, noise.to(canvas.slots.device))


def _only(logits: Tensor, slot: int, tokens: Tensor) -> None:
    """Leaves a slot those tokens alone."""
    tokens = tokens.to(logits.device)
    kept = logits[slot, tokens]
    logits[slot] = -torch.inf
    logits[slot, tokens] = kept
