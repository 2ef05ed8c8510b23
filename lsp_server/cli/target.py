"""`PATH:LINE:COL` and `PATH:L1:C1-L2:C2`: which file, and where the hole is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from engine.errors import BadInput
from engine.text import LineIndex

# Stands for the PATH `-` while argparse has the arguments, which takes `-:3:5` for an option. No argument holds a NUL.
STANDARD_INPUT = "\0"

_NUMBER = r"([0-9]{1,12})"
# The path takes all it can, so that the position is what stands at the right end: paths may hold colons.
_RANGE = re.compile(rf"(?s)(.+):{_NUMBER}:{_NUMBER}-{_NUMBER}:{_NUMBER}")
_LINE_ONLY = re.compile(rf"(?s)(.+):{_NUMBER}")
_CURSOR = re.compile(rf"(?s)(.+):{_NUMBER}:{_NUMBER}")


@dataclass(frozen=True)
class Target:
    """A file (None: standard input) and a place in it: lines and columns from 1, in characters, the end exclusive."""

    path: str | None
    start: tuple[int, int]
    end: tuple[int, int]

    @property
    def name(self) -> str:
        return "-" if self.path is None else self.path

    def __str__(self) -> str:
        text = f"{self.name}:{self.start[0]}:{self.start[1]}"
        return text if self.end == self.start else f"{text}-{self.end[0]}:{self.end[1]}"

    def offsets(self, lines: LineIndex) -> tuple[int, int]:
        """The hole's range in code points. Raises `BadInput` where the text has no such place."""
        try:
            start, end = (lines.offset_strict(line - 1, column - 1) for line, column in (self.start, self.end))
        except BadInput as error:
            raise BadInput(f"{self.name}: {error}") from None
        return start, end


def marked(arguments: Sequence[str]) -> list[str]:
    """The arguments, with `-:...` written so that it is not taken for an option."""
    return [STANDARD_INPUT + text[1:] if text.startswith("-:") else text for text in arguments]


def parse_target(text: str) -> Target:
    """Raises `BadInput` for what is no position, counts from 0, or ends before it begins."""
    text = "-" + text[1:] if text.startswith(STANDARD_INPUT) else text
    found = _RANGE.fullmatch(text) or _CURSOR.fullmatch(text)
    if found is None:
        hint = ": the column is missing" if _LINE_ONLY.fullmatch(text) and text.count(":") == 1 else ""
        raise BadInput(f"a hole is PATH:LINE:COL or PATH:L1:C1-L2:C2, not {text!r}{hint}")
    path, *numbers = found.groups()
    places = [int(number) for number in numbers]
    if 0 in places:
        raise BadInput(f"lines and columns count from 1, so {text!r} is nowhere")
    start = (places[0], places[1])
    end = (places[2], places[3]) if len(places) == 4 else start
    if end < start:
        raise BadInput(f"the range ends at {end[0]}:{end[1]}, before it begins at {start[0]}:{start[1]}")
    return Target(None if path == "-" else path, start, end)
