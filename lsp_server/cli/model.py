"""The options that choose a model and how it runs, and the loading of it, shared by the commands."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from engine.errors import ModelUnavailable
from lsp_server.cli.output import Ticker

if TYPE_CHECKING:
    from engine.filler import Filler

T = TypeVar("T")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("model")
    group.add_argument(
        "--model",
        default="embedded",
        metavar="NAME",
        help="embedded, the folder of a model, the name of one that `midfill models pull` brought, vllm://HOST:PORT/NAME, or scripted:FILE for "
        "tests (default: embedded)",
    )
    group.add_argument(
        "--trust-remote-code",
        action="store_true",
        help="run the Python code that comes with this model, where it needs that: it may do anything on this machine",
    )
    group.add_argument(
        "--device", default="auto", metavar="WHERE", help="auto, cpu, cuda, cuda:N or mps (default: auto)"
    )
    group.add_argument(
        "--precision",
        default="auto",
        choices=("auto", "int8", "bf16", "fp32"),
        help="auto: int8 on a CPU that multiplies it natively, else bf16 where that is native, else fp32",
    )
    group.add_argument("--threads", type=int, metavar="N", help="of the CPU (default: all)")


def placement(options: argparse.Namespace) -> dict[str, Any]:
    """Device, precision and threads, as `engine.infill` takes them."""
    return {"device": options.device, "precision": options.precision, "threads": options.threads}


def load(name: str, options: argparse.Namespace) -> Filler:
    """The filler of a model. Raises `ModelUnavailable` or `BadInput`, as `engine.infill.load_filler`."""
    from engine.infill import load_filler

    ticker = Ticker()
    try:
        return importing(
            lambda: load_filler(
                name,
                **placement(options),
                progress=lambda share, text: ticker.show(f"{share:4.0%} {text}"),
                trust_remote_code=options.trust_remote_code,
            )
        )
    finally:
        ticker.close()


def importing(load: Callable[[], T]) -> T:
    """What `load` returns; a library that cannot be imported is a model that cannot be loaded."""
    try:
        return load()
    except ImportError as missing:
        raise ModelUnavailable(f"{missing.name or 'a library'} cannot be imported: {missing}") from missing
