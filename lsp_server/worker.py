"""The one thread in which models load and fill.

Not pygls' pool: blocked handlers would starve it. One thread, because a filler does one fill at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from engine.memory import Trimmer

T = TypeVar("T")


class Worker:
    """Runs jobs one after another. Those that have not begun can be cancelled; one that has must watch its token."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="midfill-model")
        self._jobs: set[Future] = set()
        self._trimmer = Trimmer()

    def submit(self, job: Callable[..., T], *args: object) -> asyncio.Future[T]:
        """Must be called in the event loop's thread."""
        future = self._executor.submit(job, *args)
        self._jobs.add(future)
        future.add_done_callback(self._jobs.discard)
        self._executor.submit(self._trimmer.trim)  # behind the job, so that nobody waits for it
        return asyncio.wrap_future(future)

    def stop(self, timeout: float) -> bool:
        """Drops what has not begun and waits `timeout` seconds for what has. False if that is still running."""
        running = list(self._jobs)
        self._executor.shutdown(wait=False, cancel_futures=True)
        return not wait(running, timeout=timeout).not_done
