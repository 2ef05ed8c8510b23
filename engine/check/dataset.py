"""Problems of the HumanEval-Infilling format (Bavarian et al., 2022, arXiv:2207.14255), from `.jsonl` or `.jsonl.gz`."""

from __future__ import annotations

import gzip
import json
import random
import zlib
from dataclasses import dataclass, fields
from pathlib import Path

from engine.errors import BadInput
from engine.hole import Hole, HoleKind
from engine.text import Document, decode_text

SINGLE_LINE = "SingleLineInfilling"
SINGLE_LINE_SLOTS = 32
SLOTS = 96  # a filler stops at the fill end, so what is not needed costs little

_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Problem:
    """One hole: a Python text without its middle, the middle, and a `check(candidate)` that tests the whole."""

    task_id: str
    prompt: str
    suffix: str
    canonical_solution: str
    test: str
    entry_point: str

    @property
    def single_line(self) -> bool:
        return self.task_id.startswith(SINGLE_LINE)

    @property
    def document(self) -> Document:
        return Document(self.prompt + self.suffix, "python")

    def hole(self, slots: int | None = None) -> Hole:
        """The empty hole between prompt and suffix; by its kind it is given `slots` unless told."""
        at = len(self.prompt)
        if self.single_line:
            return Hole(at, at, HoleKind.LINE, slots or SINGLE_LINE_SLOTS)
        return Hole(at, at, HoleKind.SELECTION, slots or SLOTS)

    def filled(self, completion: str) -> str:
        return self.prompt + completion + self.suffix

    def program(self, completion: str) -> str:
        """What is run to see whether a completion passes, joined as the data's own harness joins it."""
        return f"{self.filled(completion)}\n{self.test}\ncheck({self.entry_point})\n"


def read_problems(path: str | Path) -> list[Problem]:
    """All problems of a file, in its order. Blank lines are passed over.

    Raises `BadInput` where the file cannot be read or holds no problem, and, naming the line, where one is malformed.
    """
    text = _read(path)
    # Only \n ends a line of JSON lines: a text in it may hold U+2028 and the like as they are.
    numbered = enumerate(text.split("\n"), start=1)
    problems = [_problem(line, f"{path}, line {number}") for number, line in numbered if line.strip()]
    if not problems:
        raise BadInput(f"{path} holds no problem")
    return problems


def sample(problems: list[Problem], limit: int | None, seed: int) -> list[Problem]:
    """`limit` of the problems, drawn by the seed and kept in order; all where there are no more.

    Raises `BadInput` for a limit below 1.
    """
    if limit is None:
        return problems
    if limit < 1:
        raise BadInput(f"limit must be 1 or more, not {limit}")
    chosen = random.Random(seed).sample(range(len(problems)), min(limit, len(problems)))
    return [problems[index] for index in sorted(chosen)]


def _read(path: str | Path) -> str:
    try:
        data = Path(path).read_bytes()
        if data.startswith(_GZIP):
            data = gzip.decompress(data)
    except FileNotFoundError:
        raise BadInput(f"there is no file {path}") from None
    except IsADirectoryError:
        raise BadInput(f"{path} is a directory, not a file") from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise BadInput(f"{path} is a broken gzip file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BadInput(f"{path} cannot be read: {reason}") from None
    return decode_text(data, str(path)).removeprefix("\ufeff")


def _problem(line: str, where: str) -> Problem:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "it cannot be read"
        raise BadInput(f"{where} is not JSON: {reason}") from None
    if not isinstance(values, dict):
        raise BadInput(f"{where} must be a JSON object")
    keys = [field.name for field in fields(Problem)]
    for key in keys:
        if key not in values:
            raise BadInput(f"{where} has no {key!r}")
        if not isinstance(values[key], str):
            raise BadInput(f"{where}: {key!r} must be a text")
    if not values["entry_point"].isidentifier():
        raise BadInput(f"{where}: 'entry_point' must be a name, not {values['entry_point']!r}")
    return Problem(**{key: values[key] for key in keys})
