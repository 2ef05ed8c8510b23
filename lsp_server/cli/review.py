"""`midfill review`: the changed lines that surprise the model most, with what it would have written."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import BadInput
from lsp_server.cli import model, output
from lsp_server.cli.options import seed, terminable

if TYPE_CHECKING:
    from engine.check.review import Line
    from engine.filler import Reader
    from engine.text import Document

DESCRIPTION = "Reads the lines that changed and prints the few where the model would have written another word."

EPILOG = """\
examples:
  midfill review                             what differs from the last commit
  midfill review --base origin/main src      a branch, only below src
  midfill review --base HEAD~5 --fail        exit code 1 where a line is flagged
  midfill review --measure 60                how often it is right, by faults injected in this repository

In each line a few other words are tried at the places where code goes wrong by one word: another name of the same scope, another
operator, a number one off, two arguments swapped. The gain is how much likelier (in nats) the model finds the line and those behind it
with the best of them. Lines that nobody changed tell how unusual a gain is: a line is flagged that --level of them or fewer reach.
It is a hint, and nothing fails unless --fail is given.
Exit codes: 0 done, 1 a line is flagged and --fail is given, 2 bad input, 3 no model, 130 interrupted."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument("paths", nargs="*", metavar="PATH", default=["."], help="files and folders (default: .)")
    parser.add_argument("--base", metavar="REV", default="HEAD", help="what counts as changed (default: HEAD)")
    parser.add_argument("--show", type=int, default=5, metavar="N", help="print at most so many lines (default: 5)")
    parser.add_argument("--level", type=float, default=0.05, metavar="X", help="see below (default: 0.05)")
    parser.add_argument("--lines", type=int, default=200, metavar="N", help="review at most so many (default: 200)")
    parser.add_argument(
        "--calibrate", type=int, default=60, metavar="N", help="unchanged lines to compare with (default: 60)"
    )
    parser.add_argument("--seed", type=seed, default=0, metavar="N", help="of the lines that are drawn (default: 0)")
    parser.add_argument("--fail", action="store_true", help="exit with 1 where a line is flagged")
    parser.add_argument(
        "--measure", type=int, metavar="N", help="inject faults into N lines instead, and print precision and recall"
    )
    parser.add_argument("--json", action="store_true", help="print one object, and nothing else on standard output")
    parser.add_argument("--annotations", choices=("github",), help="print workflow commands that mark the lines, too")
    model.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Returns 0, or 1 with --fail. Raises `BadInput`, `ModelUnavailable`."""
    from engine.check import repository

    for name in ("show", "lines", "calibrate", "measure"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise BadInput(f"--{name} must be 1 or more, not {value}")
    if not 0 < options.level <= 1:
        raise BadInput(f"--level must be more than 0 and at most 1, not {options.level:g}")
    paths = [Path(path) for path in options.paths]
    documents, skipped = repository.documents(paths)
    with terminable():
        report = _measure(options, documents) if options.measure else _review(options, documents)
    report["skipped"] = [{"path": one.path, "why": one.why} for one in skipped]
    if options.json:
        output.write(output.as_json(report))
    elif options.measure:
        output.write(_measure_table(report))
    else:
        output.write(_table(report, options.show))
    if options.annotations == "github" and not options.measure:
        from engine.check import annotations

        output.write(annotations.github_warnings(report["suspects"]))
    return int(options.fail and any(one["flagged"] for one in report.get("suspects", [])))


def _review(options: argparse.Namespace, documents: list[Document]) -> dict[str, Any]:
    from engine.check import repository
    from engine.check.review import as_dict, draw, lines_of, review, share_above
    from engine.filler import CancelToken

    first = Path(options.paths[0])
    changed = repository.changed_lines(first if first.is_dir() else first.parent, options.base)
    ours: list[Line] = []
    others: list[Line] = []
    for document in documents:
        numbers = changed.get(Path(document.path or "").resolve().as_posix(), set())
        for line in lines_of(document):
            (ours if line.number in numbers else others).append(line)
    report: dict[str, Any] = {"base": options.base, "lines": len(ours), "reviewed": 0, "suspects": []}
    if not ours:
        output.say(f"no line that can be reviewed differs from {options.base}")
        return report
    if len(ours) > options.lines:
        output.say(f"{len(ours)} lines changed: only {options.lines} of them are reviewed (--lines)")
    reader = _reader(options)
    chosen = draw(ours, options.lines, options.seed)
    compared = draw(others, options.calibrate, options.seed)
    tell, close = _teller(len(chosen) + len(compared))
    try:
        calibration = sorted(one.gain for one in review(reader, compared, CancelToken(), lambda n, _: tell(n)))
        found = list(review(reader, chosen, CancelToken(), lambda n, _: tell(len(compared) + n)))
    finally:
        close()
    calibration = [float("-inf")] * (len(compared) - len(calibration)) + calibration
    found.sort(key=lambda one: -one.gain)
    suspects = [as_dict(one, share_above(calibration, one.gain)) for one in found]
    for one in suspects:
        one["flagged"] = one["share"] <= options.level and one["gain"] > 0
    if len(compared) + 1 < 1 / options.level:
        output.say(f"only {len(compared)} unchanged lines to compare with: too few to flag any at {options.level:g}")
    report |= {"model": reader.name, "reviewed": len(chosen), "compared": len(compared), "level": options.level}
    return report | {"suspects": suspects}


def _measure(options: argparse.Namespace, documents: list[Document]) -> dict[str, Any]:
    from engine.check.injected import figures, inject
    from engine.check.review import draw, lines_of
    from engine.filler import CancelToken

    lines = draw([line for document in documents for line in lines_of(document)], options.measure, options.seed)
    if len(lines) < 2:
        raise BadInput("too few lines in which a fault could be injected")
    reader = _reader(options)
    tell, close = _teller(len(lines))
    try:
        injected = list(inject(reader, lines, options.seed, CancelToken(), lambda n, _: tell(n)))
    finally:
        close()
    return {"model": reader.name, "seed": options.seed, **figures(injected, options.level)}


def _reader(options: argparse.Namespace) -> Reader:
    from engine.filler import Reader

    filler = model.load(options.model, options)
    if not isinstance(filler, Reader):
        raise BadInput(f"the model {options.model} cannot say how likely a text is: review needs one that denoises")
    return filler


def _teller(of: int) -> tuple[Callable[[int], None], Callable[[], None]]:
    ticker = output.Ticker(in_log=True)
    return lambda done: ticker.show(f"{done} of {of} lines"), ticker.close


def _table(report: dict[str, Any], most: int) -> str:
    if not report["suspects"]:
        return ""
    rows = [f"{report['model']}, {report['reviewed']} changed lines, {report['compared']} unchanged to compare with"]
    shown = [one for one in report["suspects"] if one["gain"] > 0][:most]
    for one in shown:
        mark = "flagged" if one["flagged"] else "not unusual"
        rows.append(
            f"{one['path']}:{one['line']}: {one['slip']}? {one['stands']!r}, not {one['instead']!r} "
            f"(gain {one['gain']:.1f} nats; {one['share']:.0%} of unchanged lines gain as much: {mark})"
        )
        rows += [f"  - {one['text']}", f"  + {one['text_instead']}"]
    if not shown:
        rows.append("no line would be likelier with another word")
    return "\n".join(rows) + "\n"


def _measure_table(report: dict[str, Any]) -> str:
    def cell(value: float | None) -> str:
        return "-" if value is None else f"{value:.2f}"

    rows = [
        f"{report['model']}, a fault in each of {report['lines']} lines, seed {report['seed']}, level {report['level']:g}",
        f"precision {cell(report['precision'])} (of as many faulty lines as untouched ones)  recall {cell(report['recall'])}  "
        f"repaired {cell(report['repaired'])}  ranked above an untouched line {cell(report['ranked'])}",
    ]
    for slip, some in report["by_slip"].items():
        rows.append(
            f"  {slip:18}{some['lines']:4} lines  recall {cell(some['recall'])}  repaired {cell(some['repaired'])}  "
            f"ranked {cell(some['ranked'])}"
        )
    return "\n".join(rows) + "\n"
