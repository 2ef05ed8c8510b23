"""The hole: what is filled at a cursor or a selected range, and how many slots it may need. Imports no torch."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from engine.errors import BadInput
from engine.syntax import Region, SyntaxTree, argument_at, opens_block, tree_of
from engine.text import Document


class HoleKind(enum.StrEnum):
    """What a hole holds. The values are the kinds that `engine.syntax.unit_end` knows."""

    REST_OF_LINE = "rest_of_line"
    LINE = "line"
    BLOCK = "block"
    EXPRESSION = "expression"
    STRING = "string"
    COMMENT = "comment"
    SELECTION = "selection"


# Slots (tokens) that a hole of each kind is given. Length is learned: slots behind the fill end stay empty.
SLOTS = {
    HoleKind.REST_OF_LINE: 16,
    HoleKind.LINE: 24,
    HoleKind.BLOCK: 64,
    HoleKind.EXPRESSION: 12,
    HoleKind.STRING: 16,
    HoleKind.COMMENT: 24,
}
SELECTION_SLOTS = (24, 256)  # at least, at most
CHARACTERS_A_TOKEN = 3  # of code, roughly


@dataclass(frozen=True)
class Hole:
    """The range [start, end) of a document that is to be filled, in code points; empty at a cursor."""

    start: int
    end: int
    kind: HoleKind
    slots: int


def hole_at(document: Document, offset: int, tree: SyntaxTree | None = None) -> Hole:
    """The hole at a cursor: empty, before its column. Nothing behind it is ever replaced.

    In a line with code it is the rest of the statement, between brackets with text behind them an expression, on an
    empty line the line, or the block that this line opens; in a string or comment, the rest of that.
    Raises `BadInput` where the offset is outside the document.
    """
    _check(document, offset, offset)
    tree = tree or tree_of(document)
    kind = _kind(document, offset, tree)
    return Hole(offset, offset, kind, SLOTS[kind])


def hole_between(document: Document, start: int, end: int, tree: SyntaxTree | None = None) -> Hole:
    """The hole of a selected range: its text is what is replaced. An empty range is a cursor.

    Of whole lines, the first one's indentation and the last one's break stay as they are, and a block is filled; of part
    of a line between brackets, an expression. Raises `BadInput` where the range is outside the document or runs backwards.
    """
    if start == end:
        return hole_at(document, start, tree)
    _check(document, start, end)
    least, most = SELECTION_SLOTS
    slots = min(most, max(least, (end - start) // CHARACTERS_A_TOKEN + 8))
    lines = document.lines
    line = lines.line_at(start)
    lead = document.text[lines.line_start(line) : start]
    selected = document.text[start:end]
    code = selected.strip()
    if code and not lead.strip():
        inner_start = start + len(selected) - len(selected.lstrip(" \t"))
        inner_end = start + len(selected.rstrip())
        if inner_start < inner_end and inner_end == lines.line_end(lines.line_at(inner_end)):
            region = (tree or tree_of(document)).region(inner_start)
            if region is Region.CODE and lines.line_at(inner_start) == line:
                return Hole(inner_start, inner_end, HoleKind.BLOCK, slots)
    return Hole(start, end, HoleKind.SELECTION, slots)


def _check(document: Document, start: int, end: int) -> None:
    if not 0 <= start <= end <= len(document.text):
        raise BadInput(f"the range {start} to {end} is not within the document's {len(document.text)} characters")


def _kind(document: Document, offset: int, tree: SyntaxTree) -> HoleKind:
    line, _ = document.lines.position(offset)
    begin, end = document.lines.line_start(line), document.lines.line_end(line)
    before, behind = document.text[begin:offset], document.text[offset:end]
    region = tree.region(offset)
    if region is Region.COMMENT:
        return HoleKind.COMMENT
    if region is Region.STRING:
        return HoleKind.STRING
    if not before.strip():
        if not behind.strip() and opens_block(tree, offset):
            return HoleKind.BLOCK
        return HoleKind.LINE
    argument = argument_at(tree, offset)
    if argument is not None and behind.strip():
        return HoleKind.EXPRESSION
    return HoleKind.REST_OF_LINE
