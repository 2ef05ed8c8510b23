"""Whether two texts are the same code: the same tokens of the grammar, however they are laid out."""

from __future__ import annotations

from engine.syntax import SyntaxTree


def same_code(one: SyntaxTree, other: SyntaxTree) -> bool:
    """Whether both have the same tokens; without a grammar, the same characters but for white space."""
    return _tokens(one) == _tokens(other)


def _tokens(tree: SyntaxTree) -> list[str]:
    if tree.root is None:
        return tree.text.split()
    found: list[str] = []
    cursor = tree.root.walk()
    while True:
        node = cursor.node
        assert node is not None
        if cursor.goto_first_child():
            continue
        text = tree.text[tree.offset_of(node.start_byte) : tree.offset_of(node.end_byte)].strip()
        if text:
            found.append(text)
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return found
