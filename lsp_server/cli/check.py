"""`midfill check`: do fills still fit this code base, and are they quick enough."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import BadInput
from lsp_server.cli import check_config, model, output
from lsp_server.cli.options import cores, seed, terminable

if TYPE_CHECKING:
    from engine.check.check import Passes
    from engine.check.dig import Dug
    from engine.filler import Filler

DESCRIPTION = """\
Digs holes in a repository's own code, fills each from its context, and judges the answers: exact, the same code in another
layout, edit similarity, broken syntax, time, and with --run whether the project's own tests still pass. The same seed gives the
same holes on any machine."""

EPILOG = """\
examples:
  midfill check                                 the repository of the working directory
  midfill check src --holes 100 --seed 3 --json
  midfill check --base origin/main              only holes in lines that changed since then
  midfill check --kind line --kind argument --min-exact 0.2 --max-p95-ms 3000
  midfill check --run "python -m pytest -q" --min-pass 0.5
  midfill check --save-baseline midfill.json    then, with another model: --baseline midfill.json
  midfill check --junit junit.xml --html check.html --annotations github

kinds: line rest, line, block, expression, argument, string, comment, value (JSON, YAML, TOML).
A table [tool.midfill.check] in pyproject.toml, or [check] in midfill.toml, may set holes, seed, kind, base, baseline and the thresholds; the
command line has the last word. --run and --model are never taken from a file.
--baseline fails only where a figure dropped significantly over the holes that both runs have: exact answers and passed tests by McNemar's exact
test, similarity by a sign-flip permutation test, one-sided, corrected after Holm, level 0.05.
Exit codes: 0 all thresholds are kept, 1 one is missed, a figure dropped or a fill broke the syntax, 2 bad input, 3 no model; Ctrl-C and SIGTERM
print the figures so far and exit with 130. Code of other files is not read, so that a hole's answer depends on its file alone."""

INTERRUPTED = 130
MOST_JOBS = 4
_THRESHOLDS = ("min_exact", "min_layout", "min_similarity", "min_pass", "max_empty", "max_p95_ms")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from engine.check.dig import Kind

    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument("paths", nargs="*", metavar="PATH", default=["."], help="files and folders (default: .)")
    parser.add_argument("--holes", type=int, metavar="N", help="how many in all (default: 40)")
    parser.add_argument("--seed", type=seed, metavar="N", help="of the draw and the sampler (default: 0)")
    parser.add_argument("--base", metavar="REV", help="only holes in lines that differ from this revision")
    parser.add_argument(
        "--kind", action="append", choices=[str(kind) for kind in Kind], help="only this kind; may be given again"
    )
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="holes filled at once, each on its share of the CPU (default: one a core, at most 4; 1 with --run, "
        "--max-p95-ms, and on a GPU)",
    )
    trial = parser.add_argument_group("the project's tests")
    trial.add_argument(
        "--run",
        dest="test_command",
        metavar="CMD",
        help="a shell command to run in a scratch copy with each fill in place",
    )
    trial.add_argument(
        "--run-timeout", type=float, default=300.0, metavar="S", help="seconds it may take (default: 300)"
    )
    trial.add_argument(
        "--run-memory",
        type=int,
        default=4096,
        metavar="MB",
        help="of each of its processes; 0: no limit (default: 4096)",
    )
    limits = parser.add_argument_group("thresholds (rates are 0 to 1)")
    limits.add_argument("--min-exact", type=float, metavar="X", help="share of exact answers")
    limits.add_argument("--min-layout", type=float, metavar="X", help="share of the same code, however laid out")
    limits.add_argument("--min-similarity", type=float, metavar="X", help="mean edit similarity")
    limits.add_argument("--min-pass", type=float, metavar="X", help="share of fills with which --run succeeds")
    limits.add_argument("--max-empty", type=float, metavar="X", help="share of empty answers")
    limits.add_argument("--max-p95-ms", type=float, metavar="MS", help="95th percentile of a fill's time")
    limits.add_argument("--baseline", metavar="FILE", help="compare with the run that was saved there")
    limits.add_argument("--save-baseline", metavar="FILE", help="save this run for later ones to be compared with")
    reports = parser.add_argument_group("reports")
    reports.add_argument("--json", action="store_true", help="print one object, and nothing else on standard output")
    reports.add_argument("--junit", metavar="FILE", help="write JUnit XML")
    reports.add_argument("--sarif", metavar="FILE", help="write SARIF 2.1.0")
    reports.add_argument("--html", metavar="FILE", help="write one page that needs nothing else")
    reports.add_argument("--annotations", choices=("github",), help="print workflow commands that mark the lines, too")
    reports.add_argument("--gitlab", metavar="FILE", help="write a code quality report for GitLab")
    model.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Returns 0, 1 where a threshold is missed or syntax was broken, or 130. Raises `BadInput`, `ModelUnavailable`."""
    from engine.check import baseline, repository
    from engine.check import check as checks
    from engine.check.dig import Kind

    check_config.complete(options, [str(kind) for kind in Kind])
    if options.min_pass is not None and not options.test_command:
        raise BadInput("--min-pass needs --run: it is the share of fills with which that command succeeds")
    if options.jobs is not None and (options.jobs < 1 or (options.jobs > 1 and options.test_command)):
        raise BadInput("--jobs must be 1 or more, and 1 with --run: there is one copy of the tree to test in")
    documents, skipped = repository.documents([Path(path) for path in options.paths])
    before = baseline.read(Path(options.baseline)) if options.baseline else None
    with terminable(), _tests(options) as passes:
        holes = _holes(options, documents)
        filler = model.load(options.model, options)
        judged, interrupted = _judged(_fillers(filler, options), holes, options, passes)
    figures = checks.figures(judged)
    report: dict[str, Any] = {
        "model": filler.name,
        "seed": options.seed,
        "files": len(documents),
        "skipped": [{"path": one.path, "why": one.why} for one in skipped],
        "interrupted": interrupted,
        **figures,
        "by_kind": checks.by_kind(judged),
        "missed": _missed(options, figures),
        "holes": [one.as_dict() for one in judged],
    }
    if before is not None and judged:
        fell, shared = baseline.drops(before, report["holes"])
        report["compared"] = shared
        report["missed"] += [
            f"{d.figure} fell from {d.before:.3f} to {d.now:.3f} over {shared} holes (p = {d.p:.4f})" for d in fell
        ]
    output.write(output.as_json(report) if options.json else _table(report))
    output.flush()
    _write_reports(options, report, [list(one.drafts) for one in judged])
    for line in report["missed"]:
        output.say(line)
    return INTERRUPTED if interrupted else int(bool(report["missed"]))


def _fillers(filler: Filler, options: argparse.Namespace) -> list[Filler]:
    """The filler, and as many more over the same model as holes are filled at once."""
    from engine.filler import SharingFiller

    alone = options.test_command or options.max_p95_ms is not None  # times are those that a person would wait
    jobs = options.jobs or (1 if alone else min(cores(), MOST_JOBS))
    return [filler, *(filler.siblings(jobs - 1) if isinstance(filler, SharingFiller) and jobs > 1 else [])]


def _judged(fillers: list[Filler], holes: list[Dug], options: argparse.Namespace, passes: Passes | None):
    """The judged holes in the order in which they were drawn, and whether it was interrupted before the last."""
    from engine.check import check as checks
    from engine.filler import CancelToken, FillSettings

    ticker, judged, interrupted = output.Ticker(), [], False
    settings = FillSettings(seed=options.seed)
    try:
        for one in checks.check(
            fillers,
            holes,
            settings,
            CancelToken(),
            lambda done, of: _tell(ticker, done, of),
            passes,
            max(1, (options.threads or cores()) // len(fillers)),
        ):
            judged.append(one)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        ticker.close()
    drawn = {id(hole): number for number, hole in enumerate(holes)}
    return sorted(judged, key=lambda one: drawn[id(one.hole)]), interrupted


@contextlib.contextmanager
def _tests(options: argparse.Namespace) -> Iterator[Passes | None]:
    """How to run the project's tests on a filled file; None where none are wanted. Fails before any hole is dug."""
    from engine.check import repository
    from engine.check.trial import Limits, trial

    if not options.test_command:
        yield None
        return
    if options.run_timeout <= 0 or options.run_memory < 0:
        raise BadInput("--run-timeout must be more than 0, and --run-memory 0 or more")
    first = Path(options.paths[0])
    root, files = repository.tree(first if first.is_dir() else first.parent)
    limits = Limits(options.run_timeout, options.run_memory or None)
    with trial(root, files, options.test_command, limits) as made:
        seconds = made.check_untouched()
        if not options.json:
            output.say(
                f"--run takes {seconds:.1f} s on the tree as it is: with {options.holes} holes some {seconds * options.holes / 60:.0f} min"
            )
        yield made.passes


def _write_reports(options: argparse.Namespace, report: dict[str, Any], drafts: list[list[str]]) -> None:
    from engine.check import annotations, baseline, junit, page, sarif

    if options.annotations == "github":
        output.write(annotations.github(report))
        output.flush()
    for name, render in (
        (options.save_baseline, lambda: baseline.content(report)),
        (options.junit, lambda: junit.render(report)),
        (options.sarif, lambda: sarif.render(report, output.version())),
        (options.gitlab, lambda: annotations.gitlab(report)),
        (options.html, lambda: page.render(report, drafts)),
    ):
        if name:
            output.write_file(Path(name), render())


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
        value = figures["ms"]["p95"] if key == "p95_ms" else figures.get(key)
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
    tested = "pass" in report
    rows = [
        (
            "",
            "holes",
            "exact",
            "layout",
            "similar",
            "empty",
            *(["pass"] if tested else []),
            "breaks",
            "ms p50",
            "ms p95",
        )
    ]
    for name, figures in [*report["by_kind"].items(), ("all", report)]:
        rates = [
            f"{figures[key]:.3f}" if figures[key] is not None else "-"
            for key in ("exact", "layout", "similarity", "empty", *(["pass"] if tested else []))
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
