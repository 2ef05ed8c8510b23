"""Echoes: a completion that merely says the line above, or the lines above, once more is no help."""

from __future__ import annotations

from engine.hole import Hole, HoleKind
from engine.text import Document

_SHORTEST = 6  # characters of code; a shorter line, a bracket or `pass`, is often right twice


def drop(document: Document, hole: Hole, text: str) -> str:
    """Empty where every line of a whole-line completion stands right above it, in the same order, white space aside."""
    if hole.kind not in (HoleKind.LINE, HoleKind.BLOCK):
        return text
    said = [_plain(line) for line in text.splitlines() if line.strip()]
    if not said or len("".join(said)) < _SHORTEST:
        return text
    lines = document.lines
    above: list[str] = []
    line = lines.line_at(hole.start) - 1
    while line >= 0 and len(above) < len(said):
        if (plain := _plain(lines.line_text(line))) != "":
            above.append(plain)
        line -= 1
    return "" if above[::-1] == said else text


def _plain(line: str) -> str:
    return "".join(line.split())
