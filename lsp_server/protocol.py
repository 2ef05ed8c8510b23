"""What pygls leaves open in the protocol's rules: every request is answered exactly once, whatever it looks like.

pygls answers a request with malformed params not at all, one before `initialize` with a traceback, one after
`shutdown` not at all, and keeps a future for each notification for ever. All four are mended here.
"""

from __future__ import annotations

import json
from concurrent.futures import Future
from typing import Any

import cattrs
from cattrs.errors import BaseValidationError
from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInternalError, JsonRpcRequestCancelled
from pygls.protocol import LanguageServerProtocol

from lsp_server.logs import log, log_failure
from lsp_server.workspace import TextStore

_NOTIFICATIONS = frozenset(method for method, kinds in types.METHOD_TO_TYPES.items() if kinds[1] is None)
_PARSE_ERROR = types.ErrorCodes.ParseError.value
_INVALID_REQUEST = types.ErrorCodes.InvalidRequest.value
_METHOD_NOT_FOUND = types.ErrorCodes.MethodNotFound.value
_INVALID_PARAMS = types.ErrorCodes.InvalidParams.value
_NOT_INITIALIZED = types.ErrorCodes.ServerNotInitialized.value


class MidfillProtocol(LanguageServerProtocol):
    """The protocol's state of one client."""

    exit_code: int | None = None  # set once the client has said `exit`

    @property
    def shutting_down(self) -> bool:
        return self._shutdown

    @property
    def initialized(self) -> bool:
        return self._workspace is not None

    def use_store(self, store: TextStore) -> None:
        """Puts our text store where pygls has put its own workspace."""
        self._workspace = store

    def receive(self, body: bytes) -> None:
        """Handles one message as it came from the client. Never raises for what a client sent."""
        try:
            data = json.loads(body)
        except (ValueError, RecursionError):
            self._refuse(None, _PARSE_ERROR, "the message is not JSON")
            return
        if not isinstance(data, dict) or data.get("jsonrpc") != "2.0":
            self._refuse(None, _INVALID_REQUEST, "the message is no JSON-RPC 2.0 object")
            return
        method, message_id = data.get("method"), data.get("id")
        if "method" not in data:
            if (why := self._dispatch(data)) is not None:
                log.warning("a response does not fit the protocol%s", why)
        elif "id" not in data:
            self._receive_notification(str(method), data)
        elif not isinstance(message_id, int | str) or isinstance(message_id, bool):
            self._refuse(None, _INVALID_REQUEST, "the id is neither a number nor a text")
        else:
            self._receive_request(message_id, str(method), data)

    def _receive_request(self, message_id: int | str, method: str, data: dict[str, Any]) -> None:
        if not self.initialized and method != types.INITIALIZE:
            self._refuse(message_id, _NOT_INITIALIZED, f"{method} came before initialize")
        elif self.initialized and method == types.INITIALIZE:
            self._refuse(message_id, _INVALID_REQUEST, "initialize came twice")
        elif self.shutting_down:
            self._refuse(message_id, _INVALID_REQUEST, f"{method} came after shutdown")
        elif method in _NOTIFICATIONS:
            self._refuse(message_id, _INVALID_REQUEST, f"{method} is a notification, it takes no id")
        elif method not in self.fm.builtin_features and method not in self.fm.features:
            self._refuse(message_id, _METHOD_NOT_FOUND, f"{method} is not served")
        elif (why := self._dispatch(data)) is not None:
            self._refuse(message_id, _INVALID_PARAMS, f"the params of {method} do not fit the protocol{why}")

    def _receive_notification(self, method: str, data: dict[str, Any]) -> None:
        if method == types.EXIT:
            self.exit_code = 0 if self.shutting_down else 1
        elif self.initialized and not self.shutting_down and (why := self._dispatch(data)) is not None:
            log.warning("the params of %s do not fit the protocol%s", method, why)

    def _dispatch(self, data: dict[str, Any]) -> str | None:
        """Structures the message and hands it to pygls. Where it does not fit: what is wrong, as far as that is known."""
        try:
            message = self.structure_message(data)
        except JsonRpcException as error:
            return _where(error)
        try:
            self.handle_message(message)
        except Exception as error:  # pygls' own bookkeeping; a client must not be able to end the server with it
            log_failure("handling a message", error)
        return None

    def _refuse(self, message_id: int | str | None, code: int, message: str) -> None:
        log.warning("refused: %s", message)
        error = {"code": code, "message": message}
        self._send_data({"jsonrpc": self.VERSION, "id": message_id, "error": error})

    def _send_handler_result(self, future: Future, *, msg_id: int | str) -> None:
        """In place of pygls' own, which sends the person's client a traceback."""
        self._request_futures.pop(msg_id, None)
        error: JsonRpcException
        if future.cancelled():
            error = JsonRpcRequestCancelled("the client cancelled it")
        elif (failed := future.exception()) is None:
            self._send_response(msg_id, result=future.result())
            return
        elif isinstance(failed, JsonRpcException):
            error = failed
        else:
            log_failure("answering a request", failed)
            error = JsonRpcInternalError("an unexpected error; the server's log says which")
        self._send_response(msg_id, error=error.to_response_error())

    def _execute_handler(self, msg_id, handler, callback, args=None, kwargs=None):
        super()._execute_handler(msg_id, handler, callback, args, kwargs)
        future = self._request_futures.get(msg_id)
        if future is not None and future.done():
            del self._request_futures[msg_id]  # pygls forgets to, for notifications


def _where(error: JsonRpcException) -> str:
    """ ": required field missing at params.context", and what else is wrong first; no value of the client's is in it."""
    cause = error.__cause__
    if not isinstance(cause, BaseValidationError):
        return ""
    found = cattrs.transform_error(cause, path="")
    return ": " + found[0].replace(" @ .", " at ") if found else ""
