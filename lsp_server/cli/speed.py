"""`midfill speed`: how quick this machine is, and what of a request is the server's own."""

from __future__ import annotations

import argparse
import time
from typing import Any

from engine.errors import ModelUnavailable
from lsp_server.cli import model, output
from lsp_server.cli.options import seed

DESCRIPTION = """\
Measures on this machine: loading, the first and the following completions of one line, what a typed character costs (and
how much of the text the cache held), a denoising step, the same weights decoded left to right in the same run, and the
server's own share of a request. The holes are lines of Python's own standard library."""

EPILOG = """\
examples:
  midfill speed
  midfill speed --holes 40 --json
  midfill speed --only server        the server's share alone, without a model

Times are milliseconds, as median / 95th percentile. Compare figures of one run: machines are noisy."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument("--holes", type=int, default=12, metavar="N", help="holes to fill (default: 12)")
    parser.add_argument("--seed", type=seed, default=0, metavar="N", help="of the holes drawn (default: 0)")
    parser.add_argument("--only", choices=("model", "server"), help="measure one of the two")
    parser.add_argument("--json", action="store_true", help="print one object, and nothing else on standard output")
    model.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Returns 0. Raises `BadInput` and `ModelUnavailable`."""
    from engine.errors import BadInput

    if options.holes < 1:
        raise BadInput(f"--holes must be 1 or more, not {options.holes}")
    found: dict[str, Any] = {}
    if options.only != "server":
        found["model"] = _model(options)
    if options.only != "model":
        from lsp_server.cli.share import server_share

        found["server_share_ms"] = server_share()
    output.write(output.as_json(found) if options.json else _table(found))
    return 0


def _model(options: argparse.Namespace) -> dict[str, Any]:
    from engine.check.speed import draw_lines, measure

    lines = draw_lines(options.holes, options.seed)
    begun = time.perf_counter()
    filler = model.load(options.model, options)
    load_ms = (time.perf_counter() - begun) * 1000
    ticker = output.Ticker(in_log=True)
    try:
        baseline = _same_weights(options)
        figures = measure(filler, lines, baseline, lambda done, of: ticker.show(f"{done} of {of} holes"))
    finally:
        ticker.close()
    from engine.memory import resident_mb

    return {"name": filler.name, "load_ms": round(load_ms), "resident_mb": round(resident_mb()), **figures}


def _same_weights(options: argparse.Namespace):
    """The embedded model's base, left to right; None for other models, whose weights may not be a base's."""
    if options.model != "embedded":
        return None
    from engine.infill import load_embedded_base

    try:
        return model.importing(lambda: load_embedded_base(**model.placement(options)))
    except ModelUnavailable:
        return None


_ROWS = (
    ("load_ms", "loading, torch's import included"),
    ("resident_mb", "resident memory, MB"),
    ("first_ms", "the first completion"),
    ("fill_ms", "a completion of one line"),
    ("encode_ms", "  of that: reading the context"),
    ("check_ms", "  of that: checking"),
    ("step_ms", "  a denoising step"),
    ("steps", "  steps"),
    ("tokens", "  tokens"),
    ("typed_ms", "a completion after one more character"),
    ("typed_encoded_tokens", "  tokens to be read"),
    ("typed_cached_tokens", "  of those in the cache"),
    ("left_to_right_ms", "the same weights left to right, as many tokens"),
    ("left_to_right_ratio", "  times as long as the completion"),
)


def _table(found: dict[str, Any]) -> str:
    lines = []
    figures = found.get("model")
    if figures:
        lines.append(f"{figures['name']}, {figures['holes']} holes")
        lines += [f"{words:<48}{_shown(figures[key]):>16}" for key, words in _ROWS if key in figures]
    share = found.get("server_share_ms")
    if share:
        words = f"the server's own share ({share['lines']:,} lines)"
        lines.append(f"{words:<48}{_shown(share):>16}")
    return "\n".join(lines) + "\n"


def _shown(value: Any) -> str:
    return f"{value['p50']} / {value['p95']}" if isinstance(value, dict) else f"{value:,}"
