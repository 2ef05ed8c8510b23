"""Where the syntactic unit of a completion ends, in a text that is prefix and generated text and may run on.

Kinds are plain strings, the values of `engine.hole.HoleKind`. All by scanning: the text is cut at the wrong place, by
its nature, so that no parser would take it.
"""

from __future__ import annotations

import re

from engine.syntax.lexis import Blocks, Lexis
from engine.syntax.scan import (
    PAIRS,
    Kind,
    State,
    Token,
    anchor,
    indent_width,
    lexis_of,
    line_end,
    line_start,
    state_at,
    string_end,
    tokens,
)

KINDS = ("rest_of_line", "line", "block", "expression", "string", "comment", "selection")

_BLANK_LINES = re.compile(r"(?:[ \t\f]*(?:\r\n|\n|\r))*([ \t\f]*)")
_LAMBDA = re.compile(r"\blambda\b")


def unit_end(
    text: str, offset: int, kind: str, language: str, suffix: str | None = None, start: int | None = None
) -> int:
    """The offset in `text` (code points, `offset` to its length) where the unit that begins at `offset` ends.

    rest_of_line, line: the end of the statement, which is the line's end unless a bracket, a string or an operator
    carries it on; before a closing bracket that the statement did not open. block: the end of the lines that are
    indented as the first, or before the closing brace that the block did not open. expression: before a comma, closing
    bracket or line end that is not its own. string: before the closing quote. comment: the line's end. selection: all.
    Trailing white space is left out, and what never closes ends with the text.

    suffix: what stands behind the text, where known: a bracket that the prefix opened on the same line is then expected
    of the unit if the suffix does not close it. start: a place in code to scan from, at best the start of a top-level
    statement; guessed where None. Raises ValueError for an unknown kind.
    """
    if kind not in KINDS:
        raise ValueError(f"unknown kind of hole {kind!r}")
    if kind == "selection":
        return len(text)
    lexis = lexis_of(language)
    state = state_at(text, anchor(text, offset) if start is None else start, offset, lexis)
    if kind == "expression":
        return _expression_end(text, offset, state, lexis)
    if kind == "comment" or kind == "string" or state.inside:
        return _inside_end(text, offset, kind, state)
    if kind == "block":
        return _block_end(text, offset, state, lexis)
    return _statement_end(text, offset, state, lexis, suffix)


def _inside_end(text: str, offset: int, kind: str, state: State) -> int:
    """Before what closes the string or block comment; a hole that is not a whole string ends with its line."""
    end = line_end(text, offset)
    inside = state.inside
    if inside is None or inside.closing is None:
        return end
    closing = string_end(text, offset, inside.closing)
    return closing if kind == "string" else min(end, closing)


def _statement_end(text: str, offset: int, state: State, lexis: Lexis, suffix: str | None) -> int:
    begin = line_start(text, offset)
    inherited = list(state.brackets)
    own: list[str] = []
    may_close = len(inherited)
    if suffix is not None:
        still_open = _left_open(inherited, suffix, text[begin:offset], lexis)
        own = [bracket for place, bracket in still_open if place >= begin]
        may_close = len(still_open) - len(own)
        del inherited[len(inherited) - len(own) :]
    code_end = offset
    for token in tokens(text, offset, len(text), lexis):
        if token.kind is Kind.OPEN:
            own.append(token.text)
        elif token.kind is Kind.CLOSE and token.text not in lexis.lone_closers:
            if own:
                own.pop()
            elif may_close and _closes_statement(token, inherited[-1], begin):
                inherited.pop()
                may_close -= 1
            else:
                return _trimmed(text, offset, token.start)
        elif token.kind is Kind.BREAK and not own and not _goes_on(text, offset, token, code_end, lexis):
            return _trimmed(text, offset, token.start)
        if token.kind in (Kind.LINE_COMMENT, Kind.BLOCK_COMMENT):
            code_end = code_end if text[code_end : token.start].isspace() else token.start
        elif token.kind is not Kind.BREAK:
            code_end = token.end
    return _trimmed(text, offset, len(text))


def _closes_statement(token: Token, open_bracket: tuple[int, str], begin: int) -> bool:
    """A brace of an earlier line is a block's, which the statement stands in; other brackets are the statement's."""
    place, bracket = open_bracket
    return bracket == PAIRS[token.text] and (bracket != "{" or place >= begin)


def _goes_on(text: str, offset: int, end_of_line: Token, code_end: int, lexis: Lexis) -> bool:
    line = text[max(line_start(text, end_of_line.start), offset) : end_of_line.start]
    comment = next((t for t in tokens(line, 0, len(line), lexis) if t.kind is Kind.LINE_COMMENT), None)
    code = (line[: comment.start] if comment else line).rstrip()
    if lexis.continues_pattern.search(code):
        return True
    following = _BLANK_LINES.match(text, end_of_line.end)
    return bool(code and following and lexis.resumes_pattern.match(text, following.end()))


def _left_open(brackets: list[tuple[int, str]], suffix: str, line: str, lexis: Lexis) -> list[tuple[int, str]]:
    """Of the brackets open at the end of `line`, as many as the suffix does not close, the outermost.

    The suffix is read while it is indented as the line or deeper: what closes further out is not this line's.
    """
    still_open = list(brackets)
    opened = 0
    indent = indent_width(line[: len(line) - len(line.lstrip())])
    for token in tokens(suffix, 0, min(len(suffix), 4000), lexis):
        if token.kind is Kind.OPEN:
            opened += 1
        elif token.kind is Kind.CLOSE and opened:
            opened -= 1
        elif token.kind is Kind.CLOSE and still_open:
            still_open.pop()
        elif token.kind is Kind.BREAK and not opened:
            following = _BLANK_LINES.match(suffix, token.end)
            assert following is not None
            width = indent_width(following.group(1))
            closes = suffix[following.end() : following.end() + 1] in ")]}"
            if width < indent or (width == indent and not closes):
                break
    return still_open


def _block_end(text: str, offset: int, state: State, lexis: Lexis) -> int:
    if lexis.blocks is Blocks.BRACES:
        depth = 0
        for token in tokens(text, offset, len(text), lexis):
            if token.kind is Kind.OPEN:
                depth += 1
            elif token.kind is Kind.CLOSE:
                if depth == 0:
                    return _trimmed(text, offset, token.start)
                depth -= 1
    begin = line_start(text, offset)
    head = text[begin:offset]
    if head.strip():
        if text[offset : line_end(text, offset)].strip():
            return _statement_end(text, offset, state, lexis, None)
        outside = indent_width(head[: len(head) - len(head.lstrip())])
        return _dedent(text, offset, None, outside, lexis)
    leading = _BLANK_LINES.match(text, begin)
    assert leading is not None
    block = indent_width(leading.group(1))
    if leading.end() < offset or leading.start(1) == begin:
        return _dedent(text, offset, block, -1, lexis)
    # The first line of the block stands below the cursor's: it may not be further out than the cursor.
    return _dedent(text, offset, block, -1, lexis) if block >= indent_width(head) else offset


def _dedent(text: str, offset: int, block: int | None, outside: int, lexis: Lexis) -> int:
    """Before the first line that is indented less than `block`, or, where that is None, than the first line behind
    `offset`, which must be deeper than `outside`. Lines in brackets and strings may stand anywhere."""
    depth = 0
    for token in tokens(text, offset, len(text), lexis):
        if token.kind is Kind.OPEN:
            depth += 1
        elif token.kind is Kind.CLOSE and token.text not in lexis.lone_closers:
            if depth == 0:
                return _trimmed(text, offset, token.start)
            depth -= 1
        elif token.kind is Kind.BREAK and depth == 0:
            following = _BLANK_LINES.match(text, token.end)
            assert following is not None
            width = indent_width(following.group(1))
            if following.end() == len(text):
                return _trimmed(text, offset, token.start)
            if block is None and width > outside:
                block = width
            elif width < (outside + 1 if block is None else block):
                return _trimmed(text, offset, token.start)
    return _trimmed(text, offset, len(text))


def _expression_end(text: str, offset: int, state: State, lexis: Lexis) -> int:
    if state.inside and state.inside.kind is Kind.STRING and state.inside.closing:
        # Between the braces of a string's interpolation: the string's own quote ends it too.
        text = text[: string_end(text, offset, state.inside.closing)]
    depth = 0
    # In brackets an expression may begin on the next line; elsewhere the line's end is its end.
    begun = not state.brackets
    code_end = offset
    for token in tokens(text, offset, len(text), lexis):
        begun = begun or bool(text[offset : token.start].strip())
        if token.kind is Kind.OPEN:
            depth, begun = depth + 1, True
        elif depth and token.kind is Kind.CLOSE:
            depth -= 1
        elif depth or token.kind in (Kind.STRING, Kind.BLOCK_COMMENT):
            begun = True
        elif token.kind is Kind.BREAK:
            if begun and not _goes_on(text, offset, token, code_end, lexis):
                return _trimmed(text, offset, token.start)
        elif token.kind is not Kind.COLON or _colon_ends(text[code_end : token.start], lexis):
            return _trimmed(text, offset, token.start)
        if token.kind is Kind.COLON:
            code_end = token.end
    return _trimmed(text, offset, len(text))


def _colon_ends(before: str, lexis: Lexis) -> bool:
    return lexis.colon_ends_expression and not _LAMBDA.search(before)


def _trimmed(text: str, offset: int, end: int) -> int:
    return offset + len(text[offset:end].rstrip())
