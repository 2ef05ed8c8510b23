"""From a canvas's raw text to what a person is offered: one filter a file, in a fixed order, then the syntax gate.

control characters -> line endings -> indentation -> end of the unit -> repeated suffix -> words at the seam -> echo of the lines above -> blank -> gate
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.completion import blank, control, echo, indentation, line_endings, repeats, unit, words
from engine.completion.gate import Gate
from engine.completion.variants import shorter, variants
from engine.hole import Hole
from engine.syntax import SyntaxTree, tree_of
from engine.text import Document

__all__ = ["Candidate", "Completer", "complete", "filters", "refilter"]


@dataclass(frozen=True)
class Candidate:
    """The raw text of a canvas, remnant taken off, and the mean confidence of its slots (0 to 1)."""

    text: str
    confidence: float


def filters(document: Document, hole: Hole, text: str, tree: SyntaxTree) -> str:
    """All filters in their order. The text behind the hole's own line break, where it needs one, is `unit.tail`."""
    text = control.cut(text)
    text = line_endings.adopt(document, text)
    text = indentation.adopt(document, hole, text)
    text = unit.cut(document, hole, text, tree)
    text = repeats.trim(document, hole, text)
    text = words.part(document, hole, text)
    text = echo.drop(document, hole, text)
    return blank.drop(document, hole, text)


def refilter(document: Document, hole: Hole, text: str, tree: SyntaxTree) -> str:
    """What of a completion fits that was right for this place before, and of which a part was typed since.

    Its unit and its indentation were settled then; what has changed is what stands behind the cursor, where an editor
    closes brackets by itself. Where that takes something off, the gate judges once more.
    """
    left = words.part(document, hole, repeats.trim(document, hole, control.cut(text)))
    if not left.strip():
        return ""
    return left if left == text or Gate(document, hole, tree).passes(left) else ""


class Completer:
    """Takes a hole's candidates one by one, best first, and says which of them fit.

    Of each the text itself is tried, then with what it left open closed, then without its last lines. When no further
    candidate comes, `last_resort` tries shorter starts of those that failed.
    """

    def __init__(self, document: Document, hole: Hole, tree: SyntaxTree | None = None) -> None:
        self._document, self._hole = document, hole
        self._tree = tree or tree_of(document)
        self._gate = Gate(document, hole, self._tree)
        self._tail = unit.tail(document, hole)
        self._tried: list[Candidate] = []

    def offer(self, candidate: Candidate) -> Candidate | None:
        """What of this candidate is right, filtered; None where nothing is, or where the same text came before."""
        text = filters(self._document, self._hole, candidate.text, self._tree)
        if not text or text in (t.text for t in self._tried):
            return None
        self._tried.append(Candidate(text, candidate.confidence))
        fitting = self._fitting(variants(text, self._document.language))
        return None if fitting is None else Candidate(fitting, candidate.confidence)

    def last_resort(self) -> Candidate | None:
        """A shorter start of a candidate that failed; or, in a document that is broken apart from its hole, the best
        that brings no new fault of the grammar."""
        for filtered in self._tried:
            starts = (s for s in shorter(filtered.text) if words.known(self._document, self._hole, s))
            if (fitting := self._fitting(starts)) is not None:
                return Candidate(fitting, filtered.confidence)
        second = self._gate.second_best()
        if second is None:
            return None
        return Candidate(second, next((t.confidence for t in self._tried if t.text[:8] == second[:8]), 0.0))

    def _fitting(self, texts: Iterable[str]) -> str | None:
        """The first that passes the gate. A text that was closed or cut ends in other words: these are looked at again."""
        for text in texts:
            parted = words.part(self._document, self._hole, text)
            if parted.strip() and self._gate.passes(parted + self._tail):
                return parted + self._tail
        return None


def complete(
    document: Document, hole: Hole, candidates: Iterable[Candidate], tree: SyntaxTree | None = None
) -> Candidate | None:
    """The first candidate, best first, that fits; None where none does. Lazy: a further candidate is asked for only
    when those before it have failed."""
    completer = Completer(document, hole, tree)
    for candidate in candidates:
        if found := completer.offer(candidate):
            return found
    return completer.last_resort()
