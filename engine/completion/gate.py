"""The syntax gate: a completion brings no fault into its document that was not there before.

For every language: no new error or missing node of the grammar. For Python also CPython's own parser, which sees
what the grammar misses: a completion with which the document compiles is always preferred, and where the document
could compile with some fill, one with which it does not is never shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from engine.completion.python_context import broken_by_itself
from engine.hole import Hole, HoleKind
from engine.syntax import SyntaxTree, compiles, compiles_around, new_faults
from engine.text import Document

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
        if not self._python or self._compiles(after.text, len(text)):
            return True
        self._kept.append(text)
        return False

    def second_best(self) -> str | None:
        """The best kept fill where the document is broken apart from its hole, so that none could make it compile."""
        if not self._kept or not self._broken_apart():
            return None
        return next((text for text in self._kept if self._compiles_around(text)), self._kept[0])

    def _compiles(self, text: str, length: int) -> bool:
        if len(text) > LARGE:
            return compiles_around(text, self._hole.start, self._hole.start + length)
        return compiles(text)

    def _compiles_around(self, fill: str) -> bool:
        return compiles_around(self._filled(fill), self._hole.start, self._hole.start + len(fill))

    def _broken_apart(self) -> bool:
        """Whether no fill could make the document compile: no probe does, and a side of the hole is broken by itself."""
        if self._hole.kind is HoleKind.SELECTION:
            return False  # it may hold anything, so that nothing speaks for certain
        large = len(self._document.text) > LARGE
        right = compiles_around if large else lambda text, start, end: compiles(text)
        most = max(FEWEST_PROBES, PROBED // max(1, len(self._document.text)))
        if any(right(text, start, end) for text, start, end in islice(self._probed(), most)):
            return False
        return large or broken_by_itself(self._document.text, self._hole.start, self._hole.end)

    def _probed(self) -> Iterator[tuple[str, int, int]]:
        """Documents with a probe in the hole: (text, start, end) of each, in code points."""
        document, hole = self._document, self._hole
        for probe in _PROBES:
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

    def _indent_below(self, offset: int) -> str:
        for line in self._document.text[offset : offset + 2000].splitlines()[1:]:
            if line.strip():
                return line[: len(line) - len(line.lstrip())]
        return ""

    def _filled(self, fill: str) -> str:
        return self._document.text[: self._hole.start] + fill + self._document.text[self._hole.end :]
