"""From a process to a served client: standard input and output, or TCP on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NoReturn

from engine.errors import BadInput
from lsp_server import logs
from lsp_server.loading import load_filler
from lsp_server.server import build_server
from lsp_server.settings import Settings
from lsp_server.transport import Connection, converse

_PATIENCE = 0.5  # seconds that work under way has to stop in, once the client has said goodbye
_WATCHDOG = 5.0  # seconds from the stream's end to the process's, whatever hangs


@dataclass(frozen=True)
class ServeOptions:
    """What the command line decides. settings: the client's own go over them. log_level: one of `logs.LEVELS`. trusted: the
    model whose own code may be run; no client's setting changes that."""

    settings: Settings = field(default_factory=Settings)
    log_level: str = "warning"
    trusted: str | None = None


def serve_stdio(options: ServeOptions | None = None) -> int:
    """Serves the client at standard input and output until it leaves. Returns the exit code (1 without `shutdown`).

    Ends the process itself, with that code, if the model's thread does not stop in time. Raises `BadInput` if there
    is no standard input or output.
    """
    options = options or ServeOptions()
    try:
        connection = _take_standard_streams()
    except OSError as error:
        raise BadInput(f"standard input or output cannot be used: {error.strerror}") from None
    return _serve(connection, options)


def serve_tcp(host: str, port: int, options: ServeOptions | None = None) -> int:
    """Serves the first client that connects, until it leaves; then as `serve_stdio`. Port 0: any free one.

    The address is told on standard error. Raises `BadInput` if the host is not loopback or the port cannot be had:
    whoever reaches the server can make it read models, so it is never opened to a network.
    """
    options = options or ServeOptions()
    address = _loopback(host)
    if not 0 <= port <= 65535:
        raise BadInput(f"a port is a number from 0 to 65535, not {port}")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        listener = socket.create_server((address, port), family=family)
    except OSError as error:
        raise BadInput(f"cannot listen on {host}:{port}: {error.strerror}") from None
    with listener:
        print(f"midfill: listening on {_joined(address, listener.getsockname()[1])}", file=sys.stderr, flush=True)
        try:
            client, _ = listener.accept()
        except KeyboardInterrupt:
            return 130
    with client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return _serve(Connection(client.recv, client.sendall), options)


def parse_address(text: str) -> tuple[str, int]:
    """HOST:PORT, [::1]:PORT too. Raises `BadInput`."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit():
        raise BadInput(f"an address is HOST:PORT, as 127.0.0.1:5007, not {text!r}")
    return host.removeprefix("[").removesuffix("]"), int(port)


def leave(code: int) -> NoReturn:
    """Ends the process at once, even while a thread is inside native code, which nothing else can interrupt."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)


def _serve(connection: Connection, options: ServeOptions) -> int:
    logs.set_up(options.log_level)
    load = partial(load_filler, trusted=options.trusted)
    server = build_server(options.settings, load, on_client_death=partial(leave, 1))
    watchdog = threading.Timer(_WATCHDOG, leave, (1,))
    watchdog.daemon = True
    try:
        code = asyncio.run(converse(server, connection, on_end=watchdog.start))
    except KeyboardInterrupt:
        code = 130
    stopped = server.close(timeout=_PATIENCE)
    watchdog.cancel()
    if not stopped:
        leave(code)
    return code


def _take_standard_streams() -> Connection:
    """Takes the protocol's two streams for ourselves: a stray print goes to standard error, never to the client."""
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    if sys.platform == "win32":
        import msvcrt

        for descriptor in (source, sink):
            msvcrt.setmode(descriptor, os.O_BINARY)
    writer = open(sink, "wb")  # noqa: SIM115 - open for as long as the process lives
    return Connection(partial(os.read, source), _flushing(writer.write, writer.flush))


def _flushing(write: Callable[[bytes], object], flush: Callable[[], object]) -> Callable[[bytes], None]:
    def send(data: bytes) -> None:
        write(data)
        flush()

    return send


def _loopback(host: str) -> str:
    """The address to bind. Raises `BadInput` if it is not this machine's own loopback."""
    name = "127.0.0.1" if host == "localhost" else host
    try:
        if ipaddress.ip_address(name).is_loopback:
            return name
    except ValueError:
        pass
    raise BadInput(f"the server listens on loopback only (127.0.0.1, ::1 or localhost), not on {host!r}")


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
