"""What of a run is worth a line at its place in the code: fills that broke the syntax, or the project's tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

BREAKS, FAILS, MISSED = "breaks-syntax", "fails-tests", "threshold-missed"
RULES = {
    BREAKS: "A fill breaks the syntax of its file",
    FAILS: "The project's tests fail with a fill in place",
    MISSED: "A threshold of the run is missed",
}


@dataclass(frozen=True)
class Finding:
    """rule: a key of `RULES`. path and line are None for one of the run as a whole."""

    rule: str
    message: str
    path: str | None = None
    line: int | None = None


def findings(report: dict[str, Any]) -> list[Finding]:
    found = []
    for hole in report["holes"]:
        rule = BREAKS if hole["breaks"] else FAILS if hole.get("passed") is False else None
        if rule is not None:
            message = f"{RULES[rule]}: {_short(hole['expected'])} was filled with {_short(hole['text'])}"
            found.append(Finding(rule, message, hole["path"], hole["line"]))
    return found + [Finding(MISSED, line) for line in report["missed"]]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= 80 else line[:79] + "…")
