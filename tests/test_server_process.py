"""The server as a process: exit codes, no orphans, standard streams kept clean, TCP on loopback only."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from engine.errors import BadInput
from lsp_server.__main__ import main
from lsp_server.serve import parse_address, serve_tcp
from tests.lsp_client import CANCELLED, Client, command, cursor_of, insert, range_, spawned

pytestmark = pytest.mark.slow

TEXT = 'label = "😀"; names[¦]\n'


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return write(tmp_path, {"default": "0"})


def write(folder: Path, script: dict) -> Path:
    path = folder / "script.json"
    path.write_text(json.dumps(script))
    return path


def long_script(folder: Path) -> Path:
    """A fill whose one step takes longer than any test waits for an exit."""
    return write(folder, {"name": "long", "step_ms": 120_000, "default": "0"})


def start_long_fill(client: Client) -> int:
    """Begins a fill that the model's thread cannot stop, and waits until it runs."""
    client.initialize()
    client.notification("$/progress", has='"end"')
    client.open("x = ")
    request = client.begin_inline(0, 4)
    time.sleep(0.5)  # the protocol has no word for a fill that has begun; too short only makes the test weaker
    return request


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_a_whole_session(script: Path, encoding: str) -> None:
    text, cursor = cursor_of(TEXT, encoding)
    with spawned(command(script)) as client:
        client.initialize(encoding, process_id=os.getpid())
        client.open(text)
        client.change([{"range": range_(cursor, cursor), "text": "1"}], version=2)
        (item,) = client.inline(cursor[0], cursor[1] + 1)
        assert insert(TEXT.replace("¦", "1"), item, encoding) == TEXT.replace("¦", "10")
        assert client.shut_down() == 0
        assert client.process is not None and client.process.stderr is not None
        assert client.process.stderr.read() == b""


def test_a_cancel_and_the_next_request(tmp_path: Path) -> None:
    fills = [{"when": "slow", "drafts": ["."] * 10_000, "text": "never"}, {"text": "quick"}]
    with spawned(command(write(tmp_path, {"step_ms": 10, "fills": fills}))) as client:
        client.initialize()
        client.open("slow")
        request = client.begin_inline(0, 4)
        client.cancel(request)
        assert client.response(request)["error"]["code"] == CANCELLED
        client.open("x = ", uri="file:///quick.py")
        assert [item["insertText"] for item in client.inline(0, 4, uri="file:///quick.py")] == ["quick"]
        assert client.shut_down() == 0


def test_a_request_within_a_slow_load_then_cancelled(tmp_path: Path) -> None:  # case 11, over real streams
    with spawned(command(write(tmp_path, {"name": "slow", "load_ms": 1500, "default": "0"}))) as client:
        client.initialize()
        client.open("x = ")
        early = client.begin_inline(0, 4)
        client.cancel(early)
        assert client.response(early)["error"]["code"] == CANCELLED
        assert [item["insertText"] for item in client.inline(0, 4)] == ["0"]
        assert client.notification("$/progress", has='"begin"')["value"]["title"] == "Midfill: loading the model"
        assert client.notification("$/progress", has='"end"')["value"]["message"] == "slow is ready"
        assert client.shut_down() == 0


def test_exit_without_shutdown_is_1(script: Path) -> None:
    with spawned(command(script)) as client:
        client.initialize()
        client.notify("exit", None)
        assert client.process is not None and client.process.wait(60) == 1


@pytest.mark.parametrize("says_shutdown", [True, False])
def test_exit_does_not_wait_for_the_model(tmp_path: Path, says_shutdown: bool) -> None:
    with spawned(command(long_script(tmp_path))) as client:
        pending = start_long_fill(client)
        if says_shutdown:
            assert client.shut_down() == 0
            assert client.responses().count(pending) == 1
        else:
            client.notify("exit", None)
            assert client.process is not None and client.process.wait(60) == 1


def test_a_client_that_closes_its_end_takes_the_server_along(tmp_path: Path) -> None:
    with spawned(command(long_script(tmp_path))) as client:
        start_long_fill(client)
        client.close_input()
        assert client.process is not None and client.process.wait(60) == 1


_EDITOR = """
import subprocess, sys, time
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
print(server.pid, flush=True)
time.sleep(600)
"""


def test_a_client_that_is_killed_leaves_no_orphan(tmp_path: Path) -> None:
    editor_command = [sys.executable, "-c", _EDITOR, *command(long_script(tmp_path))]
    with subprocess.Popen(editor_command, stdout=subprocess.PIPE) as editor:
        assert editor.stdout is not None
        server = psutil.Process(int(editor.stdout.readline()))
        editor.send_signal(signal.SIGKILL)
        editor.wait(60)
        _, alive = psutil.wait_procs([server], timeout=60)
    assert alive == []


def test_a_client_whose_process_dies_while_its_pipes_live_leaves_no_orphan(script: Path) -> None:
    """Pipes may be inherited by others and so outlive the editor; `processId` then tells."""
    with (
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as editor,
        spawned(command(script)) as client,
    ):
        client.initialize(process_id=editor.pid)
        editor.kill()
        editor.wait(60)
        assert client.process is not None and client.process.wait(60) == 1


def test_a_process_id_of_another_container_is_not_watched(script: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait(60)
    with spawned(command(script)) as client:
        client.initialize(process_id=gone.pid)
        client.open("x = ")
        assert len(client.inline(0, 4)) == 1


def test_a_stream_that_is_no_clients_ends_the_server(script: Path) -> None:
    with spawned(command(script)) as client:
        assert client.process is not None and client.process.stdin is not None
        client.process.stdin.write(b"GET / HTTP/1.1\r\n\r\n")
        client.process.stdin.flush()
        assert client.process.wait(60) == 1


_NOISY = """
import os, sys
from engine.scripted import ScriptedFiller
from lsp_server.serve import ServeOptions, serve_stdio
from lsp_server.settings import from_command_line
load = ScriptedFiller.load
def noisy(path, progress=None):
    print("a stray line", flush=True)
    os.system("echo another; cat")
    return load(path, progress)
ScriptedFiller.load = noisy
sys.exit(serve_stdio(ServeOptions(from_command_line({"model": sys.argv[1]}))))
"""


def test_what_libraries_print_never_reaches_the_client(script: Path) -> None:
    with spawned([sys.executable, "-c", _NOISY, f"scripted:{script}"]) as client:
        client.initialize()
        client.open("x = ")
        assert len(client.inline(0, 4)) == 1
        assert client.shut_down() == 0
        assert client.process is not None and client.process.stderr is not None
        assert client.process.stderr.read().split() == b"a stray line another".split()


def test_source_text_is_never_logged(tmp_path: Path) -> None:
    with spawned(command(write(tmp_path, {"default": "sekret_answer"}))) as client:
        client.initialize()
        client.open("sekret = ")
        assert len(client.inline(0, 9)) == 1
        client.notify("textDocument/didOpen", {"textDocument": "sekret"})
        client.send_raw(b'{"sekret')
        client.request("sekret/method")
        client.notify(
            "textDocument/didChange", {"textDocument": {"uri": "a", "version": "sekret"}, "contentChanges": []}
        )
        assert client.shut_down() == 0
        assert client.process is not None and client.process.stderr is not None
        logged = client.process.stderr.read().replace(b"sekret/method", b"")
        assert b"not fit" in logged and b"sekret" not in logged


def test_a_missing_script_leaves_the_server_alive(tmp_path: Path) -> None:
    with spawned(command(tmp_path / "none.json")) as client:
        client.initialize()
        client.open("x = ")
        assert client.inline(0, 4) == []
        assert "cannot read the script" in client.notification("window/showMessage")["message"]
        assert client.shut_down() == 0


def test_tcp_on_loopback(script: Path) -> None:
    with subprocess.Popen(command(script, "--tcp", "127.0.0.1:0"), stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        port = re.search(rb"127\.0\.0\.1:(\d+)", process.stderr.readline())
        assert port is not None
        with socket.create_connection(("127.0.0.1", int(port.group(1)))) as connection:
            stream = connection.makefile("rwb")
            client = Client(stream, stream, process)  # type: ignore[arg-type]
            client.initialize()
            client.open("x = ")
            assert len(client.inline(0, 4)) == 1
            assert client.shut_down() == 0


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.1", "example.org", "::"])
def test_tcp_is_refused_elsewhere(host: str) -> None:
    with pytest.raises(BadInput, match="loopback"):
        serve_tcp(host, 0)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--tcp", "0.0.0.0:0"], "loopback"),
        (["--tcp", "5007"], "HOST:PORT"),
        (["--tcp", "127.0.0.1:70000"], "a port is a number"),
        (["--model", " "], "setting 'model'"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line


def test_addresses() -> None:
    assert parse_address("localhost:5007") == ("localhost", 5007)
    assert parse_address("[::1]:0") == ("::1", 0)
    for wrong in ("5007", ":5007", "localhost:", "localhost:x", ""):
        with pytest.raises(BadInput, match="HOST:PORT"):
            parse_address(wrong)


def test_a_port_that_is_taken_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(BadInput, match="cannot listen"):
        serve_tcp("127.0.0.1", taken.getsockname()[1])
