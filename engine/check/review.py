"""Reviews lines by the model's surprise: how much likelier it finds another word at some place of a line than what stands there.

A line is read with the few lines behind it, so that an alternative is judged by what it makes of them too. The score is
the gain in log-probability (nats) of the best alternative; how unusual that is, is told by lines that nobody changed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engine.check.draws import digest
from engine.check.places import Place, Slip, places
from engine.filler import CancelToken, Reader, TokenRead
from engine.text import Document

BEFORE = 2400  # characters read before a line, at least, where there are so many
STEP = 1200  # characters by which the start of what is read moves
BEHIND = 160  # characters read behind a line
MOST_ALTERNATIVES = 10  # of a line, tried in full
_NEVER = -30.0  # nats: a name that is not among the model's rivals


@dataclass(frozen=True)
class Suspect:
    """A line, and the alternative that the model likes best in it. gain: nats that the alternative is likelier by."""

    document: Document
    line: int
    place: Place
    text: str
    gain: float

    @property
    def stands(self) -> str:
        return self.document.text[self.place.start : self.place.end]

    @property
    def line_text(self) -> str:
        return self.document.lines.line_text(self.line - 1)

    @property
    def line_instead(self) -> str:
        """The line with the alternative in place."""
        begin = self.document.lines.line_start(self.line - 1)
        start, end = self.place.start - begin, self.place.end - begin
        return self.line_text[:start] + self.text + self.line_text[end:]


@dataclass(frozen=True)
class Line:
    """A line that can be reviewed, by number from 1, and its places."""

    document: Document
    number: int
    places: tuple[Place, ...]


def lines_of(document: Document) -> list[Line]:
    """The lines of a document in which something else might stand."""
    return [Line(document, number, tuple(some)) for number, some in sorted(places(document).items())]


def suspect(reader: Reader, line: Line, cancel: CancelToken) -> Suspect | None:
    """The best alternative of a line; None where none is worth trying. Raises `Cancelled`."""
    text, lines = line.document.text, line.document.lines
    begin = max(0, lines.line_start(line.number - 1) - 1)  # the line break before the line is read with it
    start = max(0, begin - BEFORE)
    start -= start % STEP
    end = lines.line_end(line.number - 1)
    prefix, stands, suffix = text[start:begin], text[begin : end + BEHIND], text[end + BEHIND : end + 5 * BEHIND]
    of_line = [place for place in line.places if begin <= place.start and place.end <= end]
    if not of_line or not prefix:
        return None
    [read] = reader.read(prefix, [stands], suffix, cancel)
    tried = _worth_trying(stands, begin, read, of_line)
    if not tried:
        return None
    texts = [stands[: p.start - begin] + other + stands[p.end - begin :] for p, other in tried]
    scores = [_total(tokens) for tokens in reader.read(prefix, texts, suffix, cancel, 0)]
    best = max(range(len(tried)), key=lambda i: scores[i])
    place, other = tried[best]
    return Suspect(line.document, line.number, place, other, scores[best] - _total(read))


def _worth_trying(
    stands: str, begin: int, read: Sequence[TokenRead], of_line: Sequence[Place]
) -> list[tuple[Place, str]]:
    """The alternatives that the model would have liked best where they begin, by how much more than what stands."""
    ranked: list[tuple[float, int, Place, str]] = []
    for place in of_line:
        at = place.start - begin
        token = next((t for t in read if t.start <= at < t.end), None)
        if token is None:
            continue
        for other in place.others:
            if place.slip is Slip.VARIABLE:
                wanted = stands[token.start : at] + other
                liked = max(
                    (s for t, s in token.rivals if wanted.startswith(t) and len(t) > at - token.start), default=_NEVER
                )
                if liked == _NEVER:
                    continue
            else:  # few, and not told by where they begin
                liked = 0.0
            ranked.append((liked - token.logp, -len(ranked), place, other))
    ranked.sort(reverse=True, key=lambda one: one[:2])
    return [(place, other) for _, _, place, other in ranked[:MOST_ALTERNATIVES]]


def _total(tokens: Iterable[TokenRead]) -> float:
    return sum(token.logp for token in tokens)


def share_above(calibration: Sequence[float], score: float) -> float:
    """The share of unchanged lines that surprise as much or more, plus one in each (so never 0). calibration: ascending."""
    return (len(calibration) - bisect_left(calibration, score) + 1) / (len(calibration) + 1)


def key(line: Line, seed: int) -> str:
    """What is drawn for a line hangs on this."""
    return f"{seed}:{line.document.path}:{line.number}"


def draw(lines: Sequence[Line], count: int, seed: int) -> list[Line]:
    """`count` lines (fewer where there are no more), the same for a seed whatever the machine, in their documents' order so
    that the model's cache serves."""
    drawn = sorted(lines, key=lambda line: digest(key(line, seed)))[:count]
    return sorted(drawn, key=lambda line: (line.document.path or "", line.number))


def review(
    reader: Reader, lines: Sequence[Line], cancel: CancelToken, progress: Callable[[int, int], None]
) -> Iterator[Suspect]:
    """A suspect for each line that has one."""
    for done, line in enumerate(lines, start=1):
        found = suspect(reader, line, cancel)
        progress(done, len(lines))
        if found is not None:
            yield found


def as_dict(found: Suspect, share: float) -> dict[str, Any]:
    return {
        "path": found.document.path,
        "line": found.line,
        "slip": str(found.place.slip),
        "stands": found.stands,
        "instead": found.text,
        "gain": round(found.gain, 3),
        "share": round(share, 4),
        "text": found.line_text.strip(),
        "text_instead": found.line_instead.strip(),
    }
