"""Which job the model's thread takes next: those a person asked for, then those that typing caused, then those ahead of time.

Within a rank documents take turns, the one served longest ago first, so that a fast typist in one starves no other.
"""

from __future__ import annotations

import asyncio
import enum
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from engine.errors import Cancelled
from engine.filler import CancelToken
from lsp_server.worker import Worker

T = TypeVar("T")


class Rank(enum.IntEnum):
    """Why a job is there; the lower, the sooner."""

    ASKED = 0
    TYPED = 1
    AHEAD = 2


@dataclass
class _Job:
    owner: str
    rank: Rank
    token: CancelToken
    run: Callable[[], Any]
    outcome: asyncio.Future[Any]
    number: int


class Scheduler:
    """Hands jobs to the worker one at a time. To be used in the event loop's thread alone.

    changed: called whenever work begins, and when none is left.
    """

    def __init__(self, worker: Worker, changed: Callable[[bool], None] = lambda busy: None) -> None:
        self._worker = worker
        self._changed = changed
        self._waiting: list[_Job] = []
        self._running: _Job | None = None
        self._numbers = itertools.count()
        self._served: dict[str, int] = {}

    @property
    def busy(self) -> bool:
        return self._running is not None

    async def run(self, owner: str, rank: Rank, token: CancelToken, job: Callable[..., T], *args: object) -> T:
        """The job's result. `owner`: the document that it is for. Raises `Cancelled` where the token is set before it
        begins, and whatever the job raises. A job that is no longer waited for is dropped, or ends at its next check.
        """
        loop = asyncio.get_running_loop()
        mine = _Job(owner, rank, token, lambda: job(*args), loop.create_future(), next(self._numbers))
        self._waiting.append(mine)
        self._advance()
        try:
            return await mine.outcome
        finally:
            token.cancel()
            if mine in self._waiting:
                self._waiting.remove(mine)

    def forget(self, owner: str) -> None:
        """A document was closed: its turns need not be remembered."""
        self._served.pop(owner, None)

    def stop_ahead(self) -> None:
        """Stops what runs or waits ahead of time: somebody wants the model now."""
        for job in [*self._waiting, *([self._running] if self._running else [])]:
            if job.rank is Rank.AHEAD:
                job.token.cancel()

    def _advance(self) -> None:
        if self._running is not None:
            return
        for job in [job for job in self._waiting if job.token.cancelled]:
            self._waiting.remove(job)
            if not job.outcome.done():
                job.outcome.set_exception(Cancelled())
        if not self._waiting:
            self._changed(False)
            return
        job = min(self._waiting, key=lambda job: (job.rank, self._served.get(job.owner, -1), job.number))
        self._waiting.remove(job)
        self._running = job
        self._served[job.owner] = next(self._numbers)
        self._changed(True)
        self._worker.submit(job.run).add_done_callback(lambda done: self._done(job, done))

    def _done(self, job: _Job, done: asyncio.Future[Any]) -> None:
        self._running = None
        if not job.outcome.done():
            if done.cancelled():
                job.outcome.cancel()
            elif error := done.exception():
                job.outcome.set_exception(error)
            else:
                job.outcome.set_result(done.result())
        elif not done.cancelled():
            done.exception()  # looked at, so that asyncio does not report it as forgotten
        self._advance()
