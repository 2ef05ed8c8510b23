"""The server's own share of a request: a real `midfill serve` over real pipes, with a model that takes no time."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Any

LINES = 10_000
REQUESTS = 60


def server_share(lines: int = LINES, requests: int = REQUESTS) -> dict[str, Any]:
    """Milliseconds from a typed character (edit and request sent) to the answer, on a Python file of `lines` lines of the standard
    library."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.json"
        script.write_text(json.dumps({"default": "value"}))
        command = [sys.executable, "-m", "lsp_server", "--model", f"scripted:{script}"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            times = _converse(process, lines, requests)
        finally:
            process.kill()
            process.wait()
    return {"lines": lines, "requests": requests, "p50": _ms(times, 0.5), "p95": _ms(times, 0.95)}


def library_text(lines: int) -> str:
    """Python source of about so many lines: modules of the standard library one after another, by name."""
    found: list[str] = []
    paths = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    for path in itertools.cycle(paths):
        if len(found) >= lines:
            break
        with contextlib.suppress(OSError, UnicodeDecodeError):
            found += path.read_text(encoding="utf-8").split("\n")
    return "\n".join(found[:lines]) + "\n"


def _converse(process: subprocess.Popen, lines: int, requests: int) -> list[float]:
    uri, middle = "file:///speed.py", lines // 2
    text = library_text(lines)
    text = "\n".join([*text.split("\n")[:middle], "", *text.split("\n")[middle:]])
    document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    _send(process, "initialize", {"processId": os.getpid(), "rootUri": None, "capabilities": {}}, 1)
    _answer(process, 1)
    _send(process, "initialized", {})
    _send(process, "textDocument/didOpen", {"textDocument": document})
    times = []
    for number in range(requests):
        # a new line's comment grows, another letter each time, so that no offer of the server's cache serves it
        place = {"line": middle, "character": number}
        edit = {"range": {"start": place, "end": place}, "text": "abcdefghij"[number % 10]}
        begun = time.perf_counter()
        changed = {"uri": uri, "version": number + 2}
        _send(process, "textDocument/didChange", {"textDocument": changed, "contentChanges": [edit]})
        asked = {"line": middle, "character": number + 1}
        params = {"textDocument": {"uri": uri}, "position": asked, "context": {"triggerKind": 2}}
        _send(process, "textDocument/inlineCompletion", params, number + 2)
        _answer(process, number + 2)
        times.append((time.perf_counter() - begun) * 1000)
    return times[5:]  # the first ones load the grammar and parse the whole file


def _send(process: subprocess.Popen, method: str, params: object, number: int | None = None) -> None:
    message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number})
    body = json.dumps(message).encode()
    assert process.stdin is not None
    process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    process.stdin.flush()


def _answer(process: subprocess.Popen, number: int) -> None:
    assert process.stdout is not None
    while True:
        length = 0
        while (header := process.stdout.readline().strip()) != b"":
            if header.lower().startswith(b"content-length:"):
                length = int(header.partition(b":")[2])
        if not length:
            raise RuntimeError("the server ended")
        message = json.loads(process.stdout.read(length))
        if message.get("id") == number and "method" not in message:
            return


def _ms(times: list[float], share: float) -> float:
    if share == 0.5:
        return round(statistics.median(times), 2)
    return round(sorted(times)[min(len(times) - 1, int(len(times) * share))], 2)
