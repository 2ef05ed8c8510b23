"""How well a review finds faults: some are injected into lines of the repository at hand, and it is counted which are found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engine.check.draws import generator
from engine.check.places import Place, Slip
from engine.check.review import Line, Suspect, key, lines_of, share_above, suspect
from engine.filler import CancelToken, Reader
from engine.text import Document


@dataclass(frozen=True)
class Injected:
    """A fault that was put into a line, and what the review made of the line with it and without it (None: nothing)."""

    slip: Slip
    found: Suspect | None
    untouched: Suspect | None
    repaired: bool

    @property
    def gain(self) -> float:
        return self.found.gain if self.found else float("-inf")


def inject(
    reader: Reader, lines: Sequence[Line], seed: int, cancel: CancelToken, progress: Callable[[int, int], None]
) -> Iterator[Injected]:
    """One fault in each line, its kind drawn first, so that the rare kinds are measured too."""
    for done, line in enumerate(lines, start=1):
        place, text = _fault(line, seed)
        before = line.document
        broken = Document(before.text[: place.start] + text + before.text[place.end :], before.language, before.path)
        faulty = next((one for one in lines_of(broken) if one.number == line.number), None)
        found = suspect(reader, faulty, cancel) if faulty else None
        untouched = suspect(reader, line, cancel)
        repaired = found is not None and found.line_instead == before.lines.line_text(line.number - 1)
        progress(done, len(lines))
        yield Injected(place.slip, found, untouched, repaired)


def _fault(line: Line, seed: int) -> tuple[Place, str]:
    draw = generator(key(line, seed))
    slip = draw.choice(sorted({place.slip for place in line.places}))
    place = draw.choice([place for place in line.places if place.slip is slip])
    return place, draw.choice(place.others)


def figures(injected: Sequence[Injected], level: float) -> dict[str, Any]:
    """Precision and recall where as many lines are faulty as are not. A line is flagged whose gain no more than `level` of
    the unchanged lines reach; it is judged by the other lines, never by itself."""
    clean = [one.untouched.gain if one.untouched else float("-inf") for one in injected]
    flagged = [share_above(sorted(clean[:i] + clean[i + 1 :]), one.gain) <= level for i, one in enumerate(injected)]
    wrongly = [share_above(sorted(clean[:i] + clean[i + 1 :]), gain) <= level for i, gain in enumerate(clean)]
    found: dict[str, Any] = {"level": level, **_rates(injected, flagged, sum(wrongly), clean)}
    found["by_slip"] = {}
    for slip in Slip:
        of_slip = [i for i, one in enumerate(injected) if one.slip is slip]
        if of_slip:
            some = _rates([injected[i] for i in of_slip], [flagged[i] for i in of_slip], 0, clean)
            found["by_slip"][str(slip)] = {key: some[key] for key in ("lines", "recall", "repaired", "ranked")}
    return found


def _rates(some: Sequence[Injected], flagged: Sequence[bool], wrongly: int, clean: Sequence[float]) -> dict[str, Any]:
    """ranked: how often a faulty line scores more than an untouched one (ties count half), the area under the ROC curve."""
    right = sum(flagged)
    above = sum((one.gain > other) + (one.gain == other) / 2 for one in some for other in clean)
    return {
        "lines": len(some),
        "recall": round(right / len(some), 4) if some else None,
        "precision": round(right / (right + wrongly), 4) if right + wrongly else None,
        "repaired": round(sum(one.repaired for one in some) / len(some), 4) if some else None,
        "ranked": round(above / (len(some) * len(clean)), 4) if some and clean else None,
    }
