"""Logging to standard error. Source text is never written to a log at the default level."""

from __future__ import annotations

import logging
import sys
import traceback

LEVELS = ("debug", "info", "warning", "error")
log = logging.getLogger("midfill")


def set_up(level: str = "warning") -> None:
    """Logs go to standard error, ours from `level` up. At "debug" bodies of messages are logged, source included."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s midfill %(levelname)s %(message)s", datefmt="%H:%M:%S"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    log.setLevel(level.upper())
    # pygls logs whole bodies at INFO, and params with their tracebacks at ERROR.
    logging.getLogger("pygls").setLevel(logging.DEBUG if level == "debug" else logging.CRITICAL + 1)


def log_failure(what: str, error: BaseException) -> None:
    """An error of our own: its type and where it rose, without its message, which may quote source text."""
    where = "".join(traceback.format_tb(error.__traceback__)).rstrip()
    log.error("%s: %s\n%s", what, type(error).__name__, where)
    log.debug("%s: %s", what, error)
