"""Holes that a document marks itself: `...`, bodies that are only `pass`, `TODO` lines with nothing below them yet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import tree_sitter

from engine.hole import SLOTS, Hole, HoleKind, hole_at
from engine.syntax import SyntaxTree, tree_of
from engine.text import Document, line_ending
from engine.together import Filled, Mark

_TODO = re.compile(r"\b(?:TODO|FIXME)\b")
_COMMENT_TYPES = ("comment", "line_comment", "block_comment")
# Macros and calls that stand for code to be written, by language.
_STANDS_FOR = {"rust": re.compile(r"(?:todo|unimplemented)!\(\)")}


def marked_holes(document: Document) -> list[Mark]:
    """The marked holes, in order, none inside another.

    The range of a `...`, a lone `pass`, or a language's own mark is replaced. A TODO line stays, and the hole is a new
    line below it, at its indentation: what it says is what the model has to go by.
    """
    tree = tree_of(document)
    found = [*_replaced(document, tree), *_below_todos(document, tree)]
    found.sort(key=lambda mark: (mark.hole.start, mark.hole.end))
    kept: list[Mark] = []
    for mark in found:
        if not kept or mark.hole.start > kept[-1].hole.end:
            kept.append(mark)
    return kept


@dataclass(frozen=True)
class Written:
    """A document whose holes a person has written into it, `⟪fill⟫` say: `document` without them, and the `marks` there.
    markers: the text of each, which stays where nothing could be filled."""

    document: Document
    marks: list[Mark]
    markers: list[str]

    def filled(self, found: Sequence[Filled]) -> str:
        """The person's text with what was filled in place of the markers."""
        text = self.document.text
        for one, marker in zip(reversed(found), reversed(self.markers), strict=True):
            text = text[: one.mark.hole.start] + (one.text or marker) + text[one.mark.hole.end :]
        return text


def written_holes(document: Document, pattern: re.Pattern[str]) -> Written:
    """What a pattern of the person's finds, in order. Markers with nothing between them are one."""
    pieces: list[str] = []
    places: list[int] = []
    markers: list[str] = []
    at = 0
    for match in pattern.finditer(document.text):
        if match.end() == match.start():
            continue
        if places and match.start() == at:
            markers[-1] += match.group()
        else:
            pieces.append(document.text[at : match.start()])
            places.append(sum(map(len, pieces)))
            markers.append(match.group())
        at = match.end()
    pieces.append(document.text[at:])
    without = Document("".join(pieces), document.language, document.path)
    return Written(without, [Mark(hole_at(without, place)) for place in places], markers)


def _nodes(tree: SyntaxTree) -> Iterator[tree_sitter.Node]:
    if tree.root is None:
        return
    cursor = tree.root.walk()
    while True:
        node = cursor.node
        assert node is not None
        yield node
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _replaced(document: Document, tree: SyntaxTree) -> Iterator[Mark]:
    own = _STANDS_FOR.get(document.language)
    for node in _nodes(tree):
        start, end = tree.offset_of(node.start_byte), tree.offset_of(node.end_byte)
        if document.language == "python" and node.type == "ellipsis":
            statement = node.parent is not None and node.parent.type == "expression_statement"
            alone = statement and node.parent.named_child_count == 1  # type: ignore[union-attr]
            kind = HoleKind.BLOCK if alone else HoleKind.EXPRESSION
            yield _mark(start, end, kind)
        elif document.language == "python" and node.type == "pass_statement":
            body = node.parent
            if body is not None and body.type == "block" and body.named_child_count == 1:
                yield _mark(start, end, HoleKind.BLOCK)
        elif own is not None and node.type == "macro_invocation" and own.fullmatch(document.text[start:end]):
            yield _mark(start, end, HoleKind.EXPRESSION)


def _below_todos(document: Document, tree: SyntaxTree) -> Iterator[Mark]:
    lines = document.lines
    for node in _nodes(tree):
        if node.type not in _COMMENT_TYPES:
            continue
        start, end = tree.offset_of(node.start_byte), tree.offset_of(node.end_byte)
        end -= len(document.text[start:end]) - len(
            document.text[start:end].rstrip("\r\n")
        )  # some grammars take the break
        if not _TODO.search(document.text, start, end):
            continue
        line = lines.line_at(start)
        before = document.text[lines.line_start(line) : start]
        if before.strip() or end != lines.line_end(line):
            continue  # code stands before it, or behind it
        below = next((n for n in range(line + 1, lines.line_count) if lines.line_text(n).strip()), None)
        # something at this depth or deeper below means that the note is about that
        if below is not None and below == line + 1 and _depth(lines.line_text(below)) >= _depth(before + "x"):
            continue
        yield _mark(end, end, HoleKind.LINE, line_ending(document.text) + before)


def _mark(start: int, end: int, kind: HoleKind, lead: str = "") -> Mark:
    return Mark(Hole(start, end, kind, SLOTS[kind]), lead)


def _depth(line: str) -> int:
    return len((line[: len(line) - len(line.lstrip())]).expandtabs(8))
