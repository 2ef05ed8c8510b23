"""A benchmark's figures as a table for people."""

from __future__ import annotations

from typing import Any

from engine.check.bench import BenchReport

_RATES = ("pass@1", "exact", "similarity", "parses", "empty")
_COUNTS = ("adds_error", "not_exact_join")


def table(report: BenchReport) -> str:
    """Model beside baseline and ratio, a figure a line, without a line break at the end."""
    found = report.as_dict()
    base: dict[str, Any] | None = found.get("baseline")
    columns = [found, base, found["ratio"]] if base else [found]
    titles = ["", report.model, report.baseline_model or "", "ratio"][: len(columns) + 1]
    rows = [titles]
    rows += [[key, *(_number(column.get(key), ".3f") for column in columns)] for key in _RATES]
    rows.append(["steps", *(_number(column.get("steps"), ".1f") for column in columns)])
    for key in ("p50", "p95"):
        rows.append([f"ms {key}", *(_time(column, key, column is found.get("ratio")) for column in columns)])
    rows += [[key, *(_number(column.get(key), "d") for column in columns)] for key in _COUNTS]
    widths = [max(len(row[index]) for row in rows) for index in range(len(titles))]
    done = f"{found['count']} of {report.of} problems" if report.interrupted else f"{found['count']} problems"
    head = f"{report.file}: {done}, seed {report.seed}" + (", interrupted" if report.interrupted else "")
    return "\n".join([head, *(_line(row, widths) for row in rows)])


def _line(row: list[str], widths: list[int]) -> str:
    first, *rest = zip(row, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)]).rstrip()


def _time(column: dict[str, Any], key: str, is_ratio: bool) -> str:
    return _number(column["ms"].get(key), ".3f" if is_ratio else ".1f")


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
