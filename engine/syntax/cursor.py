"""What a cursor stands in: an empty line that opens a block, or an element between brackets."""

from __future__ import annotations

from dataclasses import dataclass

from engine.syntax import scan
from engine.syntax.lexis import Blocks, Lexis
from engine.syntax.regions import Region
from engine.syntax.tree import SyntaxTree


@dataclass(frozen=True)
class Argument:
    """An element between brackets: [start, end) in code points without the commas or brackets around it.

    bracket: the one that opened, at offset `opening`; `closing` is its partner's offset, None if it never closes.
    index: how many commas stand before it.
    """

    start: int
    end: int
    bracket: str
    opening: int
    closing: int | None
    index: int


def opens_block(tree: SyntaxTree, offset: int) -> bool:
    """Whether `offset` is on an empty line where a block's body is missing.

    Above stands a line that opens a block (`:` in Python, an opening brace, `then`), and below is not yet its body: a
    line that is not deeper, or, for braces, the closing one.
    """
    text = tree.text
    begin, end = scan.line_start(text, offset), scan.line_end(text, offset)
    if text[begin:end].strip() or tree.region(offset) is not Region.CODE:
        return False
    lexis = scan.lexis_of(tree.language)
    above = _code_above(tree, begin, lexis)
    if above is None:
        return False
    header, code = above
    if not lexis.opener_pattern.search(code):
        return False
    below = text[end:].lstrip() if len(text) - end < scan.REACH else text[end : end + scan.REACH].lstrip()
    at = text.find(below[:1], end) if below else len(text)
    indent = scan.indent_width(text[scan.line_start(text, at) : at]) if below else -1
    if lexis.blocks is Blocks.BRACES:
        return bool(lexis.ender_pattern.match(below)) or not below
    if lexis.blocks is Blocks.INDENT and not tree.has_grammar:
        return indent <= header
    if lexis.blocks is Blocks.INDENT:
        state = scan.state_at(text, tree.scan_start(offset), offset, lexis)
        return indent <= header and not state.brackets
    return indent <= header and (not below or bool(lexis.ender_pattern.match(below)))


def argument_at(tree: SyntaxTree, offset: int) -> Argument | None:
    """The element of the innermost brackets around `offset` that it stands in; None outside brackets."""
    text, lexis = tree.text, scan.lexis_of(tree.language)
    state = scan.state_at(text, tree.scan_start(offset), offset, lexis)
    if not state.brackets:
        return None
    opening, bracket = state.brackets[-1]
    start, index, depth = opening + 1, 0, 0
    for token in scan.tokens(text, opening + 1, min(len(text), offset + scan.REACH), lexis):
        if token.kind is scan.Kind.OPEN:
            depth += 1
        elif token.kind is scan.Kind.CLOSE and depth:
            depth -= 1
        elif token.kind is scan.Kind.CLOSE:
            return Argument(start, token.start, bracket, opening, token.start, index)
        elif token.kind is scan.Kind.COMMA and depth == 0:
            if token.start >= offset:
                closing = _closing(text, token.end, lexis)
                return Argument(start, token.start, bracket, opening, closing, index)
            start, index = token.end, index + 1
    return Argument(start, scan.line_end(text, offset), bracket, opening, None, index)


def _closing(text: str, start: int, lexis: Lexis) -> int | None:
    depth = 0
    for token in scan.tokens(text, start, min(len(text), start + scan.REACH), lexis):
        if token.kind is scan.Kind.OPEN:
            depth += 1
        elif token.kind is scan.Kind.CLOSE:
            if depth == 0:
                return token.start
            depth -= 1
    return None


def _code_above(tree: SyntaxTree, begin: int, lexis: Lexis) -> tuple[int, str] | None:
    """The nearest line above that holds code: its indentation's width, and its code without comment."""
    text, limit = tree.text, max(0, begin - scan.REACH)
    while begin > limit:
        end = begin - (2 if text[begin - 2 : begin] == "\r\n" else 1)
        begin = scan.line_start(text, end)
        line = text[begin:end]
        comment = next((t for t in scan.tokens(line, 0, len(line), lexis) if t.kind is scan.Kind.LINE_COMMENT), None)
        code = (line[: comment.start] if comment else line).rstrip()
        if code.strip():
            if tree.region(begin + len(code) - 1) is not Region.CODE:
                return None
            return scan.indent_width(line[: len(line) - len(line.lstrip())]), code
    return None
