"""Holes in real code: what a file offers to be taken out, by kind, and a draw of them that is the same on any machine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import tree_sitter

from engine.check.draws import digest, generator
from engine.syntax import Region, SyntaxTree, tree_of
from engine.text import Document


class Kind(StrEnum):
    """What is taken out. The order is that of reports."""

    LINE_REST = "line rest"
    LINE = "line"
    BLOCK = "block"
    EXPRESSION = "expression"
    ARGUMENT = "argument"
    STRING = "string"
    COMMENT = "comment"
    VALUE = "value"


@dataclass(frozen=True)
class Dug:
    """A hole dug in a document: [start, end) of its text was taken out (code points)."""

    document: Document
    kind: Kind
    start: int
    end: int

    @property
    def expected(self) -> str:
        return self.document.text[self.start : self.end]

    @property
    def without(self) -> Document:
        """The document as a person would have it: without what is to be filled."""
        text = self.document.text
        return Document(text[: self.start] + text[self.end :], self.document.language, self.document.path)

    @property
    def line(self) -> int:
        """From 1."""
        return self.document.lines.line_at(self.start) + 1


_DATA = ("json", "jsonc", "yaml", "toml")
_SIDES = ("right", "value")  # fields of what an assignment or a return gives
_ARGUMENTS = re.compile(r"argument_list|arguments|value_arguments|call_suffix")
_BLOCKS = re.compile(r"block|statement_block|compound_statement|function_body|declaration_list")
_VALUES = re.compile(r"pair|block_mapping_pair")
_COMMENT_MARK = re.compile(r"(?://[/!]?|#|--|/\*+|<!--)\s*")
_STRING_NODES = re.compile(r"(?:\w*_)?string(?:_literal)?|interpreted_string_literal|raw_string_literal")
MOST_BLOCK_LINES = 8
SHORTEST = 3  # characters of what is taken out


def candidates(document: Document) -> dict[Kind, list[Dug]]:
    """All that a document offers, by kind, in its order."""
    tree = tree_of(document)
    found: dict[Kind, list[Dug]] = {kind: [] for kind in Kind}

    def add(kind: Kind, start: int, end: int) -> None:
        end = start + len(document.text[start:end].rstrip())  # some grammars' nodes take the break behind them
        if end - start >= SHORTEST and document.text[start:end].strip():
            found[kind].append(Dug(document, kind, start, end))

    if document.language not in _DATA:
        for start, end in _code_lines(document, tree):
            add(Kind.LINE, start, end)
            add(Kind.LINE_REST, _cut(document.text, start, end), end)
    for node in nodes(tree):
        start, end = tree.offset_of(node.start_byte), tree.offset_of(node.end_byte)
        one_line = node.start_point[0] == node.end_point[0]
        if document.language in _DATA:
            if _VALUES.fullmatch(node.type):
                value = node.child_by_field_name("value") or (
                    node.named_children[-1] if node.named_child_count > 1 else None
                )
                if value is not None and value.start_point[0] == value.end_point[0]:
                    add(Kind.VALUE, tree.offset_of(value.start_byte), tree.offset_of(value.end_byte))
            continue
        if "comment" in node.type and one_line:
            mark = _COMMENT_MARK.match(document.text, start, end)
            add(Kind.COMMENT, mark.end() if mark else start, end)
        elif _STRING_NODES.fullmatch(node.type) and one_line:
            inside = re.fullmatch(r"(?s)([A-Za-z@$]*(?:\"\"\"|'''|[\"'`]))(.*?)([\"'`]+)", document.text[start:end])
            if inside:
                add(Kind.STRING, start + inside.end(1), start + inside.start(3))
        elif _BLOCKS.fullmatch(node.type) and node.named_children:
            first, last = node.named_children[0], node.named_children[-1]
            lines = last.end_point[0] - first.start_point[0] + 1
            if 2 <= lines <= MOST_BLOCK_LINES:
                add(Kind.BLOCK, tree.offset_of(first.start_byte), tree.offset_of(last.end_byte))
        elif _ARGUMENTS.fullmatch(node.type):
            for child in node.named_children:
                if child.start_point[0] == child.end_point[0]:
                    add(Kind.ARGUMENT, tree.offset_of(child.start_byte), tree.offset_of(child.end_byte))
        for side in _SIDES:
            value = node.child_by_field_name(side)
            if value is not None and value.start_point[0] == value.end_point[0] and "string" not in value.type:
                add(Kind.EXPRESSION, tree.offset_of(value.start_byte), tree.offset_of(value.end_byte))
    return found


def draw(documents: Sequence[Document], count: int, seed: int, kinds: Sequence[Kind] = tuple(Kind)) -> list[Dug]:
    """`count` holes (fewer where there are no more), in turns by kind and within a kind by file, the same for a seed
    whatever the machine and the order of the documents."""
    queues: dict[Kind, list[list[Dug]]] = {kind: [] for kind in kinds}
    for document in sorted(documents, key=lambda one: one.path or ""):
        found = candidates(document)
        for kind in kinds:
            if found[kind]:
                _shuffle(found[kind], f"{seed}:{kind}:{document.path}")
                queues[kind].append(found[kind])
    for kind, files in queues.items():
        _shuffle(files, f"{seed}:{kind}")
    drawn: list[Dug] = []
    turn = 0
    while len(drawn) < count and any(queues.values()):
        for kind in kinds:
            if queues[kind] and len(drawn) < count:
                files = queues[kind]
                chosen = files[turn % len(files)]
                drawn.append(chosen.pop())
                if not chosen:
                    files.remove(chosen)
        turn += 1
    return drawn


def _shuffle(items: list, key: str) -> None:
    generator(key).shuffle(items)


def _code_lines(document: Document, tree: SyntaxTree) -> Iterator[tuple[int, int]]:
    """Whole lines of code: neither comments nor lines that begin inside a string, nor a lone bracket."""
    lines = document.lines
    for number in range(lines.line_count):
        text = lines.line_text(number)
        code = text.strip()
        start = lines.line_start(number) + len(text) - len(text.lstrip())
        if len(code) < 6 or not any(c.isalnum() for c in code) or tree.region(start) is not Region.CODE:
            continue
        if _COMMENT_MARK.match(code):
            continue
        yield start, start + len(code)


def _cut(text: str, start: int, end: int) -> int:
    """A place within a line where somebody might stop typing: between two tokens, by the line's own text."""
    places = [m.end() for m in re.finditer(r"\w+\s*|[^\w\s]\s*", text[start:end])][:-1]
    places = [place for place in places if 2 <= place <= end - start - SHORTEST]
    if not places:
        return start
    number = int.from_bytes(digest(text[start:end])[:4], "big")
    return start + places[number % len(places)]


def nodes(tree: SyntaxTree) -> Iterator[tree_sitter.Node]:
    """Every node, the outer before the inner, in the text's order; none without a grammar."""
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
