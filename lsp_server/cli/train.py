"""`midfill train`: makes the embedded model; the work is `engine.training`'s."""

from __future__ import annotations

import argparse

from lsp_server.cli.model import importing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from engine.training import options

    options.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Returns the exit code. Raises `BadInput` and `ModelUnavailable`."""

    def work() -> int:
        from engine.training.run import main

        return main(options)

    return importing(work)
