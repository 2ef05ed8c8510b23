"""Fills the holes that were dug in a repository, and judges each answer against what stood there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engine import filler as fillers
from engine.check.dig import Dug, Kind
from engine.check.layout import same_code
from engine.check.metrics import percentile, similarity
from engine.filler import CancelToken, Filler, FillSettings
from engine.hole import hole_at
from engine.syntax import compiles, new_faults, tree_of


@dataclass(frozen=True)
class Judged:
    """A hole, its answer, and how that was. Rates are 0 or 1, `similarity` 0 to 1, `ms` milliseconds.

    layout: the file has the same tokens as before. breaks: the answer adds a fault of the grammar, or a Python file
    that compiled does not any more.
    """

    hole: Dug
    text: str
    confidence: float
    exact: bool
    layout: bool
    similarity: float
    empty: bool
    breaks: bool
    steps: int
    ms: float

    def as_dict(self) -> dict[str, Any]:
        return {
            "path": self.hole.document.path,
            "line": self.hole.line,
            "kind": str(self.hole.kind),
            "expected": self.hole.expected,
            "text": self.text,
            "confidence": round(self.confidence, 4),
            "exact": self.exact,
            "layout": self.layout,
            "similarity": round(self.similarity, 4),
            "empty": self.empty,
            "breaks": self.breaks,
            "steps": self.steps,
            "ms": round(self.ms, 1),
        }


def judge(hole: Dug, filler: Filler, settings: FillSettings, cancel: CancelToken) -> Judged:
    """Fills one hole from its context and judges the answer."""
    without = hole.without
    completion = fillers.run(filler, without, hole_at(without, hole.start), settings, cancel)
    before = tree_of(without)
    filled = before.edit(completion.start, completion.end, completion.text)
    faults = new_faults(before, filled, completion.start, completion.end, completion.start + len(completion.text))
    original = hole.document
    python = original.language == "python" and bool(completion.text)
    breaks = bool(completion.text) and (
        bool(faults and not tree_of(original).errors())
        or (python and compiles(original.text) and not compiles(filled.text))
    )
    return Judged(
        hole,
        completion.text,
        completion.confidence,
        exact=completion.text.strip() == hole.expected.strip(),
        layout=same_code(filled, tree_of(original)),
        similarity=similarity(hole.expected.strip(), completion.text.strip()),
        empty=not completion.text,
        breaks=breaks,
        steps=completion.steps,
        ms=completion.ms.total,
    )


def check(
    filler: Filler,
    holes: Sequence[Dug],
    settings: FillSettings,
    cancel: CancelToken,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Iterator[Judged]:
    """Judges the holes one after another. Raises `Cancelled` between two steps."""
    for number, hole in enumerate(holes, start=1):
        yield judge(hole, filler, settings, cancel)
        progress(number, len(holes))


def figures(judged: Sequence[Judged]) -> dict[str, Any]:
    """Rates and times of many; None of none."""
    count = len(judged)

    def mean(values: list[float]) -> float | None:
        return round(sum(values) / count, 4) if count else None

    times = [one.ms for one in judged]
    return {
        "count": count,
        "exact": mean([one.exact for one in judged]),
        "layout": mean([one.layout for one in judged]),
        "similarity": mean([one.similarity for one in judged]),
        "empty": mean([one.empty for one in judged]),
        "breaks": sum(one.breaks for one in judged),
        "steps": mean([one.steps for one in judged]),
        "ms": {"p50": percentile(times, 0.5), "p95": percentile(times, 0.95)},
    }


def by_kind(judged: Sequence[Judged]) -> dict[str, dict[str, Any]]:
    """The figures of each kind that there are holes of."""
    groups = {kind: [one for one in judged if one.hole.kind is kind] for kind in Kind}
    return {str(kind): figures(group) for kind, group in groups.items() if group}
