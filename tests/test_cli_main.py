"""How the command line teaches and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lsp_server.cli.main import COMMANDS
from tests.cli import midfill, run, scripted

MAIN = [sys.executable, "-m", "lsp_server.cli.main"]


def without_torch(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a command where importing torch ends the process with 99."""
    code = """
import sys
class Refuse:
    def find_spec(self, name, *rest):
        if name == "torch":
            import os; os._exit(99)
sys.meta_path.insert(0, Refuse())
from lsp_server.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_teaches_without_torch(command: str) -> None:
    done = without_torch(*command.split(), "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"usage: midfill {command}".rstrip() in done.stdout
    if command not in ("doctor", "train"):
        assert "examples:\n  midfill " in done.stdout


def test_usage_errors_need_no_torch(tmp_path: Path) -> None:
    for arguments in (
        ["fill", "none:1:1"],
        ["fill", f"{tmp_path}:1:1"],
        ["bench", "none"],
        ["serve", "--tcp", "8.8.8.8:1"],
        ["serve", "--slots", "0"],
        ["fil"],
        [],
    ):
        done = without_torch(*arguments)
        assert done.returncode == 2, done
        assert done.stdout == "" and done.stderr.startswith("midfill: ") and done.stderr.count("\n") == 1, done


def test_help_names_every_command_and_exit_code() -> None:
    ran = midfill("--help")
    assert all(f"\n    {name} " in ran.out.decode() for name in COMMANDS)
    assert all(f"{code}  " in ran.out.decode() for code in (0, 1, 2, 3))


def test_version() -> None:
    ran = midfill("--version")
    assert ran.code == 0 and ran.out.startswith(b"midfill 0.")


def unexpected(patch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(*_: object) -> None:
        raise error

    patch.setattr("lsp_server.cli.model.load", fail)


@pytest.mark.parametrize("debug", ["", "option", "environment"])
def test_an_unexpected_error_is_one_line_unless_debugged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, debug: str
) -> None:
    unexpected(monkeypatch, RuntimeError("first\nsecond"))
    monkeypatch.setenv("MIDFILL_DEBUG", "1" if debug == "environment" else "")
    arguments = ["--debug"] if debug == "option" else []
    ran = run(monkeypatch, "fill", "-:1:1", *arguments)
    assert ran.code == 70
    if debug:
        assert "Traceback" in ran.err and "second" in ran.err
    else:
        assert ran.err == "midfill: unexpected error: RuntimeError: first second (--debug shows where)\n"


def test_an_interrupt_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    unexpected(monkeypatch, KeyboardInterrupt())
    ran = run(monkeypatch, "fill", "-:1:1")
    assert (ran.code, ran.out, ran.err) == (130, b"", "")


def test_a_library_that_is_missing_is_a_model_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.infill.load_filler", lambda *_, **__: __import__("no_such_library"))
    ran = run(monkeypatch, "fill", "-:1:1")
    assert ran.code == 3
    assert "no_such_library cannot be imported" in ran.err


@pytest.mark.skipif(sys.platform == "win32", reason="pipes break otherwise")
def test_a_broken_pipe_is_quiet(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    arguments = ["fill", "-:1:1", *scripted(tmp_path, "x")]
    done = subprocess.run([*MAIN, *arguments], stdin=subprocess.DEVNULL, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        arguments = ["fill", "-:1:1", *scripted(tmp_path, "x")]
        done = subprocess.run([*MAIN, *arguments], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is another signal there")
def test_ctrl_c_ends_a_fill_quietly(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"step_ms": 60_000, "default": "x"}))
    source = tmp_path / "a.py"
    source.write_text("x = ")
    arguments = ["fill", f"{source}:1:5", "--show-steps", "--model", f"scripted:{path}"]

    def heed() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a test run in the background would hand on that it is ignored

    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*MAIN, *arguments], **pipes, preexec_fn=heed) as process:
        assert process.stdout is not None
        assert b"a.py:1:5" in process.stdout.readline()  # it fills by now
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
    assert (process.returncode, rest, errors) == (130, b"", b"")


@pytest.mark.slow
def test_doctor_tells_what_there_is(tmp_path: Path) -> None:
    ran = midfill("doctor", "--json", *scripted(tmp_path))
    found = ran.json
    assert ran.code == 0 and found["problem"] is None
    assert {"version", "python", "torch", "device", "precision", "threads", "model", "memory_mb"} <= found.keys()
    assert "python" in found["grammars"] and found["memory_mb"]["total"] > 0
    shown = midfill("doctor", *scripted(tmp_path)).out.decode()
    for row in ("device", "precision", "threads", "model", "memory", "grammars"):
        assert f"\n{row} " in shown
    ran = midfill("doctor", "--model", "none")
    assert ran.code == 3 and b"no model 'none'" in ran.out
