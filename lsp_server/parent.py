"""Watches the process that started the server: no orphan is left when an editor dies."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import psutil

_INTERVAL = 1.0  # seconds


def watch(process_id: int | None, on_death: Callable[[], None]) -> bool:
    """Calls `on_death` from a thread once the process is gone. False if there is nothing to watch.

    A process that is not there to begin with is not watched: the client may run in another container, whose process
    ids mean nothing here.
    """
    if process_id is None or process_id <= 0:
        return False
    try:
        parent = psutil.Process(process_id)
    except psutil.Error:
        return False

    def run() -> None:
        while _alive(parent):
            time.sleep(_INTERVAL)
        on_death()

    threading.Thread(target=run, name="midfill-parent", daemon=True).start()
    return True


def _alive(process: psutil.Process) -> bool:
    """Whether it runs still; a zombie does not, nor does another that was given the same id."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
