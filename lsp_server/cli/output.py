"""What the command line writes: exact bytes to standard output, one-line messages to standard error, colour or none."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, TextIO

from engine.errors import BadInput

LOG_EVERY = 10.0  # seconds
STYLES = {"sure": "32", "likely": "33", "doubtful": "31", "faint": "2", "filled": "1;32", "title": "1"}

# Shown instead of control characters, which a terminal would obey; tabs and line breaks are left alone.
_PICTURES = {code: 0x2400 + code for code in range(32) if code not in (9, 10, 13)} | {127: 0x2421}


def write(text: str) -> None:
    """Writes to standard output as UTF-8, nothing translated. Raises `BadInput` where there is none."""
    if sys.stdout is None:
        raise BadInput("standard output is closed")
    sys.stdout.buffer.write(as_bytes(text))


def write_file(path: Path, text: str) -> None:
    """Writes a report to a file, all of it or nothing. Raises `BadInput` where it cannot be written."""
    name = ""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(as_bytes(text))
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise BadInput(f"{path} cannot be written: {error.strerror or error}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def as_bytes(text: str) -> bytes:
    """UTF-8. The escaped bytes of a path come out as they were; other lone surrogates as a question mark."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def as_json(value: Any) -> str:
    """One line of JSON, readable where UTF-8 can say it, escaped where it cannot (lone surrogates)."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(value)
    return text + "\n"


def say(message: str) -> None:
    """One line on standard error."""
    line = message.replace("\r", "\\r").replace("\n", "\\n")
    with contextlib.suppress(OSError, AttributeError):  # no standard error: nobody to tell
        sys.stderr.write(f"midfill: {line}\n")
        sys.stderr.flush()


def abandon() -> None:
    """Gives standard output up, so that the interpreter does not try to flush it, and complain, when it ends."""
    try:
        flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def version() -> str:
    """Midfill's version."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("midfill")
    except PackageNotFoundError:  # run from a folder that was never installed
        return "(not installed)"


class Screen:
    """Where a person looks on: standard output or error. Colour only on a terminal, and never against NO_COLOR.

    Raises `BadInput` where the stream is closed.
    """

    def __init__(self, stream: TextIO | None) -> None:
        if stream is None:
            raise BadInput("there is nowhere to show steps: the stream is closed")
        self._stream = stream
        self.colour = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def paint(self, text: str, style: str) -> str:
        """The text in one of `STYLES` ("" for none), control characters made visible."""
        text = text.translate(_PICTURES)
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if self.colour and style and text else text

    def line(self, text: str = "") -> None:
        self._stream.buffer.write(as_bytes(text) + b"\n")
        self._stream.flush()


class Ticker:
    """One line on a terminal's standard error that is written over. Close it before other output.

    in_log: elsewhere a line now and then; without it, nothing there.
    """

    def __init__(self, in_log: bool = False) -> None:
        self._in_log = in_log
        self.live = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._shown = False
        self._last = time.monotonic()

    def show(self, text: str) -> None:
        if self.live:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
            self._shown = True
        elif self._in_log and sys.stderr is not None and time.monotonic() - self._last >= LOG_EVERY:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()
            self._last = time.monotonic()

    def close(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False
