"""Scans code for brackets, strings, comments and line breaks, as far as it goes: it need not be finished nor right."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache

from engine.syntax.languages import find
from engine.syntax.lexis import PLAIN, RULES, Lexis, StringRule

_BREAK = r"\r\n|\n|\r"
_NEXT_BREAK = re.compile(_BREAK)
# How far back a scan may begin (code points), so that its cost does not grow with the file.
REACH = 20_000
PAIRS = {")": "(", "]": "[", "}": "{"}


class Kind(Enum):
    OPEN = "open"
    CLOSE = "close"
    COMMA = "comma"
    SEMICOLON = "semicolon"
    COLON = "colon"
    BREAK = "break"
    STRING = "string"
    LINE_COMMENT = "line comment"
    BLOCK_COMMENT = "block comment"


@dataclass(frozen=True)
class Token:
    """[start, end) in code points. Of a string or block comment: `closed`, and `closing`, the pattern that ends it."""

    kind: Kind
    start: int
    end: int
    text: str = ""
    closed: bool = True
    closing: re.Pattern[str] | None = None


@dataclass(frozen=True)
class State:
    """What is open at an offset: brackets as (offset, character), and the string or comment, if it is in one."""

    brackets: tuple[tuple[int, str], ...]
    inside: Token | None


def lexis_of(language: str) -> Lexis:
    """A language's rules; plain text's where it has none."""
    entry = find(language)
    return RULES.get(entry.id, PLAIN) if entry else PLAIN


def line_start(text: str, offset: int) -> int:
    return max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1


def line_end(text: str, offset: int) -> int:
    """Where the line ends that `offset` stands in, before its break."""
    match = _NEXT_BREAK.search(text, offset)
    return match.start() if match else len(text)


def indent_width(blank: str) -> int:
    """Columns of leading white space, a tab to the next multiple of eight, as Python counts them."""
    return len(blank.expandtabs(8))


def anchor(text: str, offset: int) -> int:
    """A place not far before `offset` from where code can be scanned: the last line that begins at the left edge.

    A guess: such a line might stand in a string. Where there is a tree, it knows better.
    """
    limit = max(0, offset - REACH)
    place = line_start(text, offset)
    while place > limit:
        if text[place : place + 1] not in " \t\f\r\n)]}" and place < offset:
            return place
        place = line_start(text, place - (2 if text[place - 2 : place] == "\r\n" else 1))
    return place if place >= limit else line_start(text, offset)


def tokens(text: str, start: int, end: int, lexis: Lexis) -> Iterator[Token]:
    """The tokens that begin in [start, end) with nothing seen behind `end`; `start` must stand in code."""
    pattern, groups = _compiled(lexis)
    position = start
    while position < end and (match := pattern.search(text, position, end)):
        name = match.lastgroup or ""
        position = match.end()
        if name in groups:
            kind, rule = groups[name]
            # The rule's own group, if it has one, stands behind the named one.
            held = next((group for group in match.groups()[pattern.groupindex[name] :] if group is not None), "")
            closing = _closing(rule, held)
            position, closed = _close(text, position, end, closing)
            yield Token(kind, match.start(), position, closed=closed, closing=closing)
        elif name == "comment":
            position = min(line_end(text, position), end)
            yield Token(Kind.LINE_COMMENT, match.start(), position, closed=False)
        else:
            yield Token(Kind(name), match.start(), position, match.group())


def state_at(text: str, start: int, offset: int, lexis: Lexis) -> State:
    """What is open at `offset`, scanning from `start`, which must stand in code outside all brackets of interest."""
    brackets: list[tuple[int, str]] = []
    inside: Token | None = None
    for token in tokens(text, start, offset, lexis):
        if token.kind is Kind.OPEN:
            brackets.append((token.start, token.text))
        elif token.kind is Kind.CLOSE:
            if brackets and brackets[-1][1] == PAIRS[token.text]:
                brackets.pop()
        elif not token.closed and token.end == offset:
            inside = token
    return State(tuple(brackets), inside)


def unclosed(text: str, start: int, end: int, lexis: Lexis) -> list[Token]:
    """Brackets of either kind in [start, end) that have no partner there."""
    left: list[Token] = []
    for token in tokens(text, start, end, lexis):
        if token.kind is Kind.OPEN:
            left.append(token)
        elif token.kind is Kind.CLOSE and token.text not in lexis.lone_closers:
            if left and left[-1].text == PAIRS[token.text]:
                left.pop()
            else:
                left.append(token)
    return left


def string_end(text: str, offset: int, closing: re.Pattern[str]) -> int:
    """Where a string that is open at `offset` ends: before its closing quote, or where it breaks off."""
    for match in closing.finditer(text, offset):
        if match.lastgroup:
            return match.start()
    return len(text)


def _close(text: str, position: int, end: int, closing: re.Pattern[str]) -> tuple[int, bool]:
    for match in closing.finditer(text, position, end):
        if match.lastgroup == "close":
            return match.end(), True
        if match.lastgroup == "cut":
            return match.start(), False
    return end, False


@cache
def _closing(rule: StringRule, held: str) -> re.Pattern[str]:
    parts = [f"(?P<close>{re.escape(rule.closing.format(held) if '{0}' in rule.closing else rule.closing)})"]
    if rule.escapes:
        parts.insert(0, rf"\\(?:{_BREAK}|.)")
    if not rule.multiline:
        parts.append(f"(?P<cut>{_BREAK})")
    return re.compile("|".join(parts), re.DOTALL)


@cache
def _compiled(lexis: Lexis) -> tuple[re.Pattern[str], dict[str, tuple[Kind, StringRule]]]:
    """One pattern of all that begins something, and what each of its groups of strings and block comments means."""
    parts: list[str] = []
    groups: dict[str, tuple[Kind, StringRule]] = {}
    for number, (opening, closing) in enumerate(lexis.block_comments):
        groups[f"block{number}"] = (Kind.BLOCK_COMMENT, StringRule(opening, closing, multiline=True, escapes=False))
        parts.append(f"(?P<block{number}>{opening})")
    if lexis.line_comment:
        parts.append(f"(?P<comment>{lexis.line_comment})")
    for number, rule in enumerate(lexis.strings):
        groups[f"string{number}"] = (Kind.STRING, rule)
        parts.append(f"(?P<string{number}>{rule.opening})")
    if lexis.brackets:
        parts += [rf"(?P<open>[{re.escape(lexis.brackets[::2])}])", rf"(?P<close>[{re.escape(lexis.brackets[1::2])}])"]
        parts += ["(?P<comma>,)", "(?P<semicolon>;)", "(?P<colon>:(?!=))"]
    parts.append(f"(?P<break>{_BREAK})")
    return re.compile("|".join(parts)), groups
