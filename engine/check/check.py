"""Fills the holes that were dug in a repository, and judges each answer against what stood there."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engine.check.baseline import hole_id
from engine.check.dig import Dug, Kind
from engine.check.layout import same_code
from engine.check.metrics import percentile, similarity
from engine.filler import CancelToken, Completion, Filler, FillSettings
from engine.hole import hole_at
from engine.infill import use_threads
from engine.syntax import new_faults, rejection, tree_of

Passes = Callable[[Dug, str], bool]


@dataclass(frozen=True)
class Judged:
    """A hole, its answer, and how that was. Rates are 0 or 1, `similarity` 0 to 1, `ms` milliseconds.

    layout: the file has the same tokens as before. breaks: the answer adds a fault of the grammar, or a Python file
    that compiled does not any more. passed: whether the project's tests pass with it, None where none were run. drafts: the
    text after each denoising step.
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
    passed: bool | None = None
    drafts: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        document, start = self.hole.document, self.hole.start
        found = {
            "id": "",
            "path": document.path,
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
        if self.passed is not None:
            found["passed"] = self.passed
        found["id"] = hole_id(found, document.text[max(0, start - 200) : start])
        return found


def judge(
    hole: Dug, filler: Filler, settings: FillSettings, cancel: CancelToken, passes: Passes | None = None
) -> Judged:
    """Fills one hole from its context and judges the answer. passes: runs the project's tests on a filled file."""
    without = hole.without
    drafts: list[str] = []
    for event in filler.fill(without, hole_at(without, hole.start), settings, cancel):
        if isinstance(event, Completion):
            completion = event
        else:
            drafts.append(event.text)
    before = tree_of(without)
    filled = before.edit(completion.start, completion.end, completion.text)
    faults = new_faults(before, filled, completion.start, completion.end, completion.start + len(completion.text))
    original = hole.document
    python = original.language == "python" and bool(completion.text)
    breaks = bool(completion.text) and (
        bool(faults and not tree_of(original).errors())
        or (python and rejection(original.text) is None and rejection(filled.text) is not None)
    )
    passed = None
    if passes is not None:
        # what breaks the syntax passes no test, and no process is needed to know it
        passed = not breaks and (filled.text == original.text or passes(hole, filled.text))
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
        passed=passed,
        drafts=tuple(drafts),
    )


def check(
    fillers: Sequence[Filler],
    holes: Sequence[Dug],
    settings: FillSettings,
    cancel: CancelToken,
    progress: Callable[[int, int], None] = lambda done, of: None,
    passes: Passes | None = None,
    threads: int | None = None,
) -> Iterator[Judged]:
    """Judges the holes as they get done, neighbours one after another so that a model's cache serves, each filler in a
    thread of its own. threads: of the CPU, of each. Raises `Cancelled` between two steps.

    Which filler gets which holes depends on their numbers alone, so that a run can be had again.
    """
    ordered = sorted(holes, key=lambda hole: (hole.document.path or "", hole.start, hole.end))
    if len(fillers) == 1:
        for number, hole in enumerate(ordered, start=1):
            yield judge(hole, fillers[0], settings, cancel, passes)
            progress(number, len(holes))
        return
    done: queue.SimpleQueue[Judged | BaseException] = queue.SimpleQueue()

    def work(number: int) -> None:
        try:
            if threads:
                use_threads(threads)
            for hole in ordered[number * len(holes) // len(fillers) : (number + 1) * len(holes) // len(fillers)]:
                done.put(judge(hole, fillers[number], settings, cancel, passes))
        except BaseException as error:
            done.put(error)

    workers = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(len(fillers))]
    for worker in workers:
        worker.start()
    try:
        for number in range(1, len(holes) + 1):
            found = done.get()
            if isinstance(found, BaseException):
                raise found
            yield found
            progress(number, len(holes))
    finally:
        cancel.cancel()  # where somebody stopped looking
        for worker in workers:
            worker.join()


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
        **({"pass": mean([bool(one.passed) for one in judged])} if any(o.passed is not None for o in judged) else {}),
        "breaks": sum(one.breaks for one in judged),
        "steps": mean([one.steps for one in judged]),
        "ms": {"p50": percentile(times, 0.5), "p95": percentile(times, 0.95)},
    }


def by_kind(judged: Sequence[Judged]) -> dict[str, dict[str, Any]]:
    """The figures of each kind that there are holes of."""
    groups = {kind: [one for one in judged if one.hole.kind is kind] for kind in Kind}
    return {str(kind): figures(group) for kind, group in groups.items() if group}
