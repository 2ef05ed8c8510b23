"""`midfill train`: one command from the fetched base to weights."""

from __future__ import annotations

import argparse
import sys

from engine.training import base, corpus, options


def main(arguments: argparse.Namespace) -> int:
    """Runs what the arguments of `options.add_arguments` ask for; returns the exit code."""

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    if arguments.fetch_base:
        say(f"the base model is in {base.fetch(say)}")
        return 0
    if arguments.fetch_corpus:
        say(f"the corpus is in {corpus.fetch(say)}")
        return 0
    chosen = options.from_arguments(arguments)
    if arguments.export:
        from engine.training.export import export

        export(chosen.folder, arguments.export, say)
        return 0
    from engine.training.trainer import train

    progress = train(chosen, say)
    say(f"done: {progress.canvases:,} canvases in {progress.steps:,} steps, {progress.seconds / 60:.0f} minutes")
    return 0
