"""How a canvas is sampled: the numbers that a sampler goes by. A denoiser declares those that it was made for."""

from __future__ import annotations

import enum
from dataclasses import dataclass

UNIFORM_STEPS = 48  # of a canvas with uniform noise, where nothing else is said: DiffusionGemma's own


class Rule(enum.StrEnum):
    """Which undecided slots are accepted: those whose best token is sure enough, or the most certain ones whose
    entropies together stay under a bound."""

    CONFIDENCE = "confidence"
    ENTROPY = "entropy"


@dataclass(frozen=True)
class SamplerSettings:
    """threshold: of the confidence rule (0 to 1; above 1 only the leftmost slot is taken, one a step).

    entropy_bound: nats, of the entropy rule. revoke_below: an accepted slot whose token's probability falls below
    this goes back to noise, at most `max_revocations` times a slot, which bounds the loop. temperature: 0 takes the
    best token, above it the token is drawn. sure_entropy: nats; two equal drafts with a mean entropy below end the run.
    max_steps: a canvas; None allows as many as there are slots and revocations (with uniform noise: `UNIFORM_STEPS`).
    Of uniform noise alone: schedule: the first and the last temperature, falling linearly over the steps; stable_steps:
    how many drafts before must equal the last one to end the run. replace_above: a decided slot whose best token is
    another with at least this probability takes that one (token editing, LLaDA2.1, arXiv 2602.08676); None: never.
    """

    rule: Rule = Rule.CONFIDENCE
    threshold: float = 0.9
    entropy_bound: float = 0.4
    revoke_below: float = 0.02
    max_revocations: int = 1
    temperature: float = 0.0
    sure_entropy: float = 0.005
    max_steps: int | None = None
    schedule: tuple[float, float] | None = None
    stable_steps: int = 1
    replace_above: float | None = None
