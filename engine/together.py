"""Several holes of one document filled together, each seeing the drafts of the others.

Rounds of denoising come from the filler, where it can do that; a filler that cannot fills one hole after another, each with the
completions before it in place. The completions then go through the filters and the gate one by one, in the document as
it has become. Imports no torch.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from engine import filler as fillers
from engine.completion import Candidate, complete
from engine.errors import BadInput
from engine.filler import CancelToken, Filler, FillSettings
from engine.hole import Hole
from engine.text import Document


@dataclass(frozen=True)
class Mark:
    """A hole to fill with others. `lead`: text that is put before what is filled, a line break and indentation, say."""

    hole: Hole
    lead: str = ""


@dataclass(frozen=True)
class Filled:
    """What a mark became: `text` (its lead included) goes where its hole was. Empty where nothing could be filled: then
    what stood there stays."""

    mark: Mark
    text: str
    confidence: float = 0.0


@dataclass(frozen=True)
class Round:
    """The raw drafts of all holes after a round of denoising, in the holes' order, and how sure the model is of each."""

    number: int
    drafts: tuple[str, ...]
    confidences: tuple[float, ...]


@runtime_checkable
class JointFiller(Protocol):
    """A filler that can denoise several canvases side by side."""

    def rounds(
        self, document: Document, marks: Sequence[Mark], settings: FillSettings, cancel: CancelToken
    ) -> Iterator[Round]:
        """Yields a `Round` each time that every hole has advanced; the last one holds the texts. Raises `Cancelled`."""
        ...


def fill_together(
    filler: Filler, document: Document, marks: Sequence[Mark], settings: FillSettings, cancel: CancelToken
) -> Iterator[Round | list[Filled]]:
    """Yields rounds and ends in the list of what was filled, in the order of the marks.

    Raises `Cancelled`; `BadInput` where marks overlap or are not in order.
    """
    for first, second in itertools.pairwise(marks):
        if second.hole.start < first.hole.end or second.hole.start == first.hole.start:
            raise BadInput("holes that are filled together must be in order and must not overlap")
    drafts: list[Candidate | None] = [None] * len(marks)
    if isinstance(filler, JointFiller) and len(marks) > 1:
        for made in filler.rounds(document, marks, settings, cancel):
            yield made
            pairs = zip(made.drafts, made.confidences, strict=True)
            drafts = [Candidate(text, confidence) if text.strip() else None for text, confidence in pairs]
    filled: list[Filled] = []
    shift = 0
    for mark, draft in zip(marks, drafts, strict=True):
        cancel.check()
        current = document.text if not filled else applied(document.text, filled)
        start, end = mark.hole.start + shift, mark.hole.end + shift
        with_lead = Document(current[:start] + mark.lead + current[start:], document.language, document.path)
        hole = Hole(start + len(mark.lead), end + len(mark.lead), mark.hole.kind, mark.hole.slots)
        found = complete(with_lead, hole, [draft]) if draft is not None else None
        if found is None:
            completion = fillers.run(filler, with_lead, hole, settings, cancel)
            found = Candidate(completion.text, completion.confidence)
        sure = bool(found.text.strip()) and found.confidence >= settings.min_confidence
        text = mark.lead + found.text if sure else ""
        filled.append(Filled(mark, text, found.confidence if sure else 0.0))
        if text:
            shift += len(text) - (mark.hole.end - mark.hole.start)
    yield filled


def applied(text: str, filled: Sequence[Filled]) -> str:
    """The text with what was filled in place."""
    for one in reversed(filled):
        if one.text:
            text = text[: one.mark.hole.start] + one.text + text[one.mark.hole.end :]
    return text


def assembled(document: Document, marks: Sequence[Mark], drafts: Sequence[str], index: int) -> tuple[Document, Hole]:
    """The document as the hole at `index` sees it: the drafts of the others in place, its own lead, and the empty hole."""
    pieces: list[str] = []
    at = offset = 0
    for number, (mark, draft) in enumerate(zip(marks, drafts, strict=True)):
        pieces += [document.text[at : mark.hole.start], mark.lead]
        if number == index:
            offset = sum(map(len, pieces))
        else:
            pieces.append(draft)
        at = mark.hole.end
    pieces.append(document.text[at:])
    hole = Hole(offset, offset, marks[index].hole.kind, marks[index].hole.slots)
    return Document("".join(pieces), document.language, document.path), hole
