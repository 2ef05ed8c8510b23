"""Writes the server's settings into package.json, as the editor shows them: `python editors/vscode/settings.py`.

A test says whether it has to be run again.
"""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

from lsp_server.settings import Settings

PACKAGE = Path(__file__).with_name("package.json")
# the editor has its own way for these: it shows drafts and status itself, and its own list is no place for ghost text
LEFT_OUT = ("drafts", "status", "completion")
# what a workspace could harm a person with: what is run, and with what
OF_THE_MACHINE = ("model", "device", "precision", "threads", "memory_limit")
SERVER = {
    "path": (
        "string",
        "",
        "The server's program (`midfill`). Empty: the `.venv` of a trusted workspace, then PATH, then the private environment.",
    ),
    "source": (
        "string",
        "",
        "What the private environment is installed from: a wheel, a path, or a git address (`git+https://…`).",
    ),
    "pipArguments": (
        "array",
        [],
        "Further arguments of `pip install`, such as `--index-url` with the address of a CPU build of torch.",
    ),
}


def properties() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, (type_, default, help_) in SERVER.items():
        one: dict[str, Any] = {"type": type_, "default": default, "scope": "machine", "markdownDescription": help_}
        if type_ == "array":
            one["items"] = {"type": "string"}
        found[f"midfill.server.{name}"] = one
    for field in dataclasses.fields(Settings):
        if field.name not in LEFT_OUT:
            found[f"midfill.{in_editor(field.name)}"] = _property(field)
    return found


def in_editor(name: str) -> str:
    return re.sub(r"_(\w)", lambda match: match.group(1).upper(), name)


def _property(field: dataclasses.Field) -> dict[str, Any]:
    kind, default = field.metadata["kind"], _default(field)
    names = {bool: "boolean", int: "integer", str: "string", dict: "object"}
    type_: Any = names.get(kind.type, "number") if not isinstance(kind.type, tuple) else "number"
    found: dict[str, Any] = {"type": [type_, "null"] if kind.optional else type_, "default": default}
    if kind.low is not None:
        found |= {"minimum": kind.low, "maximum": kind.high}
    if kind.choices is not None:
        found["enum"] = list(kind.choices)
    elif kind.pattern is not None and not kind.pattern.startswith("(?"):
        found["pattern"] = f"^({kind.pattern})$"
    if type_ == "object":
        found["additionalProperties"] = {"type": "boolean"}
    found["scope"] = "machine" if field.name in OF_THE_MACHINE else "window"
    found["markdownDescription"] = field.metadata["help"]
    return found


def _default(field: dataclasses.Field) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    assert field.default_factory is not dataclasses.MISSING
    return field.default_factory()


if __name__ == "__main__":
    package = json.loads(PACKAGE.read_text(encoding="utf-8"))
    package["contributes"]["configuration"]["properties"] = properties()
    PACKAGE.write_text(json.dumps(package, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
