"""`initialize`, `initialized`: position encoding, text store, settings; then the model's load begins."""

from __future__ import annotations

from lsprotocol import types

from lsp_server.features import completion
from lsp_server.server import MidfillServer
from lsp_server.workspace import TextStore


def register(server: MidfillServer) -> None:
    @server.feature(types.INITIALIZE)
    def initialize(ls: MidfillServer, params: types.InitializeParams) -> None:
        ls.protocol.use_store(TextStore.replacing(ls.workspace))
        ls.use_roots()
        ls.setting_problems = ls.layers.initialize(params.initialization_options)
        if ls.settings.completion:
            completion.enable(ls)
        ls.watch_client(params.process_id)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders_changed(ls: MidfillServer, params: types.DidChangeWorkspaceFoldersParams) -> None:
        ls.use_roots()

    @server.feature(types.INITIALIZED)
    def initialized(ls: MidfillServer, params: types.InitializedParams) -> None:
        ls.log_to_client()
        ls.tell_setting_problems()
        ls.status.tell()
        ls.apply_settings()

    @server.feature(types.SHUTDOWN)
    def shutdown(ls: MidfillServer, params: None) -> None:
        ls.fills.stop_all()
