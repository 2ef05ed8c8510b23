"""The diffusion filler: a document and a hole in, a draft a step and a completion out.

Imports torch; `engine.infill` decides by a model's name which filler to make, and imports this only when asked to.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from engine import completion as completions
from engine import joint, rewrite
from engine.canvas import Canvas, valid_text
from engine.completion import Candidate, Completer
from engine.context.window import Window, cut_window
from engine.denoisers import length_search, likelihood
from engine.denoisers.base import BatchDenoiser, Denoiser, Encoded, Noise, SharingDenoiser, SuffixPlace
from engine.errors import BadInput
from engine.filler import Alternative, CancelToken, Completion, Draft, Filler, FillSettings, Timing, TokenRead
from engine.hole import Hole
from engine.sampler import Run, Sampler, SamplerSettings
from engine.syntax import SyntaxTree, tree_of
from engine.text import Document
from engine.together import Mark, Round
from engine.tokenizer import Tokenizer

MAX_CANDIDATES = 6  # canvases tried for one completion before the answer is empty
# Denoising steps, for each alternative that is asked for, after which no further candidate and no further canvas of one is
# begun: the first candidate is always brought to its end, the others must not make a person wait for nothing.
MAX_STEPS = 96


@dataclass
class _Spent:
    """What one fill has used: milliseconds by stage, steps, and the tokens of its first encoding."""

    encode: float = 0.0
    denoise: float = 0.0
    check: float = 0.0
    steps: int = 0
    encoded: int = 0
    cached: int = 0


@dataclass(frozen=True)
class _Job:
    """One fill: what is asked, and what it has used so far."""

    document: Document
    hole: Hole
    tree: SyntaxTree
    window: Window
    prefix: list[int]
    suffix: list[int]
    budget: int
    settings: FillSettings
    cancel: CancelToken
    spent: _Spent
    first: _Size | None = None

    @property
    def used_up(self) -> bool:
        """Whether so many steps were spent that only what has begun is brought to its end."""
        return self.spent.steps >= MAX_STEPS * self.settings.alternatives


@dataclass(frozen=True)
class _Size:
    """Slots of a canvas, and whether the hole ends with it."""

    slots: int
    last: bool


@dataclass
class _Writing:
    """A candidate's first canvas on its way. past: its text has run past the hole's unit, the rest is not needed."""

    variation: _Variation
    sampler: Sampler
    left: int
    canvas: Canvas
    run: Run
    carry: Any = None
    past: bool = False


@dataclass(frozen=True)
class _Variation:
    """How a further candidate differs from the first: the sampler's settings, and the rank of its first word's token."""

    settings: SamplerSettings
    rank: int = 0


class DiffusionFiller:
    """Fills holes with a denoiser and a sampler, one at a time."""

    def __init__(self, denoiser: Denoiser, settings: SamplerSettings | None = None) -> None:
        self._denoiser = denoiser
        self._settings = settings or denoiser.traits.sampling
        self._sampler = Sampler(denoiser.traits, denoiser.tokenizer.token_bytes, self._settings)
        self.name = denoiser.name

    def siblings(self, count: int) -> list[Filler]:
        """See `engine.filler.SharingFiller`. Only on a CPU: elsewhere threads would wait for each other."""
        shared = self._denoiser
        if not isinstance(shared, SharingDenoiser) or shared.device.type != "cpu":
            return []
        return [DiffusionFiller(shared.sibling(), self._settings) for _ in range(count)]

    def count_tokens(self, text: str) -> int:
        """How many tokens a text takes, for budgets."""
        return len(self._denoiser.tokenizer.encode(text))

    def read(
        self, prefix: str, texts: Sequence[str], suffix: str, cancel: CancelToken, rivals: int = likelihood.RIVALS
    ) -> list[tuple[TokenRead, ...]]:
        """See `engine.filler.Reader`."""
        tokenizer = self._denoiser.tokenizer
        encoded = [tokenizer.encode_with_ends(text) for text in texts]
        read = likelihood.read(
            self._denoiser,
            tokenizer.encode(prefix),
            tokenizer.encode(suffix),
            [ids for ids, _ in encoded],
            cancel,
            rivals,
        )
        found = []
        for (_, ends), one in zip(encoded, read, strict=True):
            rows = zip(ends, one.logp.tolist(), one.rivals.tolist(), one.rival_logp.tolist(), strict=False)
            tokens, start = [], 0
            for end, logp, others, scores in rows:
                words = tuple(zip((tokenizer.decode([rival]) for rival in others), scores, strict=True))
                tokens.append(TokenRead(start, end, logp, words))
                start = end
            found.append(tuple(tokens))
        return found

    def fill(
        self, document: Document, hole: Hole, settings: FillSettings, cancel: CancelToken
    ) -> Iterator[Draft | Completion]:
        """See `engine.filler.Filler`. Where a canvas's text does not fit, a further one is denoised, its drafts too."""
        traits = self._denoiser.traits
        window = cut_window(document, hole, settings.context)
        budget = settings.slots or hole.slots
        if budget + traits.max_pinned + 2 > traits.window:
            raise BadInput(
                f"{budget} slots do not fit the model's context of {traits.window} tokens: use fewer --slots"
            )
        spent = _Spent()
        begun = time.perf_counter()
        tree = tree_of(document)
        encode = self._denoiser.tokenizer.encode
        prefix, suffix = encode(window.prefix), encode(window.suffix)
        job = _Job(document, hole, tree, window, prefix, suffix, budget, settings, cancel, spent)
        spent.check = (time.perf_counter() - begun) * 1000
        if not traits.learns_length:
            job = replace(
                job, first=self._sized(job, prefix, self._slots_in_all(job), window.remnant.encode(errors="replace"))
            )
        completer = Completer(document, hole, tree)
        found: list[Candidate] = []
        why = "no completion that fits was found"
        batched = settings.alternatives == 1 or not settings.rewrite  # what stands there seeds the first canvas alone
        variations = list(self._variations(settings))
        begun_together: dict[int, _Writing] = {}
        for number, variation in enumerate(variations, start=1):
            if number > 1 and job.used_up and number not in begun_together:
                break
            # the first alone, unless more are wanted: most fit; then those with other first words in one batch
            if batched and number == (1 if settings.alternatives > 1 else 2):
                until = 2 * settings.alternatives if number == 1 else len(variations) - 1
                begun_together = yield from self._denoise_many(job, variations[number - 1 : until], number)
            candidate = yield from self._denoise(job, variation, number, begun_together.get(number))
            begun = time.perf_counter()
            best = completer.offer(candidate) if candidate else None
            spent.check += (time.perf_counter() - begun) * 1000
            if best and best.confidence < settings.min_confidence:
                why = _too_unsure(best, settings)
                break  # the next ones are less sure
            if best and best.text not in [f.text for f in found]:
                found.append(best)
            if settings.alternatives > 1 and number < len(begun_together):
                continue  # it costs little to look at what is there
            if len(found) >= settings.alternatives or (found and number >= 2 * settings.alternatives):
                break
        found = [*found[:1], *sorted(found[1:], key=lambda candidate: -candidate.confidence)][: settings.alternatives]
        if not found:
            begun = time.perf_counter()
            last = completer.last_resort()
            spent.check += (time.perf_counter() - begun) * 1000
            found = [last] if last and last.confidence >= settings.min_confidence else []
            if last and not found:
                why = _too_unsure(last, settings)
        cancel.check()
        chosen = found[0] if found else Candidate("", 0.0)
        yield Completion(
            text=chosen.text,
            start=hole.start,
            end=hole.end,
            confidence=chosen.confidence,
            steps=spent.steps,
            tokens=len(self._denoiser.tokenizer.encode(chosen.text)) if chosen.text else 0,
            cached_tokens=spent.cached,
            encoded_tokens=spent.encoded,
            ms=Timing(spent.encode, spent.denoise, spent.check),
            alternatives=tuple(Alternative(f.text, f.confidence) for f in found[1:]),
            why="" if chosen.text else why,
        )

    def rounds(
        self, document: Document, marks: Sequence[Mark], settings: FillSettings, cancel: CancelToken
    ) -> Iterator[Round]:
        """See `engine.together.JointFiller`."""

        def past(document: Document, hole: Hole, text: str) -> bool:
            return _past_its_end(document, hole, text, tree_of(document))

        return joint.rounds(self._denoiser, self._sampler, past, document, marks, settings, cancel)

    def _variations(self, settings: FillSettings) -> Iterator[_Variation]:
        """The first candidate is the sampler's own; then those with other first words, at least as many as are asked
        for; at last one slot a step, the most careful."""
        base = replace(self._settings, max_steps=settings.steps or self._settings.max_steps)
        # where every slot is judged anew each step, one accepted at a time would never come to an end
        uniform = self._denoiser.traits.noise is Noise.UNIFORM
        careful = (
            replace(base, entropy_bound=base.entropy_bound / 4)
            if uniform
            else replace(base, threshold=2.0, entropy_bound=0.0, max_steps=settings.steps)
        )
        yield _Variation(base)
        yield from (_Variation(base, rank) for rank in range(1, max(MAX_CANDIDATES - 1, 2 * settings.alternatives)))
        yield _Variation(careful)

    def _denoise_many(
        self, job: _Job, variations: list[_Variation], number: int
    ) -> Generator[Draft, None, dict[int, _Writing]]:
        """The first canvases of several candidates in one batch, by the candidates' numbers, of which the first is
        `number`. What follows a first canvas is each candidate's own. Empty where the denoiser takes one at a time."""
        denoiser, traits, cancel, spent = self._denoiser, self._denoiser.traits, job.cancel, job.spent
        if not isinstance(denoiser, BatchDenoiser):
            return {}
        encoded = self._encode(job.prefix, job.suffix, cancel, spent)
        writings = [self._begin(job, variation) for variation in variations]
        while open_ := [w for w in writings if not w.run.finished and not w.past]:
            cancel.check()
            begun = time.perf_counter()
            first = open_[0].run.step == 0
            if first:  # all canvases are the same still
                steps = [denoiser.step(encoded, open_[0].canvas, None)] * len(open_)
            else:
                steps = denoiser.step_many(encoded, [w.canvas for w in open_], [w.carry for w in open_])
            for writing, step in zip(open_, steps, strict=True):
                if writing.variation.rank and not writing.canvas.forced:
                    _force(writing.canvas, writing.sampler, step.logits, writing.variation.rank)
                writing.sampler.advance(writing.canvas, step.logits, writing.run, step.edits)
                writing.carry = writing.run.judged if traits.conditioned else step.carry
            spent.denoise += (time.perf_counter() - begun) * 1000
            spent.steps += 1
            for writing in open_:
                text, slots = writing.canvas.draft(denoiser.tokenizer, traits.fill_end)
                yield Draft(writing.run.step, 0, text, slots, number + writings.index(writing))
                writing.past = self._runs_on(job, writing.canvas.tokens(traits.fill_end))
        return dict(enumerate(writings, start=number))

    def _begin(self, job: _Job, variation: _Variation) -> _Writing:
        """An empty first canvas."""
        denoiser, traits, window = self._denoiser, self._denoiser.traits, job.window
        sampler = self._sampler.with_settings(variation.settings)
        left = self._slots_in_all(job)
        size = job.first or _Size(min(left, traits.max_slots), left <= traits.max_slots)
        required = window.remnant.encode("utf-8", errors="replace")
        canvas = Canvas.empty(size.slots, denoiser.device, self._pinned(job, size.last), required)
        left = size.slots if size.last else left
        return _Writing(variation, sampler, left, canvas, sampler.begin(canvas, job.settings.seed))

    def _slots_in_all(self, job: _Job) -> int:
        """The remnant is typed again by the first slots, and so is not part of what the hole needs."""
        return job.budget + (len(self._denoiser.tokenizer.encode(job.window.remnant)) if job.window.remnant else 0)

    def _pinned(self, job: _Job, last: bool) -> tuple[int, ...]:
        """What is pinned behind a canvas. The suffix would say that the hole ends there: of a model that goes by that and
        has the suffix elsewhere too, only the last canvas has it."""
        traits = self._denoiser.traits
        if traits.suffix is SuffixPlace.ENCODED or (
            traits.suffix is SuffixPlace.BOTH and not traits.learns_length and not last
        ):
            return ()
        return tuple(job.suffix[: traits.max_pinned])

    def _sized(self, job: _Job, prefix: list[int], left: int, required: bytes) -> _Size:
        """The next canvas of a hole that needs at most `left` more slots. A model that did not learn length is asked,
        unless the person has said how many there are."""
        denoiser = self._denoiser
        most = min(left, length_search.room(denoiser, prefix, job.suffix))
        if denoiser.traits.learns_length or job.settings.slots:
            return _Size(most, left <= most)
        encoded = self._encode(prefix, job.suffix, job.cancel, job.spent)

        def make(slots: int) -> Canvas:
            pinned = self._pinned(job, last=slots < most or left <= most)
            canvas = Canvas.empty(slots, denoiser.device, pinned, required)
            self._sampler.begin(canvas, job.settings.seed)
            return canvas

        begun = time.perf_counter()
        typed = len(denoiser.tokenizer.encode(required.decode(errors="replace"))) if required else 0
        slots = length_search.best_length(denoiser, encoded, min(most, max(1, typed)), most, make, job.cancel.check)
        job.spent.denoise += (time.perf_counter() - begun) * 1000
        return _Size(slots, slots < most or left <= most)

    def _denoise(
        self, job: _Job, variation: _Variation, number: int, writing: _Writing | None = None
    ) -> Generator[Draft, None, Candidate | None]:
        """Denoises block after block until a fill end, the unit's end, the budget's end, or a cancel. Returns what
        it wrote; None where that does not begin with the remnant. writing: a first canvas that was denoised already."""
        window, settings, cancel, spent = job.window, job.settings, job.cancel, job.spent
        denoiser, traits = self._denoiser, self._denoiser.traits
        tokenizer = denoiser.tokenizer
        stood = _standing(job, tokenizer) if settings.rewrite and not variation.rank else []
        first = writing or self._begin(job, variation)
        sampler, left = first.sampler, first.left
        written: list[int] = []
        confidences: list[float] = []
        block = passed = 0
        while left > 0 and not (block and number > 1 and job.used_up):
            if block == 0:
                canvas, run, carry, past = first.canvas, first.run, first.carry, first.past
                slots_here = min(left, job.first.slots if job.first else traits.max_slots)
            else:
                required = self._untyped(window, written)
                size = self._sized(job, job.prefix + written, left, required)
                canvas = Canvas.empty(size.slots, denoiser.device, self._pinned(job, size.last), required)
                run, carry, past = sampler.begin(canvas, settings.seed), None, False
                slots_here = left if size.last else size.slots
            if not run.finished and not past:
                encoded = self._encode(job.prefix + written, job.suffix, cancel, spent)
            if here := stood[passed:][: len(canvas)]:
                spent.steps += rewrite.seed(canvas, here, denoiser, encoded, sampler, cancel.check)
            while not run.finished and not past:
                cancel.check()
                begun = time.perf_counter()
                step = denoiser.step(encoded, canvas, carry)
                if block == 0 and variation.rank and not canvas.forced:
                    _force(canvas, sampler, step.logits, variation.rank)
                sampler.advance(canvas, step.logits, run, step.edits)
                carry = run.judged if traits.conditioned else step.carry
                spent.denoise += (time.perf_counter() - begun) * 1000
                spent.steps += 1
                text, slots = canvas.draft(tokenizer, traits.fill_end)
                yield Draft(run.step, block, self._text(window, written) + text, slots, number)
                past = self._runs_on(job, written + canvas.tokens(traits.fill_end))
            tokens = canvas.tokens(traits.fill_end)
            confidences += canvas.confidence[: min(len(tokens) + 1, len(canvas))].tolist()
            written += tokens
            left -= slots_here  # not what an edited canvas has become
            passed += slots_here
            if past or not run.finished or len(tokens) < len(canvas):
                break
            block += 1
        whole = self._decoded(window, written)
        if whole is None:
            return None  # the canvas was too short to type the remnant again
        return Candidate(whole, sum(confidences) / max(len(confidences), 1))

    def _runs_on(self, job: _Job, tokens: list[int]) -> bool:
        """Whether the text from the left has gone past its unit or into the suffix: what is undecided then is not
        needed. A model that did not learn to end a fill costs no more steps than one that did."""
        begun = time.perf_counter()
        text = self._decoded(job.window, tokens) or ""
        past = _past_its_end(job.document, job.hole, text, job.tree)
        job.spent.check += (time.perf_counter() - begun) * 1000
        return past

    def _untyped(self, window: Window, written: list[int]) -> bytes:
        """What of the remnant the canvases before have not typed again, where they were too short for it."""
        remnant, typed = window.remnant.encode(errors="replace"), self._denoiser.tokenizer.decode_bytes(written)
        return remnant[len(typed) :] if remnant.startswith(typed) else b""

    def _decoded(self, window: Window, tokens: list[int]) -> str | None:
        """The text behind the remnant; None where the remnant was not typed again."""
        data = self._denoiser.tokenizer.decode_bytes(tokens)
        remnant = window.remnant.encode("utf-8", errors="replace")
        return valid_text(data[len(remnant) :]) if data.startswith(remnant) else None

    def _encode(self, prefix: list[int], suffix: list[int], cancel: CancelToken, spent: _Spent) -> Encoded:
        begun = time.perf_counter()
        encoded = self._denoiser.encode(prefix, suffix, cancel)
        spent.encode += (time.perf_counter() - begun) * 1000
        if not spent.encoded:
            spent.encoded, spent.cached = encoded.tokens, encoded.cached_tokens
        return encoded

    def _text(self, window: Window, written: list[int]) -> str:
        return self._denoiser.tokenizer.decode(written).removeprefix(window.remnant) if written else ""


def _too_unsure(best: Candidate, settings: FillSettings) -> str:
    return f"the best found has a confidence of {best.confidence:.2f}, less than {settings.min_confidence:.2f}"


def _past_its_end(document: Document, hole: Hole, text: str, tree: SyntaxTree) -> bool:
    """Whether a filter would cut the end of a text of several lines off: it has gone past its unit or into the suffix."""
    offered = completions.filters(document, hole, text, tree) if "\n" in text else text
    return bool(offered.strip()) and len(offered.rstrip()) < len(text.rstrip())


def _standing(job: _Job, tokenizer: Tokenizer) -> list[int]:
    """The tokens of what stands in the hole, behind those of the remnant."""
    text = job.document.text[job.hole.start : job.hole.end].replace("\r\n", "\n").replace("\r", "\n")
    return tokenizer.encode(job.window.remnant + text)


def _force(canvas: Canvas, sampler: Sampler, logits: torch.Tensor, rank: int) -> None:
    """The first slot that begins a word takes its `rank`-th best token, so that the canvas comes out another way.

    White space before it is left as it is: another line break is no other completion.
    """
    if canvas.decided.all():
        return
    slot = int((~canvas.decided).nonzero()[0])
    best = sampler.ranked(canvas, logits, slot)
    if rank < len(best) and sampler.begins_word(best[0]):
        words = [token for token in best if sampler.begins_word(token)]
        canvas.forced[slot] = words[min(rank, len(words) - 1)]
