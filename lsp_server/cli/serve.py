"""`midfill serve`: the language server, started by an editor."""

from __future__ import annotations

import argparse

from lsp_server.cli import model

DESCRIPTION = """\
Speaks the Language Server Protocol on standard input and output. Editors start it themselves; the options are the
settings that hold until the editor sends its own. The model is loaded in the background, once the editor is there."""

EPILOG = """\
examples:
  midfill serve                           what an editor's configuration names
  midfill serve --tcp 127.0.0.1:5007      wait for one client on loopback (port 0: any free one)
  midfill serve --log-level info"""

_SETTINGS = ("model", "device", "precision", "threads", "slots", "steps", "seed", "min_confidence")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument("--tcp", metavar="HOST:PORT", help="listen on loopback instead of standard input and output")
    parser.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default="warning",
        help="what goes to standard error; debug holds source text (default: warning)",
    )
    how = parser.add_argument_group("filling")
    how.add_argument("--slots", type=int, metavar="N", help="tokens that a hole may need (default: by its kind)")
    how.add_argument("--steps", type=int, metavar="N", help="at most N denoising steps a canvas (default: the model's)")
    how.add_argument("--seed", type=int, default=0, metavar="N", help="of the sampler (default: 0)")
    how.add_argument(
        "--min-confidence", type=float, default=0.0, metavar="X", help="from 0 to 1: rather nothing than less sure"
    )
    model.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Serves one client; returns the exit code. Raises `BadInput`."""
    from lsp_server.serve import ServeOptions, parse_address, serve_stdio, serve_tcp
    from lsp_server.settings import from_command_line

    settings = from_command_line({name: getattr(options, name) for name in _SETTINGS})
    serving = ServeOptions(settings, options.log_level, options.model if options.trust_remote_code else None)
    if options.tcp:
        return serve_tcp(*parse_address(options.tcp), serving)
    return serve_stdio(serving)
