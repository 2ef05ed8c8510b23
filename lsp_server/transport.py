"""Bytes in and out: a connection to one client, and the conversation over it.

A thread of its own reads, so that a busy pool or a busy loop never leaves a cancel unread for long; the event loop
alone handles messages and writes.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from lsp_server.framing import BrokenStream, Frames
from lsp_server.logs import log

if TYPE_CHECKING:
    from lsp_server.server import MidfillServer

_CHUNK = 1 << 16  # bytes


class Connection:
    """A client's two directions. `receive(n)` blocks and returns b"" at the end; `send` writes everything.

    A writer as pygls wants it. Once the client is gone, writes are dropped and `lost` tells so.
    """

    def __init__(self, receive: Callable[[int], bytes], send: Callable[[bytes], object]) -> None:
        self._receive = receive
        self._send = send
        self.on_lost: Callable[[], None] = lambda: None
        self.lost = False

    def write(self, data: bytes) -> None:
        if self.lost:
            return
        try:
            self._send(data)
        except (OSError, ValueError):
            self.lost = True
            self.on_lost()

    def close(self) -> None:
        self.lost = True

    def pump(self, on_body: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        """Reads until the client is gone or its stream is broken. Runs in the reading thread."""
        frames = Frames()
        try:
            while data := self._receive(_CHUNK):
                for body in frames.feed(data):
                    on_body(body)
        except BrokenStream as error:
            log.error("the client's stream cannot be read on: %s", error)
        except (OSError, RuntimeError) as error:  # the stream is gone, or the loop has closed
            log.debug("reading ended: %s", error)
        on_end()


async def converse(server: MidfillServer, connection: Connection, on_end: Callable[[], None] = lambda: None) -> int:
    """Serves one client until it says `exit` or is gone. Returns the exit code: 0 if it said `shutdown` before.

    `on_end` is called in the reading thread when the stream ends.

    Invariant: what a handler does before its first await is done before the next message is handled, so a request
    sees the document as it stood when the request was sent. The `sleep(0)` below is what keeps it.
    """
    loop = asyncio.get_running_loop()
    bodies: asyncio.Queue[bytes | None] = asyncio.Queue()

    def post(body: bytes | None) -> None:
        loop.call_soon_threadsafe(bodies.put_nowait, body)

    def end() -> None:
        on_end()
        try:
            post(None)
        except RuntimeError:
            log.debug("the loop had closed before the stream ended")

    connection.on_lost = lambda: bodies.put_nowait(None)
    server.protocol.set_writer(connection)
    threading.Thread(target=connection.pump, args=(post, end), name="midfill-reader", daemon=True).start()
    while server.protocol.exit_code is None:
        body = await bodies.get()
        if body is None:
            break
        server.protocol.receive(body)
        await asyncio.sleep(0)
    connection.close()
    if server.protocol.exit_code is not None:
        return server.protocol.exit_code
    return 0 if server.protocol.shutting_down else 1
