"""Which models are known: what they are, what they need, and how far each was run here. Imports no torch.

A model's family is read from its `config.json`, never from its name; this table is for people, and for refusals that say
what would fit.
"""

from __future__ import annotations

from dataclasses import dataclass

DIFFUSION_GEMMA = "diffusion_gemma"


@dataclass(frozen=True)
class Known:
    """id: on the hub, or `embedded`. memory_gb: of the weights in bf16, as measured or from the number of parameters.
    noise, length, cache: in words. own_code: whether it comes with code of its own and needs --trust-remote-code. ran: what
    was run of it here."""

    id: str
    licence: str
    memory_gb: float
    noise: str
    length: str
    cache: str
    own_code: bool
    ran: str


TINY = "a tiny random model of its class, never its weights"

KNOWN = (
    Known("embedded", "Apache-2.0", 0.6, "mask", "learned", "exact", False, "all of it"),
    Known("google/diffusiongemma-26B-A4B-it", "Apache-2.0", 52.0, "random token", "searched", "exact", False, TINY),
)


def what_fits(gigabytes: float) -> str:
    """The known models that so much memory holds, in words."""
    fitting = [k for k in KNOWN if k.memory_gb * 1.08 <= gigabytes]
    if not fitting:
        return "none of the models of `midfill models` would fit"
    return "what would fit: " + ", ".join(f"{k.id} ({k.memory_gb:g} GB)" for k in fitting)
