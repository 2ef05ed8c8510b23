"""What runs in the model's thread for a request: pure functions of a document, so that the event loop waits for nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine import completion as completions
from engine.filler import CancelToken, Completion, Draft, Filler, FillSettings
from engine.hole import Hole, hole_at
from engine.syntax import tree_of
from engine.text import Document

OnDraft = Callable[[Hole, Draft], None]


@dataclass(frozen=True)
class Place:
    """Where to fill. `document` may differ from the client's by text that is to be taken as inserted; `offset`: code
    points into it. hole: where it is not the one that the cursor makes."""

    document: Document
    offset: int
    settings: FillSettings
    hole: Hole | None = None


def fill(
    filler: Filler,
    token: CancelToken,
    place: Place,
    on_draft: OnDraft | None = None,
    limit_ms: float | None = None,
) -> Completion:
    """The completion at a place; an empty one where it takes longer than `limit_ms`, looked at after each step. Parsing a
    large document is work, too, so it is done here."""
    token.check()
    begun = time.monotonic()
    hole = place.hole or hole_at(place.document, place.offset)
    token.check()
    for event in filler.fill(place.document, hole, place.settings, token):
        if isinstance(event, Completion):
            return event
        if on_draft is not None:
            on_draft(hole, event)
        if limit_ms is not None and (time.monotonic() - begun) * 1000 > limit_ms:
            return Completion("", hole.start, hole.end, why=f"it took longer than {limit_ms:.0f} ms")
    raise RuntimeError("a filler ended without a completion")


def texts_of(completion: Completion, count: int) -> list[str]:
    """The completion and its alternatives, the best first, each once, no empty one."""
    texts = [completion.text, *(alternative.text for alternative in completion.alternatives)]
    return [text for text in dict.fromkeys(texts) if text][:count]


def still_fitting(document: Document, offset: int, texts: Sequence[str]) -> list[str]:
    """Of texts offered before the ones that fit here now, filtered again: brackets may have been closed since."""
    tree = tree_of(document)
    hole = hole_at(document, offset, tree)
    found = (completions.refilter(document, hole, text, tree) for text in texts)
    return [text for text in dict.fromkeys(found) if text]
