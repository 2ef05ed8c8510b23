"""From source files to training documents: holes as people leave them, several canvases a document. Imports no torch.

A document is cut once into a prefix stream; each spot in it has a suffix of its own and canvases that start at
different places before the spot's end. Every canvas is seen with a mask and with that mask's complement, or fully
masked and with its left part known, so that each slot is learned from; and once more left to right without a mask, where
every slot teaches what the suffix says of it.
"""

from __future__ import annotations

import bisect
import random
from dataclasses import dataclass

from engine.denoisers.layout import CANVAS_SIZES, MAX_SUFFIX
from engine.tokenizer import Tokenizer, split_for_healing
from engine.training.corpus import SourceFile

EMPTY_WEIGHT = 0.05  # loss weight of a slot behind the first fill end: there are many, and they teach little


@dataclass(frozen=True)
class Canvas:
    """prefix_length: tokens of the prefix stream before the slots (the last of them opens the canvas as its anchor).

    tokens: the right token of each slot; masked: which slots are noise; weights: of each masked slot in the loss.
    causal: no slot is noise, each sees those before it alone and is predicted from them, as a left-to-right model would.
    """

    prefix_length: int
    spot: int
    tokens: list[int]
    masked: list[bool]
    weights: list[float]
    causal: bool = False


@dataclass(frozen=True)
class TrainingDocument:
    """prefix: token ids, the first of them the start token; suffixes: token ids a spot, each with the start token."""

    prefix: list[int]
    suffixes: list[list[int]]
    canvases: list[Canvas]


class ExampleMaker:
    """Draws documents from files, projects by the square root of their size, so that no large one drowns the rest."""

    def __init__(
        self, files: list[SourceFile], tokenizer: Tokenizer, fill_end: int, seed: int, spots: int = 10
    ) -> None:
        self._tokenizer, self._fill_end, self._spots = tokenizer, fill_end, spots
        self._random = random.Random(seed)
        by_project: dict[str, list[SourceFile]] = {}
        for file in files:
            by_project.setdefault(file.project, []).append(file)
        self._projects = list(by_project.values())
        sizes = [[len(f.text) for f in group] for group in self._projects]
        self._file_weights = sizes
        self._project_weights = [sum(s) ** 0.5 for s in sizes]

    def draw(self) -> TrainingDocument:
        while True:
            index = self._random.choices(range(len(self._projects)), self._project_weights)[0]
            file = self._random.choices(self._projects[index], self._file_weights[index])[0]
            document = self._make(file.text)
            if document is not None:
                return document

    def _make(self, text: str) -> TrainingDocument | None:
        draw = self._random
        length = int(200 * 7 ** draw.random())  # 200 to 1,400 characters of prefix
        start = 0 if draw.random() < 0.15 else text.rfind("\n", 0, draw.randrange(len(text))) + 1
        window = text[start : start + length + 200]
        if len(window) < 150:
            return None
        ids, ends = self._tokenizer.encode_with_ends(window)
        ids = [self._fill_end, *ids]
        ends = [0, *ends]
        suffixes: list[list[int]] = []
        canvases: list[Canvas] = []
        for _ in range(self._spots):
            cursor = draw.randrange(len(window) // 4, len(window))
            cursor, end = self._hole(window, cursor)
            if not window[cursor:end].strip():
                continue
            made: list[Canvas] = []
            for begin in (cursor, self._earlier(window, cursor)):
                made += self._canvases(window, begin, end, ids, ends, len(suffixes))
            if made:
                canvases += made
                suffixes.append(self._suffix(text, start + end))
        if not canvases:
            return None
        longest = max(c.prefix_length for c in canvases)
        return TrainingDocument(ids[:longest], suffixes, canvases)

    def _hole(self, text: str, cursor: int) -> tuple[int, int]:
        """A hole's (start, end): the rest of a line, a whole line, a few lines, or a random span."""
        draw = self._random
        line_start = text.rfind("\n", 0, cursor) + 1
        line_end = _line_end(text, cursor)
        kind = draw.random()
        if kind < 0.35:
            return cursor, line_end
        if kind < 0.70:
            lines = 1 if kind < 0.60 else draw.randint(2, 3)
            for _ in range(lines - 1):
                line_end = _line_end(text, line_end + 1)
            indent = len(text[line_start:line_end]) - len(text[line_start:line_end].lstrip())
            if draw.random() < 0.5:  # the cursor stands in column 0, and the line break belongs to the hole
                return line_start, min(line_end + 1, len(text))
            return line_start + indent, line_end
        return cursor, min(len(text), cursor + draw.randint(1, 60))

    def _earlier(self, text: str, cursor: int) -> int:
        """Another start for the same end: earlier in the line, or from the start of this line or the one above."""
        draw = self._random
        line_start = text.rfind("\n", 0, cursor) + 1
        if cursor - line_start > 4 and draw.random() < 0.8:
            return draw.randrange(line_start, cursor)
        if draw.random() < 0.5:
            line_start = text.rfind("\n", 0, max(line_start - 1, 0)) + 1
        return line_start

    def _suffix(self, text: str, at: int) -> list[int]:
        draw = self._random
        limit = 0 if draw.random() < 0.08 else int(8 * (MAX_SUFFIX / 8) ** draw.random())
        return [self._fill_end, *self._tokenizer.encode(text[at : at + 8 * limit])[: max(limit - 1, 0)]]

    def _canvases(self, text: str, begin: int, end: int, ids: list[int], ends: list[int], spot: int) -> list[Canvas]:
        draw = self._random
        kept, remnant = split_for_healing(text[:begin])
        index = bisect.bisect_left(ends, len(kept)) if kept else 0
        if index >= len(ends) or ends[index] != len(kept):
            return []  # this start is no token boundary of the stream
        while index + 1 < len(ends) and ends[index + 1] == len(kept):
            index += 1  # behind every token of a character that took several
        prefix_length = index + 1
        target = self._tokenizer.encode(remnant + text[begin:end])
        fitting = [s for s in CANVAS_SIZES if s > len(target)] or [CANVAS_SIZES[-1]]
        size = fitting[min(int(draw.expovariate(2.5)), len(fitting) - 1)]
        tokens = (target + [self._fill_end] * size)[:size]
        inside = min(len(target) + 1, size)
        weights = [1.0 if i < inside else EMPTY_WEIGHT for i in range(size)]
        masks: list[list[bool]]
        if draw.random() < 0.5:
            rate = draw.uniform(0.15, 0.85)
            mask = [draw.random() < rate for _ in range(size)]
            masks = [mask, [not m for m in mask]]
        else:
            known = draw.randint(1, max(1, inside - 1))
            masks = [[True] * size, [i >= known for i in range(size)]]
        noisy = [
            Canvas(prefix_length, spot, tokens, mask, [w if m else 0.0 for w, m in zip(weights, mask, strict=True)])
            for mask in masks
            if any(mask[:inside])
        ]
        causal = Canvas(prefix_length, spot, tokens[:inside], [False] * inside, weights[:inside], causal=True)
        return [*noisy, causal]


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", min(at, len(text)))
    return len(text) if found < 0 else found
