"""What must hold inside the server, where no client can see it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator

from engine.filler import CancelToken, Completion, Draft, FillSettings
from engine.hole import Hole
from engine.text import Document
from lsp_server.server import MidfillServer, build_server

URI = "file:///a.py"
INITIALIZE = {"id": 0, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}}


class Sink:
    """Keeps what the server sends."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data

    def close(self) -> None:
        pass


class Nothing:
    name = "nothing"

    def fill(
        self, document: Document, hole: Hole, settings: FillSettings, cancel: CancelToken
    ) -> Iterator[Draft | Completion]:
        yield Completion("", hole.start, hole.end)


def check(messages: list[dict], holds: Callable[[MidfillServer, Sink], bool]) -> None:
    """Feeds a server messages, lets it come to rest, and looks at it."""

    async def run() -> bool:
        server, sink = build_server(load=lambda settings, progress: Nothing()), Sink()
        server.protocol.set_writer(sink)
        for message in messages:
            server.protocol.receive(json.dumps({"jsonrpc": "2.0", **message}).encode())
            await asyncio.sleep(0)
        for _ in range(2000):
            if holds(server, sink):
                break
            await asyncio.sleep(0.005)
        try:
            return holds(server, sink)
        finally:
            assert server.close(60)

    assert asyncio.run(run())


def opened_and_changed(times: int) -> list[dict]:
    document = {"uri": URI, "languageId": "python", "version": 1, "text": ""}
    change = {"textDocument": {"uri": URI, "version": 2}, "contentChanges": [{"text": "x"}]}
    return [
        INITIALIZE,
        {"method": "initialized", "params": {}},
        {"method": "textDocument/didOpen", "params": {"textDocument": document}},
        *[{"method": "textDocument/didChange", "params": change}] * times,
    ]


def test_messages_leave_nothing_behind() -> None:
    """pygls keeps a future for every notification; an hour of typing would be held in memory."""
    where = {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 0}, "context": {"triggerKind": 1}}
    request = {"id": 7, "method": "textDocument/inlineCompletion", "params": where}
    check(
        [*opened_and_changed(50), request],
        lambda server, sink: (
            b'"id": 7' in sink.data and not server.protocol._request_futures and not server.fills._pending
        ),
    )


def test_initialize_is_answered_before_the_load_begins() -> None:
    loaded: list[str] = []

    async def run() -> bytes:
        server = build_server(load=lambda settings, progress: loaded.append(settings.model) or Nothing())
        sink = Sink()
        server.protocol.set_writer(sink)
        server.protocol.receive(json.dumps({"jsonrpc": "2.0", **INITIALIZE}).encode())
        assert server.close(60)
        return sink.data

    assert b"inlineCompletionProvider" in asyncio.run(run())
    assert loaded == []
