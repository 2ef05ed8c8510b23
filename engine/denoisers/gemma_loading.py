"""From a folder to a DiffusionGemma denoiser."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from engine.denoisers.device import float_precision
from engine.denoisers.diffusion_gemma import DiffusionGemmaDenoiser
from engine.denoisers.diffusion_gemma_prompt import around
from engine.denoisers.families import what_fits
from engine.denoisers.on_disk import check_memory, check_whole
from engine.errors import ModelUnavailable
from engine.tokenizer import Tokenizer


def load_diffusion_gemma(
    folder: Path,
    name: str,
    device: torch.device,
    dtype: torch.dtype,
    progress: Callable[[float, str], None],
) -> DiffusionGemmaDenoiser:
    """Raises `ModelUnavailable` where something is missing, broken or too large, in this order: library, files, memory."""
    require_transformers()
    dtype = float_precision(device, dtype)
    files = check_whole(folder)
    check_memory(folder, files, dtype, device, what_fits)
    progress(0.1, "reading the tokenizer")
    tokenizer = Tokenizer(folder / "tokenizer.json")
    head, tail = around(folder)
    progress(0.2, "reading the weights")
    model = _model(folder, device, dtype)
    ends = _ends(model, folder)
    progress(1.0, "ready")
    return DiffusionGemmaDenoiser(
        name,
        model,
        tokenizer,
        fill_end=ends[-1],  # the checkpoint names the text's own end first, the turn's end behind it
        control=frozenset(_control(folder, model) | set(ends)),
        head=head,
        tail=tail,
    )


def require_transformers() -> None:
    """Raises `ModelUnavailable`, naming the extra, where transformers is missing or too old for the model."""
    if importlib.util.find_spec("transformers") is None:
        raise ModelUnavailable("this model needs transformers: pip install 'midfill[models]'")
    if importlib.util.find_spec("transformers.models.diffusion_gemma") is None:
        raise ModelUnavailable("this transformers has no DiffusionGemma: pip install -U 'midfill[models]'")


def quiet() -> None:
    """No warnings and progress bars of the library's own on standard error: one line of ours says what went wrong."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


def _model(folder: Path, device: torch.device, dtype: torch.dtype) -> Any:
    from transformers import DiffusionGemmaForBlockDiffusion

    quiet()
    options: dict[str, Any] = {"dtype": dtype, "local_files_only": True, "attn_implementation": "sdpa"}
    if device.type == "cuda":
        options["experts_implementation"] = "grouped_mm"  # the default loop waits for the GPU once an expert
        if importlib.util.find_spec("accelerate"):
            options["device_map"] = {"": device}  # straight to the GPU, without a copy in the machine's own memory
    try:
        loaded: Any = DiffusionGemmaForBlockDiffusion.from_pretrained(folder, output_loading_info=True, **options)
        model, told = loaded
    except Exception as broken:  # the library raises what it likes for a wrong config or shape
        raise ModelUnavailable(f"{folder} cannot be loaded: {' '.join(str(broken).split())[:200]}") from None
    if told["missing_keys"] or told["mismatched_keys"]:
        name = sorted(told["missing_keys"] or [str(told["mismatched_keys"][0])])[0]
        raise ModelUnavailable(f"the weights in {folder} lack {name}, or have it in another shape")
    model.model.encoder.vision_tower = None  # no picture is ever read
    return model.eval().requires_grad_(False).to(device)


def _ends(model: Any, folder: Path) -> list[int]:
    """Ids that end the model's turn, of which the last is the turn's own."""
    for config in (model.generation_config, model.config.text_config):
        ends = getattr(config, "eos_token_id", None)
        if ends is not None:
            return list(ends) if isinstance(ends, list | tuple) else [int(ends)]
    raise ModelUnavailable(f"{folder}: neither generation_config.json nor config.json says which token ends a turn")


def _control(folder: Path, model: Any) -> set[int]:
    """All control tokens: those that the tokenizer marks as special, and what the config names."""
    described = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    special = {token["id"] for token in described.get("added_tokens") or [] if token.get("special")}
    config = model.config
    named = [config.text_config.pad_token_id, config.text_config.bos_token_id]
    named += [config.boi_token_id, config.eoi_token_id, config.image_token_id]
    return special | {i for i in named if isinstance(i, int) and i < config.text_config.vocab_size}
