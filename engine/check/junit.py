"""A run of `midfill check` as JUnit XML: a test case a hole, a suite a kind. A hole fails where it broke the syntax or the
project's own tests; a threshold that was missed is a case of its own."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML 1.0 cannot hold


def render(report: dict[str, Any]) -> str:
    root = ET.Element("testsuites", name="midfill check")
    for kind in report["by_kind"]:
        holes = [hole for hole in report["holes"] if hole["kind"] == kind]
        failed = [hole for hole in holes if _failure(hole)]
        seconds = sum(hole["ms"] for hole in holes) / 1000
        suite = ET.SubElement(
            root, "testsuite", name=kind, tests=str(len(holes)), failures=str(len(failed)), time=f"{seconds:.3f}"
        )
        for hole in holes:
            where = _clean(f"{hole['path']}:{hole['line']}")
            case = ET.SubElement(
                suite,
                "testcase",
                classname=kind,
                name=where,
                file=_clean(hole["path"]),
                line=str(hole["line"]),
                time=f"{hole['ms'] / 1000:.3f}",
            )
            if why := _failure(hole):
                ET.SubElement(case, "failure", message=why).text = _clean(
                    f"expected: {hole['expected']}\nfilled:   {hole['text']}"
                )
    missed = report["missed"]
    suite = ET.SubElement(
        root, "testsuite", name="thresholds", tests=str(max(1, len(missed))), failures=str(len(missed))
    )
    for line in missed:
        ET.SubElement(ET.SubElement(suite, "testcase", classname="thresholds", name=line), "failure", message=line)
    if not missed:
        ET.SubElement(suite, "testcase", classname="thresholds", name="all kept")
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _failure(hole: dict[str, Any]) -> str:
    if hole["breaks"]:
        return "the fill breaks the syntax"
    return "the project's tests fail with the fill" if hole.get("passed") is False else ""


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
