"""`midfill doctor`: what this machine would run with, and what is missing."""

from __future__ import annotations

import argparse
import platform
import sys
from typing import Any

from engine.errors import ModelUnavailable
from lsp_server.cli import model, output

DESCRIPTION = """\
Tells device, precision, threads, model, memory, versions, which grammars load, and what is missing for a GPU. Loads
torch but no weights. Ends with 3 where the model could not be loaded."""

MEGABYTE = 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.add_argument("--json", action="store_true", help="print one object, and nothing else on standard output")
    model.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Returns 0, or 3 where the model cannot be loaded. Raises `BadInput` for a device that is not here."""
    found = examine(options)
    output.write(output.as_json(found) if options.json else report(found))
    return ModelUnavailable.exit_code if found["problem"] else 0


def examine(options: argparse.Namespace) -> dict[str, Any]:
    """All that is told; `problem` is None where the model can be loaded."""
    import psutil

    from engine.syntax.grammars import available_grammars

    found: dict[str, Any] = {"version": output.version(), "python": platform.python_version(), "platform": sys.platform}
    try:
        found |= model.importing(lambda: _describe(options))
    except ModelUnavailable as broken:
        found |= {"model": options.model, "problem": str(broken)}
    memory = psutil.virtual_memory()
    found["memory_mb"] = {
        "total": memory.total // MEGABYTE,
        "available": memory.available // MEGABYTE,
        "used_by_midfill": psutil.Process().memory_info().rss // MEGABYTE,
    }
    found["grammars"] = {
        grammar.language: None if grammar.loads else f"{grammar.wheel}: {grammar.problem}"
        for grammar in available_grammars()
    }
    return found


def _describe(options: argparse.Namespace) -> dict[str, Any]:
    from engine.infill import describe

    return describe(options.model, **model.placement(options))


def report(found: dict[str, Any]) -> str:
    """The same for people."""
    grammars = found["grammars"]
    broken = {language: problem for language, problem in grammars.items() if problem}
    memory = found["memory_mb"]
    rows = [
        ("midfill", f"{found['version']}, Python {found['python']}, torch {found.get('torch', 'missing')}"),
        ("model", found["model"] + (f": {found['folder']} ({found['weights_mb']} MB)" if found.get("folder") else "")),
    ]
    if "device" in found:
        native = [name for name in ("int8", "bf16") if found[f"native_{name}"]]
        rows += [
            ("device", found["device"] + (f": {found['gpu']}" if found.get("gpu") else f" ({found['cpu']})")),
            ("precision", f"{found['precision']} (native here: {', '.join([*native, 'fp32'])})"),
            ("threads", str(found["threads"])),
        ]
    rows += [
        (
            "memory",
            f"{memory['available']} MB free of {memory['total']} MB; midfill uses {memory['used_by_midfill']} MB",
        ),
        ("grammars", f"{len(grammars) - len(broken)} of {len(grammars)} load: {', '.join(_names(grammars, broken))}"),
        *(("", f"{language} does not load: {problem}") for language, problem in broken.items()),
    ]
    if found.get("gpu_hint"):
        rows.append(("gpu", f"none: {found['gpu_hint']}"))
    if found["problem"]:
        rows.append(("problem", found["problem"]))
    return "".join(f"{name:<10} {text}\n" for name, text in rows)


def _names(grammars: dict[str, Any], broken: dict[str, str]) -> list[str]:
    return [language for language in grammars if language not in broken]
