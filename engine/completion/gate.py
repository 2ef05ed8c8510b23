"""The syntax gate: a completion brings no fault into its document that was not there before.

For every language: no new error or missing node of the grammar. For Python also CPython's own parser, which sees
what the grammar misses: a completion with which the document compiles is always preferred, and where the document
could compile with some fill, one with which it does not is never shown. So with what no grammar sees, a `return` outside
of a function or a keyword given twice.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import islice

from engine.completion.brackets import PAIRS
from engine.completion.python_context import broken_by_itself
from engine.hole import Hole, HoleKind
from engine.syntax import SyntaxTree, compiles, compiles_around, new_faults, rejection
from engine.syntax.scan import lexis_of, state_at
from engine.text import Document, LineIndex

LARGE = 200_000  # characters; CPython parses about a megabyte a second, so larger documents are judged around the hole
PROBED = 1_000_000  # characters parsed for probes, which bounds the time that a broken document costs
FEWEST_PROBES = 12
_PROBES = (
    "",
    "pass",
    "0",
    "x",
    "x:",
    "x = 0",
    " 0",
    ")",
    "]",
    "}",
    "0)",
    "0]",
    "(",
    '"',
    '"""',
    "'",
    ":",
    ", 0",
    "= 0",
    "f(",
    "x or \\",
)
_LINES = (
    *("pass", "if x:", "else:", "elif x:", "try:", "except E:", "finally:", "for x in y:", "while x:", "with x:"),
    *("def f():", "class C:", "@x", "x = (", "x = [", "x = {", ")", "]", "}", '"""'),
)


class Gate:
    """Judges fills of one hole. Keeps the best that is not quite right, for a document that is broken already."""

    def __init__(self, document: Document, hole: Hole, tree: SyntaxTree) -> None:
        self._document, self._hole, self._tree = document, hole, tree
        self._python = document.language == "python"
        self._kept: list[str] = []  # no new fault of the grammar, but the document does not compile

    def passes(self, text: str) -> bool:
        """Whether `text` is right beyond doubt. One that may be right in a broken document is kept for `second_best`."""
        if not self._tree.has_grammar:
            return True
        hole = self._hole
        after = self._tree.edit(hole.start, hole.end, text)
        if new_faults(self._tree, after, hole.start, hole.end, hole.start + len(text)):
            return False
        if not self._python or self._compiles(after.text, len(text), whole=True):
            return True
        if self._compiles(after.text, len(text)):
            return self._is_old(after.text)
        self._kept.append(text)
        return False

    def _is_old(self, text: str) -> bool:
        """Whether what CPython has against a text that it can parse is there with another fill too: a `return` at the top
        of the file, an `await` that the person has typed into a function that is not async."""
        if len(self._document.text) > LARGE:
            return not any(self._right(text, start, end, whole=True) for text, start, end in self._some_probed())
        return self._fault(text) in self._faults_with_probes

    @functools.cached_property
    def _faults_with_probes(self) -> set[tuple[object, ...]]:
        """What CPython has against the document whatever stands in the hole; nothing where it compiles with some probe there."""
        document, hole, faults = self._document.text, self._hole, set()
        before, behind = document[: hole.start].rstrip(), document[hole.end :]
        for text, _, _ in self._some_probed():
            if rejection(text) is None and text.startswith(before) and text.endswith(behind):
                return set()
            faults.add(self._fault(text))
        return {fault for fault in faults if fault is not None}

    def _fault(self, text: str) -> tuple[object, ...] | None:
        """What CPython has against a text that it can parse, and where: counted from the top if that is before the hole,
        else from the bottom."""
        found = rejection(text)
        if found is None or found.grammar or found.line is None:
            return None
        if (found.line - 1, found.column or 0) < self._document.lines.position(self._hole.start):
            return found.message, found.line, found.column
        return found.message, found.line - LineIndex(text).line_count

    def second_best(self) -> str | None:
        """The best kept fill where the document is broken apart from its hole, so that none could make it compile."""
        if not self._kept or not self._broken_apart():
            return None
        return next((text for text in self._kept if self._compiles_around(text)), self._kept[0])

    def _compiles(self, text: str, length: int, whole: bool = False) -> bool:
        return self._right(text, self._hole.start, self._hole.start + length, whole)

    def _right(self, text: str, start: int, end: int, whole: bool = False) -> bool:
        if len(self._document.text) > LARGE:
            return compiles_around(text, start, end, whole)
        return rejection(text) is None if whole else compiles(text)

    def _compiles_around(self, fill: str) -> bool:
        return compiles_around(self._filled(fill), self._hole.start, self._hole.start + len(fill))

    def _broken_apart(self) -> bool:
        """Whether no fill could make the document compile: no probe does, and a side of the hole is broken by itself."""
        if self._hole.kind is HoleKind.SELECTION:
            return False  # it may hold anything, so that nothing speaks for certain
        if any(self._right(text, start, end) for text, start, end in self._some_probed()):
            return False
        return len(self._document.text) > LARGE or broken_by_itself(
            self._document.text, self._hole.start, self._hole.end
        )

    def _some_probed(self) -> Iterator[tuple[str, int, int]]:
        return islice(self._probed(), max(FEWEST_PROBES, PROBED // max(1, len(self._document.text))))

    def _probed(self) -> Iterator[tuple[str, int, int]]:
        """Documents with a probe in the hole: (text, start, end) of each, in code points."""
        document, hole = self._document, self._hole
        for probe in (*self._closings(), *_PROBES):
            yield self._filled(probe), hole.start, hole.start + len(probe)
        line, _ = document.lines.position(hole.start)
        begin = document.lines.line_start(line)
        end = document.lines.line_end(document.lines.position(hole.end)[0])
        whole = document.text[begin:end]
        indent = whole[: len(whole) - len(whole.lstrip())]
        for probe in _LINES:
            for depth in dict.fromkeys((indent, indent + "    ", self._indent_below(hole.end))):  # in one order, always
                text = depth + probe
                yield document.text[:begin] + text + document.text[end:], begin, begin + len(text)
                if whole.strip():  # as a line of its own, before the hole's
                    yield document.text[:begin] + text + "\n" + document.text[begin:], begin, begin + len(text)

    def _closings(self) -> Iterator[str]:
        """What closes a string and brackets that stand open at the hole: the string, then one bracket more each time."""
        state = state_at(self._document.text, 0, self._hole.start, lexis_of("python"))
        in_string = state.inside is not None and state.inside.closing is not None
        for closing in ('"', "'", '"""', "'''") if in_string else ("",):
            for _, bracket in reversed(state.brackets):
                closing += PAIRS.get(bracket, "")
                yield closing

    def _indent_below(self, offset: int) -> str:
        for line in self._document.text[offset : offset + 2000].splitlines()[1:]:
            if line.strip():
                return line[: len(line) - len(line.lstrip())]
        return ""

    def _filled(self, fill: str) -> str:
        return self._document.text[: self._hole.start] + fill + self._document.text[self._hole.end :]
