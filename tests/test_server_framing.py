"""Whatever way the bytes come in, the same bodies come out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsp_server.framing import BrokenStream, Frames


def framed(body: bytes, header: bytes = b"Content-Length") -> bytes:
    return header + b": %d\r\n\r\n" % len(body) + body


@given(st.lists(st.binary(max_size=40)), st.lists(st.integers(1, 17), min_size=1))
def test_bodies_come_out_however_the_bytes_are_cut(bodies: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(map(framed, bodies))
    frames, found, at, turn = Frames(), [], 0, 0
    while at < len(stream):
        size = cuts[turn % len(cuts)]
        found += frames.feed(stream[at : at + size])
        at, turn = at + size, turn + 1
    assert found == bodies


@pytest.mark.parametrize(
    "stream",
    [
        framed(b"{}", b"content-length"),
        framed(b"{}", b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length"),
        b"\r\n\r\n" + framed(b"{}"),
    ],
)
def test_headers_as_clients_write_them(stream: bytes) -> None:
    assert Frames().feed(stream) == [b"{}"]


@pytest.mark.parametrize(
    "stream",
    [
        b"POST / HTTP/1.1\r\n",  # a web page that posts to our port must get nowhere
        b"hello\r\n\r\n",
        b"Content-Type: x\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 99999999999\r\n\r\n",
        b"x" * 70000,
    ],
)
def test_a_stream_that_is_no_clients_is_broken(stream: bytes) -> None:
    with pytest.raises(BrokenStream):
        Frames().feed(stream)
