"""A model's folder before it is loaded: is it all there, and will it fit? Reads headers, no weights.

Half a download looks like a model: shards missing that the index names, a file that ends early. It is refused by name.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import torch

from engine.errors import ModelUnavailable

INDEX = "model.safetensors.index.json"
GIGABYTE = 1e9
SPARE = 0.08  # of the weights' size, for activations, the cache and what the runtime takes
_LONGEST_HEADER = 100_000_000


def check_whole(folder: Path) -> list[Path]:
    """The folder's weight files. Raises `ModelUnavailable`, naming what is missing or cut off."""
    index = folder / INDEX
    if index.exists():
        try:
            names = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as broken:
            raise ModelUnavailable(f"{index} cannot be read: {broken}") from None
        files = [folder / name for name in names]
    else:
        files = sorted(folder.glob("*.safetensors"))
    missing = [file.name for file in files if not file.is_file()]
    if missing or not files:
        parts = any(folder.rglob("*.incomplete"))
        what = f"{len(missing)} of {len(files)} weight files are missing" if missing else "no .safetensors file"
        first = f", {missing[0]} among them" if missing else ""
        hint = "a download was cut off: fetch it again, it resumes" if parts or missing else "the weights are missing"
        raise ModelUnavailable(f"{folder}: {what}{first} ({hint})")
    for file in files:
        _header(file)
    return files


def count_parameters(files: list[Path]) -> int:
    """Numbers in all tensors of the files, from their headers."""
    return sum(
        math.prod(tensor["shape"]) for file in files for name, tensor in _header(file).items() if name != "__metadata__"
    )


def check_memory(
    folder: Path,
    files: list[Path],
    dtype: torch.dtype,
    device: torch.device,
    fits: Callable[[float], str],
    free: int | None = None,
) -> None:
    """Raises `ModelUnavailable` where the weights do not fit, with what would. fits: given gigabytes, says that in words.

    free: bytes; asked of the device where it is None.
    """
    free = free_memory(device) if free is None else free
    size = torch.empty(0, dtype=dtype).element_size()
    needed = count_parameters(files) * size * (1 + SPARE)
    if needed <= free:
        return
    number = {1: "int8", 2: "bf16", 4: "fp32"}.get(size, f"{size} bytes a number")
    half = " (half as much with --precision bf16)" if size == 4 and needed / 2 <= free else ""
    raise ModelUnavailable(
        f"{folder.name} needs about {needed / GIGABYTE:.1f} GB in {number}, and {device} has {free / GIGABYTE:.1f} GB "
        f"free{half}: {fits(free / GIGABYTE)}"
    )


def free_memory(device: torch.device) -> int:
    """Bytes that may still be taken on the device."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    if device.type == "mps":
        return torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory()
    return psutil.virtual_memory().available


def _header(file: Path) -> dict[str, Any]:
    """A safetensors file's table of tensors. Raises `ModelUnavailable` where the file is not as long as that says."""
    try:
        size = file.stat().st_size
        with file.open("rb") as opened:
            (length,) = struct.unpack("<Q", opened.read(8))
            if length > min(size, _LONGEST_HEADER):
                raise ValueError("no header")
            header = json.loads(opened.read(length))
        ends = [tensor["data_offsets"][1] for name, tensor in header.items() if name != "__metadata__"]
        if 8 + length + max(ends, default=0) != size:
            raise ValueError(f"{size} bytes, {8 + length + max(ends, default=0)} expected")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error) as broken:
        raise ModelUnavailable(f"the weights {file} are broken or cut off: {broken}") from None
    return header
