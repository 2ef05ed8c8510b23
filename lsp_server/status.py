"""`midfill/status`: what the server is at, told to the client whenever it changes."""

from __future__ import annotations

import enum
from collections.abc import Callable

METHOD = "midfill/status"


class State(enum.StrEnum):
    LOADING = "loading"
    READY = "ready"
    BUSY = "busy"
    OFF = "off"
    ERROR = "error"


class Status:
    """Puts together what loader, scheduler and settings say. `send`: gets each new message once."""

    def __init__(self, send: Callable[[dict[str, object]], None]) -> None:
        self._send = send
        self._sent: dict[str, object] | None = None
        self._model = ""
        self._state = State.LOADING
        self._message = "the model is not loaded yet"
        self._percentage: int | None = None
        self._busy = False
        self._off = False

    def loading(self, model: str, share: float = 0.0, message: str = "") -> None:
        self._model, self._state = model, State.LOADING
        self._message = f"loading {model}" + (f": {message}" if message else "")
        self._percentage = min(100, int(share * 100))
        self.tell()

    def advanced(self, share: float, message: str) -> None:
        if self._state is State.LOADING:
            self.loading(self._model, max(share, (self._percentage or 0) / 100), message)

    def ready(self, model: str) -> None:
        self._model, self._state, self._message, self._percentage = model, State.READY, f"{model} is ready", None
        self.tell()

    def failed(self, why: str) -> None:
        self._state, self._message, self._percentage = State.ERROR, why, None
        self.tell()

    def let_go(self) -> None:
        """The model was let go to save memory, and is loaded again when somebody asks."""
        self._state, self._percentage = State.LOADING, None
        self._message = f"{self._model} was let go to save memory, and is loaded again when it is asked for"
        self.tell()

    def busy(self, busy: bool) -> None:
        self._busy = busy
        self.tell()

    def switched(self, off: bool) -> None:
        self._off = off
        self.tell()

    def tell(self) -> None:
        """Sends the message if it is another than the last."""
        state, message = self._state, self._message
        if state is State.READY and self._busy:
            state, message = State.BUSY, "filling"
        if self._off and state is not State.ERROR:
            state, message = State.OFF, "switched off in the settings"
        found: dict[str, object] = {"state": state.value, "message": message, "model": self._model}
        if state is State.LOADING and self._percentage is not None:
            found["percentage"] = self._percentage
        if found != self._sent:
            self._sent = found
            self._send(found)
