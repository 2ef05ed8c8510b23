"""Runs the command line within the test's process, with a scripted model."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lsp_server.cli.main import main


class Stream(io.TextIOWrapper):
    """A standard stream in memory; a terminal if it is told so."""

    def __init__(self, data: bytes = b"", terminal: bool = False) -> None:
        super().__init__(io.BytesIO(data), encoding="ascii", errors="strict", newline="\n", write_through=True)
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    @property
    def data(self) -> bytes:
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue()


@dataclass
class Ran:
    """What a command left: its exit code and the bytes it wrote."""

    code: int
    out: bytes
    err: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out)


def midfill(*arguments: str, stdin: bytes = b"", terminal: bool = False) -> Ran:
    """Runs `midfill ARGUMENTS`."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("MIDFILL_DEBUG", "NO_COLOR"):
            patch.delenv(name, raising=False)
        patch.setenv("TERM", "xterm")
        return run(patch, *arguments, stdin=stdin, terminal=terminal)


def run(patch: pytest.MonkeyPatch, *arguments: str, stdin: bytes = b"", terminal: bool = False) -> Ran:
    """The same in the environment that `patch` has set up."""
    out = Stream(terminal=terminal)
    err = io.StringIO()
    patch.setattr("sys.stdin", Stream(stdin))
    patch.setattr("sys.stdout", out)
    patch.setattr("sys.stderr", err)
    code = main(arguments)
    return Ran(code, out.data, err.getvalue())


def scripted(folder: Path, text: str = "", **fill: object) -> tuple[str, str]:
    """`--model` and a script whose only fill writes `text`."""
    path = folder / "script.json"
    path.write_text(json.dumps({"name": "scripted", "fills": [{"text": text, **fill}]}))
    return "--model", f"scripted:{path}"
