"""A circuit breaker: after some failures in a row a server is left alone for a while, and whoever asks is told so at once."""

from __future__ import annotations

import time
from collections.abc import Callable

from engine.errors import ModelUnavailable

FAILURES = 3
REST = 30.0  # seconds


class Breaker:
    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._name, self._clock = name, clock
        self._failures, self._until, self._why = 0, 0.0, ""

    def check(self) -> None:
        """Raises `ModelUnavailable` while the server is left alone."""
        left = self._until - self._clock()
        if left > 0:
            raise ModelUnavailable(f"{self._name} is away ({self._why}): it is asked again in {left:.0f} s")

    def failed(self, why: str) -> None:
        self._failures, self._why = self._failures + 1, why
        if self._failures >= FAILURES:
            self._until = self._clock() + REST
            self._failures = FAILURES - 1  # the first failure afterwards opens it again

    def succeeded(self) -> None:
        self._failures, self._until = 0, 0.0
