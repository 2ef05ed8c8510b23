"""Work-done progress of what takes long, a model's loading and several holes, for clients that show it."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcException

if TYPE_CHECKING:
    from lsp_server.server import MidfillServer


class Progress:
    """One progress bar. Must be used in the event loop's thread.

    The bar may be used only once the client has agreed to it; what is reported before is shown then, and a client that
    never answers holds up nothing.
    """

    def __init__(self, server: MidfillServer, title: str) -> None:
        self._server = server
        self._title = title
        self._token = f"midfill-{uuid.uuid4()}"
        self._message = ""
        self._percentage = 0
        self._open = False
        self._ended: str | None = None

    async def show(self) -> None:
        """Asks the client for a bar and begins it. Does nothing if the client cannot show one or refuses."""
        window = self._server.client_capabilities.window
        if window is None or not window.work_done_progress:
            return
        try:
            await self._server.window_work_done_progress_create_async(
                types.WorkDoneProgressCreateParams(token=self._token)
            )
        except JsonRpcException:
            return
        self._open = True
        self._notify(
            types.WorkDoneProgressBegin(
                title=self._title, cancellable=False, message=self._message or None, percentage=self._percentage
            )
        )
        if self._ended is not None:
            self.end(self._ended)

    def report(self, share: float, message: str) -> None:
        """`share` of the work that is done, from 0 to 1. It never goes back."""
        self._message = message
        self._percentage = max(self._percentage, min(100, int(share * 100)))
        if self._open:
            self._notify(types.WorkDoneProgressReport(message=message, percentage=self._percentage))

    def end(self, message: str) -> None:
        self._ended = message
        if self._open:
            self._open = False
            self._notify(types.WorkDoneProgressEnd(message=message))

    def _notify(
        self, value: types.WorkDoneProgressBegin | types.WorkDoneProgressReport | types.WorkDoneProgressEnd
    ) -> None:
        self._server.progress(types.ProgressParams(token=self._token, value=value))
