"""Writes a checkpoint as the embedded model: the base in int8 parts, the adapter in int8, and how to run them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from engine.denoisers.int8 import quantize
from engine.denoisers.loading import DESCRIPTION
from engine.denoisers.weights import ADAPTER_PREFIX, SCALE, read_tensors
from engine.errors import BadInput
from engine.training import checkpoint
from engine.training.base import LAST_CONTROL, START, base_folder

ADAPTER_FILE = "adapter.safetensors"
PART_BYTES = 90_000_000  # a file of weights stays under 95 MB


def export(folder: Path, target: Path, say: Callable[[str], None]) -> None:
    """Writes `target`: config.json, tokenizer.json, denoiser.json, base-N.safetensors, adapter.safetensors.

    The base is written only where it is not there yet: it never changes, and git keeps every version of a file.
    Raises `BadInput` where `folder` holds no checkpoint.
    """
    content = checkpoint.load(folder)
    if content is None:
        raise BadInput(f"no checkpoint in {folder}: run `midfill train` first")
    base = base_folder()
    target.mkdir(parents=True, exist_ok=True)
    for name in ("config.json", "tokenizer.json"):
        shutil.copyfile(base / name, target / name)
    if not (target / "base-1.safetensors").exists():
        for number, part in enumerate(_parts(_quantized(read_tensors(base))), 1):
            save_file(part, target / f"base-{number}.safetensors")
    write_adapter(target, content["average"])
    description = {
        "family": "block-causal",
        "start": START,
        "fill_end": START,
        "control": list(range(LAST_CONTROL + 1)),
        "mask": None,
        "rank": content["rank"],
        "suffix": "encoded",
        "max_slots": 16,
        "window": 2048,
    }
    (target / DESCRIPTION).write_text(json.dumps(description, indent=1) + "\n")
    checkpoint.write_provenance(target, checkpoint.Progress(**content["progress"]))
    size = sum(f.stat().st_size for f in target.iterdir()) / 1e6
    say(f"{target}: {size:.0f} MB, {content['progress']['canvases']:,} canvases seen")


def write_adapter(target: Path, weights: dict[str, Tensor]) -> None:
    """The adapter's weights, in int8, into a model's folder."""
    adapter = {ADAPTER_PREFIX + name: value.cpu() for name, value in weights.items()}
    save_file(_quantized(adapter), target / ADAPTER_FILE)


def _quantized(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Matrices to int8 with a scale a row; vectors and norm gains as they are."""
    result: dict[str, Tensor] = {}
    for name, value in state.items():
        if value.dim() < 2 or name.endswith("norms"):
            result[name] = value.float().contiguous()
        else:
            result[name], result[name + SCALE] = quantize(value)
    return result


def _parts(state: dict[str, Tensor]) -> list[dict[str, Tensor]]:
    parts: list[dict[str, Tensor]] = [{}]
    size = 0
    for name, value in state.items():
        count = value.numel() * value.element_size()
        if size + count > PART_BYTES:
            parts.append({})
            size = 0
        parts[-1][name] = value.contiguous()
        size += count
    return parts


@torch.no_grad()
def quantization_error(state: dict[str, Tensor]) -> float:
    """Relative RMS error that int8 with a scale a row makes over all matrices (0 to 1)."""
    wrong = total = 0.0
    for value in state.values():
        if value.dim() >= 2:
            whole, scale = quantize(value)
            wrong += float((whole.float() * scale[..., None] - value).square().sum())
            total += float(value.square().sum())
    return (wrong / total) ** 0.5
