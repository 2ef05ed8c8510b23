"""Open texts changed or closed: what is being filled for them is out of date."""

from __future__ import annotations

from lsprotocol import types

from lsp_server.server import MidfillServer


def register(server: MidfillServer) -> None:
    # pygls has updated the text store before these are called. They must be there, or no `openClose` is advertised.
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(ls: MidfillServer, params: types.DidOpenTextDocumentParams) -> None:
        ls.fills.drop(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(ls: MidfillServer, params: types.DidChangeTextDocumentParams) -> None:
        ls.fills.drop(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(ls: MidfillServer, params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        ls.fills.drop(uri)
        ls.offers.forget(uri)
        ls.surroundings.forget(uri)
        ls.scheduler.forget(uri)
