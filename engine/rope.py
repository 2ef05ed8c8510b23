"""A text under edits: chunks of a few thousand characters, so that an edit costs the chunk it falls into, not the text.

After the ropes of text editors (Boehm, Atkinson and Plass, 1995), flat: a list of chunks with running totals of
characters, units and line breaks, found by bisection. What follows an edited chunk in the totals is summed again at C speed,
a few dozen microseconds a megabyte.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from engine.text import Encoding, points, units

_CHUNK = 2048  # characters of a new chunk; one is split when an edit makes it twice as long
_BREAK = re.compile(r"\r\n|\n|\r")


class Rope:
    """A mutable text with positions in one encoding. Offsets count code points, lines and columns count from 0.

    No chunk ends between `\\r` and `\\n`: so every line break lies within one chunk.
    """

    def __init__(self, text: str = "", encoding: Encoding = Encoding.UTF32) -> None:
        self._encoding = encoding
        self._chunks: list[str] = []
        self._sizes: list[tuple[int, int, int]] = []  # a chunk: code points, units, line breaks
        self._ends: list[int] = []
        self._units: list[int] = []
        self._breaks: list[int] = []
        self._whole: str | None = None
        self._replace(0, 0, text)
        self._whole = text

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @property
    def text(self) -> str:
        """The whole text; joined once after an edit."""
        if self._whole is None:
            self._whole = "".join(self._chunks)
        return self._whole

    @property
    def line_count(self) -> int:
        """The number of line breaks and one more."""
        return (self._breaks[-1] if self._breaks else 0) + 1

    def edit(self, start: int, end: int, replacement: str) -> None:
        """Puts `replacement` for [start, end). Raises ValueError for a range that is not in the text."""
        if not 0 <= start <= end <= len(self):
            raise ValueError(f"no range {start}..{end} in a text of {len(self)}")
        first, last = self._chunk_at(start), self._chunk_at(end)
        if not self._chunks:
            self._replace(0, 0, replacement)
            return
        head = self._chunks[first][: start - self._start(first)]
        tail = self._chunks[last][end - self._start(last) :]
        # a break must not be cut by the border to a neighbour
        if first and self._chunks[first - 1].endswith("\r"):
            first -= 1
            head = self._chunks[first] + head
        if last + 1 < len(self._chunks) and self._chunks[last + 1].startswith("\n"):
            last += 1
            tail += self._chunks[last]
        self._replace(first, last + 1, head + replacement + tail)

    def slice(self, start: int, end: int) -> str:
        """The text of [start, end), clamped to the text."""
        start, end = max(0, start), min(len(self), end)
        if start >= end:
            return ""
        first, last = self._chunk_at(start), self._chunk_at(end - 1)
        at = self._start(first)
        return "".join(self._chunks[first : last + 1])[start - at : end - at]

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and column, clamped as the protocol says: see `engine.text.LineIndex.offset`."""
        if line < 0:
            return 0
        if line >= self.line_count:
            return len(self)
        start, end = self._line_start(line), self._line_end(line)
        if self._encoding is Encoding.UTF32:
            return min(start + max(0, column), end)
        target = self._units_before(start) + max(0, column)
        if target >= self._units_before(end):
            return end
        chunk = min(bisect_right(self._units, target), len(self._chunks) - 1)
        before = self._units[chunk - 1] if chunk else 0
        return self._start(chunk) + points(self._chunks[chunk], target - before, self._encoding)

    def position(self, offset: int) -> tuple[int, int]:
        """The line and column of an offset, clamped: see `engine.text.LineIndex.position`."""
        offset = min(max(0, offset), len(self))
        line = self._line_of(offset)
        start, offset = self._line_start(line), min(offset, self._line_end(line))
        return line, self._units_before(offset) - self._units_before(start)

    def _replace(self, first: int, last: int, text: str) -> None:
        """Puts `text`, cut into chunks, for the chunks [first, last), and sums the totals again from there."""
        new = _cut(text) if len(text) > 2 * _CHUNK else [text] if text else []
        self._chunks[first:last] = new
        self._whole = None
        self._sizes[first:last] = [_measure(chunk, self._encoding) for chunk in new]
        measured = self._sizes[first:]
        for totals, field in ((self._ends, 0), (self._units, 1), (self._breaks, 2)):
            del totals[first:]
            base = totals[-1] if totals else 0
            summed = accumulate((size[field] for size in measured), initial=base)
            next(summed)
            totals.extend(summed)

    def _start(self, chunk: int) -> int:
        return self._ends[chunk - 1] if chunk else 0

    def _chunk_at(self, offset: int) -> int:
        """The chunk that holds the character at `offset`; the last one at the text's end."""
        return max(0, min(bisect_right(self._ends, offset), len(self._chunks) - 1))

    def _units_before(self, offset: int) -> int:
        if self._encoding is Encoding.UTF32 or not self._chunks:
            return offset
        chunk = self._chunk_at(offset)
        before = self._units[chunk - 1] if chunk else 0
        return before + units(self._chunks[chunk][: offset - self._start(chunk)], self._encoding)

    def _line_start(self, line: int) -> int:
        if line == 0:
            return 0
        # the chunk that holds the break before this line
        chunk = bisect_right(self._breaks, line - 1)
        before = self._breaks[chunk - 1] if chunk else 0
        wanted = line - before
        for count, match in enumerate(_BREAK.finditer(self._chunks[chunk]), start=1):
            if count == wanted:
                return self._start(chunk) + match.end()
        raise AssertionError("the totals of line breaks do not fit the text")

    def _line_end(self, line: int) -> int:
        if line + 1 >= self.line_count:
            return len(self)
        end = self._line_start(line + 1)
        return end - 2 if self.slice(end - 2, end) == "\r\n" else end - 1

    def _line_of(self, offset: int) -> int:
        if not self._chunks:
            return 0
        chunk = self._chunk_at(offset)
        before = self._breaks[chunk - 1] if chunk else 0
        text, inside = self._chunks[chunk], offset - self._start(chunk)
        return before + sum(1 for match in _BREAK.finditer(text) if match.end() <= inside)


def _measure(chunk: str, encoding: Encoding) -> tuple[int, int, int]:
    """Code points, units and line breaks of a chunk."""
    breaks = chunk.count("\n") + chunk.count("\r") - chunk.count("\r\n")
    return len(chunk), units(chunk, encoding), breaks


def _cut(text: str) -> list[str]:
    chunks = []
    at = 0
    while at < len(text):
        end = min(at + _CHUNK, len(text))
        if end < len(text) and text[end - 1] == "\r" and text[end] == "\n":
            end += 1
        chunks.append(text[at:end])
        at = end
    return chunks
