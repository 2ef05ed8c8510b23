"""Blank completions: white space, or a comment that says nothing, is nothing to offer at a cursor, and no white space is
left hanging at a line's end."""

from __future__ import annotations

import re

from engine.hole import Hole, HoleKind
from engine.text import Document

_EMPTY_COMMENT = re.compile(r"\s*(?:#+|//+|--+|/\*[\s*]*\*/)\s*")


def drop(document: Document, hole: Hole, text: str) -> str:
    if not text.strip():
        return ""
    if hole.kind is HoleKind.SELECTION:
        return text
    if hole.kind in (HoleKind.LINE, HoleKind.BLOCK) and _EMPTY_COMMENT.fullmatch(text):
        return ""
    ends_line = document.text[hole.end : hole.end + 1] in ("", "\r", "\n")
    if hole.kind in (HoleKind.LINE, HoleKind.BLOCK) or (hole.kind is HoleKind.REST_OF_LINE and ends_line):
        return text.rstrip()
    return text
