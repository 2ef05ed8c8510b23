"""The diffusion filler: a document and a hole in, a draft a step and a completion out.

Imports torch; `engine.infill` decides by a model's name which filler to make, and imports this only when asked to.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from engine import completion as completions
from engine import joint
from engine.canvas import Canvas, valid_text
from engine.completion import Candidate, Completer
from engine.context.window import Window, cut_window
from engine.denoisers.base import Denoiser, Encoded, SuffixPlace
from engine.errors import BadInput
from engine.filler import Alternative, CancelToken, Completion, Draft, FillSettings, Timing
from engine.hole import Hole
from engine.sampler import Sampler, SamplerSettings
from engine.syntax import SyntaxTree, tree_of
from engine.text import Document
from engine.together import Mark, Round

MAX_CANDIDATES = 6  # canvases tried for one completion before the answer is empty


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


@dataclass(frozen=True)
class _Variation:
    """How a further candidate differs from the first: the sampler's settings, and the rank of its first word's token."""

    settings: SamplerSettings
    rank: int = 0


class DiffusionFiller:
    """Fills holes with a denoiser and a sampler, one at a time."""

    def __init__(self, denoiser: Denoiser, settings: SamplerSettings | None = None) -> None:
        self._denoiser = denoiser
        self._settings = settings or SamplerSettings()
        self._sampler = Sampler(denoiser.traits, denoiser.tokenizer.token_bytes, self._settings)
        self.name = denoiser.name

    def fill(
        self, document: Document, hole: Hole, settings: FillSettings, cancel: CancelToken
    ) -> Iterator[Draft | Completion]:
        """See `engine.filler.Filler`. Where a canvas's text does not fit, a further one is denoised, its drafts too."""
        traits = self._denoiser.traits
        window = cut_window(document, hole)
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
        completer = Completer(document, hole, tree)
        found: list[Candidate] = []
        for number, variation in enumerate(self._variations(settings), start=1):
            candidate = yield from self._denoise(job, variation, number)
            begun = time.perf_counter()
            best = completer.offer(candidate) if candidate else None
            spent.check += (time.perf_counter() - begun) * 1000
            if best and best.confidence < settings.min_confidence:
                break  # the next ones are less sure
            if best and best.text not in [f.text for f in found]:
                found.append(best)
            if len(found) >= settings.alternatives or (found and number >= 2 * settings.alternatives):
                break
        if not found:
            begun = time.perf_counter()
            last = completer.last_resort()
            spent.check += (time.perf_counter() - begun) * 1000
            found = [last] if last and last.confidence >= settings.min_confidence else []
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
        )

    def rounds(
        self, document: Document, marks: Sequence[Mark], settings: FillSettings, cancel: CancelToken
    ) -> Iterator[Round]:
        """See `engine.together.JointFiller`."""

        def runs_on(document: Document, hole: Hole, text: str) -> bool:
            offered = completions.filters(document, hole, text, tree_of(document)) if "\n" in text else text
            return bool(offered.strip()) and len(offered.rstrip()) < len(text.rstrip())

        return joint.rounds(self._denoiser, self._sampler, runs_on, document, marks, settings, cancel)

    def _variations(self, settings: FillSettings) -> Iterator[_Variation]:
        """The first candidate is the sampler's own; then those with other first words, at least as many as are asked
        for; at last one slot a step, the most careful."""
        base = replace(self._settings, max_steps=settings.steps or self._settings.max_steps)
        careful = replace(base, threshold=2.0, entropy_bound=0.0, max_steps=settings.steps)
        yield _Variation(base)
        yield from (_Variation(base, rank) for rank in range(1, max(MAX_CANDIDATES - 1, 2 * settings.alternatives)))
        yield _Variation(careful)

    def _denoise(self, job: _Job, variation: _Variation, number: int) -> Generator[Draft, None, Candidate | None]:
        """Denoises block after block until a fill end, the unit's end, the budget's end, or a cancel. Returns what
        it wrote; None where that does not begin with the remnant."""
        window, settings, cancel, spent = job.window, job.settings, job.cancel, job.spent
        denoiser, traits = self._denoiser, self._denoiser.traits
        tokenizer = denoiser.tokenizer
        sampler = self._sampler.with_settings(variation.settings)
        pinned = () if traits.suffix is SuffixPlace.ENCODED else job.suffix[: traits.max_pinned]
        required = window.remnant.encode("utf-8", errors="replace")
        # the remnant is typed again by the first slots, and so is not part of what the hole needs
        left = job.budget + (len(tokenizer.encode(window.remnant)) if window.remnant else 0)
        written: list[int] = []
        confidences: list[float] = []
        block = 0
        while left > 0:
            encoded = self._encode(job.prefix + written, job.suffix, cancel, spent)
            canvas = Canvas.empty(min(left, traits.max_slots), denoiser.device, pinned, required)
            run = sampler.begin(canvas, settings.seed)
            carry = None
            while not run.finished:
                cancel.check()
                begun = time.perf_counter()
                step = denoiser.step(encoded, canvas, carry)
                carry = step.carry
                if block == 0 and variation.rank and not canvas.forced:
                    _force(canvas, sampler, step.logits, variation.rank)
                sampler.advance(canvas, step.logits, run)
                spent.denoise += (time.perf_counter() - begun) * 1000
                spent.steps += 1
                text, slots = canvas.draft(tokenizer, traits.fill_end)
                yield Draft(run.step, block, self._text(window, written) + text, slots, number)
                if self._runs_on(job, written + canvas.tokens(traits.fill_end)):
                    break
            tokens = canvas.tokens(traits.fill_end)
            confidences += canvas.confidence[: min(len(tokens) + 1, len(canvas))].tolist()
            written += tokens
            left -= len(canvas)
            if not run.finished or len(tokens) < len(canvas):
                break
            required, block = b"", block + 1
        whole = self._decoded(window, written)
        if whole is None:
            return None  # the canvas was too short to type the remnant again
        return Candidate(whole, sum(confidences) / max(len(confidences), 1))

    def _runs_on(self, job: _Job, tokens: list[int]) -> bool:
        """Whether the text from the left has gone past its unit or into the suffix: what is undecided then is not
        needed. A model that did not learn to end a fill costs no more steps than one that did."""
        begun = time.perf_counter()
        text = self._decoded(job.window, tokens) or ""
        offered = completions.filters(job.document, job.hole, text, job.tree) if "\n" in text else text
        job.spent.check += (time.perf_counter() - begun) * 1000
        return bool(offered.strip()) and len(offered.rstrip()) < len(text.rstrip())

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


def _force(canvas: Canvas, sampler: Sampler, logits: torch.Tensor, rank: int) -> None:
    """The first slot that begins a word takes its `rank`-th best token, so that the canvas comes out another way.

    White space before it is left as it is: another line break is no other completion.
    """
    slot = int((~canvas.decided).nonzero()[0])
    best = sampler.ranked(canvas, logits, slot)
    if rank < len(best) and sampler.begins_word(best[0]):
        words = [token for token in best if sampler.begins_word(token)]
        canvas.forced[slot] = words[min(rank, len(words) - 1)]
