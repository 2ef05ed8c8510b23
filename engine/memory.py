"""What this process takes of the machine's memory, and how to give back what it no longer needs."""

from __future__ import annotations

import ctypes
import gc
import sys

import psutil

_MB = 1 << 20
_SLACK = 96  # megabytes


def resident_mb() -> float:
    """Resident memory of this process, in megabytes."""
    return psutil.Process().memory_info().rss / _MB


def give_back() -> None:
    """Collects garbage and hands freed memory back to the system, where the C library can."""
    gc.collect()
    _trim()


class Trimmer:
    """Hands freed memory back whenever the process has grown by some 100 MB since it last did.

    A thread's arena in glibc keeps what is freed between two blocks that live on: tensors whose sizes change with every
    fill made a server grow by 10 MB a fill, all of it free. Handing back costs 5 to 10 ms, so it is done seldom.
    """

    def __init__(self) -> None:
        self._least: float | None = None

    def trim(self) -> None:
        now = resident_mb()
        if self._least is not None and now > self._least + _SLACK:
            _trim()
            self._least = resident_mb()  # what is left is in use
        else:
            self._least = now if self._least is None else min(self._least, now)


def _trim() -> None:
    if sys.platform == "linux":
        try:
            ctypes.CDLL("libc.so.6").malloc_trim(0)
        except (OSError, AttributeError):
            return  # another C library
