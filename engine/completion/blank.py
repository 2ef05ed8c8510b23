"""Blank completions: white space alone is nothing to offer at a cursor, and none is left hanging at a line's end."""

from __future__ import annotations

from engine.hole import Hole, HoleKind
from engine.text import Document


def drop(document: Document, hole: Hole, text: str) -> str:
    if not text.strip():
        return ""
    if hole.kind is HoleKind.SELECTION:
        return text
    ends_line = document.text[hole.end : hole.end + 1] in ("", "\r", "\n")
    if hole.kind in (HoleKind.LINE, HoleKind.BLOCK) or (hole.kind is HoleKind.REST_OF_LINE and ends_line):
        return text.rstrip()
    return text
