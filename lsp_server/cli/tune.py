"""`midfill tune`: the embedded model learns your own code, and is kept only if files held out say that it is better."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from engine.errors import BadInput
from lsp_server.cli import model, output
from lsp_server.cli.options import seed

NOT_BETTER = 1

DESCRIPTION = """\
Fine-tunes the embedded model to a code base, on this machine: its low-rank adapter goes on learning on your files. One file
in six is held out. Holes dug in these are filled before and after, and the tuned model is written only if the loss on them
fell and no fewer holes come out right. What git or .midfillignore ignores, and what looks like a secret, is not read."""

EPILOG = """\
examples:
  midfill tune src                        learn from src for 20 minutes
  midfill tune src lib --minutes 120      longer is better; Ctrl-C ends it sooner and measures what there is
  midfill fill app.py:14:9 --model DIR    use what was written (in an editor: the setting midfill.model)

A run that was killed goes on where it was when it is started again. While it learns it takes about 4 GB of memory.

exit codes:
  0  tuned and written          1  measured, and not better: nothing was written
  2  bad usage or input         3  the model cannot be loaded       130 interrupted outside of learning"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="files and folders to learn from")
    parser.add_argument("--out", type=Path, metavar="DIR", help="the folder to write (default: in the cache, by PATH)")
    parser.add_argument(
        "--minutes", type=float, default=20.0, metavar="N", help="how long to learn (default: %(default)g)"
    )
    parser.add_argument(
        "--holes", type=int, default=60, metavar="N", help="holes to measure on, before and after (default: 60)"
    )
    parser.add_argument(
        "--learning-rate", type=float, default=3e-4, metavar="X", help="of AdamW (default: %(default)g)"
    )
    parser.add_argument("--seed", type=seed, default=1, metavar="N", help="of holes and documents (default: 1)")
    parser.add_argument("--json", action="store_true", help="print one object, and nothing else on standard output")
    model.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Returns 0 where the tuned model was written, 1 where it is not better. Raises `BadInput` and `ModelUnavailable`."""
    if not 0 < options.minutes < 1e6:
        raise BadInput(f"--minutes must be more than 0, not {options.minutes:g}")
    if options.holes < 1:
        raise BadInput(f"--holes must be 1 or more, not {options.holes}")
    if not 0 < options.learning_rate < 1:
        raise BadInput(f"--learning-rate must be between 0 and 1, not {options.learning_rate:g}")
    return model.importing(lambda: _tune(options))


def _tune(options: argparse.Namespace) -> int:
    from engine.check.repository import documents
    from engine.infill import model_folder, tuned_folder
    from engine.training.tune import Tuning, tune

    found, skipped = documents(options.paths)
    for one in skipped:
        output.say(f"left out: {one.path}: {one.why}")
    folder = model_folder(options.model)
    out = (options.out or tuned_folder(options.paths[0])).resolve()
    if out == folder.resolve() or (out.exists() and not (out / "denoiser.json").is_file()):
        raise BadInput(f"{out} is not a folder that may be replaced: name another one with --out")
    tuning = Tuning(
        model=folder,
        out=out,
        work=out.with_name(out.name + ".training"),
        minutes=options.minutes,
        holes=options.holes,
        learning_rate=options.learning_rate,
        seed=options.seed,
        device=options.device,
        precision=options.precision,
        threads=options.threads,
    )
    tuned = tune(found, tuning, output.say)
    if options.json:
        output.write(output.as_json(tuned.as_dict() | {"out": str(out) if tuned.kept else None}))
    else:
        output.write(_table(tuned, out))
    return 0 if tuned.kept else NOT_BETTER


_ROWS = (
    ("loss", "held-out loss, nats a masked slot", "{:.3f}"),
    ("exact", "holes exactly right", "{:.3f}"),
    ("similarity", "similarity", "{:.3f}"),
    ("empty", "empty answers", "{:.3f}"),
    ("steps", "steps a hole", "{:.1f}"),
    ("ms", "milliseconds a hole, median", "{:.0f}"),
)


def _table(tuned: Any, out: Path) -> str:
    lines = [f"{tuned.holes} holes in {tuned.held_out} files held out; {tuned.canvases:,} canvases learned from"]
    lines.append(f"{'':<36}{'before':>10}{'after':>10}")
    for key, words, form in _ROWS:
        before, after = (form.format(getattr(one, key)) for one in (tuned.before, tuned.after))
        lines.append(f"{words:<36}{before:>10}{after:>10}")
    lines.append(f"kept: --model {out}" if tuned.kept else "not better: nothing was written")
    return "\n".join(lines) + "\n"
