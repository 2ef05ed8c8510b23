"""The syntax gate: a completion brings no fault into its document that was not there before.

For every language: no new error or missing node of the grammar, by the rule of `engine.syntax.new_faults`. For Python
also CPython's own parser, which sees what the grammar misses: where some fill could make the document compile, one
with which it does not is never let through. Where none could, because the document is broken apart from the hole,
the top-level statements around the hole are judged alone; where those are broken too, the grammar's word is the last.
"""

from __future__ import annotations

from engine.completion.python_judge import PythonJudge
from engine.hole import Hole, HoleKind
from engine.syntax import SyntaxTree, new_faults


class Gate:
    """Judges fills of one hole of the text that `tree` was parsed from."""

    def __init__(self, hole: Hole, tree: SyntaxTree) -> None:
        self._hole, self._tree = hole, tree
        self._python = (
            PythonJudge(tree, hole.start, hole.end, anything=hole.kind is HoleKind.SELECTION)
            if tree.language == "python"
            else None
        )

    def passes(self, fill: str) -> bool:
        """Whether the document may be given `fill`: in doubt it may not."""
        hole = self._hole
        after = self._tree.edit(hole.start, hole.end, fill)
        if new_faults(self._tree, after, hole.start, hole.end, hole.start + len(fill)):
            return False
        return self._python is None or self._python.right(fill)
