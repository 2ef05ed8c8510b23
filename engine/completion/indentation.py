"""Indentation: a completion's new lines are indented with what the document is indented with."""

from __future__ import annotations

import math
import re

from engine.hole import Hole, HoleKind
from engine.text import Document

_INDENT = re.compile(r"^([ \t]+)(?=[^\s])", re.MULTILINE)
_LINE_START = re.compile(r"(^|\r\n|\n|\r)([ \t]+)(?=[^\s])")
DEFAULT_WIDTH = 4


def adopt(document: Document, hole: Hole, text: str) -> str:
    """Tabs where the document has tabs, spaces where it has spaces; nothing where it has neither or both.

    The first line counts only where the hole begins in column 0: elsewhere its indentation stands already.
    """
    if hole.kind in (HoleKind.STRING, HoleKind.COMMENT):
        return text
    indents = _INDENT.findall(document.text)
    tabs = sum(i.startswith("\t") for i in indents)
    spaces = len(indents) - tabs
    if bool(tabs) == bool(spaces):
        return text
    width = _width(indents) if spaces else DEFAULT_WIDTH
    starts_line = hole.start == 0 or document.text[hole.start - 1] in "\r\n"

    def changed(found: re.Match[str]) -> str:
        line_break, indent = found.groups()
        if not line_break and not starts_line:
            return found.group()
        return line_break + (_tabs(indent) if tabs else indent.replace("\t", " " * width))

    return _LINE_START.sub(changed, text)


def _tabs(indent: str) -> str:
    columns = len(indent.replace("\t", " " * DEFAULT_WIDTH))
    return "\t" * math.ceil(columns / DEFAULT_WIDTH)


def _width(indents: list[str]) -> int:
    """The document's step of indentation: the greatest common divisor of its depths."""
    return math.gcd(*(len(i) for i in indents)) or DEFAULT_WIDTH
