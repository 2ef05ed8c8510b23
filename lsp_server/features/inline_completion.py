"""`textDocument/inlineCompletion`: ghost text at the cursor."""

from __future__ import annotations

import dataclasses

from lsprotocol import types

from engine.filler import Completion
from lsp_server.fills import FillRequest
from lsp_server.server import MidfillServer
from lsp_server.workspace import OpenDocument


@dataclasses.dataclass(frozen=True)
class _Place:
    """Where an answer goes: `range` is replaced by `before` and a completion."""

    range: types.Range
    before: str
    request: FillRequest


def register(server: MidfillServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_INLINE_COMPLETION, types.InlineCompletionOptions())
    async def inline_completion(
        ls: MidfillServer, params: types.InlineCompletionParams
    ) -> list[types.InlineCompletionItem]:
        opened = ls.offered(params.text_document.uri)
        if opened is None:
            return []
        place = _place(ls, opened, params)
        if place is None:
            return []
        snapshot = opened.document
        completion = await ls.fills.fill(place.request)
        if completion is None or not ls.is_current(params.text_document.uri, snapshot):
            return []
        return [
            types.InlineCompletionItem(insert_text=place.before + text, range=place.range)
            for text in _texts(completion, place.request.settings.alternatives)
        ]


def _place(ls: MidfillServer, opened: OpenDocument, params: types.InlineCompletionParams) -> _Place | None:
    """What to fill and where it goes; None where the protocol leaves no room for an answer."""
    document, offset, before = opened.document, opened.offset(params.position), ""
    place = types.Range(opened.position(offset), opened.position(offset))
    selected = params.context.selected_completion_info
    if selected is not None:
        # The item that the editor's list has selected is taken as inserted; an answer must extend its text.
        start, end = opened.offset(selected.range.start), opened.offset(selected.range.end)
        place = types.Range(opened.position(start), opened.position(end))
        if not start <= offset <= end or place.start.line != place.end.line:
            return None
        before = selected.text
        document = dataclasses.replace(document, text=document.text[:start] + before + document.text[end:])
        offset = start + len(before)
    invoked = params.context.trigger_kind == types.InlineCompletionTriggerKind.Invoked
    settings = ls.settings.fill_settings(ls.settings.alternatives if invoked else 1)
    request = FillRequest(types.TEXT_DOCUMENT_INLINE_COMPLETION, params.text_document.uri, document, offset, settings)
    return _Place(place, before, request)


def _texts(completion: Completion, count: int) -> list[str]:
    """The completion and its alternatives, the best first, each once, no empty one."""
    texts = [completion.text, *(alternative.text for alternative in completion.alternatives)]
    return [text for text in dict.fromkeys(texts) if text][:count]
