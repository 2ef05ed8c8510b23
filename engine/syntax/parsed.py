"""A document's parse: made once, incrementally where the document came from one that was parsed already."""

from __future__ import annotations

from dataclasses import dataclass

from engine.syntax.tree import SyntaxTree
from engine.text import Document

_TREE, _EDIT = "syntax tree", "edit since"


@dataclass(frozen=True)
class EditSince:
    """How a document came from `base`: base's [start, old_end) became [start, new_end) (code points).

    older: what this one took the place of. Letting a large text and its tree go takes milliseconds, so they are let go
    where the tree is made, and not where a person types.
    """

    base: Document
    start: int
    old_end: int
    new_end: int
    older: EditSince | None = None

    def then(self, start: int, end: int, length: int) -> EditSince:
        """This edit followed by another, of [start, end) in its result to `length` characters, as one."""
        grown = length - (end - start)
        return EditSince(
            self.base,
            min(self.start, start),
            self.old_end + max(0, end - self.new_end),
            max(self.new_end, end) + grown,
            self.older,
        )


def tree_of(document: Document) -> SyntaxTree:
    """The document's tree. Kept with the document, so that whoever asks next gets the same one."""
    tree = document.notes.get(_TREE)
    if tree is None:
        edit = document.notes.pop(_EDIT, None)  # lets go of the document before
        base = edit.base.notes.get(_TREE) if edit else None
        if base is not None and base.language == document.language:
            new = document.text[edit.start : edit.new_end]
            tree = base.edit(edit.start, edit.old_end, new, document.text)
        else:
            tree = SyntaxTree.parse(document.text, document.language)
        document.notes[_TREE] = tree
    return tree


def is_parsed(document: Document) -> bool:
    return _TREE in document.notes


def came_from(document: Document, edit: EditSince) -> None:
    """Tells where a document came from, before its tree is asked for."""
    document.notes[_EDIT] = edit
