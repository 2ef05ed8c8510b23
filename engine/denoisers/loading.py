"""From a model's folder to its denoiser: `config.json` says the shape, `denoiser.json` how it denoises."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from engine.denoisers import families
from engine.denoisers.base import Denoiser, SuffixPlace
from engine.denoisers.block_causal import BlockCausalDenoiser
from engine.denoisers.transformer import Shape, Transformer
from engine.denoisers.weights import load_adapter, read_config, read_tensors
from engine.errors import ModelUnavailable
from engine.tokenizer import Tokenizer

DESCRIPTION = "denoiser.json"


@dataclass(frozen=True)
class Description:
    """`denoiser.json`: start, fill_end: token ids; control: ids that no text encodes to and none may show; mask: id
    of the noise token, or None where the adapter brings an embedding; rank: of the adapter, 0 for none; suffix:
    encoded, pinned or both; max_slots: of a canvas; window: tokens read at most, canvas and all."""

    family: str
    start: int
    fill_end: int
    control: list[int]
    mask: int | None = None
    rank: int = 0
    suffix: str = "encoded"
    max_slots: int = 32
    window: int = 2048


def read_description(folder: Path, config: dict[str, Any]) -> Description:
    """Where a plain Hugging Face folder has no `denoiser.json`, its `mask_token_id` and `eos_token_id` serve.

    Raises `ModelUnavailable` where neither says which token is noise, or a key is unknown.
    """
    path = folder / DESCRIPTION
    if path.exists():
        try:
            return Description(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as broken:
            raise ModelUnavailable(f"{path} cannot be read: {broken}") from None
    mask, end = config.get("mask_token_id"), config.get("eos_token_id")
    end = end[0] if isinstance(end, list) and end else end
    start = end if config.get("bos_token_id") is None else config["bos_token_id"]
    if not (isinstance(mask, int) and isinstance(end, int) and isinstance(start, int)):
        raise ModelUnavailable(
            f"{folder} is a left-to-right model: no {DESCRIPTION}, and config.json names no mask_token_id and eos_token_id"
        )
    return Description("block-causal", start, end, sorted({start, end, mask}), mask, suffix="pinned")


def load_denoiser(
    folder: Path,
    name: str,
    device: torch.device,
    dtype: torch.dtype,
    progress: Callable[[float, str], None] = lambda share, text: None,
) -> Denoiser:
    """Reads a folder into a denoiser. Raises `ModelUnavailable` where something is missing, broken or unknown."""
    if not folder.is_dir():
        raise ModelUnavailable(f"no model {name!r}: {folder} is not a folder")
    progress(0.05, "reading the description")
    config = read_config(folder)
    if config.get("model_type") == families.DIFFUSION_GEMMA:
        from engine.denoisers.gemma_loading import load_diffusion_gemma

        return load_diffusion_gemma(folder, name, device, dtype, progress)
    description = read_description(folder, config)
    if description.family != "block-causal":
        raise ModelUnavailable(f"{folder}: unknown denoiser family {description.family!r} (known: block-causal)")
    try:
        suffix = SuffixPlace(description.suffix)
    except ValueError:
        raise ModelUnavailable(
            f"{folder}: suffix must be encoded, pinned or both, not {description.suffix!r}"
        ) from None
    shape = Shape.from_config(config)
    tokenizer = Tokenizer(folder / "tokenizer.json")
    progress(0.2, "reading the weights")
    state = read_tensors(folder)
    progress(0.6, "laying out the weights")
    model = Transformer(shape, state, dtype).to(device)
    adapter = load_adapter(shape, description.rank, state, dtype).to(device) if description.rank else None
    progress(1.0, "ready")
    return BlockCausalDenoiser(
        name,
        model,
        tokenizer,
        start=description.start,
        fill_end=description.fill_end,
        control=frozenset(description.control),
        adapter=adapter,
        mask=description.mask,
        suffix=suffix,
        max_slots=description.max_slots,
        window=description.window,
    )
