"""Indentation: a completion's new lines are indented with tabs or with spaces, as the lines around the hole are.

How many spaces a step has is left to the completion: a document may well mix steps, and to change a step that is
right where it stands breaks more than it mends.
"""

from __future__ import annotations

import re
from collections import Counter

from engine.hole import Hole, HoleKind
from engine.text import Document

_LINE = re.compile(r"(^|\r\n|\n|\r)([ \t]*)([^\s][^\r\n]*)")
_NEAR = 40_000  # characters on either side of the hole that say how the document is indented
_OPENERS = (":", "{")
DEFAULT_WIDTH = 4


def adopt(document: Document, hole: Hole, text: str) -> str:
    """`text` with a tab for each step of spaces, or spaces for each tab, where the document has it the other way.

    The first line counts only where the hole begins in column 0: elsewhere its indentation stands already. Strings and
    comments are left as they are, and so is everything in a document that indents nothing.
    """
    if hole.kind in (HoleKind.STRING, HoleKind.COMMENT):
        return text
    above = document.text[max(0, hole.start - _NEAR) : hole.start]
    below = document.text[hole.end : hole.end + _NEAR]
    own_line = re.split(r"[\r\n]", above)[-1]
    unit = _nearest(above, below, own_line)
    if unit is None:
        return text
    to_tabs = unit == "\t"
    width = _text_width(text) if to_tabs else _document_width(above, below)

    def changed(found: re.Match[str]) -> str:
        line_break, indent, code = found.groups()
        if not line_break and own_line:
            return found.group()
        if not to_tabs:
            indent = indent.replace("\t", " " * width)
        elif "\t" not in indent:  # spaces behind tabs align, and stay
            indent = "\t" * -(-len(indent) // width)
        return line_break + indent + code

    return _LINE.sub(changed, text)


def _nearest(above: str, below: str, own_line: str) -> str | None:
    """What indents the hole's own line, or else the nearest indented line above, or else below: a tab or a space."""
    if own_line[:1] in ("\t", " "):
        return own_line[0]
    indents = [found.group(2) for found in _LINE.finditer(above) if found.group(2)]
    if indents:
        return indents[-1][0]
    return next((found.group(2)[0] for found in _LINE.finditer(below) if found.group(1) and found.group(2)), None)


def _text_width(text: str) -> int:
    """The step of a text that is indented with spaces, by its shallowest line: 2 to 4, or else the default."""
    widths = [len(found.group(2)) for found in _LINE.finditer(text) if found.group(2)[:1] == " "]
    least = min(widths, default=DEFAULT_WIDTH)
    return least if 2 <= least <= 4 and all(width % least == 0 for width in widths) else DEFAULT_WIDTH


def _document_width(above: str, below: str) -> int:
    """The document's commonest step behind a line that opens a block, in columns, or else the default."""
    steps: Counter[int] = Counter()
    for part in (above, below):
        last, opened = 0, False
        for found in _LINE.finditer(part):
            width = len(found.group(2))
            if opened and width > last:
                steps[width - last] += 1
            last, opened = width, found.group(3).rstrip().endswith(_OPENERS)
    return steps.most_common(1)[0][0] if steps else DEFAULT_WIDTH
