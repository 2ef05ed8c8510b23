"""Offsets, lines, line breaks and position encodings: the only place where coordinates convert.

Inside the engine every offset counts code points, which are the indices of a Python string. Lines end at `\\n`,
`\\r\\n` and `\\r` and nowhere else, as the Language Server Protocol has it (3.17, "Text Documents"); `str.splitlines`
also ends them at form feeds, U+0085, U+2028 and others, so it is not used.
"""

from __future__ import annotations

import enum
import os
import re
import stat
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

from engine.errors import BadInput

MOST_BYTES = 64_000_000  # of a file that is read
_BREAK = re.compile(r"\r\n|\n|\r")


class Encoding(enum.Enum):
    """What a column counts: bytes of UTF-8, code units of UTF-16, or code points (UTF-32)."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"


class LineIndex:
    """Where the lines of a text begin; converts offsets (code points) to lines and columns and back.

    Built in one pass; after that a look-up costs a bisection and, where columns are not code points, the conversion of
    the one line. Lone surrogates are counted as the unit (UTF-16) or the three bytes (UTF-8) they would take.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = _line_starts(text)

    @property
    def line_count(self) -> int:
        """The number of line breaks and one more."""
        return len(self._starts)

    def line_start(self, line: int) -> int:
        """The offset of a line's first character. Raises IndexError for a line that is not there."""
        return self._starts[self._checked(line)]

    def line_end(self, line: int) -> int:
        """The offset behind a line's last character, before its break. Raises IndexError as `line_start` does."""
        line = self._checked(line)
        if line + 1 == len(self._starts):
            return len(self.text)
        start, end = self._starts[line], self._starts[line + 1] - 1
        return end - 1 if self.text[end] == "\n" and end > start and self.text[end - 1] == "\r" else end

    def line_text(self, line: int) -> str:
        """A line without its break. Raises IndexError for a line that is not there."""
        return self.text[self.line_start(line) : self.line_end(line)]

    def line_at(self, offset: int) -> int:
        """The line that an offset stands in; offsets outside the text are clamped to it."""
        return bisect_right(self._starts, max(0, offset)) - 1

    def offset(self, line: int, column: int, encoding: Encoding = Encoding.UTF32) -> int:
        """The offset of a 0-based line and column, clamped as the protocol says.

        A column past the line's end is that end, a line past the text's end is the text's end, and a column inside
        a surrogate pair or a multi-byte character is that character's start. What is negative counts as 0.
        """
        if line < 0:
            return 0
        if line >= self.line_count:
            return len(self.text)
        start, end = self.line_start(line), self.line_end(line)
        column = max(0, column)
        if encoding is Encoding.UTF32:
            return min(start + column, end)
        # A character takes a unit at least, so none behind `column` characters can be meant.
        return start + points(self.text[start : min(end, start + column)], column, encoding)

    def position(self, offset: int, encoding: Encoding = Encoding.UTF32) -> tuple[int, int]:
        """The 0-based line and column of an offset.

        Offsets outside the text are clamped to it; between `\\r` and `\\n` there is no position but the line's end.
        """
        offset = min(max(0, offset), len(self.text))
        line = self.line_at(offset)
        start = self.line_start(line)
        before = self.text[start : min(offset, self.line_end(line))]
        return line, units(before, encoding)

    def offset_strict(self, line: int, column: int) -> int:
        """The offset of a 0-based line and column in code points.

        Raises `BadInput`, counting from 1 as a person does, where the line or the column is not in the text.
        """
        if line < 0 or column < 0:
            raise BadInput(f"lines and columns count from 1: there is no {line + 1}:{column + 1}")
        if line >= self.line_count:
            raise BadInput(f"line {line + 1} is past the end of the text, which has {_count(self.line_count, 'line')}")
        width = self.line_end(line) - self.line_start(line)
        if column > width:
            raise BadInput(
                f"column {column + 1} is past the end of line {line + 1}, which has {_count(width, 'character')}"
            )
        return self.line_start(line) + column

    def _checked(self, line: int) -> int:
        if not 0 <= line < len(self._starts):
            raise IndexError(f"line {line} of {len(self._starts)}")
        return line


def line_ending(text: str) -> str:
    """The line break that a text uses most; `\\n` where there is none or the choice is even."""
    windows = text.count("\r\n")
    counts = {"\n": text.count("\n") - windows, "\r\n": windows, "\r": text.count("\r") - windows}
    return max(counts, key=lambda ending: counts[ending])


@dataclass(frozen=True)
class Document:
    """A text as the editor has it, with a version. `language` is an id of `engine.syntax.languages`."""

    text: str
    language: str = "plaintext"
    path: str | None = None
    version: int | None = None
    # what higher layers have found out about this very text, its parse for one: never part of what it is
    notes: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def lines(self) -> LineIndex:
        return LineIndex(self.text)


def decode_text(data: bytes, name: str) -> str:
    """The text that bytes hold: nothing is normalised, a byte order mark stays its first character.

    Raises `BadInput`, naming `name`, for bytes that are binary (hold a NUL) or not UTF-8.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BadInput(f"{name} is not UTF-8 text: it looks like UTF-16")
    if b"\0" in data:
        raise BadInput(f"{name} is a binary file, not text")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"{name} is not UTF-8 text: byte {data[error.start]:#04x} at {error.start}") from None


def read_document(path: str | Path, language: str | None = None) -> Document:
    """The file at `path`, as it is byte for byte; its language by its name unless told.

    Raises `BadInput` where there is no such file, it is a directory, no regular file, too large, cannot be read, is binary or not UTF-8, or where
    `language` is not known.
    """
    # Not at the top: text is the lowest layer, and only this convenience looks up at the table of languages.
    from engine.syntax.languages import known, language_for_path

    if language is not None:
        known(language)
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
            raise BadInput(f"{path} is no regular file")  # a pipe or a device might never end
        if found.st_size > MOST_BYTES:
            raise BadInput(f"{path} is larger than {MOST_BYTES // 1_000_000} MB, too large to be filled in")
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise BadInput(f"there is no file {path}") from None
    except IsADirectoryError:
        raise BadInput(f"{path} is a directory, not a file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BadInput(f"{path} cannot be read: {reason}") from None
    return Document(decode_text(data, str(path)), language or language_for_path(str(path)), str(path))


def _line_starts(text: str) -> list[int]:
    if text.count("\r") == text.count("\r\n"):
        # Every break ends in \n, so splitting there, at C speed, finds all of them.
        ends = accumulate(map(len, text.split("\n")[:-1]))
        return [0, *(end + breaks for breaks, end in enumerate(ends, start=1))]
    return [0, *(match.end() for match in _BREAK.finditer(text))]


def units(text: str, encoding: Encoding) -> int:
    """How many units of the encoding a text takes."""
    if encoding is Encoding.UTF32 or text.isascii():
        return len(text)
    if encoding is Encoding.UTF16:
        return len(text.encode("utf-16-le", "surrogatepass")) // 2
    return len(text.encode("utf-8", "surrogatepass"))


def points(line: str, room: int, encoding: Encoding) -> int:
    """The most code points of `line` that fit in `room` units, by halving: each half is measured at C speed, once."""
    if line.isascii():
        return min(room, len(line))
    low, high = 0, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        width = units(line[low:middle], encoding)
        if width <= room:
            low, room = middle, room - width
        else:
            high = middle - 1
    return low


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
