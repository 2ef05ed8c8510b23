"""Checkpoints of a training run: written to the side and renamed, so that a kill at any moment leaves a whole one."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import torch

from engine.denoisers.transformer import Adapter
from engine.errors import ModelUnavailable

NAME = "checkpoint.pt"
PROVENANCE = "training.json"  # beside exported weights: how long they were trained


@dataclass
class Progress:
    """Steps taken, canvases and documents seen, seconds trained, by this run and all that it resumed."""

    steps: int = 0
    canvases: int = 0
    documents: int = 0
    seconds: float = 0.0


def save(folder: Path, adapter: Adapter, average: dict[str, torch.Tensor], optimizer, progress: Progress) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "rank": adapter.rank,
        "adapter": adapter.state_dict(),
        "average": average,
        "optimizer": optimizer.state_dict(),
        "progress": vars(progress),
    }
    torch.save(content, folder / (NAME + ".part"))
    os.replace(folder / (NAME + ".part"), folder / NAME)


def load(folder: Path) -> dict | None:
    """The newest checkpoint's content, or None where there is none. Raises `ModelUnavailable` for a broken one."""
    path = folder / NAME
    if not path.exists():
        return None
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as broken:
        raise ModelUnavailable(f"the checkpoint {path} cannot be read ({broken}): move it away to start anew") from None


def write_provenance(folder: Path, progress: Progress) -> None:
    """Leaves beside exported weights what they have seen."""
    (folder / PROVENANCE).write_text(json.dumps(vars(progress), indent=1) + "\n", encoding="utf-8")


def read_provenance(folder: Path) -> Progress:
    """What a model's folder says its weights have seen. Raises `ModelUnavailable` where it does not."""
    try:
        return Progress(**json.loads((folder / PROVENANCE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as broken:
        raise ModelUnavailable(
            f"{folder / PROVENANCE} cannot be read ({broken}): not a trained model's folder"
        ) from None
