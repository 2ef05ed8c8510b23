"""Weights on disk: a Hugging Face folder (config.json, safetensors), and the embedded model's int8 parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from engine.denoisers.int8 import Int8Weight
from engine.denoisers.transformer import Adapter, Shape, Transformer
from engine.errors import ModelUnavailable


def read_config(folder: Path) -> dict[str, Any]:
    """config.json. Raises `ModelUnavailable` where it is missing or is not JSON."""
    try:
        found = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        if not isinstance(found, dict):
            raise ValueError("it is no object")
        return found
    except FileNotFoundError:
        raise ModelUnavailable(f"{folder} holds no config.json: not a model's folder") from None
    except (OSError, ValueError) as broken:
        raise ModelUnavailable(f"{folder / 'config.json'} cannot be read: {broken}") from None


def read_tensors(folder: Path, dtype: torch.dtype = torch.float32) -> dict[str, Any]:
    """All safetensors files of a folder, joined; what is int8 there in `dtype`, a matrix at a time, so that no more is
    held than is needed (an `Int8Weight` where that is int8). Raises `ModelUnavailable` where there is none or one is broken."""
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise ModelUnavailable(f"{folder} holds no .safetensors file: the weights are missing")
    state: dict[str, Tensor] = {}
    for file in files:
        try:
            state |= load_file(file)
        except (SafetensorError, OSError) as broken:
            raise ModelUnavailable(f"the weights {file} are broken: {broken}") from None
    return _dequantized(state, dtype)


SCALE = ".scale"
ADAPTER_PREFIX = "adapter."


def _dequantized(state: dict[str, Tensor], dtype: torch.dtype) -> dict[str, Any]:
    """Every int8 tensor times its scale, but for what is wanted in int8: the base's matrices; the others as they are."""
    result: dict[str, Any] = {}
    for name, value in state.items():
        if value.dtype == torch.int8:
            if name + SCALE not in state:
                raise ModelUnavailable(f"the weights lack the scale of {name}")
            scale = state[name + SCALE]
            if dtype == torch.int8 and value.dim() == 2 and not name.startswith(ADAPTER_PREFIX):
                result[name] = Int8Weight(value, scale)
                continue
            value = value.float().mul_(scale[..., None]).to(torch.float32 if dtype == torch.int8 else dtype)
        if not name.endswith(SCALE):
            result[name] = value
    return result


def load_base(folder: Path, dtype: torch.dtype = torch.float32) -> Transformer:
    """A plain Llama- or Qwen-shaped model from a Hugging Face folder."""
    return Transformer(Shape.from_config(read_config(folder)), read_tensors(folder, dtype), dtype)


def load_adapter(shape: Shape, rank: int, state: dict[str, Any], dtype: torch.dtype) -> Adapter:
    """The adapter among a folder's tensors. Raises `ModelUnavailable` where it is not of this shape."""
    found = {k.removeprefix(ADAPTER_PREFIX): v for k, v in state.items() if k.startswith(ADAPTER_PREFIX)}
    adapter = Adapter(shape, rank)
    try:
        adapter.load_state_dict(found)
    except RuntimeError:
        raise ModelUnavailable(f"the adapter's weights do not fit the model (rank {rank})") from None
    return adapter.to(torch.float32 if dtype == torch.int8 else dtype).requires_grad_(False)
