"""Blank completions: white space alone is nothing to offer at a cursor, and none is left hanging at a line's end."""

from __future__ import annotations

from engine.hole import Hole, HoleKind


def drop(hole: Hole, text: str) -> str:
    if hole.kind is HoleKind.SELECTION:
        return text  # between two given ends, white space may be all that is missing
    if not text.strip():
        return ""
    if hole.kind in (HoleKind.LINE, HoleKind.BLOCK, HoleKind.REST_OF_LINE):
        return text.rstrip()
    return text
