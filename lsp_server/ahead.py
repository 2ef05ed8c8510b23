"""The next completion, prepared after an accept while the machine is idle."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from engine.text import Document


@dataclass(frozen=True)
class Prepared:
    """A completion under way for this very snapshot and offset."""

    document: Document
    offset: int
    task: asyncio.Task


class Ahead:
    """What is being prepared, if anything: one place at a time, the last that was accepted into."""

    def __init__(self) -> None:
        self._prepared: Prepared | None = None

    def begin(self, prepared: Prepared) -> None:
        self.stop()
        self._prepared = prepared

    def stop(self) -> None:
        if self._prepared is not None:
            self._prepared.task.cancel()
        self._prepared = None

    async def wait_for(self, document: Document, offset: int) -> None:
        """Waits for what is being prepared, if it is for this place; else at once."""
        prepared = self._prepared
        if prepared is None or prepared.document is not document or prepared.offset != offset:
            return
        await asyncio.wait([prepared.task])
