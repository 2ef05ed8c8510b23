"""Requests for a fill, from the event loop to the model's thread and back.

One request, exactly one response:
- cancelled by the client: the handler is cancelled at its await, its token is set, pygls answers -32800;
- superseded by a newer request of the same kind for the same document, or its document changed or closed: no
  completion, which is answered as an empty list. Not with an error: the protocol keeps RequestCancelled for what the
  client cancelled and ServerCancelled for requests that name it, and an empty list is quiet in every editor;
- otherwise what the filler found.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from engine import filler as fillers
from engine.errors import Cancelled, MidfillError
from engine.filler import CancelToken, Completion, Filler, FillSettings
from engine.hole import hole_at
from engine.text import Document
from lsp_server.loading import ModelLoader
from lsp_server.logs import log_failure
from lsp_server.worker import Worker


@dataclass(frozen=True)
class FillRequest:
    """What is to be filled. `kind`: which feature asks. `uri`: the document as the client calls it.

    `document` may differ from the client's by text that is to be taken as inserted; `offset`: code points into it.
    """

    kind: str
    uri: str
    document: Document
    offset: int
    settings: FillSettings


class _Pending:
    """A request that is not answered yet."""

    def __init__(self) -> None:
        self.token = CancelToken()
        self.outcome: asyncio.Future[Completion | None] = asyncio.get_running_loop().create_future()

    def settle(self, completion: Completion | None) -> None:
        """Gives the answer, unless there is one; whatever still runs for it stops at its next check."""
        self.token.cancel()
        if not self.outcome.done():
            self.outcome.set_result(completion)


class Fills:
    """The pending requests, at most one a kind and document: the newest wins.

    refused: hears, in one line, why a fill could not be.
    """

    def __init__(self, loader: ModelLoader, worker: Worker, refused: Callable[[str], None]) -> None:
        self._loader = loader
        self._worker = worker
        self._refused = refused
        self._pending: dict[tuple[str, str], _Pending] = {}

    async def fill(self, request: FillRequest) -> Completion | None:
        """The completion, or None if there is nothing to offer. May be cancelled at any time."""
        key = (request.kind, request.uri)
        if (older := self._pending.get(key)) is not None:
            older.settle(None)
        pending = self._pending[key] = _Pending()
        work = asyncio.create_task(self._work(request, pending))
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
                pending.settle(None)

    def stop_all(self) -> None:
        for pending in list(self._pending.values()):
            pending.settle(None)

    async def _work(self, request: FillRequest, pending: _Pending) -> None:
        completion = None
        try:
            filler = await self._loader.filler()
            completion = await self._worker.submit(_fill, filler, request, pending.token)
        except Cancelled:
            pass
        except MidfillError as error:
            self._refused(str(error))
        except Exception as error:
            log_failure("filling", error)
        pending.settle(completion)


def _fill(filler: Filler, request: FillRequest, token: CancelToken) -> Completion:
    """Runs in the worker's thread; parsing a large document is work, too."""
    token.check()
    hole = hole_at(request.document, request.offset)
    token.check()
    return fillers.run(filler, request.document, hole, request.settings, token)
