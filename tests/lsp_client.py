"""A client of the language server for tests: raw JSON-RPC over real pipes, every message checked against the protocol.

It shares no code with the server's own framing and column arithmetic, so that a mistake there is seen here.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import jsonschema
from lsprotocol import converters, types

from lsp_server.server import build_server
from lsp_server.settings import Settings
from lsp_server.transport import Connection, converse

TIMEOUT = 60.0  # seconds; only ever waited out by a test that fails
URI = "file:///project/case.py"
INLINE = "textDocument/inlineCompletion"
CANCELLED = -32800
MODIFIED = -32801

_CONVERTER = converters.get_converter()
_POSITION = {
    "type": "object",
    "required": ["line", "character"],
    "properties": {key: {"type": "integer", "minimum": 0} for key in ("line", "character")},
    "additionalProperties": False,
}
_RANGE = {
    "type": "object",
    "required": ["start", "end"],
    "properties": {"start": _POSITION, "end": _POSITION},
    "additionalProperties": False,
}
# As the specification (3.18) has it; of its optional properties, those that we send.
INLINE_RESULT_SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["insertText"],
        "properties": {
            "insertText": {"type": "string", "minLength": 1},
            "range": _RANGE,
            "command": {"type": "object", "required": ["title", "command"]},
        },
        "additionalProperties": False,
    },
}
# Our own notifications, as docs/protocol.md has them.
OWN_SCHEMAS = {
    "midfill/status": {
        "type": "object",
        "required": ["state", "message", "model"],
        "properties": {
            "state": {"enum": ["loading", "ready", "busy", "off", "error"]},
            "message": {"type": "string", "pattern": r"^[^\n]+$"},
            "model": {"type": "string"},
            "percentage": {"type": "integer", "minimum": 0, "maximum": 100},
        },
        "additionalProperties": False,
    },
    "midfill/draft": {
        "type": "object",
        "required": ["uri", "range", "step", "block", "candidate", "text", "slots"],
        "properties": {
            "uri": {"type": "string"},
            "token": {"type": "string"},
            "range": _RANGE,
            "step": {"type": "integer", "minimum": 1},
            "block": {"type": "integer", "minimum": 0},
            "candidate": {"type": "integer", "minimum": 1},
            "text": {"type": "string"},
            "slots": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["text", "confidence", "decided"],
                    "properties": {
                        "text": {"type": "string"},
                        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
                        "decided": {"type": "boolean"},
                    },
                    "additionalProperties": False,
                },
            },
        },
        "additionalProperties": False,
    },
}


class Client:
    """One connection. Answers the server's own requests with null; keeps everything that came, in order."""

    def __init__(self, source: BinaryIO, sink: BinaryIO, process: subprocess.Popen | None = None) -> None:
        self.process = process
        self.messages: list[dict] = []
        self.refuses: set[str] = set()  # the server's requests that are answered with an error
        self.ended = False
        self._source, self._sink = source, sink
        self._methods: dict[object, str] = {}
        self._next_id = 0
        self._news = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    # sending

    def send_raw(self, body: bytes) -> None:
        self._sink.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._sink.flush()

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """What is sent within reaches the server in one piece."""
        sink, self._sink = self._sink, io.BytesIO()
        yield
        pieces, self._sink = self._sink.getvalue(), sink
        self._sink.write(pieces)
        self._sink.flush()

    def send(self, message: dict) -> None:
        self.send_raw(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def notify(self, method: str, params: object) -> None:
        self.send({"method": method, "params": params})

    def request(self, method: str, params: object = None) -> int:
        """Sends a request and returns its id, without waiting."""
        self._next_id += 1
        self._methods[self._next_id] = method
        self.send({"id": self._next_id, "method": method, **({} if params is None else {"params": params})})
        return self._next_id

    # waiting

    def wait(self, found: Callable[[dict], bool]) -> dict:
        """The first message, of all that came or come, for which `found` holds."""
        seen = 0
        deadline = time.monotonic() + TIMEOUT
        with self._news:
            while True:
                for message in self.messages[seen:]:
                    if found(message):
                        return message
                seen = len(self.messages)
                if self.ended or not self._news.wait(deadline - time.monotonic()):
                    why = "stream ended" if self.ended else "timeout"
                    raise AssertionError(f"no such message ({why}): {self.messages}")

    def response(self, request_id: object) -> dict:
        """The response to a request, checked against the protocol."""
        message = self.wait(lambda message: "method" not in message and message["id"] == request_id)
        method = self._methods.get(request_id)
        if "result" in message and method is not None:
            if (
                method == "textDocument/codeAction"
            ):  # lsprotocol takes an action for a command, which may stand there, too
                for action in message["result"]:
                    assert _CONVERTER.unstructure(_CONVERTER.structure(action, types.CodeAction)) == action
            else:
                _check_round_trip(message, types.METHOD_TO_TYPES[method][1])
            if method == INLINE:
                jsonschema.validate(message["result"], INLINE_RESULT_SCHEMA)
        return message

    def ask(self, method: str, params: object = None) -> Any:
        """A request's result; fails if the answer is an error."""
        message = self.response(self.request(method, params))
        assert "result" in message, message
        return message["result"]

    def notification(self, method: str, has: str = "") -> dict:
        """The params of the first notification of this method whose text holds `has`."""
        return self.wait(lambda message: message.get("method") == method and has in json.dumps(message))["params"]

    def responses(self) -> list[object]:
        """The ids of all responses so far."""
        return [message["id"] for message in self.messages if "method" not in message]

    # the protocol's usual steps

    def initialize(self, encoding: str = "utf-16", options: object = None, process_id: int | None = None) -> dict:
        """`initialize` and `initialized`. Returns the server's capabilities."""
        capabilities = {
            "general": {"positionEncodings": [encoding]},
            "window": {"workDoneProgress": True},
            "workspace": {"applyEdit": True},
            "textDocument": {"inlineCompletion": {}, "completion": {"dynamicRegistration": True}},
        }
        params = {"processId": process_id, "rootUri": None, "capabilities": capabilities}
        result = self.ask("initialize", params if options is None else {**params, "initializationOptions": options})
        self.notify("initialized", {})
        return result["capabilities"]

    def open(self, text: str, uri: str = URI, language: str = "python", version: int = 1) -> None:
        document = {"uri": uri, "languageId": language, "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, changes: list[dict], version: int, uri: str = URI) -> None:
        params = {"textDocument": {"uri": uri, "version": version}, "contentChanges": changes}
        self.notify("textDocument/didChange", params)

    def inline_params(
        self, line: int, character: int, uri: str = URI, trigger: int = 1, selected: object = None
    ) -> dict:
        context: dict[str, object] = {"triggerKind": trigger}
        if selected is not None:
            context["selectedCompletionInfo"] = selected
        return {"textDocument": {"uri": uri}, "position": position(line, character), "context": context}

    def inline(self, line: int, character: int, **how: Any) -> list[dict]:
        """The items of an inline completion."""
        return self.ask(INLINE, self.inline_params(line, character, **how))

    def begin_inline(self, line: int, character: int, **how: Any) -> int:
        return self.request(INLINE, self.inline_params(line, character, **how))

    def cancel(self, request_id: object) -> None:
        self.notify("$/cancelRequest", {"id": request_id})

    def shut_down(self) -> int | None:
        """`shutdown`, `exit`; the process's exit code if there is a process."""
        assert self.ask("shutdown") is None
        self.notify("exit", None)
        return self.process.wait(TIMEOUT) if self.process is not None else None

    def close_input(self) -> None:
        self._sink.close()

    # the reading thread

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while (message := self._read_message()) is not None:
                if "method" in message:
                    if (own := OWN_SCHEMAS.get(message["method"])) is not None:
                        jsonschema.validate(message["params"], own)
                    else:
                        _check_round_trip(message, types.METHOD_TO_TYPES[message["method"]][0])
                    if "id" in message:
                        refused = {"error": {"code": -32601, "message": "no"}}
                        result = {"applied": False} if message["method"] == "workspace/applyEdit" else None
                        answer = refused if message["method"] in self.refuses else {"result": result}
                        self.send({"id": message["id"], **answer})
                with self._news:
                    self.messages.append(message)
                    self._news.notify_all()
        with self._news:
            self.ended = True
            self._news.notify_all()

    def _read_message(self) -> dict | None:
        length = None
        while (line := self._source.readline()) not in (b"", b"\r\n"):
            assert line.endswith(b"\r\n"), f"not a header: {line!r}"
            name, _, value = line.partition(b":")
            if name == b"Content-Length":
                length = int(value)
        return json.loads(self._source.read(length)) if length is not None else None


def position(line: int, character: int) -> dict:
    return {"line": line, "character": character}


def range_(start: tuple[int, int], end: tuple[int, int]) -> dict:
    return {"start": position(*start), "end": position(*end)}


def columns(text: str, encoding: str) -> int:
    """How wide a text is in a position encoding."""
    return {"utf-8": len(text.encode()), "utf-16": len(text.encode("utf-16-le")) // 2, "utf-32": len(text)}[encoding]


def cursor_of(marked: str, encoding: str = "utf-16") -> tuple[str, tuple[int, int]]:
    """A text with `¦` at the cursor: the text without it, and the cursor's line and column."""
    before, mark, after = marked.partition("¦")
    assert mark, "the case has no cursor"
    *lines, last = before.replace("\r\n", "\n").split("\n")
    return before + after, (len(lines), columns(last, encoding))


def insert(text: str, item: dict, encoding: str) -> str:
    """The text as an editor has it once an item is accepted."""
    start, end = (_offset(text, item["range"][side], encoding) for side in ("start", "end"))
    return text[:start] + item["insertText"] + text[end:]


def _offset(text: str, at: dict, encoding: str) -> int:
    lines = text.split("\n")
    begin = sum(len(line) + 1 for line in lines[: at["line"]])
    line = lines[at["line"]]
    fitting = [n for n in range(len(line) + 1) if columns(line[:n], encoding) == at["character"]]
    assert fitting, f"{at} is inside a character, or past its line's end"
    return begin + fitting[0]


def command(script: Path, *arguments: str) -> list[str]:
    """The command line of a server that plays a script."""
    return [sys.executable, "-m", "lsp_server", "--model", f"scripted:{script}", *arguments]


@contextlib.contextmanager
def spawned(command: list[str]) -> Iterator[Client]:
    """A server in a process of its own, over its standard streams."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    try:
        yield Client(process.stdout, process.stdin, process)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            with contextlib.suppress(OSError):
                stream.close()


@contextlib.contextmanager
def in_thread(load: Callable, settings: Settings | None = None) -> Iterator[Client]:
    """A server in a thread of the test's process, over pipes, with a filler of the test's own."""
    to_server, from_client = os.pipe()
    to_client, from_server = os.pipe()
    sink = open(from_server, "wb", buffering=0)  # noqa: SIM115 - closed by the server's thread
    server = build_server(settings, load=load)

    def serve() -> None:
        with sink:
            asyncio.run(converse(server, Connection(lambda size: os.read(to_server, size), sink.write)))
        server.close(TIMEOUT)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with open(to_client, "rb") as source, open(from_client, "wb") as client_sink:
        client = Client(source, client_sink)
        try:
            yield client
        finally:
            with contextlib.suppress(OSError, ValueError):
                client.close_input()
            thread.join(TIMEOUT)
            assert not thread.is_alive(), "the server outlived its client"
            os.close(to_server)


def _check_round_trip(message: dict, shape: type) -> None:
    """A message that is the protocol's: lsprotocol understands it, and has nothing left over."""
    assert _CONVERTER.unstructure(_CONVERTER.structure(message, shape)) == message
