"""What this process takes of the machine's memory, and how to give back what it no longer needs."""

from __future__ import annotations

import ctypes
import gc
import sys

import psutil

_MB = 1 << 20


def resident_mb() -> float:
    """Resident memory of this process, in megabytes."""
    return psutil.Process().memory_info().rss / _MB


def give_back() -> None:
    """Collects garbage and hands freed memory back to the system, where the C library can."""
    gc.collect()
    if sys.platform == "linux":
        try:
            ctypes.CDLL("libc.so.6").malloc_trim(0)
        except (OSError, AttributeError):
            return  # another C library
