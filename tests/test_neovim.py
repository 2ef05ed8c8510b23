"""The walk in a real Neovim: type, see ghost text, take it in parts, undo, type on, lose the server and get it back."""

from __future__ import annotations

import subprocess
from pathlib import Path

import psutil
import pytest

from tests.neovim_screen import Screen, executable, neovim

pytestmark = pytest.mark.slow

SCRIPT = {
    "fills": [
        {"when": "return ", "text": "first + second", "alternatives": ["second - first", "max(first, second)"]},
        {"when": "loop\r\n", "text": "for item in items:\n    print(item)"},
        {"when": "lo", "text": "ad(handle"},
        {"when": "names[", "text": '"😀"'},
    ]
}
SOURCE = "def add(first, second):\n    return \n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "code.py"
    path.write_text(SOURCE)
    return path


def ready(screen: Screen) -> None:
    screen.shows("midfill: ready")


def saved(screen: Screen, path: Path) -> bytes:
    screen.command("w")
    screen.shows("written")
    return path.read_bytes()


def test_the_walk(tmp_path: Path, source: Path) -> None:
    with neovim(tmp_path, source, SCRIPT) as screen:
        ready(screen)
        screen.keys("jA")
        screen.shows("return first + second")
        screen.read(0.3)
        assert source.read_text() == SOURCE
        screen.keys("\x1b")
        screen.hides("first + second")
        # a word, then the rest, and back in two steps
        screen.keys("A")
        screen.shows("return first + second")
        screen.command("imap <C-f> <Plug>(MidfillAcceptWord)")
        screen.keys("A")
        screen.shows("return first + second")
        screen.keys("\x06")
        screen.read(0.3)
        screen.shows("return first + second")
        screen.keys("\x1b")
        screen.until(lambda lines: lines[1].rstrip() == "    return first")
        screen.keys("u")
        screen.until(lambda lines: lines[1].rstrip() == "    return")
        screen.keys("A")
        screen.shows("return first + second")
        screen.keys("\t")
        screen.keys("\x1b")
        screen.shows("return first + second")
        assert saved(screen, source) == b"def add(first, second):\n    return first + second\n"
        screen.keys("u")
        screen.until(lambda lines: lines[1].rstrip() == "    return")


def test_typing_on_keeps_what_fits_and_drops_what_does_not(tmp_path: Path, source: Path) -> None:
    with neovim(tmp_path, source, SCRIPT) as screen:
        ready(screen)
        screen.keys("jA")
        screen.shows("return first + second")
        screen.type("fir")
        screen.shows("return first + second")
        screen.type("m")
        screen.hides("second\n")
        screen.until(lambda lines: lines[1].rstrip() == "    return firm")
        assert saved(screen, source) == b"def add(first, second):\n    return firm\n"


def test_tab_is_a_tab_where_nothing_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "code.go"
    path.write_text("x\n")
    with neovim(tmp_path, path, {"default": ""}) as screen:
        ready(screen)
        screen.keys("A")
        screen.read(0.4)
        screen.keys("\t1")
        assert saved(screen, path) == b"x\t1\n"


def test_alternatives_follow_each_other(tmp_path: Path, source: Path) -> None:
    keys = 'vim.keymap.set("i", "<C-n>", "<Plug>(MidfillNext)")'
    with neovim(tmp_path, source, SCRIPT, extra=keys) as screen:
        ready(screen)
        screen.keys("jA")
        screen.shows("return first + second")
        screen.keys("\x0e")
        screen.read(0.4)
        screen.keys("\x0e")
        screen.shows("return second - first")
        screen.keys("\t")
        assert saved(screen, source) == b"def add(first, second):\n    return second - first\n"


@pytest.mark.parametrize(
    ("name", "before", "keys", "after"),
    [
        ("crlf", b"loop\r\n\r\nend\r\n", "jA", b"loop\r\nfor item in items:\r\n    print(item)\r\nend\r\n"),
        ("astral", 'a = "😀"; b = names[]\n'.encode(), "f]i", 'a = "😀"; b = names["😀"]\n'.encode()),
        ("inside a word", b"json.lo(handle)\n", "fla\x1bla", b"json.load(handle(handle)\n"),
    ],
)
def test_the_bytes_on_disk(tmp_path: Path, name: str, before: bytes, keys: str, after: bytes) -> None:
    path = tmp_path / "code.py"
    path.write_bytes(before)
    with neovim(tmp_path, path, SCRIPT) as screen:
        ready(screen)
        screen.keys(keys)
        screen.read(1.0)
        screen.keys("\t")
        screen.read(0.3)
        assert saved(screen, path) == after


def test_tabs_are_shown_as_wide_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "code.go"
    path.write_text("func f() {\n\t\n}\n")
    with neovim(tmp_path, path, {"default": "if a {\n\t\treturn\n\t}"}) as screen:
        ready(screen)
        screen.keys("jA")
        screen.until(lambda lines: lines[1] == "        if a {" and lines[2] == "                return", "tabs")
        screen.keys("\t")
        assert saved(screen, path) == b"func f() {\n\tif a {\n\t\treturn\n\t}\n}\n"


def test_a_server_that_is_killed_comes_back(tmp_path: Path, source: Path) -> None:
    with neovim(tmp_path, source, SCRIPT) as screen:
        ready(screen)
        (server,) = [p for p in psutil.Process(screen.pid).children(recursive=True) if "lsp_server" in p.cmdline()]
        server.kill()
        screen.shows("quit with exit code")  # Neovim's own words; ours are among the messages
        screen.keys("\r")
        screen.command("messages")
        screen.shows("it is started again")
        screen.keys("\r")
        screen.until(
            lambda _: [
                p
                for p in psutil.Process(screen.pid).children(recursive=True)
                if "lsp_server" in p.cmdline() and p != server
            ],
            "a new server",
        )
        ready(screen)
        screen.keys("jA")
        screen.shows("return first + second")


def test_denoising_is_played_and_leaves_the_text_alone(tmp_path: Path, source: Path) -> None:
    script = {"fills": [{"text": "first + second", "drafts": ["fi", "first", "first + second"]}]}
    with neovim(tmp_path, source, script) as screen:
        ready(screen)
        screen.command("normal! jA")
        screen.command("Midfill denoise")
        screen.shows("first + second")
        screen.hides("return first")
        assert saved(screen, source).decode() == SOURCE


def test_commands_tell_and_switch_off(tmp_path: Path, source: Path) -> None:
    with neovim(tmp_path, source, SCRIPT) as screen:
        ready(screen)
        screen.command("Midfill status")
        screen.shows("ready: scripted is ready")
        screen.command("Midfill toggle")
        screen.shows("midfill: off")
        screen.keys("jA")
        screen.read(0.6)
        assert "first + second" not in screen.text
        screen.command("Midfill nonsense")
        screen.shows("there is no :Midfill nonsense")
        screen.keys("\r")


def test_holes_are_filled_together(tmp_path: Path) -> None:
    path = tmp_path / "code.py"
    path.write_text("def f():\n    ...\n\n\ndef g():\n    pass\n")
    with neovim(tmp_path, path, {"default": "return 1"}) as screen:
        ready(screen)
        screen.command("Midfill holes")
        screen.until(lambda lines: lines[1] == "    return 1" and lines[5] == "    return 1")
        assert saved(screen, path) == b"def f():\n    return 1\n\n\ndef g():\n    return 1\n"


def test_health_names_the_server(tmp_path: Path, source: Path) -> None:
    with neovim(tmp_path, source, SCRIPT) as screen:
        ready(screen)
        screen.command("checkhealth midfill")
        screen.shows("ghost text: extmarks")
        screen.shows("the server runs")


def test_with_the_embedded_model(tmp_path: Path, source: Path) -> None:
    with neovim(tmp_path, source, None) as screen:
        ready(screen)
        screen.keys("jA")
        screen.until(lambda lines: len(lines[1].rstrip()) > len("    return "), "ghost text")
        screen.keys("\t")
        screen.read(0.5)
        text = saved(screen, source).decode()
        assert text.startswith("def add(first, second):\n    return ") and len(text) > len(SOURCE)
        compile(text, "code.py", "exec")


# What Neovim 0.12's runtime (vim/lsp/inline_completion.lua and _capability.lua) takes and gives, and refuses.
CONTRACT = """
local log = {}
vim.lsp.inline_completion = {
  enable = function(enable, filter)
    assert(not (filter.bufnr and filter.client_id), "`bufnr` and `client_id` are mutually exclusive.")
    table.insert(log, ("enable %s %s"):format(enable, filter.bufnr))
  end,
  select = function(opts)
    vim.validate("opts", opts, "table", true)
    table.insert(log, "select " .. opts.count)
  end,
  get = function(opts)
    vim.validate("opts", opts, "table", true)
    if opts and opts.on_accept then
      opts.on_accept({ insert_text = "first + second", range = RANGE, client_id = 1 })
    end
    return true
  end,
}
vim.opt.runtimepath:prepend(PLUGIN)
local native = require("midfill.native")
assert(native.available())
vim.api.nvim_buf_set_lines(0, 0, -1, false, { "return ) # tail" })
vim.api.nvim_win_set_cursor(0, { 1, 7 })
native.attach(1)
native.cycle(-1)
native.dismiss(1)
assert(native.take(nil))
native.take(require("midfill.text").word)
print(vim.api.nvim_get_current_line() .. "|" .. vim.api.nvim_win_get_cursor(0)[2] .. "|" .. table.concat(log, ","))
"""


@pytest.mark.parametrize("fields", ["start = { row = 0, col = 7 }", "start_row = 0, start_col = 7"])
def test_the_code_for_0_12_keeps_to_its_documented_calls(tmp_path: Path, fields: str) -> None:
    plugin = Path(__file__).parent.parent / "editors" / "neovim"
    script = tmp_path / "contract.lua"
    script.write_text(CONTRACT.replace("PLUGIN", f'"{plugin}"').replace("RANGE", f"{{ {fields} }}"))
    ran = subprocess.run(
        [executable(), "--clean", "--headless", "-l", str(script)], capture_output=True, text=True, timeout=60
    )
    assert (
        ran.stdout + ran.stderr
    ).strip() == "return first) # tail|12|enable true 1,select -1,enable false 1,enable true 1"
