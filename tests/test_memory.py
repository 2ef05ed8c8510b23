"""What a process gives back of its memory."""

from __future__ import annotations

import sys

import pytest

from engine import memory


def test_memory_is_handed_back_once_the_process_has_grown_and_not_before(monkeypatch):
    now, trims = [500.0], []
    monkeypatch.setattr(memory, "resident_mb", lambda: now[0])

    def trim() -> None:
        trims.append(now[0])
        now[0] -= 90

    monkeypatch.setattr(memory, "_trim", trim)
    trimmer = memory.Trimmer()
    for resident in (500, 560, 480, 570, 577, 500, 580):
        now[0] = resident
        trimmer.trim()
    assert trims == [577]  # 97 MB over the least seen; then 487 is the least, and 580 is no more than 96 above it
    now[0] = 584
    trimmer.trim()
    assert trims == [577, 584]


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's")
def test_what_a_thread_freed_between_blocks_that_live_on_is_handed_back():
    """The way in which fills of ever other sizes made a server grow: a freed block under one that lives is kept."""
    from concurrent.futures import ThreadPoolExecutor

    def fragment() -> list[bytearray]:
        blocks = [bytearray(60_000) for _ in range(6000)]
        for block in blocks:
            block[::4096] = b"x" * len(block[::4096])
        return blocks[::20]

    with ThreadPoolExecutor(1) as thread:
        trimmer = memory.Trimmer()
        thread.submit(trimmer.trim).result()
        kept = thread.submit(fragment).result()
        grown = memory.resident_mb()
        thread.submit(trimmer.trim).result()
        assert kept and memory.resident_mb() < grown - 100
