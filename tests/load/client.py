"""A client for many requests: it keeps times and kinds of the answers, not the messages."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

import psutil

from tests.lsp_client import Client, position

INLINE = "textDocument/inlineCompletion"


@dataclass
class Answer:
    """When a request was sent and answered (seconds), how often, and with what: items, or an error's code."""

    uri: str
    sent: float
    order: int
    answered: float | None = None
    count: int = 0
    items: int = 0
    error: int | None = None
    place: int = -1


@dataclass
class Log:
    answers: dict[int, Answer] = field(default_factory=dict)
    arrived: int = 0
    tracebacks: int = 0
    kinds: Counter = field(default_factory=Counter)


class LoadClient(Client):
    """As `Client`, for floods: see `log`."""

    log: Log

    def __init__(self, *args, **kwargs) -> None:
        self.log = Log()
        super().__init__(*args, **kwargs)

    def _read(self) -> None:
        import contextlib

        with contextlib.suppress(OSError, ValueError):
            while (message := self._read_message()) is not None:
                self._take(message)
        with self._news:
            self.ended = True
            self._news.notify_all()

    def _take(self, message: dict) -> None:
        if "method" in message:
            self.log.kinds[message["method"]] += 1
            if "id" in message:
                self.send({"id": message["id"], "result": None})
            return
        with self._news:
            answer = self.log.answers.get(message["id"])
            if answer is None:
                self.messages.append(message)
            else:
                answer.count += 1
                answer.answered = time.monotonic()
                answer.place = self.log.arrived
                self.log.arrived += 1
                answer.items = len(message.get("result") or [])
                answer.error = message.get("error", {}).get("code")
            if "Traceback" in str(message.get("error", "")):
                self.log.tracebacks += 1
            self._news.notify_all()

    def type(self, uri: str, line: int, column: int, text: str, version: int) -> None:
        at = position(line, column)
        change = {"range": {"start": at, "end": at}, "text": text}
        params = {"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]}
        self.notify("textDocument/didChange", params)

    def ask_inline(self, uri: str, line: int, column: int) -> int:
        self._next_id += 1
        number = self._next_id
        self.log.answers[number] = Answer(uri, time.monotonic(), number)
        params = {"textDocument": {"uri": uri}, "position": position(line, column), "context": {"triggerKind": 2}}
        self.send({"id": number, "method": INLINE, "params": params})
        return number

    def settle(self, seconds: float = 60.0) -> None:
        """Waits until every request is answered. Raises AssertionError where one is not."""
        deadline = time.monotonic() + seconds
        with self._news:
            while left := [n for n, answer in self.log.answers.items() if not answer.count]:
                assert not self.ended, "the server ended"
                assert self._news.wait(deadline - time.monotonic()), f"{len(left)} requests were never answered"


def resident_mb(client: Client) -> float:
    assert client.process is not None
    return psutil.Process(client.process.pid).memory_info().rss / (1 << 20)
