"""`textDocument/completion`: the same completion as one item of the ordinary list, for editors without ghost text.

Off unless the setting `completion` asks for it.
"""

from __future__ import annotations

import re

from lsprotocol import types

from lsp_server.features.inline_completion import find_texts
from lsp_server.jobs import Place
from lsp_server.schedule import Rank
from lsp_server.server import MidfillServer

_WORD_BEFORE = re.compile(r"\w*\Z")
_LABEL = 60  # characters


def enable(server: MidfillServer) -> None:
    """Serves the request, and advertises it if `initialize` has not been answered yet."""
    if types.TEXT_DOCUMENT_COMPLETION in server.protocol.fm.features:
        return

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions())
    async def completion(ls: MidfillServer, params: types.CompletionParams) -> types.CompletionList:
        item = await _item(ls, params) if ls.settings.completion else None
        # Incomplete: the next character typed may call for another completion.
        return types.CompletionList(is_incomplete=True, items=[item] if item is not None else [])


def enable_later(server: MidfillServer) -> None:
    """Serves the request from now on, after `initialize`: the client must be asked to send it."""
    if types.TEXT_DOCUMENT_COMPLETION in server.protocol.fm.features:
        return
    texts = server.client_capabilities.text_document
    if texts is None or texts.completion is None or not texts.completion.dynamic_registration:
        server.tell("the setting 'completion' takes effect when the server starts again", types.MessageType.Info)
        return
    enable(server)
    method = types.TEXT_DOCUMENT_COMPLETION
    options = types.CompletionRegistrationOptions(document_selector=None)
    registration = types.Registration(id=f"midfill-{method}", method=method, register_options=options)
    server.client_register_capability(types.RegistrationParams(registrations=[registration]))


async def _item(ls: MidfillServer, params: types.CompletionParams) -> types.CompletionItem | None:
    opened = ls.offered(params.text_document.uri)
    if opened is None:
        return None
    snapshot, offset = opened.document, opened.offset(params.position)
    settings = ls.settings.fill_settings(alternatives=1)
    cursor = opened.position(offset)
    place = Place(snapshot, offset, settings)
    texts = await find_texts(ls, params.text_document.uri, place, Rank.TYPED, types.TEXT_DOCUMENT_COMPLETION)
    if not texts:
        return None
    text = texts[0]
    first_line = (text.strip().splitlines() or [""])[0]
    line_start = snapshot.lines.line_start(cursor.line)
    word = _WORD_BEFORE.search(snapshot.text[line_start:offset])
    return types.CompletionItem(
        label=first_line[:_LABEL] or "↵",
        kind=types.CompletionItemKind.Text,
        detail="midfill",
        documentation=text,
        # Clients that filter by the word before the cursor must find it in the item.
        filter_text=(word.group() if word else "") + first_line,
        insert_text_format=types.InsertTextFormat.PlainText,
        insert_text_mode=types.InsertTextMode.AsIs,
        text_edit=types.TextEdit(range=types.Range(cursor, cursor), new_text=text),
    )
