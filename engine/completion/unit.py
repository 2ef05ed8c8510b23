"""The end of the syntactic unit: a model may write on, a completion ends with its statement, block or expression."""

from __future__ import annotations

import re

from engine.hole import Hole, HoleKind
from engine.syntax import SyntaxTree
from engine.text import Document, line_ending

_BLANK_LINES = re.compile(r"(?:[ \t\f]*(?:\r\n|\n|\r))+")
_REACH = 4000  # characters of suffix that may say which brackets the line still closes


def cut(document: Document, hole: Hole, text: str, tree: SyntaxTree) -> str:
    """`text` up to the end of its unit. A selection has no unit: what was selected is what is replaced."""
    if hole.kind is HoleKind.SELECTION:
        return text
    if hole.kind in (HoleKind.LINE, HoleKind.BLOCK):
        blank = _BLANK_LINES.match(text)
        if blank and text[blank.end() :].strip():
            text = _without_blank_lines(document, hole, text, blank.end())
    suffix = document.text[hole.end : hole.end + _REACH]
    filled = tree.edit(hole.start, len(document.text), text)
    end = filled.unit_end(hole.start, str(hole.kind), suffix)
    found = filled.text[hole.start : end]
    if hole.kind is HoleKind.STRING:
        return found + _string_end(document, hole, filled, end)
    if hole.kind is HoleKind.LINE and not found.strip() and text.lstrip()[:1] in (")", "]", "}"):
        return text.partition("\n")[0].rstrip()  # a line that closes what stands above: the gate says if it may
    return found


def _string_end(document: Document, hole: Hole, filled: SyntaxTree, end: int) -> str:
    """What closes the string and ends its statement, where nothing behind the cursor does: `print("hel¦`."""
    rest = filled.text[end:]
    quote = rest[:1]
    behind = document.text[hole.end :].replace("\r", "\n").partition("\n")[0]
    if quote not in ('"', "'", "`") or quote in behind:
        return ""
    quotes = quote * 3 if rest.startswith(quote * 3) else quote
    closed = end + len(quotes)
    return quotes + filled.text[closed : filled.unit_end(closed, "rest_of_line", document.text[hole.end :][:_REACH])]


def tail(document: Document, hole: Hole) -> str:
    """What has to follow the completion so that the line behind it does not stick to it: a line break and that line's
    indentation, where a whole line is filled before a line that is not empty; else nothing."""
    if hole.kind not in (HoleKind.LINE, HoleKind.BLOCK):
        return ""
    line, _ = document.lines.position(hole.start)
    before = document.text[document.lines.line_start(line) : hole.start]
    behind = document.text[hole.end : document.lines.line_end(document.lines.position(hole.end)[0])]
    if before.strip() or not behind.strip():
        return ""
    return line_ending(document.text) + before


def _without_blank_lines(document: Document, hole: Hole, text: str, at: int) -> str:
    """Takes blank lines off the start; what the first line's indentation then repeats of the cursor's line goes too."""
    line, _ = document.lines.position(hole.start)
    before = document.text[document.lines.line_start(line) : hole.start]
    rest = text[at:]
    return rest.removeprefix(before) if before.strip() == "" else rest
