"""The project's own tests, run with a fill in place, in a scratch copy of the tree.

The copy holds what git tracks and does not ignore, so that a build folder of gigabytes stays behind; links come along as
links. The command is the person's own and runs with their rights: limits of time and memory are for accidents. A scratch
tree names the process it belongs to, and those of processes that are gone are swept when the next one is made.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from engine.check.dig import Dug
from engine.errors import BadInput

_PREFIX = "midfill-trial-"
_LINES = 3  # of a failing command's output that are told


@dataclass(frozen=True)
class Limits:
    """seconds: of one run of the command; memory_mb: of each of its processes, None where there is no limit."""

    seconds: float = 300.0
    memory_mb: int | None = 4096


class Trial:
    """A scratch copy of the tree at `root`, and a command to run in it."""

    def __init__(self, root: Path, copy: Path, command: str, limits: Limits) -> None:
        self._root, self._copy, self._command, self._limits = root, copy, command, limits

    def check_untouched(self) -> float:
        """Runs the command on the tree as it is; returns the seconds that took. Raises `BadInput` where it fails: nothing
        could be learned from fills then."""
        begun = time.monotonic()
        code, tail = self._run()
        if code is None:
            raise BadInput(f"--run did not end within {self._limits.seconds:g} seconds on the tree as it is")
        if code:
            said = f": {tail}" if tail else ""
            raise BadInput(f"--run fails on the tree as it is (exit code {code}), before any hole is dug{said}")
        return time.monotonic() - begun

    def passes(self, hole: Dug, filled: str) -> bool:
        """Whether the command succeeds with this text in place of the hole's document. The tree is as before afterwards."""
        inside = Path(hole.document.path or "").resolve().relative_to(self._root)
        target = self._copy / inside
        original = target.read_bytes()
        target.write_bytes(filled.encode("utf-8", "surrogatepass"))
        _forget_compiled(target)
        try:
            return self._run()[0] == 0
        finally:
            target.write_bytes(original)
            _forget_compiled(target)

    def _run(self) -> tuple[int | None, str]:
        """The command's exit code, None where it ran too long, and the end of what it said. Nothing of it runs on."""
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(
                self._limited(), shell=True, cwd=self._copy, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                start_new_session=True,
            )  # fmt: skip
            try:
                code: int | None = process.wait(self._limits.seconds)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                _end(process)
            said.seek(max(0, said.seek(0, os.SEEK_END) - 2000))
            lines = [line.strip() for line in said.read().decode(errors="replace").splitlines() if line.strip()]
        return code, " | ".join(lines[-_LINES:])

    def _limited(self) -> str:
        if self._limits.memory_mb is None or sys.platform == "win32":
            return self._command
        return f"ulimit -v {self._limits.memory_mb * 1024} 2>/dev/null\n{self._command}"


@contextlib.contextmanager
def trial(root: Path, files: list[Path], command: str, limits: Limits) -> Iterator[Trial]:
    """A `Trial` of the tree at `root`, of which `files` are copied. The copy is removed at the end, come what may."""
    _sweep()
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
    try:
        for file in files:
            target = folder / file.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, target, follow_symlinks=False)
            if not target.is_symlink():
                target.chmod(target.stat().st_mode | 0o200)  # of a tree that is read-only the copy is not
        yield Trial(root, folder, command, limits)
    finally:
        _remove(folder)


def _sweep() -> None:
    """Removes the scratch trees of processes that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        owner = re.match(rf"{_PREFIX}(\d+)-", folder.name)
        if owner and not psutil.pid_exists(int(owner.group(1))):
            _remove(folder)


def _remove(folder: Path) -> None:
    def writable(function, path, error) -> None:
        with contextlib.suppress(OSError):
            os.chmod(Path(path).parent, 0o700)
            function(path)

    if sys.version_info >= (3, 12):
        shutil.rmtree(folder, onexc=writable)
    else:
        shutil.rmtree(folder, onerror=writable)


def _end(process: subprocess.Popen) -> None:
    """Ends the command and all that it started."""
    if sys.platform == "win32":
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _forget_compiled(path: Path) -> None:
    """Python takes compiled code for right while the source's time and size are: two fills may agree in both."""
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        with contextlib.suppress(OSError):
            compiled.unlink()
