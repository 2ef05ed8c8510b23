"""Which models are known: what they are, what they need, and how far each was run here. Imports no torch.

A model's family is read from its `config.json` (and `denoiser.json`), never from its name; the table of known models is for
people, for refusals that say what would fit, and for what `midfill models pull` writes beside the weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

DIFFUSION_GEMMA = "diffusion_gemma"
BLOCK_CAUSAL, WHOLE_SEQUENCE, BLOCKS = "block-causal", "whole-sequence", "blocks"
FAMILIES = (BLOCK_CAUSAL, WHOLE_SEQUENCE, BLOCKS)
OWN_CODE = "own code"


@dataclass(frozen=True)
class Recipe:
    """How a model type is run. shape: of our own forward pass, or `OWN_CODE`. values: of `denoiser.json`, where the folder
    does not say otherwise. block: the key of `config.json` that names the tokens of a block, and the number without it."""

    family: str
    shape: str
    values: Mapping[str, Any] = field(default_factory=dict)
    block: tuple[str, int] | None = None


# By `model_type`. The code that these models bring is not run, but for LLaDA2.x: the others are shaped like Qwen or Llama.
RECIPES = {
    "Dream": Recipe(WHOLE_SEQUENCE, "qwen2", {"shifted": True, "mask": 151666}),
    "llada": Recipe(WHOLE_SEQUENCE, "llada", {"shifted": False, "mask": 126336}),
    "sdar": Recipe(BLOCKS, "qwen3", {"shifted": False, "mask": 151669}, ("block_size", 4)),
    "Fast_dLLM_Qwen": Recipe(BLOCKS, "qwen2", {"shifted": True, "mask": 151665}, ("bd_size", 32)),
    "llada2_moe": Recipe(BLOCKS, OWN_CODE, {"shifted": False, "mask": 156895}, ("block_size", 32)),
}


@dataclass(frozen=True)
class Known:
    """id: on the hub, or `embedded`. memory_gb: of the weights in bf16, from the number of parameters (embedded: fp32).
    noise, length, cache: in words. own_code: whether code that comes with it has to be run. ran: what was run of it here.
    describes: what `denoiser.json` has to say, where its config does not."""

    id: str
    licence: str
    memory_gb: float
    noise: str
    length: str
    cache: str
    own_code: bool = False
    ran: str = "a tiny model of its class, random weights"
    describes: Mapping[str, Any] | None = None


KNOWN = (
    Known("embedded", "Apache-2.0", 0.6, "mask", "learned", "exact", ran="all of it"),
    Known("google/diffusiongemma-26B-A4B-it", "Apache-2.0", 52.0, "random token", "searched", "exact"),
    Known(
        "fredzzp/open-dcoder-0.5B",
        "see its page",
        1.0,
        "mask",
        "searched",
        "none",
        describes={"family": WHOLE_SEQUENCE, "shifted": True},
    ),
    Known("Dream-org/Dream-Coder-v0-Base-7B", "Apache-2.0", 15.2, "mask", "searched", "none"),
    Known("Dream-org/Dream-Coder-v0-Instruct-7B", "Apache-2.0", 15.2, "mask", "searched", "none"),
    Known("Dream-org/DreamOn-v0-7B", "Apache-2.0", 15.2, "mask", "learned", "none"),
    Known("GSAI-ML/LLaDA-8B-Base", "MIT", 16.0, "mask", "searched", "none"),
    Known("GSAI-ML/LLaDA-8B-Instruct", "MIT", 16.0, "mask", "searched", "none"),
    Known("JetLM/SDAR-1.7B-Chat", "Apache-2.0", 4.1, "mask", "searched", "exact"),
    Known("JetLM/SDAR-8B-Chat", "Apache-2.0", 16.4, "mask", "searched", "exact"),
    Known("Efficient-Large-Model/Fast_dLLM_v2_1.5B", "Apache-2.0", 3.1, "mask", "searched", "exact"),
    Known("Efficient-Large-Model/Fast_dLLM_v2_7B", "Apache-2.0", 15.2, "mask", "searched", "exact"),
    Known("inclusionAI/LLaDA2.0-mini", "Apache-2.0", 32.0, "mask", "searched", "none", own_code=True),
    Known(
        "inclusionAI/LLaDA2.1-mini",
        "Apache-2.0",
        32.0,
        "mask",
        "searched",
        "none",
        own_code=True,
        describes={"threshold": 0.7, "replace_above": 0.5},
    ),
)


def known(model: str) -> Known | None:
    return next((k for k in KNOWN if k.id == model), None)


def what_fits(gigabytes: float) -> str:
    """The known models that so much memory holds, in words."""
    fitting = [k for k in KNOWN if k.memory_gb * 1.08 <= gigabytes]
    if not fitting:
        return "none of the models of `midfill models` would fit"
    smallest, *others = sorted(fitting, key=lambda k: k.memory_gb)
    return "what would fit: " + ", ".join(f"{k.id} ({k.memory_gb:g} GB)" for k in (smallest, *others[-3:]))
