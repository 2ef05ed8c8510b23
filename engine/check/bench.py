"""Fills every hole of a set of problems, beside a baseline if there is one, and gathers the figures."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TextIO, runtime_checkable

from engine.check.dataset import Problem, read_problems, sample
from engine.check.metrics import Verdict, figures, judge, ratio
from engine.check.sandbox import TIMEOUT_S
from engine.errors import BadInput, Cancelled
from engine.filler import CancelToken, Completion, Filler, FillSettings, run
from engine.hole import Hole
from engine.text import Document

LEFT_TO_RIGHT_LINE_TOKENS = 64

Progress = Callable[[int, int], None]


@runtime_checkable
class LeftToRight(Protocol):
    """A filler that also decodes left to right from the prefix alone, as `engine.left_to_right` does."""

    name: str

    def count_tokens(self, text: str) -> int: ...

    def fill_left_to_right(
        self, document: Document, hole: Hole, max_tokens: int, stop_at_line_break: bool, cancel: CancelToken
    ) -> Completion: ...


@dataclass(frozen=True)
class BenchReport:
    """What a run found. `baseline` is None without one; `interrupted`: not all `of` problems were judged."""

    file: str
    model: str
    seed: int
    of: int
    verdicts: tuple[Verdict, ...]
    baseline_model: str | None = None
    baseline: tuple[Verdict, ...] | None = None
    interrupted: bool = False

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it: rates 0 to 1, `ms` in milliseconds, null for what is not known."""
        own = figures(self.verdicts)
        found: dict[str, Any] = {
            "file": self.file,
            "model": self.model,
            "seed": self.seed,
            "count": len(self.verdicts),
            **own,
        }
        if self.baseline is not None:
            base = figures(self.baseline)
            found["baseline"] = {"model": self.baseline_model, "count": len(self.baseline), **base}
            rates = {key: ratio(own[key], base[key]) for key in ("pass@1", "exact", "similarity", "parses", "steps")}
            found["ratio"] = {**rates, "ms": {key: ratio(own["ms"][key], base["ms"][key]) for key in ("p50", "p95")}}
        if self.interrupted:
            found["interrupted"] = True
        return found


def run_bench(
    path: str | Path,
    filler: Filler,
    *,
    baseline: Filler | LeftToRight | None = None,
    limit: int | None = None,
    seed: int = 0,
    slots: int | None = None,
    steps: int | None = None,
    samples: str | Path | None = None,
    progress: Progress | None = None,
    cancel: CancelToken | None = None,
    timeout_s: float = TIMEOUT_S,
) -> BenchReport:
    """Fills and judges the problems of a file; filler and baseline take turns, so that both meet the same noise.

    limit: so many, drawn by the seed. samples: a file that gets a line of JSON for each of the filler's completions, as
    they come. progress: called with how many are done and of how many. timeout_s: of one problem's tests. A keyboard
    interrupt or a cancel ends it early, with what there is. Raises `BadInput`.
    """
    problems = sample(read_problems(path), limit, seed)
    settings = FillSettings(slots=slots, steps=steps, seed=seed)
    cancel = cancel or CancelToken()
    judged: list[list[Verdict]] = []
    interrupted = False
    with _opened(samples) as file:
        try:
            for problem in problems:
                cancel.check()
                hole = problem.hole(slots)
                completion = run(filler, problem.document, hole, settings, cancel)
                beside = _baseline(baseline, problem, hole, settings, cancel) if baseline is not None else None
                both = [completion] if beside is None else [completion, beside]
                # As one, so that an interrupt in between leaves no problem with half a comparison.
                judged.append([judge(problem, hole, made, timeout_s) for made in both])
                if file is not None:
                    _write(file, problem, completion)
                if progress is not None:
                    progress(len(judged), len(problems))
        except (KeyboardInterrupt, Cancelled):
            interrupted = True
    return BenchReport(
        file=str(path),
        model=filler.name,
        seed=seed,
        of=len(problems),
        verdicts=tuple(verdicts[0] for verdicts in judged),
        baseline_model=None if baseline is None else baseline.name,
        baseline=None if baseline is None else tuple(verdicts[1] for verdicts in judged),
        interrupted=interrupted,
    )


def _baseline(
    baseline: Filler | LeftToRight, problem: Problem, hole: Hole, settings: FillSettings, cancel: CancelToken
) -> Completion:
    if not isinstance(baseline, LeftToRight):
        return run(baseline, problem.document, hole, settings, cancel)
    one_line = problem.single_line
    tokens = LEFT_TO_RIGHT_LINE_TOKENS if one_line else max(1, baseline.count_tokens(problem.canonical_solution))
    return baseline.fill_left_to_right(problem.document, hole, tokens, one_line, cancel)


def _opened(path: str | Path | None) -> contextlib.AbstractContextManager[TextIO | None]:
    if path is None:
        return contextlib.nullcontext()
    try:
        return Path(path).open("w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}") from None


def _write(file: TextIO, problem: Problem, completion: Completion) -> None:
    file.write(json.dumps({"task_id": problem.task_id, "completion": completion.text}) + "\n")
    file.flush()
