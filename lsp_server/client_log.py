"""`window/logMessage`: the client's log gets what ours gets, a line each, and no more of it than standard error does."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from lsp_server.server import MidfillServer

_MOST_CHARACTERS = 500
_KINDS = (
    (logging.ERROR, types.MessageType.Error),
    (logging.WARNING, types.MessageType.Warning),
    (logging.INFO, types.MessageType.Info),
)


class ClientLog(logging.Handler):
    """Sends records from any thread, by the event loop. The first line alone: what follows is where an error rose."""

    def __init__(self, server: MidfillServer) -> None:
        super().__init__()
        self._server = server
        self._loop = asyncio.get_running_loop()

    def emit(self, record: logging.LogRecord) -> None:
        kind = next((kind for level, kind in _KINDS if record.levelno >= level), types.MessageType.Debug)
        line = record.getMessage().partition("\n")[0][:_MOST_CHARACTERS]
        with contextlib.suppress(RuntimeError):  # the loop has closed: the server is on its way out
            self._loop.call_soon_threadsafe(self._send, kind, line)

    def _send(self, kind: types.MessageType, line: str) -> None:
        if not self._server.protocol.shutting_down:
            self._server.window_log_message(types.LogMessageParams(type=kind, message=line))
