"""Which device and number format to run on, chosen by what the machine can do."""

from __future__ import annotations

import torch

from engine.errors import BadInput, ModelUnavailable


def pick_device(name: str = "auto") -> torch.device:
    """`auto` takes CUDA, then Apple's MPS, then the CPU. Raises `ModelUnavailable` where a named one is not there."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    if name not in ("cpu", "cuda", "mps") and not name.startswith("cuda:"):
        raise BadInput(f"unknown device {name!r}: auto, cpu, cuda, cuda:N or mps")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise ModelUnavailable(
            "no CUDA device here: choose the device cpu, or auto; `midfill doctor` tells what a GPU lacks"
        )
    if name == "mps" and not torch.backends.mps.is_available():
        raise ModelUnavailable("no MPS device here: choose the device cpu, or auto")
    return torch.device(name)


def pick_precision(name: str, device: torch.device) -> torch.dtype:
    """`auto` takes int8 on a CPU that multiplies it natively, else bf16 where the hardware does, fp32 elsewhere (what is not
    native is emulated, and slow)."""
    if name == "auto":
        return torch.int8 if multiplies_int8(device) else float_precision(device)
    try:
        chosen = {"int8": torch.int8, "bf16": torch.bfloat16, "fp32": torch.float32}[name]
    except KeyError:
        raise BadInput(f"unknown precision {name!r}: auto, int8, bf16 or fp32") from None
    if chosen == torch.int8 and device.type != "cpu":
        raise BadInput(f"int8 is for the CPU, not for {device.type}: use auto")
    return chosen


def float_precision(device: torch.device, wanted: torch.dtype = torch.int8) -> torch.dtype:
    """What a model is run in that cannot be run in int8: `wanted`, if that is another."""
    if wanted != torch.int8:
        return wanted
    return torch.bfloat16 if multiplies_bf16(device) else torch.float32


def multiplies_int8(device: torch.device) -> bool:
    return device.type == "cpu" and (_cpu_has("vnni") or _cpu_has("amx_tile"))


def multiplies_bf16(device: torch.device) -> bool:
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported()
    if device.type == "cpu":
        return _cpu_has("avx512_bf16") or _cpu_has("amx_tile")
    return False


def _cpu_has(instructions: str) -> bool:
    """torch keeps these to itself, and older versions lack some."""
    return bool(getattr(torch.cpu, f"_is_{instructions}_supported", lambda: False)())
