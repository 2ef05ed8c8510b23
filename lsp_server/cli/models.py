"""`midfill models`: which models are known, and fetching one."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsp_server.cli import output

if TYPE_CHECKING:
    from engine.denoisers.families import Known

DESCRIPTION = """\
Lists the models that are known: licence, memory of the weights in bf16 (embedded: fp32), what its noise is, how it comes to
the length of a hole, whether its cache is exact, and what of it was run by Midfill's own tests. A model of another name runs
too, if its config.json is of a known type: --model takes any folder."""

EPILOG = """\
examples:
  midfill models                                         the list
  midfill models --json
  midfill models pull google/diffusiongemma-26B-A4B-it   fetch it; --model takes the same name then

Nothing is ever fetched but by `pull`. What was cut off goes on where it stopped. HF_TOKEN gives a token for gated models,
HF_ENDPOINT another hub."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument("--json", action="store_true", help="print one array, and nothing else on standard output")
    actions = parser.add_subparsers(dest="action", metavar="pull")
    pull = actions.add_parser("pull", help="fetch a model of the Hugging Face hub", allow_abbrev=False)
    pull.add_argument("id", metavar="ID", help="OWNER/NAME")
    pull.add_argument("--revision", metavar="REV", help="a branch, tag or commit (default: main)")
    # SUPPRESS: this parser's own default would undo what stands before `pull`
    pull.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help="show the traceback of an error")


def run(options: argparse.Namespace) -> int:
    """Returns the exit code. Raises `BadInput` and `ModelUnavailable`."""
    if options.action == "pull":
        return _pull(options)
    from engine.denoisers.families import KNOWN

    rows = [_row(known) for known in KNOWN]
    output.write(output.as_json(rows) if options.json else table(rows))
    return 0


def _row(known: Known) -> dict[str, Any]:
    from engine.infill import EMBEDDED, pulled_folder

    row = {f.name: getattr(known, f.name) for f in dataclasses.fields(known) if f.name != "describes"}
    here = known.id == EMBEDDED or pulled_folder(known.id).is_dir()
    return row | {"here": here}


HEADS = ("model", "licence", "memory", "noise", "length", "cache", "own code", "here")


def table(rows: list[dict[str, Any]]) -> str:
    """The list for people; what was run of each stands below it, once for all that share it."""
    cells = [HEADS]
    for row in rows:
        yes = {True: "yes", False: "no"}
        words = (row["id"], row["licence"], f"{row['memory_gb']:g} GB", row["noise"], row["length"], row["cache"])
        cells.append((*words, yes[row["own_code"]], yes[row["here"]]))
    widths = [max(len(line[i]) for line in cells) for i in range(len(HEADS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]
    ran: dict[str, list[str]] = {}
    for row in rows:
        ran.setdefault(row["ran"], []).append(row["id"])
    most = max(ran, key=lambda words: len(ran[words]))
    lines += ["", "what was run of them here:"]
    lines += [f"  {', '.join(ids)}: {words}" for words, ids in ran.items() if words != most]
    lines += [f"  all others: {most}"]
    return "\n".join(lines) + "\n"


def _pull(options: argparse.Namespace) -> int:
    from engine.denoisers.families import known
    from engine.denoisers.pull import pull
    from engine.infill import pulled_folder

    folder: Path = pulled_folder(options.id)
    progress = _Progress()
    about = known(options.id)
    try:
        plan = pull(options.id, folder, progress, options.revision)
    except KeyboardInterrupt:
        progress.close()
        output.say("stopped: the same command goes on from here")
        raise
    finally:
        progress.close()
    output.say(f"{options.id} is there: {plan.size / 1e9:.2f} GB, licence {plan.licence}, commit {plan.revision[:12]}")
    if about and about.own_code:
        output.say("it is run by code of its own, which may do anything: read it, then give --trust-remote-code")
    output.write(f"{folder}\n")
    return 0


class _Progress:
    """How far a fetch is: on a terminal in one line that changes, elsewhere a line at every tenth."""

    def __init__(self) -> None:
        self._ticker = output.Ticker()
        self._tenths = 0

    def __call__(self, done: int, of: int, name: str) -> None:
        share = done / max(of, 1)
        if self._ticker.live:
            self._ticker.show(f"{share:4.0%} of {of / 1e9:.2f} GB  {name}")
        elif int(share * 10) > self._tenths and sys.stderr is not None:
            self._tenths = int(share * 10)
            output.say(f"{share:.0%} of {of / 1e9:.2f} GB")

    def close(self) -> None:
        self._ticker.close()
