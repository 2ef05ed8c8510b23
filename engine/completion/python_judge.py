"""CPython's word on a fill of a Python document: does the document compile with it, and if not, could it with any?

A whole parse costs about a second a megabyte, so only the first fill is parsed in the whole document. After that its
*chunk* is: the top-level statements around the hole. What stands apart from the chunk is parsed once, by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from engine.completion.python_context import prefix_completes, suffix_completes
from engine.syntax import Region, SyntaxTree, compiles
from engine.syntax.scan import line_end, line_start

LARGE = 200_000  # characters; of a larger document the chunk alone is judged, the rest is taken for right
BUDGET = 1_000_000  # characters parsed for one completion, about a second; what is not parsed counts as wrong

_TOP_LEVEL = re.compile(r"(?!(?:elif|else|except|finally|case)\b)[^\s#)\]},:.\\]")
_BREAK = re.compile(r"\r\n|\n|\r")
_EDGES_BELOW = 2  # a decorator or a header that is filled in needs the statement behind it
# What could fill a hole within its line, and lines that could stand in its line's place or before it.
_PROBES = (
    *("", "pass", "0", "x", "x:", "x = 0", " 0", ")", "]", "}", "0)", "0]", "(", '"', '"""', "'", ":", ", 0", "= 0"),
    *(" in x", " in x:", "x else x", "import x"),
)
_LINES = (
    *("pass", "if x:", "else:", "elif x:", "try:", "except E:", "finally:", "for x in y:", "def f():", "class C:"),
    *("while x:", "with x:", "match x:", "case x:", "@x", "x = (", "x = [", "x = {", ")", "]", "}", '"""'),
)


class PythonJudge:
    """Judges fills of the hole [start, end) of `tree`'s text, in code points.

    anything: the hole may hold any text, so that no probe's failing shows that nothing fits (a selection).
    """

    def __init__(self, tree: SyntaxTree, start: int, end: int, anything: bool) -> None:
        self._tree, self._text = tree, tree.text
        self._start, self._end = start, end
        self._anything = anything
        self._left = BUDGET
        self._whole_failed = len(self._text) > LARGE

    def right(self, fill: str) -> bool:
        """Whether the document compiles with `fill`, or, where none could make it compile, its chunk does.

        Where none could make even the chunk compile, every fill is right. In doubt it is wrong.
        """
        if not self._whole_failed:
            if self._compiles(self._filled(fill)):
                return True
            self._whole_failed = True
        first, last = self._chunk
        if self._compiles(self._filled(fill, first, last)):
            return self._broken_apart or len(self._text) > LARGE or self._compiles(self._filled(fill))
        return self._broken_inside

    @cached_property
    def _ground(self) -> tuple[int, int, bool]:
        """The chunk [first, last), and whether something is wrong outside it that no fill can mend."""
        text = self._text
        first = self._edge_above()
        last = self._edge_below()
        if len(text) > LARGE:
            return first, last, False
        apart = False
        if first and not self._compiles(text[:first]):
            # An open bracket or string reaches into the hole, unless what stands above can never be right.
            if prefix_completes(text[:first], self._compiles):
                first = 0
            else:
                apart = True
        if last < len(text) and not self._compiles(text[last:]):
            if suffix_completes(text[last:], self._compiles):
                last = len(text)
            else:
                apart = True
        return first, last, apart and self._left > 0

    @property
    def _chunk(self) -> tuple[int, int]:
        return self._ground[:2]

    @property
    def _broken_apart(self) -> bool:
        return self._ground[2]

    @cached_property
    def _broken_inside(self) -> bool:
        """Whether no fill could make the chunk compile: what stands above the hole's line can never be right, or no
        probe fits and what stands below can never be."""
        first, last = self._chunk
        text, line = self._text, line_start(self._text, self._start)
        if not prefix_completes(text[first:line], self._compiles):
            return self._left > 0
        if self._anything:
            return False
        below = _BREAK.search(text, self._end, last)
        if suffix_completes(text[below.end() if below else last : last], self._compiles):
            return False
        if not text[line : self._start].strip() and suffix_completes(text[self._end : last], self._compiles):
            return False
        return not any(self._compiles(probed) for probed in self._probed(first, last)) and self._left > 0

    def _probed(self, first: int, last: int) -> Iterator[str]:
        """The chunk with probes in the hole, in place of its line, and before it."""
        text = self._text
        for probe in _PROBES:
            yield self._filled(probe, first, last)
        begin, end = line_start(text, self._start), line_end(text, self._end)
        whole = text[begin:end]
        own = _indent(whole)
        below = next((_indent(line) for line in text[end:last].splitlines() if line.strip()), "")
        for probe in _LINES:
            for indent in sorted({own, own + "    ", below}):
                yield text[first:begin] + indent + probe + text[end:last]
                if whole.strip():
                    yield text[first:begin] + indent + probe + "\n" + text[begin:last]

    def _filled(self, fill: str, first: int = 0, last: int | None = None) -> str:
        return self._text[first : self._start] + fill + self._text[self._end : last]

    def _compiles(self, text: str) -> bool:
        self._left -= len(text)
        return self._left > 0 and compiles(text)

    def _edge_above(self) -> int:
        """Where the last top-level statement begins that stands above the hole's line; 0 where there is none."""
        place = line_start(self._text, self._start)
        while place > 0:
            place = line_start(self._text, place - (2 if self._text[place - 2 : place] == "\r\n" else 1))
            if self._is_edge(place):
                return place
        return 0

    def _edge_below(self) -> int:
        """Where a top-level statement begins below the hole's line, one after the next; the text's end if none does."""
        found = 0
        for match in _BREAK.finditer(self._text, self._end):
            found += self._is_edge(match.end())
            if found == _EDGES_BELOW:
                return match.end()
        return len(self._text)

    def _is_edge(self, place: int) -> bool:
        text = self._text
        if not _TOP_LEVEL.match(text, place):
            return False
        above = text[line_start(text, max(0, place - 2)) : place].rstrip()  # the line before, whatever its break
        return not above.startswith("@") and not above.endswith("\\") and self._tree.region(place) is Region.CODE


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
