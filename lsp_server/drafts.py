"""`midfill/draft`: the canvas after a denoising step, for clients that show it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from engine.filler import Draft
from engine.hole import Hole
from lsp_server.jobs import OnDraft

if TYPE_CHECKING:
    from lsp_server.server import MidfillServer

METHOD = "midfill/draft"


def sender(server: MidfillServer, uri: str, range_: types.Range, token: object = None) -> OnDraft:
    """Sends each draft that the model's thread reports, from the event loop."""
    loop = asyncio.get_running_loop()
    position = {
        "start": {"line": range_.start.line, "character": range_.start.character},
        "end": {"line": range_.end.line, "character": range_.end.character},
    }

    def send(message: dict[str, Any]) -> None:
        if not server.protocol.shutting_down:
            server.protocol.notify(METHOD, message)

    def on_draft(hole: Hole, draft: Draft) -> None:
        message: dict[str, Any] = {
            "uri": uri,
            "range": position,
            "step": draft.step,
            "block": draft.block,
            "candidate": draft.candidate,
            "text": draft.text,
            "slots": [
                {"text": slot.text, "confidence": round(slot.confidence, 4), "decided": slot.decided}
                for slot in draft.slots
            ],
        }
        if token is not None:
            message["token"] = token
        with contextlib.suppress(RuntimeError):  # the loop has closed: the server is on its way out
            loop.call_soon_threadsafe(send, message)

    return on_draft
