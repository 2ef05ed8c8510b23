"""Is this run worse than one before? The same holes are compared pair by pair, so that the draw's luck is in neither.

Rates (exact, passed) by McNemar's exact test, one-sided: of the holes in which the two runs differ, were so many lost by
chance? Edit similarity by a sign-flip permutation test of the differences, one-sided, 10,000 flips of a fixed seed. A drop
counts as one where the smallest of the p-values, corrected after Holm, is below 0.05.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import BadInput

VERSION = 1
LEVEL = 0.05
FLIPS = 10_000
RATES = ("exact", "passed")


@dataclass(frozen=True)
class Drop:
    """A figure that fell significantly. p: its p-value, corrected for how many figures were compared."""

    figure: str
    before: float
    now: float
    p: float


def hole_id(hole: dict[str, Any], before: str) -> str:
    """Of one hole: the same while its file, its text and the text before it are the same. `before`: 200 characters or so."""
    parts = (hole["path"], hole["kind"], hole["expected"], before)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def content(report: dict[str, Any]) -> str:
    """What a baseline file holds of a run."""
    kept = ("id", "exact", "similarity", "passed")
    holes = [{key: hole[key] for key in kept if key in hole} for hole in report["holes"]]
    return json.dumps({"version": VERSION, "model": report["model"], "seed": report["seed"], "holes": holes}, indent=1)


def read(path: Path) -> dict[str, dict[str, Any]]:
    """A baseline's holes by id. Raises `BadInput` where it is no baseline."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"cannot read the baseline {path}: {error.strerror}") from None
    except ValueError as error:
        raise BadInput(f"{path} is no baseline: {error}") from None
    if not isinstance(data, dict) or data.get("version") != VERSION or not isinstance(data.get("holes"), list):
        raise BadInput(f"{path} is no baseline of this version: make one with --save-baseline")
    try:
        return {hole["id"]: hole for hole in data["holes"]}
    except (TypeError, KeyError):
        raise BadInput(f"{path} is no baseline: a hole of it has no id") from None


def drops(before: dict[str, dict[str, Any]], holes: Sequence[dict[str, Any]]) -> tuple[list[Drop], int]:
    """The figures that fell, and how many holes both runs have. Raises `BadInput` where they have none in common."""
    pairs = [(before[hole["id"]], hole) for hole in holes if hole["id"] in before]
    if not pairs:
        raise BadInput("the baseline has none of these holes: was it made with other files, kinds or another seed?")
    tested: list[tuple[float, str, float, float]] = []
    for rate in RATES:
        both = [(bool(a[rate]), bool(b[rate])) for a, b in pairs if a.get(rate) is not None and b.get(rate) is not None]
        if both:
            lost = sum(a and not b for a, b in both)
            won = sum(b and not a for a, b in both)
            tested.append((mcnemar(lost, won), rate, _mean([a for a, _ in both]), _mean([b for _, b in both])))
    differences = [b["similarity"] - a["similarity"] for a, b in pairs]
    p = sign_flips(differences)
    tested.append(
        (p, "similarity", _mean([a["similarity"] for a, _ in pairs]), _mean([b["similarity"] for _, b in pairs]))
    )
    found, worst = [], 0.0
    for rank, (p, figure, was, now) in enumerate(sorted(tested)):  # Holm's: the smallest is multiplied most
        worst = max(worst, min(1.0, p * (len(tested) - rank)))
        if worst < LEVEL:
            found.append(Drop(figure, was, now, worst))
    return found, len(pairs)


def mcnemar(lost: int, won: int) -> float:
    """How likely so many are lost among those that differ, if losing and winning are as likely."""
    count = lost + won
    return sum(math.comb(count, k) for k in range(lost, count + 1)) / 2**count


def sign_flips(differences: Sequence[float]) -> float:
    """How likely a sum so low is, if each difference could as well have the other sign."""
    draw = random.Random(0)
    observed = sum(differences)
    sizes = [abs(d) for d in differences if d]
    if not sizes:
        return 1.0
    low = sum(sum(size if draw.random() < 0.5 else -size for size in sizes) <= observed + 1e-12 for _ in range(FLIPS))
    return (low + 1) / (FLIPS + 1)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
