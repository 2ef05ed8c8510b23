"""A run's findings as SARIF 2.1.0 (OASIS), which GitHub's code scanning and many editors read."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from engine.check.findings import RULES, Finding, findings


def render(report: dict[str, Any], version: str) -> str:
    driver = {
        "name": "midfill check",
        "version": version,
        "rules": [{"id": rule, "shortDescription": {"text": text}} for rule, text in RULES.items()],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(one) for one in findings(report)],
    }
    schema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _result(finding: Finding) -> dict[str, Any]:
    found: dict[str, Any] = {"ruleId": finding.rule, "level": "error", "message": {"text": finding.message}}
    if finding.path is not None:
        place = {"artifactLocation": {"uri": quote(finding.path)}, "region": {"startLine": finding.line}}
        found["locations"] = [{"physicalLocation": place}]
    return found
