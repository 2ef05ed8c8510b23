"""A run's findings as GitHub's workflow commands, or as GitLab's code quality report."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from engine.check.findings import findings


def github(report: dict[str, Any]) -> str:
    """A line a finding, for standard output of a workflow's step."""
    lines = []
    for one in findings(report):
        place = f"file={_property(one.path)},line={one.line}," if one.path is not None else ""
        lines.append(f"::error {place}title={_property('Midfill: ' + one.rule)}::{_data(one.message)}\n")
    return "".join(lines)


def github_warnings(suspects: list[dict[str, Any]]) -> str:
    """As `github`, of the lines that a review flagged: a hint, no error."""
    return "".join(
        f"::warning file={_property(one['path'])},line={one['line']},title=Midfill: {_property(one['slip'])}?::"
        f"{_data(repr(one['instead']) + ' would be likelier than ' + repr(one['stands']))}\n"
        for one in suspects
        if one["flagged"]
    )


def gitlab(report: dict[str, Any]) -> str:
    """The content of the artifact `codequality`; a finding of the whole run stands at the first line of the first file."""
    first = report["holes"][0]["path"] if report["holes"] else "."
    found = []
    for one in findings(report):
        path, line = one.path or first, one.line or 1
        found.append(
            {
                "description": one.message,
                "check_name": one.rule,
                "fingerprint": hashlib.sha256(
                    f"{one.rule}\0{path}\0{line}\0{one.message}".encode(errors="replace")
                ).hexdigest(),
                "severity": "major",
                "location": {"path": path, "lines": {"begin": line}},
            }
        )
    return json.dumps(found, indent=1) + "\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
