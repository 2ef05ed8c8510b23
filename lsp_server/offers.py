"""Completions that were offered lately: typing the characters that ghost text shows costs no model run.

Keyed by the text around the cursor, so that an offer is found again after one has typed into it, deleted back, undone, or
edited far away. A bounded ring: the oldest offer goes first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.text import Document

BEFORE, AFTER = 2000, 600  # characters around the cursor that an offer depends on
_CLOSERS = ")]}\"'`"  # what editors put behind the cursor by themselves as one types
_MOST_CLOSERS = 4


@dataclass(frozen=True)
class Offer:
    """Texts, best first, for a place in a document; `choice`: whatever else they depend on (model, settings); `asked`: how
    many were looked for, of which fewer may have been found."""

    uri: str
    choice: object
    before: str
    after: str
    texts: tuple[str, ...]
    asked: int


class Offers:
    """The latest offers of all documents, `entries` at most."""

    def __init__(self, entries: int) -> None:
        self._ring: deque[Offer] = deque(maxlen=entries)

    def __len__(self) -> int:
        return len(self._ring)

    def resize(self, entries: int) -> None:
        self._ring = deque(self._ring, maxlen=entries)

    def add(
        self, uri: str, choice: object, document: Document, offset: int, texts: Sequence[str], asked: int = 1
    ) -> None:
        before, after = _around(document, offset)
        self._ring.append(Offer(uri, choice, before, after, tuple(texts), asked))

    def find(self, uri: str, choice: object, document: Document, offset: int, asked: int = 1) -> tuple[str, ...]:
        """What is left of the newest offer that the text before the cursor has gone into; none where there is none.

        An offer for which fewer were looked for than are `asked` for now does not count.
        """
        before, after = _around(document, offset)
        # one offer may have been made where another is typed into, so more than its own reach is looked at
        reach = document.text[max(0, offset - 2 * BEFORE) : offset]
        for offer in reversed(self._ring):
            if (offer.uri, offer.choice) == (uri, choice) and offer.asked >= asked and _follows(after, offer.after):
                left = tuple(dict.fromkeys(text for text in _left(offer, before, reach) if text))
                if left:
                    return left
        return ()

    def forget(self, uri: str) -> None:
        """A document was closed."""
        kept = [offer for offer in self._ring if offer.uri != uri]
        self._ring = deque(kept, maxlen=self._ring.maxlen)

    def clear(self) -> None:
        self._ring.clear()


def _around(document: Document, offset: int) -> tuple[str, str]:
    text = document.text
    return text[max(0, offset - BEFORE) : offset], text[offset : offset + AFTER]


def _follows(after: str, offered: str) -> bool:
    """Whether the text behind the cursor is the offer's, perhaps behind brackets and quotes that the editor closed."""
    if after == offered:
        return True
    closed = 0
    while closed < _MOST_CLOSERS and closed < len(after) and after[closed] in _CLOSERS:
        closed += 1
        rest = after[closed:]
        # both were cut at the same length, so the longer way to the suffix shows less of it
        if rest and offered.startswith(rest) and len(rest) >= min(len(offered), AFTER - closed):
            return True
        if not rest and not offered:
            return True
    return False


def _left(offer: Offer, before: str, reach: str) -> Iterator[str]:
    """Of each text what is not typed yet, where the text before the cursor is the offer's and a start of the text."""
    for text in offer.texts:
        for typed in range(min(len(text), len(reach)), -1, -1):
            if not reach.endswith(text[:typed]):
                continue
            stem = reach[: len(reach) - typed]
            # the start of a document is the start of both, or neither
            if (stem[-BEFORE:] if len(offer.before) >= BEFORE else stem) == offer.before:
                yield text[typed:]
                break
