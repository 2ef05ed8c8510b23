"""From a canvas's raw text to what a person is offered: one filter a file, in a fixed order, then the syntax gate.

control characters -> line endings -> indentation -> end of the unit -> repeated suffix -> blank -> gate
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.completion import blank, control, indentation, line_endings, repeats, unit
from engine.completion.gate import Gate
from engine.completion.variants import shorter, variants
from engine.hole import Hole
from engine.syntax import SyntaxTree
from engine.text import Document

__all__ = ["Candidate", "complete", "filters"]


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
    return blank.drop(hole, text)


def complete(
    document: Document, hole: Hole, candidates: Iterable[Candidate], tree: SyntaxTree | None = None
) -> Candidate | None:
    """The first candidate, best first, that fits: filtered, and right by the syntax gate. None where none is.

    Lazy: a further candidate is asked for only when those before it have failed. Of each, the text itself is tried,
    then with what it left open closed, then without its last lines; when all have failed, shorter starts of them.
    """
    tree = tree or SyntaxTree.parse(document.text, document.language)
    gate = Gate(document, hole, tree)
    tail = unit.tail(document, hole)
    tried: list[Candidate] = []
    for candidate in candidates:
        text = filters(document, hole, candidate.text, tree)
        if not text or text in (t.text for t in tried):
            continue
        tried.append(Candidate(text, candidate.confidence))
        for variant in variants(text, document.language):
            if gate.passes(variant + tail):
                return Candidate(variant + tail, candidate.confidence)
    for filtered in tried:
        for variant in shorter(filtered.text):
            if gate.passes(variant + tail):
                return Candidate(variant + tail, filtered.confidence)
    second = gate.second_best()
    if second is None:
        return None
    confidence = next((t.confidence for t in tried if t.text[:8] == second[:8]), 0.0)
    return Candidate(second, confidence)
