"""Asks a server for text over the OpenAI-compatible API: streamed, with limits, retries, and a cancel that closes the stream."""

from __future__ import annotations

import json
import queue
import random
import threading
import time
from collections.abc import Iterator
from typing import Any

from engine.errors import ModelUnavailable
from engine.filler import CancelToken
from engine.remote.breaker import Breaker

CONNECT, SILENCE = 3.0, 30.0  # seconds to connect; between two pieces of an answer
RETRIES = 2  # of a request that nothing came of
POLL = 0.03  # seconds between two looks at the cancel flag
LONGEST = 200_000  # characters of an answer; more is no fill
_AGAIN = (408, 425, 429, 500, 502, 503, 504)


class Client:
    """One server. `address`: scheme, host and port. key: sent as a bearer token, and shown nowhere."""

    def __init__(self, address: str, key: str | None = None) -> None:
        try:
            import httpx
        except ImportError:
            raise ModelUnavailable("a model on a server needs `pip install 'midfill[remote]'`") from None
        self._httpx, self.address = httpx, address
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        limits = httpx.Timeout(SILENCE, connect=CONNECT)
        self._http = httpx.Client(base_url=address, headers=headers, timeout=limits, follow_redirects=False)
        self._breaker = Breaker(address)

    def models(self) -> list[str]:
        """Ids of the models that the server has. Raises `ModelUnavailable` where it is away or answers something else."""
        try:
            answer = self._http.get("/v1/models")
            if answer.status_code >= 400:
                raise ModelUnavailable(self._refused(answer.status_code))
            return [str(one["id"]) for one in answer.json()["data"]]
        except self._httpx.HTTPError as error:
            raise ModelUnavailable(self._away(error)) from None
        except (ValueError, KeyError, TypeError):
            raise ModelUnavailable(f"{self.address} does not speak the OpenAI-compatible API") from None

    def stream(self, path: str, body: dict[str, Any], cancel: CancelToken) -> Iterator[str]:
        """The pieces of text of an answer as they come. Raises `Cancelled` soon after the flag is set, its stream closed, and
        `ModelUnavailable` where the server is away, refuses or breaks off."""
        for attempt in range(RETRIES + 1):
            self._breaker.check()
            begun = False
            try:
                for piece in self._once(path, body, cancel):
                    begun = True
                    yield piece
                self._breaker.succeeded()
                return
            except _Failed as failure:
                if begun or not failure.again or attempt == RETRIES:
                    self._breaker.failed(str(failure))
                    raise ModelUnavailable(str(failure)) from None
                self._wait(0.2 * 2**attempt * random.uniform(0.5, 1.5), cancel)

    def _once(self, path: str, body: dict[str, Any], cancel: CancelToken) -> Iterator[str]:
        """One request. It is read in a thread of its own, so that a cancel need not wait for the server."""
        cancel.check()
        pieces: queue.SimpleQueue[str | _Failed | None] = queue.SimpleQueue()
        stop = threading.Event()
        threading.Thread(target=self._read, args=(path, body, pieces, stop), daemon=True).start()
        length = 0
        try:
            while True:
                cancel.check()
                try:
                    piece = pieces.get(timeout=POLL)
                except queue.Empty:
                    continue
                if piece is None:
                    return
                if isinstance(piece, _Failed):
                    raise piece
                length += len(piece)
                if length > LONGEST:
                    raise _Failed(f"{self.address} does not stop writing", again=False)
                yield piece
        finally:
            stop.set()

    def _read(self, path: str, body: dict[str, Any], pieces: queue.SimpleQueue, stop: threading.Event) -> None:
        try:
            with self._http.stream("POST", path, json=body | {"stream": True}) as answer:
                if answer.status_code >= 400:
                    pieces.put(_Failed(self._refused(answer.status_code), answer.status_code in _AGAIN))
                    return
                for line in answer.iter_lines():
                    if stop.is_set():
                        return  # leaving the block closes the stream, and the server stops
                    data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
                    if data == "[DONE]":
                        break
                    if data:
                        pieces.put(_text_of(json.loads(data)))
                pieces.put(None)
        except self._httpx.HTTPError as error:
            pieces.put(_Failed(self._away(error), True))
        except (ValueError, KeyError, TypeError, IndexError, AttributeError):
            pieces.put(_Failed(f"{self.address} answers what is not the OpenAI-compatible API", False))
        except Exception as error:  # whatever it is, somebody waits for an end
            pieces.put(_Failed(f"{self.address}: {type(error).__name__}", False))

    def _refused(self, status: int) -> str:
        why = {
            401: "it wants another key: set MIDFILL_API_KEY",
            403: "the key may not do that",
            404: "it has no such model",
        }
        return f"{self.address} refuses ({status}{': ' + why[status] if status in why else ''})"

    def _away(self, error: Exception) -> str:
        slow = isinstance(error, self._httpx.TimeoutException)
        return f"{self.address} {'does not answer in time' if slow else 'cannot be reached'} ({type(error).__name__})"

    @staticmethod
    def _wait(seconds: float, cancel: CancelToken) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            cancel.check()
            time.sleep(POLL)


class _Failed(Exception):
    """again: whether the same request might do better."""

    def __init__(self, message: str, again: bool) -> None:
        super().__init__(message)
        self.again = again


def _text_of(event: dict[str, Any]) -> str:
    """The text of one event, of a completion or of a chat."""
    if "error" in event:
        raise KeyError("error")
    if not event["choices"]:
        return ""  # usage alone
    choice = event["choices"][0]
    text = choice["text"] if "text" in choice else choice["delta"].get("content")
    return text or ""
