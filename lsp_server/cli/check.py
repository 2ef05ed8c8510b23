"""`midfill check`: do fills still fit this code base, and are they quick enough."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import BadInput
from lsp_server.cli import model, output
from lsp_server.cli.options import seed

if TYPE_CHECKING:
    from engine.check.dig import Dug

DESCRIPTION = """\
Digs holes in a repository's own code, fills each from its context, and judges the answers: exact, the same code in another
layout, edit similarity, broken syntax, time. The same seed gives the same holes on any machine."""

EPILOG = """\
examples:
  midfill check                                 the repository of the working directory
  midfill check src --holes 100 --seed 3 --json
  midfill check --base origin/main              only holes in lines that changed since then
  midfill check --kind line --kind argument --min-exact 0.2 --max-p95-ms 3000

kinds: line rest, line, block, expression, argument, string, comment, value (JSON, YAML, TOML).
Exit codes: 0 all thresholds are kept, 1 one is missed or a fill broke the syntax, 2 bad input, 3 no model; Ctrl-C prints the
figures so far and exits with 130. Code of other files is not read, so that a hole's answer depends on its file alone."""

INTERRUPTED = 130
_THRESHOLDS = ("min_exact", "min_layout", "min_similarity", "max_empty", "max_p95_ms")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from engine.check.dig import Kind

    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument("paths", nargs="*", metavar="PATH", default=["."], help="files and folders (default: .)")
    parser.add_argument("--holes", type=int, default=40, metavar="N", help="how many in all (default: 40)")
    parser.add_argument("--seed", type=seed, default=0, metavar="N", help="of the draw and the sampler (default: 0)")
    parser.add_argument("--base", metavar="REV", help="only holes in lines that differ from this revision")
    parser.add_argument(
        "--kind", action="append", choices=[str(kind) for kind in Kind], help="only this kind; may be given again"
    )
    parser.add_argument("--json", action="store_true", help="print one object, and nothing else on standard output")
    limits = parser.add_argument_group("thresholds (rates are 0 to 1)")
    limits.add_argument("--min-exact", type=float, metavar="X", help="share of exact answers")
    limits.add_argument("--min-layout", type=float, metavar="X", help="share of the same code, however laid out")
    limits.add_argument("--min-similarity", type=float, metavar="X", help="mean edit similarity")
    limits.add_argument("--max-empty", type=float, metavar="X", help="share of empty answers")
    limits.add_argument("--max-p95-ms", type=float, metavar="MS", help="95th percentile of a fill's time")
    model.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Returns 0, 1 where a threshold is missed or syntax was broken, or 130. Raises `BadInput`, `ModelUnavailable`."""
    from engine.check import check as checks
    from engine.check import repository
    from engine.filler import CancelToken, FillSettings

    if options.holes < 1:
        raise BadInput(f"--holes must be 1 or more, not {options.holes}")
    documents, skipped = repository.documents([Path(path) for path in options.paths])
    holes = _holes(options, documents)
    filler = model.load(options.model, options)
    ticker, judged, interrupted = output.Ticker(), [], False
    settings = FillSettings(seed=options.seed)
    try:
        for one in checks.check(filler, holes, settings, CancelToken(), lambda done, of: _tell(ticker, done, of)):
            judged.append(one)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        ticker.close()
    figures = checks.figures(judged)
    missed = _missed(options, figures)
    report: dict[str, Any] = {
        "model": filler.name,
        "seed": options.seed,
        "files": len(documents),
        "skipped": [{"path": one.path, "why": one.why} for one in skipped],
        "interrupted": interrupted,
        **figures,
        "by_kind": checks.by_kind(judged),
        "missed": missed,
        "holes": [one.as_dict() for one in judged],
    }
    output.write(output.as_json(report) if options.json else _table(report))
    output.flush()
    for line in missed:
        output.say(line)
    return INTERRUPTED if interrupted else int(bool(missed))


def _holes(options: argparse.Namespace, documents: list) -> list[Dug]:
    from engine.check.dig import Kind, draw
    from engine.check.repository import changed_lines

    kinds = [Kind(kind) for kind in options.kind] if options.kind else list(Kind)
    if options.base is None:
        holes = draw(documents, options.holes, options.seed, kinds)
    else:
        changed = changed_lines(Path(options.paths[0]) if Path(options.paths[0]).is_dir() else Path(), options.base)
        touched = [d for d in documents if changed.get(Path(d.path or "").resolve().as_posix())]
        every = draw(touched, 1 << 30, options.seed, kinds)
        holes = [h for h in every if h.line in changed[Path(h.document.path or "").resolve().as_posix()]][
            : options.holes
        ]
    if not holes:
        where = f"the lines changed since {options.base}" if options.base else "these files"
        raise BadInput(f"no hole can be dug in {where}")
    return holes


def _missed(options: argparse.Namespace, figures: dict[str, Any]) -> list[str]:
    """A line for each threshold that is not kept. Broken syntax never is."""
    found = []
    if figures["breaks"]:
        found.append(f"{figures['breaks']} fills broke the syntax")
    for name in _THRESHOLDS:
        limit = getattr(options, name)
        side, key = name.split("_", 1)
        value = figures["ms"]["p95"] if key == "p95_ms" else figures[key]
        if limit is not None and value is not None and (value < limit if side == "min" else value > limit):
            found.append(
                f"{key.replace('_', ' ')} is {value:.3f}, {'less' if side == 'min' else 'more'} than {limit:g}"
            )
    return found


def _tell(ticker: output.Ticker, done: int, of: int) -> None:
    if ticker.live:
        ticker.show(f"{done} of {of} holes")
    elif sys.stderr is not None and done * 10 // of > (done - 1) * 10 // of:
        output.say(f"{done} of {of} holes")


def _table(report: dict[str, Any]) -> str:
    head = f"{report['model']}, {report['count']} holes in {report['files']} files, seed {report['seed']}"
    rows = [("", "holes", "exact", "layout", "similar", "empty", "breaks", "ms p50", "ms p95")]
    for name, figures in [*report["by_kind"].items(), ("all", report)]:
        rates = [
            f"{figures[key]:.3f}" if figures[key] is not None else "-"
            for key in ("exact", "layout", "similarity", "empty")
        ]
        times = [f"{value:.0f}" if value is not None else "-" for value in figures["ms"].values()]
        rows.append((name, str(figures["count"]), *rates, str(figures["breaks"]), *times))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [head]
    for row in rows:
        first, *rest = zip(row, widths, strict=True)
        lines.append("  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)]))
    lines += [f"left out: {one['path']}: {one['why']}" for one in report["skipped"]]
    return "\n".join(lines) + "\n"
