"""A parsed text: tree-sitter's tree in code points, with incremental edits. The other modules ask it questions."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import accumulate

import tree_sitter

from engine.syntax import regions, scan, units
from engine.syntax.grammars import grammar
from engine.syntax.regions import Region

# Code points between two marks of the map from code points to bytes.
_STRIDE = 2048


class FaultKind(StrEnum):
    ERROR = "error"
    MISSING = "missing"


@dataclass(frozen=True)
class SyntaxFault:
    """An error node of the grammar, or a node that it missed (then start == end). [start, end) in code points.

    node_type: of the missing node, or of the node that the error stands in. since: where what is wrong began, which for
    a missing node is the start of what lacks it: of the block whose closing brace is missing, say.
    """

    kind: FaultKind
    start: int
    end: int
    node_type: str
    since: int


@dataclass(frozen=True)
class SyntaxNode:
    """A node of the grammar's tree: its type, [start, end) in code points, and the types around it, innermost first."""

    type: str
    start: int
    end: int
    ancestors: tuple[str, ...] = ()


class SyntaxTree:
    """An immutable parse of `text`. Without a grammar it has no nodes and no errors, and scanning answers instead.

    Made by `parse` and `edit`. Lone surrogates are parsed as question marks.
    """

    def __init__(self, text: str, language: str, data: bytes, tree: tree_sitter.Tree | None) -> None:
        self.text = text
        self.language = language
        self._data = data
        self._tree = tree

    @staticmethod
    def parse(text: str, language: str) -> SyntaxTree:
        rules = grammar(language)
        if rules is None:
            return SyntaxTree(text, language, b"", None)
        data = _encode(text)
        return SyntaxTree(text, language, data, tree_sitter.Parser(rules).parse(data))

    def edit(self, start: int, old_end: int, replacement: str, text: str | None = None) -> SyntaxTree:
        """The tree of the text with [start, old_end) replaced: parsed incrementally, equal to a fresh parse.

        text: the new text, where the caller has it already. Raises ValueError for a range that is not in the text.
        """
        if not 0 <= start <= old_end <= len(self.text):
            raise ValueError(f"no range {start}..{old_end} in a text of {len(self.text)}")
        if text is None:
            text = self.text[:start] + replacement + self.text[old_end:]
        if self._tree is None:
            return SyntaxTree(text, self.language, b"", None)
        new = _encode(replacement)
        first, last = self.byte_of(start), self.byte_of(old_end)
        data = self._data[:first] + new + self._data[last:]
        old_tree = self._tree.copy()
        old_tree.edit(
            first,
            last,
            first + len(new),
            _point(self._data, first),
            _point(self._data, last),
            _point(data, first + len(new)),
        )
        rules = grammar(self.language)
        assert rules is not None
        return SyntaxTree(text, self.language, data, tree_sitter.Parser(rules).parse(data, old_tree))

    @property
    def has_grammar(self) -> bool:
        return self._tree is not None

    @property
    def root(self) -> tree_sitter.Node | None:
        """tree-sitter's own root, whose offsets are bytes; None without a grammar."""
        return self._tree.root_node if self._tree else None

    def errors(self) -> list[SyntaxFault]:
        """All faults of the text, in its order, errors inside errors too. Costs little where there are few."""
        return list(self._faults)

    def node_at(self, offset: int) -> SyntaxNode | None:
        """The smallest named node that holds the characters on both sides of `offset`; None without a grammar."""
        path = [node for node in self.path_to(offset - 1, offset + 1) if node.is_named]
        if not path:
            return None
        node = path.pop()
        ancestors = tuple(outer.type for outer in reversed(path))
        return SyntaxNode(node.type, self.offset_of(node.start_byte), self.offset_of(node.end_byte), ancestors)

    def path_to(self, start: int, end: int) -> list[tree_sitter.Node]:
        """tree-sitter's own nodes, named or not, that hold [start, end), from the root inwards; none without a grammar.

        Offsets are clamped to the text. One descent, as asking a node for its parent costs another from the root.
        """
        root = self.root
        if root is None:
            return []
        first, last = self.byte_of(max(0, start)), self.byte_of(min(len(self.text), end))
        path = [root]
        cursor = root.walk()
        while cursor.goto_first_child_for_byte(first) is not None:
            node = cursor.node
            if node is None or node.start_byte > first or node.end_byte < last:
                break
            path.append(node)
        return path

    def region(self, offset: int) -> Region:
        """Whether a cursor at `offset` stands in code, in a string or in a comment."""
        return regions.region(self, offset)

    def unit_end(self, offset: int, kind: str, suffix: str | None = None) -> int:
        """Where the unit of kind `kind` that begins at `offset` ends; see `units.unit_end`."""
        return units.unit_end(self.text, offset, kind, self.language, suffix, self.scan_start(offset))

    def scan_start(self, offset: int) -> int:
        """A place before `offset` to scan from: the start of its top-level statement, or, where no tree tells or it is
        too far off, the last line that begins at the left edge."""
        limit = max(0, offset - scan.REACH)
        code_end = limit + len(self.text[limit:offset].rstrip())
        path = self.path_to(code_end - 1, code_end)
        place = scan.anchor(self.text, offset)
        if not path or code_end == limit:
            return place
        if len(path) == 1 or path[0].is_error:
            return 0 if limit == 0 else place
        top = path[1]
        # What stands behind an error may belong to it: a call's arguments to its unclosed bracket.
        while path[0].has_error and (before := top.prev_sibling) is not None and before.is_error:
            top = before
        start = self.offset_of(top.start_byte)
        return start if start >= limit else place

    def byte_of(self, offset: int) -> int:
        """The byte in UTF-8 of an offset in code points."""
        if len(self._data) == len(self.text):
            return offset
        mark = min(offset // _STRIDE, len(self._marks) - 1)
        return self._marks[mark] + len(_encode(self.text[mark * _STRIDE : offset]))

    def offset_of(self, byte: int) -> int:
        """The offset in code points of a byte in UTF-8; of the character that it is part of."""
        if len(self._data) == len(self.text):
            return byte
        mark = bisect_right(self._marks, byte) - 1
        return mark * _STRIDE + len(self._data[self._marks[mark] : byte].decode("utf-8", "ignore"))

    @cached_property
    def _marks(self) -> list[int]:
        """The byte of every `_STRIDE`th code point that others follow, the first one's always."""
        pieces = (self.text[start : start + _STRIDE] for start in range(0, len(self.text) - _STRIDE, _STRIDE))
        return list(accumulate((len(_encode(piece)) for piece in pieces), initial=0))

    @cached_property
    def _faults(self) -> tuple[SyntaxFault, ...]:
        root = self.root
        if root is None or not root.has_error:
            return ()
        faults = []
        outer: list[tree_sitter.Node] = []
        cursor = root.walk()
        while True:
            node = cursor.node
            assert node is not None
            if node.has_error:
                if node.is_missing or node.is_error:
                    faults.append(self._fault(node, outer[-1] if outer else node))
                if cursor.goto_first_child():
                    outer.append(node)
                    continue
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return tuple(faults)
                outer.pop()

    def _fault(self, node: tree_sitter.Node, outer: tree_sitter.Node) -> SyntaxFault:
        start, end = self.offset_of(node.start_byte), self.offset_of(node.end_byte)
        if node.is_missing:
            return SyntaxFault(FaultKind.MISSING, start, end, node.type, self.offset_of(outer.start_byte))
        return SyntaxFault(FaultKind.ERROR, start, end, outer.type, start)


def _encode(text: str) -> bytes:
    # "replace" puts one ASCII question mark for a lone surrogate, so that bytes and code points stay in step.
    return text.encode("utf-8", "replace")


def _point(data: bytes, byte: int) -> tuple[int, int]:
    """tree-sitter's row and column (bytes); its rows end at \\n alone."""
    return data.count(b"\n", 0, byte), byte - (data.rfind(b"\n", 0, byte) + 1)
