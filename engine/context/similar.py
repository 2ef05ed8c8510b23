"""Snippets of what was lately edited or looked at, the most similar to the code around the cursor first.

A bounded ring of windows, compared by the Jaccard similarity of their sets of words, as several completion tools do it; a
window that says nearly the same as a newer one goes.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass

from engine.text import Document

WINDOW = 24  # lines
_WORD = re.compile(r"[^\W\d]\w+")
_SAME = 0.85  # similarity from which two windows are near-duplicates


@dataclass(frozen=True)
class Snippet:
    """Lines [first, last] (from 0) of a file."""

    path: str
    language: str
    first: int
    last: int
    text: str
    words: frozenset[str]


class Ring:
    """The latest snippets, `size` at most."""

    def __init__(self, size: int = 64) -> None:
        self._snippets: deque[Snippet] = deque(maxlen=size)

    def __len__(self) -> int:
        return len(self._snippets)

    def note(self, document: Document, line: int) -> None:
        """Remembers the window around a line."""
        if document.path is None:
            return
        index = document.lines
        first = max(0, min(line, index.line_count - 1) - WINDOW // 2)
        last = min(index.line_count - 1, first + WINDOW - 1)
        text = document.text[index.line_start(first) : index.line_end(last)]
        words = words_of(text)
        if len(words) < 4:
            return
        near = [s for s in self._snippets if s.path == document.path and (s.first <= last and first <= s.last)]
        near += [s for s in self._snippets if s not in near and similarity(words, s.words) >= _SAME]
        for old in near:
            self._snippets.remove(old)
        self._snippets.append(Snippet(document.path, document.language, first, last, text, words))

    def forget(self, path: str) -> None:
        kept = [snippet for snippet in self._snippets if snippet.path != path]
        self._snippets = deque(kept, maxlen=self._snippets.maxlen)

    def most_similar(self, document: Document, offset: int, count: int = 3) -> list[tuple[float, Snippet]]:
        """Snippets of other files in the same language, the most similar to the lines before the cursor first."""
        line = document.lines.line_at(offset)
        start = document.lines.line_start(max(0, line - WINDOW))
        words = words_of(document.text[start:offset])
        scored = [
            (similarity(words, snippet.words), number, snippet)
            for number, snippet in enumerate(tuple(self._snippets))  # one thread notes, another asks
            if snippet.path != document.path and snippet.language == document.language
        ]
        scored.sort(key=lambda one: (-one[0], -one[1]))
        return [(score, snippet) for score, _, snippet in scored[:count] if score >= 0.1]


def words_of(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text))


def similarity(one: frozenset[str], other: frozenset[str]) -> float:
    """Jaccard: shared over all, 0 to 1."""
    return len(one & other) / len(one | other) if one or other else 0.0
