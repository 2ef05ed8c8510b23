"""The context that requests of a document are given: gathered from the workspace, and frozen while the cursor stays near.

Frozen, so that the denoiser's cache holds while a person types: it is keyed by everything that was read.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.context import Workspace, gather
from engine.filler import Filler
from engine.text import Document

_NEAR = 25  # lines that the cursor may move
_IDLE = 5.0  # seconds without a request after which what is frozen is refreshed
_KEPT = 32  # documents


@dataclass
class _Frozen:
    line: int
    text: str
    used: float
    budget: int


class Surroundings:
    """Contexts by document. `text` runs in the model's thread, the rest in the event loop's."""

    def __init__(self) -> None:
        self._workspace = Workspace([])
        self._frozen: dict[str, _Frozen] = {}
        self._open: tuple[Document, ...] = ()

    def use_roots(self, roots: Sequence[Path]) -> None:
        self._workspace = Workspace(roots, lambda: self._open)
        self._frozen.clear()

    def note(self, document: Document, offset: int, opened: Iterable[Document]) -> None:
        """A request came for this place; `opened`: all open documents as they stand."""
        self._open = tuple(opened)
        self._workspace.note_edit(document, offset)

    def forget(self, uri: str) -> None:
        self._frozen.pop(uri, None)

    def text(self, uri: str, document: Document, offset: int, budget: int, filler: Filler) -> str:
        """What to read before the prefix, `budget` tokens at most."""
        if budget <= 0 or not self._workspace.roots:
            return ""
        line, now = document.lines.line_at(offset), time.monotonic()
        frozen = self._frozen.get(uri)
        if (
            frozen is not None
            and abs(frozen.line - line) <= _NEAR
            and now - frozen.used < _IDLE
            and frozen.budget == budget
        ):
            frozen.used = now
            return frozen.text
        count = getattr(filler, "count_tokens", None) or (lambda text: len(text) // 3)
        found = gather(self._workspace, document, offset, budget, count)
        while len(self._frozen) >= _KEPT:
            self._frozen.pop(next(iter(self._frozen)))
        self._frozen[uri] = _Frozen(line, found.text, now, budget)
        return found.text
