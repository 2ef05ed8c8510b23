"""Where a line of code may have gone wrong by one word, and what could stand there instead: for `midfill review` and its measure.

Four kinds of slip, after BugLab (arXiv 2105.12787): the wrong variable, the wrong operator, off by one, swapped arguments.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import tree_sitter

from engine.check.dig import nodes
from engine.syntax import SyntaxTree, tree_of
from engine.text import Document


class Slip(StrEnum):
    VARIABLE = "wrong variable"
    OPERATOR = "wrong operator"
    OFF_BY_ONE = "off by one"
    ARGUMENTS = "swapped arguments"


@dataclass(frozen=True)
class Place:
    """[start, end) of a document's text (code points), and the other texts that might stand there."""

    slip: Slip
    start: int
    end: int
    others: tuple[str, ...]


_PEERS = (
    ("<", "<=", ">", ">=", "==", "!="),
    ("===", "!=="),
    ("+", "-", "*", "/", "//", "%"),
    ("and", "or"),
    ("&&", "||"),
    ("+=", "-=", "*=", "/="),
    ("is", "is not"),
    ("in", "not in"),
)
_PEERS_OF = {one: tuple(peer for peer in peers if peer != one) for peers in _PEERS for one in peers}
_OPERATES = re.compile(r"binary\w*|comparison\w*|boolean\w*|augmented\w*|\w*assignment_expression")
_NAME = re.compile(r"identifier|simple_identifier|property_identifier|field_identifier")
_INTEGER = re.compile(r"integer\w*|number\w*|int_literal|decimal_integer_literal")
_ARGUMENTS = re.compile(r"argument_list|arguments|value_arguments")
_PLAIN_ARGUMENT = re.compile(r"(?!keyword|spread|list_splat|dictionary_splat|comment).*")
_SCOPE = re.compile(r"\w*(function|method|class)\w*(definition|declaration|item)")
# parents and fields whose names are made here, and not used
_DEFINING = re.compile(
    r"\w*parameters?\w*|import\w*|aliased_import|dotted_name|keyword_argument|\w*pattern\w*|global_statement"
)
_DEFINING_FIELDS = ("name", "left", "alias", "parameter", "parameters", "key")
_OWN = ("self", "cls", "this", "super", "_")
MOST_NAMES = 40


def places(document: Document) -> dict[int, list[Place]]:
    """All places of a document that have alternatives, by line (from 1), each line's in their order."""
    tree = tree_of(document)
    found: dict[int, list[Place]] = defaultdict(list)
    if tree.root is None:
        return found
    line_at = document.lines.line_at
    uses = list(_uses(tree))
    names: dict[tuple[str, str, int], dict[str, None]] = defaultdict(dict)
    for use in uses:
        names[use.key].setdefault(use.text)
    for use in uses:
        others = [name for name in names[use.key] if name != use.text][:MOST_NAMES]
        if others:
            found[line_at(use.start) + 1].append(Place(Slip.VARIABLE, use.start, use.end, tuple(others)))
    for node in nodes(tree):
        for place in _slips(tree, node):
            found[line_at(place.start) + 1].append(place)
    for of_line in found.values():
        of_line.sort(key=lambda place: (place.start, place.end, place.slip))
    return found


@dataclass(frozen=True)
class _Use:
    """A name that is used. key: its role (called, an attribute, neither), type and scope: only what shares it could stand there."""

    key: tuple[str, str, int]
    text: str
    start: int
    end: int


def _uses(tree: SyntaxTree) -> Iterator[_Use]:
    assert tree.root is not None
    for node, scope in _scoped(tree.root, 0):
        if not _NAME.fullmatch(node.type) or node.child_count or node.parent is None:
            continue
        parent = node.parent
        field = _field(parent, node)
        if _DEFINING.fullmatch(parent.type) or (field in _DEFINING_FIELDS and "call" not in parent.type):
            continue
        text = _text(tree, node)
        if text in _OWN:
            continue
        role = "called" if field == "function" else "attribute" if field in ("attribute", "property", "field") else ""
        if role == "attribute" and parent.parent is not None and _field(parent.parent, parent) == "function":
            role = "method"
        key = (role, node.type, 0 if role else scope)
        yield _Use(key, text, tree.offset_of(node.start_byte), tree.offset_of(node.end_byte))


def _slips(tree: SyntaxTree, node: tree_sitter.Node) -> Iterator[Place]:
    if _OPERATES.fullmatch(node.type):
        for child in node.children:
            text = _text(tree, child) if not child.is_named else ""
            if text in _PEERS_OF:
                yield _place(tree, Slip.OPERATOR, child, child, _PEERS_OF[text])
        sides = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if sides[0] is not None and sides[1] is not None and operator is not None and node.type.startswith("binary"):
            one_off = _text(tree, operator) in "+-" and _text(tree, sides[1]) == "1"
            if one_off:
                yield _place(tree, Slip.OFF_BY_ONE, node, node, (_text(tree, sides[0]),))
    elif _INTEGER.fullmatch(node.type) and re.fullmatch(r"\d{1,4}", number := _text(tree, node)):
        others = [str(other) for other in (int(number) - 1, int(number) + 1) if other >= 0]
        yield _place(tree, Slip.OFF_BY_ONE, node, node, tuple(others))
    elif _ARGUMENTS.fullmatch(node.type):
        plain = [child for child in node.named_children if _PLAIN_ARGUMENT.fullmatch(child.type)]
        for first, second in itertools.pairwise(plain):
            texts = _text(tree, first), _text(tree, second)
            start, end = tree.offset_of(first.start_byte), tree.offset_of(second.end_byte)
            between = tree.text[tree.offset_of(first.end_byte) : tree.offset_of(second.start_byte)]
            if texts[0] != texts[1] and "\n" not in tree.text[start:end]:
                yield Place(Slip.ARGUMENTS, start, end, (texts[1] + between + texts[0],))


def _place(
    tree: SyntaxTree, slip: Slip, first: tree_sitter.Node, last: tree_sitter.Node, others: tuple[str, ...]
) -> Place:
    return Place(slip, tree.offset_of(first.start_byte), tree.offset_of(last.end_byte), others)


def _text(tree: SyntaxTree, node: tree_sitter.Node) -> str:
    return tree.text[tree.offset_of(node.start_byte) : tree.offset_of(node.end_byte)]


def _field(parent: tree_sitter.Node, node: tree_sitter.Node) -> str | None:
    for index, child in enumerate(parent.children):
        if child.id == node.id:
            return parent.field_name_for_child(index)
    return None


def _scoped(node: tree_sitter.Node, scope: int) -> Iterator[tuple[tree_sitter.Node, int]]:
    """Every node with the innermost definition around it, by where that begins."""
    waiting = [(node, scope)]
    while waiting:
        one, inside = waiting.pop()
        yield one, inside
        if _SCOPE.fullmatch(one.type):
            inside = one.start_byte
        waiting.extend((child, inside) for child in reversed(one.children))
