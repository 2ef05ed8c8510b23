"""The names that a piece of code uses, and the definitions that a file holds: by tree-sitter, in any language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import tree_sitter

from engine.syntax import tree_of
from engine.text import Document

_DEFINES = re.compile(
    r"(async_)?(function|class|method|struct|enum|interface|trait|type|module|object|const|protocol)"
    r"(_alias|_signature)?_(definition|declaration|item|spec|specifier|declarator)"
)
_NAME = re.compile(r"\w*identifier|constant|name|word")
WHOLE_LINES = 12  # a definition of so many lines is brought whole, of a longer one its head


@dataclass(frozen=True)
class Definition:
    """What a file defines: [first, last] are lines from 0; text: the definition, or its head."""

    name: str
    first: int
    last: int
    text: str


def names_near(document: Document, offset: int, lines: int = 30) -> list[str]:
    """The names used around a cursor, the nearest first, each once."""
    index = document.lines
    line = index.line_at(offset)
    start = index.line_start(max(0, line - lines))
    end = index.line_end(min(index.line_count - 1, line + lines // 3))
    tree = tree_of(document)
    if tree.root is None:
        return []
    found: dict[str, int] = {}
    for node in _within(tree.root, tree.byte_of(start), tree.byte_of(end)):
        if node.child_count == 0 and _NAME.fullmatch(node.type):
            place = tree.offset_of(node.start_byte)
            name = document.text[place : tree.offset_of(node.end_byte)]
            if len(name) > 1:
                found[name] = min(found.get(name, 1 << 40), abs(place - offset))
    return sorted(found, key=lambda name: (found[name], name))


def definitions(document: Document) -> list[Definition]:
    """What the file defines at its top and in its classes, in order."""
    tree = tree_of(document)
    if tree.root is None:
        return []
    found = []
    for node in _definers(tree.root, 0):
        name = node.child_by_field_name("name") or node.child_by_field_name("declarator")
        if name is None:
            continue
        start, end = tree.offset_of(node.start_byte), tree.offset_of(node.end_byte)
        called = document.text[tree.offset_of(name.start_byte) : tree.offset_of(name.end_byte)].partition("(")[0]
        first, last = document.lines.line_at(start), document.lines.line_at(end)
        text = document.text[document.lines.line_start(first) : end]
        if last - first >= WHOLE_LINES:
            text = _head(document, node, text, document.lines.line_start(first))
        found.append(Definition(called.strip("*& "), first, last, text))
    return found


def _definers(node: tree_sitter.Node, depth: int) -> Iterator[tree_sitter.Node]:
    for child in node.named_children:
        if _DEFINES.fullmatch(child.type):
            yield child
            if "class" in child.type or "impl" in child.type or "interface" in child.type:
                yield from _definers(child.child_by_field_name("body") or child, depth + 1)
        elif depth < 3 and child.type in ("decorated_definition", "export_statement", "impl_item", "declaration_list"):
            yield from _definers(child, depth + 1)


def _head(document: Document, node: tree_sitter.Node, text: str, begin: int) -> str:
    """Up to the body, and the first line of a docstring."""
    body = node.child_by_field_name("body")
    if body is None:
        return text.partition("\n")[0]
    tree = tree_of(document)
    start = tree.offset_of(body.start_byte)
    head = document.text[begin:start].rstrip()
    first = body.named_children[0] if body.named_children else None
    if first is not None and first.type == "expression_statement" and first.named_children[0].type == "string":
        line = document.text[document.lines.line_start(document.lines.line_at(start)) :].partition("\n")[0]
        quotes = line.strip()[:3]
        closed = len(line.strip()) > 3 and line.rstrip().endswith(quotes)
        head += "\n" + line.rstrip() + ("" if closed or quotes not in ('"""', "'''") else quotes)
    return head


def _within(root: tree_sitter.Node, start: int, end: int) -> Iterator[tree_sitter.Node]:
    """The nodes that meet [start, end), bytes."""
    cursor = root.walk()
    down = True
    while True:
        node = cursor.node
        assert node is not None
        if down and node.end_byte >= start and node.start_byte < end:
            yield node
            if cursor.goto_first_child_for_byte(start) is not None or cursor.goto_first_child():
                continue
        if node.start_byte < end and cursor.goto_next_sibling():
            down = True
            continue
        if not cursor.goto_parent():
            return
        down = False
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return
        down = True
