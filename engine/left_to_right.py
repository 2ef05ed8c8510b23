"""The left-to-right baseline: the base model decodes from the prefix alone, greedily, one token a pass.

It has the same token healing and the same forward pass as the diffusion filler, so that a comparison measures the
way of filling and nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import torch

from engine.canvas import Canvas, valid_text
from engine.context.window import cut_window
from engine.denoisers.base import PREFILL_CHUNK, Noise, SuffixPlace, Traits
from engine.denoisers.cache import Cache, read_causally
from engine.denoisers.layout import MAX_SUFFIX, last_tokens
from engine.denoisers.transformer import Transformer
from engine.filler import CancelToken, Completion, Draft, FillSettings, Timing
from engine.hole import Hole, HoleKind
from engine.sampler import Sampler
from engine.text import Document
from engine.tokenizer import Tokenizer


class LeftToRightFiller:
    """`start`: the token that opens the stream; it also ends a fill, as a document's end. `control`: tokens that are
    never emitted."""

    def __init__(
        self,
        name: str,
        model: Transformer,
        tokenizer: Tokenizer,
        start: int,
        control: frozenset[int],
        window: int = 2048,
    ) -> None:
        self.name, self._model, self._tokenizer, self._start = name, model, tokenizer, start
        self._window = min(window, model.shape.context)
        traits = Traits(
            Noise.ABSORBING,
            SuffixPlace.ENCODED,
            True,
            True,
            start,
            control,
            1,
            0,
            window,
            model.shape.vocabulary,
        )
        self._sampler = Sampler(traits, tokenizer.token_bytes)
        self._cache = Cache(model.shape, model.dtype, model.device, self._window)

    def count_tokens(self, text: str) -> int:
        return len(self._tokenizer.encode(text))

    def fill(
        self, document: Document, hole: Hole, settings: FillSettings, cancel: CancelToken
    ) -> Iterator[Draft | Completion]:
        """As a `Filler`: one line for a hole in a line, `slots` tokens elsewhere; no drafts."""
        one_line = hole.kind not in (HoleKind.BLOCK, HoleKind.SELECTION)
        yield self.fill_left_to_right(document, hole, settings.slots or hole.slots, one_line, cancel)

    @torch.inference_mode()
    def fill_left_to_right(
        self, document: Document, hole: Hole, max_tokens: int, stop_at_line_break: bool, cancel: CancelToken
    ) -> Completion:
        """Decodes up to `max_tokens`, or to the first line break that follows some text (it is kept)."""
        window = cut_window(document, hole)
        remnant = window.remnant.encode("utf-8", errors="replace")
        max_tokens += self.count_tokens(window.remnant) if window.remnant else 0
        room = self._window - MAX_SUFFIX - max_tokens - 1
        ids = [self._start, *last_tokens(self._tokenizer.encode(window.prefix), room)]
        begun = time.perf_counter()
        kept = min(self._cache.keep_prefix(ids), len(ids) - 1)
        del self._cache.prefix[kept:]
        hidden = torch.zeros(0)
        for at in range(kept, len(ids), PREFILL_CHUNK):
            cancel.check()
            hidden = self._read(ids[at : at + PREFILL_CHUNK])
        encoded = time.perf_counter()
        canvas = Canvas.empty(max_tokens, self._model.device, required=remnant)
        while not canvas.finished:
            cancel.check()
            slot = int(canvas.decided.sum())
            logits = self._model.logits(hidden[-1:])
            token, probability = self._pick(canvas, slot, logits)
            canvas.slots[slot], canvas.decided[slot], canvas.confidence[slot] = token, True, probability
            data = self._tokenizer.decode_bytes(canvas.tokens(self._start))[len(remnant) :]
            if token == self._start or (stop_at_line_break and b"\n" in data.lstrip(b"\n")):
                break
            hidden = self._read([token])
        tokens = canvas.tokens(self._start)
        text = valid_text(self._tokenizer.decode_bytes(tokens)[len(remnant) :])
        if stop_at_line_break:
            lead = len(text) - len(text.lstrip("\n"))
            text = text[: text.find("\n", lead) + 1] if "\n" in text[lead:] else text
        done = time.perf_counter()
        return Completion(
            text,
            hole.start,
            hole.end,
            confidence=canvas.mean_confidence(self._start),
            steps=len(tokens),
            tokens=len(tokens),
            cached_tokens=kept,
            encoded_tokens=len(ids),
            ms=Timing(1000 * (encoded - begun), 1000 * (done - encoded)),
        )

    def _pick(self, canvas: Canvas, slot: int, logits: torch.Tensor) -> tuple[int, float]:
        rows = logits.expand(len(canvas), -1)
        allowed = self._sampler.allowed(canvas, rows)[slot]
        p = torch.softmax(allowed, -1)
        token = int(p.argmax())
        return token, float(p[token])

    def _read(self, ids: list[int]) -> torch.Tensor:
        """Encodes tokens behind the cached prefix; hidden states [n, h]."""
        hidden = read_causally(self._model, self._cache, ids, self._cache.prefix_end, MAX_SUFFIX)
        self._cache.prefix += ids
        return hidden
