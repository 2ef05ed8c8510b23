"""`midfill`: which command is meant, and how it ends: one line says what went wrong, an exit code of which kind it was."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

from engine.errors import BadInput, MidfillError
from lsp_server.cli import output
from lsp_server.cli.target import STANDARD_INPUT, marked

COMMANDS = {
    "fill": "fill a hole of a file and print the completion",
    "serve": "speak the Language Server Protocol with an editor",
    "doctor": "tell what this machine would run with, and what is missing",
    "models": "list the models that are known, or fetch one",
    "check": "tell whether fills fit a repository, by holes dug in its own code",
    "review": "tell which changed lines surprise the model most",
    "speed": "measure how quick this machine is",
    "tune": "fine-tune the embedded model to your own code",
    "bench": "measure a model on holes whose filling is tested",
    "train": "make the embedded model",
}

INTERRUPTED, BROKEN_PIPE, UNEXPECTED = 130, 141, 70

DESCRIPTION = "Fills the middle of code by block diffusion, on your own machine."

EPILOG = """\
examples:
  midfill fill app.py:14:9                 what belongs at line 14, before column 9
  midfill fill app.py:14:9 --show-steps    the same, with the draft after each denoising step
  midfill fill app.py:10:1-12:1 --diff     replace lines 10 and 11; show the change as a patch
  midfill fill app.py:14:9 --in-place      write the completion into the file
  git show HEAD:app.py | midfill fill -:14:9 --language python
  midfill doctor                           device, precision, model, grammars, memory
  midfill serve                            for an editor: standard input and output

Lines and columns count from 1, columns in characters. `midfill COMMAND --help` tells the rest.

exit codes:
  0  done                       1  nothing could be filled
  2  bad usage or input         3  the model cannot be loaded
  70 unexpected error           130 interrupted
  141 the reader of the output went away

environment:
  MIDFILL_DEBUG=1   as --debug: show tracebacks
  MIDFILL_API_KEY   for a model on a server (vllm://HOST:PORT/NAME)
  MIDFILL_CACHE     where the base model and training runs are kept
  NO_COLOR          no colour on a terminal
"""


class _Parser(argparse.ArgumentParser):
    """Bad usage is `BadInput`, one line, instead of usage and an exit."""

    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{message.replace(STANDARD_INPUT, '-')} (see `{self.prog} --help`)")


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        output.write(f"midfill {output.version()}\n")
        parser.exit()


def build_parser(arguments: Sequence[str] = tuple(COMMANDS)) -> argparse.ArgumentParser:
    """The parser; of the commands, only those that `arguments` name are imported and given their options."""
    parser = _Parser(
        prog="midfill",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and end")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, words in COMMANDS.items():
        command = commands.add_parser(
            name, help=words, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
        )
        if name in arguments:  # an error of the command's options names the command's own help
            module = importlib.import_module(f"lsp_server.cli.{name}")
            module.add_arguments(command)
            command.add_argument("--debug", action="store_true", help="show the traceback of an error")
            command.set_defaults(run=module.run)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command. Returns the exit code; never raises, never prints a traceback unless asked to."""
    arguments = sys.argv[1:] if arguments is None else arguments
    debug = bool(os.environ.get("MIDFILL_DEBUG")) or "--debug" in arguments
    try:
        code = _run(arguments)
        output.flush()
        return code
    except KeyboardInterrupt:
        output.abandon()
        return INTERRUPTED
    except BrokenPipeError:
        output.abandon()  # whoever read has what it wanted
        return BROKEN_PIPE
    except MidfillError as error:
        if debug:
            traceback.print_exc()
        output.say(str(error))
        return error.exit_code
    except OSError as error:
        output.abandon()
        if debug:
            traceback.print_exc()
        where = f"{error.filename}: " if error.filename else "the output cannot be written: "
        output.say(f"{where}{error.strerror or error}")
        return BadInput.exit_code
    except Exception as error:
        output.abandon()
        if debug:
            traceback.print_exc()
            return UNEXPECTED
        reason = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
        output.say(f"unexpected error: {reason} (--debug shows where)")
        return UNEXPECTED


def _run(arguments: Sequence[str]) -> int:
    try:
        options, unknown = build_parser(arguments).parse_known_args(marked(arguments))
    except SystemExit as done:  # --help and --version
        return int(done.code or 0)
    if unknown:
        wrong = " ".join(unknown).replace(STANDARD_INPUT, "-")
        more = ": one hole at a time" if options.command == "fill" and not unknown[0].startswith("-") else ""
        raise BadInput(f"unrecognized arguments: {wrong}{more} (see `midfill {options.command} --help`)")
    return options.run(options)


if __name__ == "__main__":
    sys.exit(main())
