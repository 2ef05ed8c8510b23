"""What is measured of one completion, and how many make one figure. Rates are 0 to 1, times are milliseconds."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from engine.check.dataset import Problem
from engine.check.sandbox import TIMEOUT_S, Outcome, run_program
from engine.filler import Completion
from engine.hole import Hole
from engine.syntax.python_source import compiles, rejection


@dataclass(frozen=True)
class Verdict:
    """One completion, judged. See `judge` for what each means."""

    passed: bool
    exact: bool
    similarity: float
    parses: bool
    empty: bool
    adds_error: bool
    not_exact_join: bool
    steps: int
    ms: float


def judge(problem: Problem, hole: Hole, completion: Completion, timeout_s: float = TIMEOUT_S) -> Verdict:
    """Judges a completion of a problem's hole.

    passed: its tests pass with the completion in place, be it empty. exact, similarity: against the reference.
    parses: the whole text does. adds_error: CPython compiles the reference's text and not that of a completion that is not
    empty. not_exact_join: it names another range than the hole, or its result is not prefix + completion + suffix.
    """
    document = problem.document
    filled = problem.filled(completion.text)
    parses = compiles(filled)
    return Verdict(
        # What does not parse cannot pass, and no process needs to be started to know it.
        passed=parses and run_program(problem.program(completion.text), timeout_s) is Outcome.PASSED,
        exact=exact(problem.canonical_solution, completion.text),
        similarity=similarity(problem.canonical_solution, completion.text),
        parses=parses,
        empty=not completion.text,
        adds_error=bool(completion.text)
        and rejection(filled) is not None
        and rejection(problem.filled(problem.canonical_solution)) is None,
        not_exact_join=(completion.start, completion.end) != (hole.start, hole.end)
        or not _same_bytes(completion.apply(document.text), filled),
        steps=completion.steps,
        ms=completion.ms.total,
    )


def exact(reference: str, text: str) -> bool:
    """Equal but for white space at the end; indentation and all else counts."""
    return reference.rstrip() == text.rstrip()


def similarity(reference: str, text: str) -> float:
    """2 M / T of the two, white space at their ends left out: T characters in all, M of them matched.

    The matching is Ratcliff and Obershelp's (`difflib`, without its junk heuristic), which is an edit similarity for
    edits that insert and delete. 1 where both are empty.
    """
    return difflib.SequenceMatcher(None, reference.rstrip(), text.rstrip(), autojunk=False).ratio()


def percentile(values: Sequence[float], share: float) -> float | None:
    """The value below which a share (0 to 1) lies, interpolated between neighbours; None of none."""
    if not values:
        return None
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def figures(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """The figures of many verdicts, by the names that the report has; a mean of none is None."""
    times = [verdict.ms for verdict in verdicts]
    return {
        "pass@1": _mean(verdict.passed for verdict in verdicts),
        "exact": _mean(verdict.exact for verdict in verdicts),
        "similarity": _mean(verdict.similarity for verdict in verdicts),
        "parses": _mean(verdict.parses for verdict in verdicts),
        "empty": _mean(verdict.empty for verdict in verdicts),
        "steps": _mean(verdict.steps for verdict in verdicts),
        "ms": {"p50": percentile(times, 0.5), "p95": percentile(times, 0.95)},
        "adds_error": sum(verdict.adds_error for verdict in verdicts),
        "not_exact_join": sum(verdict.not_exact_join for verdict in verdicts),
    }


def ratio(value: float | None, base: float | None) -> float | None:
    """How many times `base` a value is; None where that says nothing."""
    return value / base if value is not None and base else None


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return sum(listed) / len(listed) if listed else None


def _same_bytes(text: str, other: str) -> bool:
    try:
        return text.encode("utf-8") == other.encode("utf-8")
    except UnicodeEncodeError:  # half a character cannot be in a file
        return False
