"""`workspace/didChangeConfiguration`: settings change, and with them perhaps the model."""

from __future__ import annotations

from lsprotocol import types

from lsp_server.features import completion
from lsp_server.server import MidfillServer


def register(server: MidfillServer) -> None:
    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def did_change_configuration(ls: MidfillServer, params: types.DidChangeConfigurationParams) -> None:
        if params.settings is None:
            return  # a client that only says that something changed
        ls.setting_problems = ls.layers.change(params.settings)
        ls.tell_setting_problems()
        ls.apply_settings()
        if ls.settings.completion:
            completion.enable_later(ls)
