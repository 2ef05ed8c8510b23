"""A program passes by running to its end and by nothing else, and leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.check.sandbox import Outcome, kill_group, run_program


def check(source: str, expected: Outcome, **limits: float) -> None:
    assert run_program(source, **limits) is expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "source",
    [
        "",
        "assert __name__ == '__main__'",
        "import math, re, collections, hashlib; print(hashlib.md5(b'').hexdigest())",
        "print('x' * 1_000_000)",
        "open('here.txt', 'w').write('a')",
        "try:\n    raise SystemExit\nexcept SystemExit:\n    pass",
        "text = '\\u2028é'\nassert len(text) == 2",
    ],
)
def test_passes(source: str) -> None:
    check(source, Outcome.PASSED)


@pytest.mark.parametrize(
    "source",
    [
        "assert False",
        "raise Exception('no')",
        "def broken(:",
        "text = '\ud800'\nraise ValueError",
        "import sys; sys.exit(0)",
        "raise SystemExit",
        "import os; os._exit(0)",
        "import atexit, os; atexit.register(os._exit, 0); raise ValueError",
        "import os; os.abort()",
        "import os; os.fork() or __import__('time').sleep(60)",
        "import subprocess; subprocess.run(['true'])",
        "import os; os.system('true')",
        "import os; os.kill(os.getppid(), 0)",
        "import socket; socket.socket()",
        "import sys; sys.stdin.read(); import ctypes",
        "open('big', 'wb').write(b'a' * 40_000_000)",
        "def down(n):\n    return down(n + 1)\ndown(0)",
        "import shutil; shutil.rmtree('.')",
    ],
)
def test_fails(source: str) -> None:
    check(source, Outcome.FAILED)


def test_an_endless_loop_times_out() -> None:
    check("while True: pass", Outcome.TIMED_OUT, timeout_s=0.5)
    check("while True:\n    try:\n        x\n    except BaseException:\n        pass", Outcome.TIMED_OUT, timeout_s=0.5)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps the limit of address space")
def test_too_much_memory_fails() -> None:
    check("memory = bytearray(300 << 20)", Outcome.PASSED, memory_mb=600)
    check("memory = bytearray(700 << 20)", Outcome.FAILED, memory_mb=600)


def test_nothing_outside_its_folder_is_written_or_removed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("kept")
    path = str(kept)
    check(f"open({path!r}, 'w')", Outcome.FAILED)
    check(f"import os; os.open({path!r}, os.O_WRONLY | os.O_TRUNC)", Outcome.FAILED)
    check(f"import os; os.remove({path!r})", Outcome.FAILED)
    check(f"import os; os.chdir({str(tmp_path)!r}); open('new', 'w')", Outcome.FAILED)
    assert kept.read_text() == "kept"
    assert [item.name for item in tmp_path.iterdir()] == ["kept"]


@pytest.mark.skipif(sys.platform != "linux", reason="looks for the process in /proc")
def test_what_is_left_of_the_process_group_is_killed(tmp_path: Path) -> None:
    """Proven on the harness's own means, as its hook denies the program every child."""
    alive = tmp_path / "pid"
    child = f"import os, time; open({str(alive)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    leader = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {child!r}]); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", leader], start_new_session=True)
    try:
        wait_for(lambda: alive.exists() and alive.read_text() != "")
    finally:
        kill_group(process)
    pid = int(alive.read_text())
    wait_for(lambda: not is_running(pid))
    assert process.returncode is not None


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        # A process that is dead, but that nobody has waited for yet, is Z.
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
