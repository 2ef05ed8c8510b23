"""`midfill bench`: fills holes whose filling is tested, and tells how well and how quickly."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from lsp_server.cli import model, output
from lsp_server.cli.options import seed

if TYPE_CHECKING:
    from engine.check.bench import LeftToRight
    from engine.filler import Filler

LEFT_TO_RIGHT = "ar"

DESCRIPTION = """\
Fills every hole of a HumanEval-Infilling file (.jsonl or .jsonl.gz: task_id, prompt, suffix, canonical_solution, test,
entry_point), runs the tests in a process with limits, and prints the figures."""

EPILOG = """\
examples:
  midfill bench humaneval-single-line.jsonl.gz
  midfill bench humaneval-single-line.jsonl.gz --limit 50 --seed 1 --json
  midfill bench humaneval-single-line.jsonl.gz --baseline ar --samples completions.jsonl

figures (rates are 0 to 1):
  pass@1          share whose tests pass
  exact           share equal to the reference but for white space at the end
  similarity      mean edit similarity to the reference: 2 x matched / all characters
  parses          share whose whole text parses
  empty           share without an answer
  steps           mean denoising steps
  ms              milliseconds a fill: median and 95th percentile
  adds_error      how many break a text that the reference leaves whole
  not_exact_join  how many are not prefix + completion + suffix, byte for byte; must be 0

The completions are programs that a model wrote. They run with limits and without network or other processes, which
stops accidents, not attacks: a file of problems that you do not trust belongs in a container.
Ctrl-C ends a run early and prints the figures so far."""

INTERRUPTED = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument("file", metavar="FILE", help="the problems: .jsonl or .jsonl.gz")
    parser.add_argument("--json", action="store_true", help="print one object, and nothing else on standard output")
    parser.add_argument("--limit", type=int, metavar="N", help="only N problems, drawn by the seed (default: all)")
    parser.add_argument("--seed", type=seed, default=0, metavar="N", help="of the draw and the sampler (default: 0)")
    parser.add_argument("--samples", metavar="FILE", help="write a line {task_id, completion} for each problem")
    parser.add_argument(
        "--baseline",
        metavar="MODEL",
        help="compare, in turns: ar (the base model, left to right from the prefix alone) or any other model",
    )
    how = parser.add_argument_group("filling")
    how.add_argument("--slots", type=int, metavar="N", help="tokens that a hole may need (default: by its kind)")
    how.add_argument("--steps", type=int, metavar="N", help="at most N denoising steps a canvas (default: the model's)")
    model.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Returns 0, or 130 for a run that was interrupted. Raises `BadInput` and `ModelUnavailable`."""
    from engine.check import read_problems, run_bench, table
    from engine.check.dataset import sample
    from engine.filler import FillSettings

    # What can be wrong with the input is found before the models, which take seconds, are loaded.
    FillSettings(slots=options.slots, steps=options.steps)
    sample(read_problems(options.file), options.limit, options.seed)
    baseline = _baseline(options)
    filler = model.load(options.model, options)
    progress = _Progress()
    report = run_bench(
        options.file,
        filler,
        baseline=baseline,
        limit=options.limit,
        seed=options.seed,
        slots=options.slots,
        steps=options.steps,
        samples=options.samples,
        progress=progress,
    )
    progress.close()
    output.write(output.as_json(report.as_dict()) if options.json else table(report) + "\n")
    return INTERRUPTED if report.interrupted else 0


def _baseline(options: argparse.Namespace) -> Filler | LeftToRight | None:
    if options.baseline is None:
        return None
    if options.baseline != LEFT_TO_RIGHT:
        return model.load(options.baseline, options)
    from engine.infill import load_baseline

    return model.importing(lambda: load_baseline(**model.placement(options)))


class _Progress:
    """How far a run is: on a terminal in one line that changes, elsewhere a line at every tenth."""

    def __init__(self) -> None:
        self._ticker = output.Ticker()
        self._tenths = 0

    def __call__(self, done: int, of: int) -> None:
        if self._ticker.live:
            self._ticker.show(f"{done} of {of}")
        elif done * 10 // of > self._tenths and sys.stderr is not None:
            self._tenths = done * 10 // of
            output.say(f"{done} of {of} problems")

    def close(self) -> None:
        self._ticker.close()
