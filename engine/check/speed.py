"""How quick a model is on holes in real code: cold, warm, after a typed character, and against left to right.

The holes are lines of the running Python's own standard library, drawn by a seed, so that everyone has them. Imports no torch.
"""

from __future__ import annotations

import random
import statistics
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from engine import filler as fillers
from engine.errors import BadInput
from engine.filler import CancelToken, Completion, Filler, FillSettings
from engine.hole import Hole, hole_at
from engine.text import Document, read_document

_MOST_CHARACTERS = 60_000  # of a file, so that no figure hangs on one file's parse


class LineFiller(Protocol):
    """Decodes left to right: `engine.left_to_right.LeftToRightFiller`."""

    def fill_left_to_right(
        self, document: Document, hole: Hole, max_tokens: int, stop_at_line_break: bool, cancel: CancelToken
    ) -> Completion: ...


@dataclass(frozen=True)
class Line:
    """A hole in place of a line's code: the line itself is taken out, what it held is `code`."""

    document: Document
    offset: int
    code: str


def draw_lines(count: int, seed: int) -> list[Line]:
    """`count` lines of the standard library. Raises `BadInput` where it has no sources."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    files = sorted(path for path in folder.glob("*.py") if 2000 < path.stat().st_size < _MOST_CHARACTERS)
    if not files:
        raise BadInput(f"{folder} holds no Python sources to measure on")
    draw = random.Random(seed)
    found: list[Line] = []
    while len(found) < count:
        document = read_document(draw.choice(files))
        lines = document.lines
        line = draw.randrange(lines.line_count)
        code = lines.line_text(line).strip()
        if len(code) < 8 or code.startswith(("#", '"', "'")):
            continue
        start = lines.line_end(line) - len(lines.line_text(line).lstrip())
        text = document.text[:start] + document.text[lines.line_end(line) :]
        found.append(Line(Document(text, "python"), start, code))
    return found


def measure(
    filler: Filler,
    lines: list[Line],
    baseline: LineFiller | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> dict[str, Any]:
    """Figures of a model. Times are milliseconds, rates 0 to 1.

    first: the very first fill. fill: one on a document that was not read before. typed: one after one more character was
    typed, with how many of the tokens the cache held. step: one denoising step. left_to_right: the same weights, decoded
    one token a pass up to the same length, in turns with the fill; ratio: its median over the fill's.
    """
    first = _fill(filler, lines[0].document, lines[0].offset)
    fills, typed, others, pairs = [], [], [], []
    for number, line in enumerate(lines):
        completion = _fill(filler, line.document, line.offset)
        fills.append(completion)
        if baseline is not None and completion.tokens:
            hole = hole_at(line.document, line.offset)
            # as many tokens as the fill has, so that both write the same amount
            other = baseline.fill_left_to_right(line.document, hole, completion.tokens, False, CancelToken())
            others.append(other.ms.total)
            pairs.append(completion.ms.total)
        text, at = line.document.text, line.offset
        after = Document(text[:at] + line.code[0] + text[at:], "python")
        _fill(filler, line.document, line.offset)
        typed.append(_fill(filler, after, at + 1))
        progress(number + 1, len(lines))
    steps = sum(c.steps for c in fills)
    found: dict[str, Any] = {
        "holes": len(lines),
        "first_ms": round(first.ms.total, 1),
        "fill_ms": _spread([c.ms.total for c in fills]),
        "encode_ms": _spread([c.ms.encode for c in fills]),
        "check_ms": _spread([c.ms.check for c in fills]),
        "typed_ms": _spread([c.ms.total for c in typed]),
        "typed_encoded_tokens": round(statistics.mean(c.encoded_tokens for c in typed), 1),
        "typed_cached_tokens": round(statistics.mean(c.cached_tokens for c in typed), 1),
        "steps": round(steps / len(fills), 2),
        "step_ms": round(sum(c.ms.denoise for c in fills) / max(steps, 1), 1),
        "tokens": round(statistics.mean(c.tokens for c in fills), 1),
    }
    if others:
        ratio = statistics.median(others) / statistics.median(pairs)
        found["left_to_right_ms"] = _spread(others)
        found["left_to_right_ratio"] = round(ratio, 3)
    return found


def _fill(filler: Filler, document: Document, offset: int) -> Completion:
    return fillers.run(filler, document, hole_at(document, offset), FillSettings())


def _spread(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "p50": round(statistics.median(ordered), 1),
        "p95": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))], 1),
    }
