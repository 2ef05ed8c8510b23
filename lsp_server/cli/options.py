"""The options that say how a hole is filled, shared by the commands that fill holes."""

from __future__ import annotations

import argparse

HIGHEST_SEED = 2**31 - 1


def add_canvas(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--slots", type=int, metavar="N", help="tokens that a hole may need (default: by its kind)")
    parser.add_argument(
        "--steps", type=int, metavar="N", help="at most N denoising steps a canvas (default: the model's)"
    )


def add_seed(parser: argparse._ActionsContainer, of: str = "of the sampler") -> None:
    parser.add_argument("--seed", type=_seed, default=0, metavar="N", help=f"{of} (default: 0)")


def add_min_confidence(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--min-confidence",
        type=float,
        default=0.0,
        metavar="X",
        help="from 0 to 1: rather nothing than less sure (default: 0)",
    )


def _seed(text: str) -> int:
    try:
        seed = int(text)
    except ValueError:
        seed = -1
    if not 0 <= seed <= HIGHEST_SEED:
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to {HIGHEST_SEED}, not {text!r}")
    return seed
