"""`python -m lsp_server`: the server alone, for whoever starts it by the interpreter. `midfill serve` takes more options.

It parses its few options itself, so that a client's first answer waits for no more imports than the server's own.
"""

from __future__ import annotations

import argparse
import sys

from engine.errors import MidfillError
from lsp_server import logs
from lsp_server.serve import ServeOptions, parse_address, serve_stdio, serve_tcp
from lsp_server.settings import Settings, from_command_line


def main(arguments: list[str] | None = None) -> int:
    """Serves one client. Returns the exit code; bad usage is 2, in one line."""
    parser = argparse.ArgumentParser(prog="python -m lsp_server", description="Midfill's language server.")
    parser.add_argument("--model", default=Settings().model, help="what fills, unless the client's settings say so")
    parser.add_argument("--tcp", metavar="HOST:PORT", help="listen on loopback instead of standard input and output")
    parser.add_argument("--log-level", choices=logs.LEVELS, default="warning", help="what goes to standard error")
    chosen = parser.parse_args(arguments)
    try:
        options = ServeOptions(from_command_line({"model": chosen.model}), chosen.log_level)
        return serve_tcp(*parse_address(chosen.tcp), options) if chosen.tcp else serve_stdio(options)
    except MidfillError as error:
        print(f"midfill: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
