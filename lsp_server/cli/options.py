"""Values of options that more than one command takes."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import threading
from collections.abc import Iterator

HIGHEST_SEED = 2**31 - 1  # as the server's setting


def seed(text: str) -> int:
    """A seed of the sampler. Raises `argparse.ArgumentTypeError`: torch takes no number of any size."""
    try:
        value = int(text)
    except ValueError:
        value = -1
    if not 0 <= value <= HIGHEST_SEED:
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to {HIGHEST_SEED}, not {text!r}")
    return value


def cores() -> int:
    """Cores of the CPU that this process may use."""
    with contextlib.suppress(AttributeError):  # not on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM ends the work as Ctrl-C does, so that what was made for it is removed and what was found is told."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
