"""From a canvas's raw text to what a person is offered: one filter a file, in a fixed order, then the syntax gate.

control characters -> line endings -> indentation -> end of the unit -> repeated suffix -> blank -> gate
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from engine.completion import blank, control, indentation, line_endings, repeats, unit
from engine.completion.gate import Gate
from engine.completion.variants import shorter, variants
from engine.hole import Hole, HoleKind
from engine.syntax import SyntaxTree
from engine.text import Document

__all__ = ["Candidate", "complete", "filters"]


@dataclass(frozen=True)
class Candidate:
    """The raw text of a canvas, remnant taken off, and the mean confidence of its slots (0 to 1)."""

    text: str
    confidence: float


def filters(document: Document, hole: Hole, text: str, tree: SyntaxTree) -> str:
    """All filters in their order. What has to follow the text, where it is a line before another, is `unit.tail`."""
    return _finished(document, hole, unit.cut(document, hole, _adopted(document, hole, text), tree))


def complete(
    document: Document, hole: Hole, candidates: Iterable[Candidate], tree: SyntaxTree | None = None
) -> Candidate | None:
    """The first candidate, best first, that fits: filtered, and right by the syntax gate. None where none is.

    Lazy: a further candidate is asked for only when those before it have failed. Of each, the text itself is tried,
    then with what it left open closed, then without its last lines, then with what repeats the suffix left on it, or
    with its string's end; when all have failed, shorter starts of them.
    """
    tree = tree or SyntaxTree.parse(document.text, document.language)
    gate = Gate(hole, tree)
    tail = unit.tail(document, hole)
    tried: dict[str, float] = {}  # every text that was judged, and the confidence of its candidate
    whole: list[Candidate] = []

    def first_right(texts: Iterable[str], confidence: float) -> Candidate | None:
        for text in texts:
            if text.strip("\r\n") and text not in tried:
                tried[text] = confidence
                if gate.passes(text + tail):
                    return Candidate(text + tail, confidence)
        return None

    for candidate in candidates:
        text = _adopted(document, hole, candidate.text)
        cut = unit.cut(document, hole, text, tree)
        trimmed = _finished(document, hole, cut)
        others = [blank.drop(hole, cut)]
        if hole.kind is HoleKind.STRING:
            others.append(unit.with_string_end(document, hole, text, tree))
        if found := first_right(chain(variants(trimmed, document.language), others), candidate.confidence):
            return found
        whole.append(Candidate(trimmed, candidate.confidence))
    for candidate in whole:
        if found := first_right(shorter(candidate.text), candidate.confidence):
            return found
    return None


def _adopted(document: Document, hole: Hole, text: str) -> str:
    """`text` as the document would have it written."""
    text = control.cut(text)
    text = line_endings.adopt(document, text)
    return indentation.adopt(document, hole, text)


def _finished(document: Document, hole: Hole, text: str) -> str:
    return blank.drop(hole, repeats.trim(document, hole, text))
