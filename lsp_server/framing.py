"""Messages in a stream of bytes: `Content-Length: N`, an empty line, N bytes of body.

pygls' own reader wants the header spelled one way only and reads through the thread pool that handlers block; this one
is a plain parser that a thread feeds (see `transport`).
"""

from __future__ import annotations

MAX_BODY = 1 << 30  # bytes; a length beyond this is a broken stream, not a message
_MAX_HEADER = 1 << 16


class BrokenStream(Exception):
    """The stream cannot be read on: where the next message starts is no longer known."""


class Frames:
    """Feed it bytes as they come; it gives back the bodies that are complete."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._length: int | None = None  # of the body that is being read; None while in the headers

    def feed(self, data: bytes) -> list[bytes]:
        """Bodies completed by `data`, in order. Raises `BrokenStream` on headers that cannot be a client's."""
        self._buffer += data
        bodies: list[bytes] = []
        while True:
            if self._length is None and not self._read_headers():
                return bodies
            assert self._length is not None
            if len(self._buffer) < self._length:
                return bodies
            bodies.append(bytes(self._buffer[: self._length]))
            del self._buffer[: self._length]
            self._length = None

    def _read_headers(self) -> bool:
        while self._buffer.startswith(b"\r\n"):
            del self._buffer[:2]  # an empty line between messages does no harm
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > _MAX_HEADER:
                raise BrokenStream("no header ends within 64 KiB")
            # Caught at once, not when headers end: a web page that posts to our port must not get that far.
            first = bytes(self._buffer).partition(b"\r\n")
            if first[1]:
                _split(first[0])
            return False
        length = None
        for line in bytes(self._buffer[:end]).split(b"\r\n"):
            name, value = _split(line)
            if name == b"content-length":
                if not value.isdigit() or int(value) > MAX_BODY:
                    raise BrokenStream("a Content-Length that is no length")
                length = int(value)
        if length is None:
            raise BrokenStream("headers without a Content-Length")
        del self._buffer[: end + 4]
        self._length = length
        return True


def _split(line: bytes) -> tuple[bytes, bytes]:
    name, colon, value = line.partition(b":")
    if not colon or not name.strip() or b" " in name.strip():
        raise BrokenStream("a header that is none")
    return name.strip().lower(), value.strip()
