"""The repeated suffix: a completion does not write a second time what already stands behind the cursor."""

from __future__ import annotations

from engine.completion.brackets import PAIRS, balance
from engine.hole import Hole, HoleKind
from engine.text import Document

_REACH = 8  # lines behind the hole that are looked at
_SHORTEST = 4  # characters of a selection's same-line remainder that may be taken for a repetition
_LINE_KINDS = (HoleKind.LINE, HoleKind.BLOCK, HoleKind.REST_OF_LINE, HoleKind.SELECTION)


def trim(document: Document, hole: Hole, text: str) -> str:
    """Takes off the rest of the cursor's line, brackets that stand behind it, and whole lines that follow it."""
    behind = document.text[hole.end :]
    same_line, _, _ = behind[:2000].replace("\r", "\n").partition("\n")
    text = _same_line(hole, text, same_line)
    if hole.kind in _LINE_KINDS:
        text = _following_lines(document, hole, text)
    return text


def _same_line(hole: Hole, text: str, behind: str) -> str:
    wanted = behind.strip()
    if not wanted or hole.kind in (HoleKind.LINE, HoleKind.BLOCK):
        return text
    stripped = text.rstrip()
    without = _without_end(stripped, wanted)
    if hole.kind is HoleKind.SELECTION:
        return without if len(wanted) >= _SHORTEST and without is not None else text
    if without is not None and balance(without).unmatched is not None:
        return without
    if hole.kind is HoleKind.STRING or hole.kind is HoleKind.COMMENT:
        return text
    if wanted[0] in PAIRS and behind[0] == wanted[0]:  # `lo¦(handle)`: the call's brackets stand there
        at = text.find(wanted[0])
        return text[:at] if at >= 0 else text
    unmatched = balance(text).unmatched
    if unmatched is not None and text[unmatched] == wanted[0]:
        return text[:unmatched]
    return text


def _without_end(text: str, end: str) -> str | None:
    """`text` less `end`, which it may write with other white space; None where it does not end so."""
    at = len(text)
    for character in reversed("".join(end.split())):
        at = len(text[:at].rstrip())
        if not at or text[at - 1] != character:
            return None
        at -= 1
    return text[:at]


def _following_lines(document: Document, hole: Hole, text: str) -> str:
    """Cuts before a line from which on the text says what the lines behind the hole say, white space aside."""
    line, _ = document.lines.position(hole.end)
    own_line = document.text[document.lines.line_start(line) : hole.start]
    first = line if not own_line.strip() and _rest(document, line, hole.end).strip() else line + 1
    below = [document.lines.line_text(n).rstrip() for n in range(first, min(first + _REACH, document.lines.line_count))]
    below = [b for b in below if b]
    behind = [b.strip() for b in below]
    if not behind:
        return text
    lines = text.splitlines(keepends=True)
    for start in range(len(lines)):
        said = [s.strip() for s in lines[start:] if s.strip()]
        count = min(len(said), len(behind))
        if not count or said[:count] != behind[:count]:
            continue
        if start == 0 and (hole.kind is HoleKind.SELECTION or hole.kind is HoleKind.REST_OF_LINE):
            continue  # the first line of these began before the hole
        if count == 1 and not any(c.isalnum() for c in said[0]):
            continue  # a lone bracket often closes twice
        if count == 1 and start and lines[start].rstrip() != below[0]:
            continue  # one line alone, at another depth, is often right: `return x` in a branch and behind it
        return "".join(lines[:start]).rstrip("\r\n" if start else None)
    return text


def _rest(document: Document, line: int, offset: int) -> str:
    return document.text[offset : document.lines.line_end(line)]
