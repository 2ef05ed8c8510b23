"""Requests for the model, from the event loop to its thread and back.

One request, exactly one response:
- cancelled by the client: the handler is cancelled at its await, its token is set, pygls answers RequestCancelled;
- superseded by a newer request of the same kind for the same document: `Superseded`, answered as RequestCancelled, too;
- its document changed or was closed: `Outdated`, answered as ContentModified;
- otherwise what was found; nothing, where the filler could not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from pygls.exceptions import JsonRpcContentModified, JsonRpcRequestCancelled

from engine.errors import Cancelled, MidfillError
from engine.filler import CancelToken, Filler
from lsp_server.loading import ModelLoader
from lsp_server.logs import log_failure
from lsp_server.schedule import Rank, Scheduler

T = TypeVar("T")
Job = Callable[[Filler, CancelToken], T]


class Superseded(JsonRpcRequestCancelled):
    def __init__(self, why: str = "a newer request took its place") -> None:
        super().__init__(why)


class Outdated(JsonRpcContentModified):
    def __init__(self) -> None:
        super().__init__("the document changed")


class _Pending:
    """A request that is not answered yet."""

    def __init__(self) -> None:
        self.token = CancelToken()
        self.outcome: asyncio.Future = asyncio.get_running_loop().create_future()

    def settle(self, found: object) -> None:
        """Gives the answer, unless there is one; whatever still runs for it stops at its next check."""
        self.token.cancel()
        if not self.outcome.done():
            self.outcome.set_result(found)

    def refuse(self, error: Exception) -> None:
        self.token.cancel()
        if not self.outcome.done():
            self.outcome.set_exception(error)


class Fills:
    """The pending requests, at most one a kind and document: the newest wins.

    refused: hears, in one line, why a fill could not be.
    """

    def __init__(self, loader: ModelLoader, scheduler: Scheduler, refused: Callable[[str], None]) -> None:
        self._loader = loader
        self._scheduler = scheduler
        self._refused = refused
        self._pending: dict[tuple[str, str], _Pending] = {}

    async def run(self, kind: str, uri: str, rank: Rank, job: Job[T], delay: float = 0.0) -> T | None:
        """What the job finds, run in the model's thread with the filler and a token to check; None if the filler fails.

        kind: which feature asks. uri: the document as the client calls it. delay: seconds to wait first, for a newer
        request to take its place. Raises `Superseded` or `Outdated`. May be cancelled at any time.
        """
        key = (kind, uri)
        if (older := self._pending.get(key)) is not None:
            older.refuse(Superseded())
        pending = self._pending[key] = _Pending()
        if rank is not Rank.AHEAD:
            self._scheduler.stop_ahead()
        work = asyncio.create_task(self._work(uri, rank, job, delay, pending))
        try:
            return await pending.outcome
        finally:
            pending.settle(None)
            work.cancel()
            if self._pending.get(key) is pending:
                del self._pending[key]

    def drop(self, uri: str) -> None:
        """Ends the requests of a document that has changed or closed, without a completion."""
        for (_, of), pending in list(self._pending.items()):
            if of == uri:
                pending.refuse(Outdated())

    def stop_all(self) -> None:
        for pending in list(self._pending.values()):
            pending.refuse(Superseded("the server is shutting down"))

    async def _work(self, uri: str, rank: Rank, job: Job[T], delay: float, pending: _Pending) -> None:
        found = None
        try:
            if delay:
                await asyncio.sleep(delay)
            filler = await self._loader.filler()
            found = await self._scheduler.run(uri, rank, pending.token, job, filler, pending.token)
        except Cancelled:
            pass
        except MidfillError as error:
            self._refused(str(error))
        except Exception as error:
            log_failure("filling", error)
        pending.settle(found)
