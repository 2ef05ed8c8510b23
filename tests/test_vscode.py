"""The walk in a real VS Code: type, see ghost text, take it in parts, undo, type on, lose the server and get it back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vscode.browser import ROOT, VSIX, Editor, needed, vscode

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SCRIPT = {
    "step_ms": 20,
    "fills": [
        {
            "when": "return ",
            "drafts": ["first", "first +", "first + second"],
            "text": "first + second",
            "alternatives": ["second - first", "max(first, second)"],
        },
        {"when": "return first", "text": " + second"},
        {"when": "loop\r\n", "text": "for item in items:\r\n    print(item)"},
        {"when": "if\n\t", "text": "while True:\n\t\tbreak"},
        {"when": "x = val", "text": "ue"},
        {"when": "names[", "text": '"😀"'},
        {"when": "total(", "text": "prices"},
        {"when": "hole():\n    ", "text": "return 42"},
        {"when": "untitled", "text": " text"},
    ],
}
SOURCE = b"def add(first, second):\n    return\n"


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    needed()
    folder = tmp_path_factory.mktemp("vscode")
    (folder / "script.json").write_text(json.dumps(SCRIPT))
    with vscode(folder, {"midfill.model": f"scripted:{folder / 'script.json'}"}) as opened:
        opened.ready()
        yield opened


def at_return(editor: Editor, name: str) -> Path:
    """A file with ghost text behind `return `."""
    path = editor.open(name, SOURCE)
    editor.keys("ArrowDown", "End")
    editor.type(" ")
    editor.shows("first + second")
    return path


def test_the_package_is_small_and_brings_only_what_it_needs() -> None:
    import zipfile

    needed()
    assert VSIX.stat().st_size < 1_000_000
    names = [name for name in zipfile.ZipFile(VSIX).namelist() if name.startswith("extension/")]
    assert sorted(map(str.lower, names)) == [
        "extension/dist/extension.js",
        "extension/package.json",
        "extension/readme.md",
    ]


def test_a_word_is_taken_then_the_rest_and_both_are_undone(editor: Editor) -> None:
    path = at_return(editor, "walk.py")
    assert path.read_bytes() == SOURCE
    editor.keys("Control+ArrowRight")
    editor.until(lambda: editor.line(2) == "    return first + second", lambda: editor.line(2))
    editor.shows("+ second")
    assert editor.saved(path) == b"def add(first, second):\n    return first\n"
    editor.shows("+ second")
    editor.take()
    assert editor.saved(path) == b"def add(first, second):\n    return first + second\n"
    editor.keys("Control+z")
    assert editor.saved(path) == b"def add(first, second):\n    return first\n"
    editor.keys("Control+z", "Control+z")
    assert editor.saved(path) == SOURCE


def test_typing_on_keeps_what_fits_and_drops_what_does_not(editor: Editor) -> None:
    path = at_return(editor, "typing.py")
    editor.type("fir")
    editor.until(lambda: editor.line(2) == "    return first + second", lambda: editor.line(2))
    editor.type("e")
    editor.hides()
    editor.keys("Escape")
    assert editor.saved(path) == b"def add(first, second):\n    return fire\n"


def test_alternatives_are_cycled_through(editor: Editor) -> None:
    path = at_return(editor, "alternatives.py")
    editor.keys("Alt+]")
    editor.shows("second - first")
    editor.keys("Alt+]")
    editor.shows("max(first, second)")
    editor.keys("Alt+[")
    editor.shows("second - first")
    editor.keys("Tab")
    assert editor.saved(path) == b"def add(first, second):\n    return second - first\n"


def test_ghost_text_while_the_suggest_widget_is_open_extends_the_selected_word(editor: Editor) -> None:
    path = editor.open("suggest.py", SOURCE)
    editor.keys("ArrowDown", "End")
    editor.type(" f")
    editor.keys("Control+Space")
    widget = editor.page.locator(".suggest-widget.visible .monaco-list-row.focused")
    widget.wait_for(timeout=20_000)
    assert "first" in widget.inner_text()
    editor.shows("second")
    assert widget.is_visible()
    editor.keys("Tab")  # the word of the list, then what is still grey
    editor.shows("+ second")
    editor.keys("Tab")
    assert editor.saved(path) == b"def add(first, second):\n    return first + second\n"


@pytest.mark.parametrize(
    ("name", "content", "typed", "keys", "expected"),
    [
        (
            "crlf.py",
            b"# loop\r\n\r\nx = 1\r\n",
            "",
            ["ArrowDown"],
            b"# loop\r\nfor item in items:\r\n    print(item)\r\nx = 1\r\n",
        ),
        ("tabs.py", b"if\n\t\nx = 1\n", "", ["ArrowDown", "End"], b"if\n\twhile True:\n\t\tbreak\nx = 1\n"),
        ("word.py", b"x = va_total\n", "l", ["End", *["ArrowLeft"] * 6], b"x = value_total\n"),
        ("astral.py", "a = '😀😀'; b = names\n".encode(), "[", ["End"], "a = '😀😀'; b = names[\"😀\"]\n".encode()),
        ("brackets.py", b"print(total)\n", "(", ["End", "ArrowLeft"], b"print(total(prices))\n"),
    ],
)
def test_the_bytes_on_the_disk(
    editor: Editor, name: str, content: bytes, typed: str, keys: list[str], expected: bytes
) -> None:
    path = editor.open(name, content)
    editor.keys(*keys)
    if typed:
        editor.type(typed)
    else:
        editor.command("Trigger Inline Suggestion")
    editor.until(lambda: editor.ghost(), lambda: "no ghost text")
    editor.take()
    assert editor.saved(path) == expected


def test_all_holes_are_filled_by_one_command(editor: Editor) -> None:
    path = editor.open("holes.py", b"def hole():\n    ...\n\n\nx = 1\n")
    editor.command("Midfill: Fill all holes")
    editor.until(lambda: editor.line(2) == "    return 42", lambda: editor.line(2))
    assert editor.saved(path) == b"def hole():\n    return 42\n\n\nx = 1\n"
    editor.keys("Control+z")
    assert editor.saved(path) == b"def hole():\n    ...\n\n\nx = 1\n"


def test_a_document_without_a_file_is_served(editor: Editor) -> None:
    editor.command("New Untitled Text File")
    editor.page.locator('.tab.active[data-resource-name^="Untitled"]').wait_for(timeout=20_000)
    # the new tab is there before its editor has the keyboard
    editor.command("View: Focus Active Editor Group")
    editor.until(lambda: "untitled" not in editor.line(1) and not editor.line(1).strip(), lambda: editor.line(1))
    editor.page.locator(".monaco-editor.focused").first.wait_for(timeout=20_000)
    editor.page.wait_for_timeout(500)
    editor.type("untitled")
    editor.until(lambda: editor.line(1).startswith("untitled"), lambda: editor.line(1))
    editor.shows(" text")
    editor.keys("Tab", "Control+a", "Delete")


def test_a_notebook_cell_is_served(editor: Editor) -> None:
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": ["return"]}
    notebook = {"cells": [cell], "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}
    (editor.project / "notes.ipynb").write_text(json.dumps(notebook))
    editor.open("notes.ipynb")
    editor.page.locator(".notebookOverlay .cell-editor-container .monaco-editor .view-line").first.click()
    editor.keys("End")
    editor.type(" ")
    editor.shows("first + second")
    editor.keys("Tab")
    editor.keys("Control+s")
    editor.page.locator(".tab.active.dirty").wait_for(state="detached")
    assert json.loads((editor.project / "notes.ipynb").read_bytes())["cells"][0]["source"] == ["return first + second"]


def test_a_language_is_turned_off_and_on_from_the_palette(editor: Editor) -> None:
    at_return(editor, "toggle.py")
    editor.command("Midfill: Turn on or off for this language")
    editor.until(lambda: "off for this language" in editor.status(), editor.status)
    editor.keys("Backspace")
    editor.type(" ")
    editor.page.wait_for_timeout(800)
    assert editor.ghost() == ""
    editor.command("Midfill: Turn on or off for this language")
    editor.ready()
    editor.keys("Backspace")
    editor.type(" ")
    editor.shows("first + second")


def test_a_server_that_is_killed_comes_back_and_that_is_said_once(editor: Editor) -> None:
    at_return(editor, "killed.py")
    (before,) = editor.servers()
    before.kill()
    editor.page.locator(".notification-toast", has_text="started again").first.wait_for(timeout=20_000)
    editor.until(lambda: [p.pid for p in editor.servers()] not in ([], [before.pid]), lambda: "no new server")
    editor.ready()
    editor.keys("Backspace")
    editor.type(" ")
    editor.shows("first + second")
    assert editor.page.locator(".notification-toast", has_text="started again").count() == 1
    editor.command("Notifications: Clear All Notifications")


def test_the_denoising_panel_plays_the_canvas(editor: Editor) -> None:
    path = at_return(editor, "denoising.py")
    editor.keys("Escape")
    editor.command("Midfill: Show denoising")
    frames = editor.page.frames
    editor.until(
        lambda: any(
            f.locator("#outcome").count() and "offered after" in f.locator("#outcome").inner_text()
            for f in editor.page.frames
        ),
        lambda: f"no panel in {[f.url for f in frames]}",
    )
    frame = next(f for f in editor.page.frames if f.locator("#outcome").count())
    assert frame.locator("#canvas").inner_text().replace("\u00a0", " ").strip() == "first + second"
    assert frame.locator("#canvas .slot.sure").count() >= 1
    frame.locator("#step").fill("0")
    assert "step 1 of 3" in frame.locator("#at").inner_text()
    assert "second" not in frame.locator("#canvas").inner_text()
    frame.locator("#insert").click()
    editor.until(lambda: editor.line(2) == "    return first + second", lambda: editor.line(2))
    assert editor.saved(path) == b"def add(first, second):\n    return first + second\n"


def test_the_embedded_model_itself(tmp_path: Path) -> None:
    needed()
    with vscode(tmp_path, {"midfill.seed": 0}) as editor:
        editor.ready()
        path = editor.open(
            "settings.py",
            b"import json\n\n\ndef load_settings(path):\n    with open(path) as handle:\n        return json.lo(handle)\n",
        )
        editor.keys("Control+End", "ArrowUp", "End", *["ArrowLeft"] * 8)
        editor.command("Trigger Inline Suggestion")
        editor.until(lambda: editor.ghost(), lambda: "no ghost text")
        editor.keys("Tab")
        assert editor.saved(path).endswith(b"        return json.load(handle)\n")


def test_the_server_is_installed_from_a_wheel_into_a_private_environment(tmp_path: Path) -> None:
    """As a person would who has the extension alone: nothing on PATH, a wheel with the weights in it, one click."""
    needed()
    made = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(tmp_path / "wheels"),
        str(ROOT),
    ]
    shutil.rmtree(ROOT / "build", ignore_errors=True)  # what an earlier build left there would be packed again
    subprocess.run(made, check=True, timeout=240)
    shutil.rmtree(ROOT / "build", ignore_errors=True)
    (wheel,) = (tmp_path / "wheels").glob("midfill-*.whl")
    settings = {
        "midfill.server.path": "",
        "midfill.server.source": str(wheel),
        "midfill.server.pipArguments": ["--constraint", str(ROOT / "constraints.txt")],
    }
    plain = os.pathsep.join(p for p in os.environ["PATH"].split(os.pathsep) if not (Path(p) / "midfill").exists())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", plain)
        with vscode(tmp_path, settings) as editor:
            toast = editor.page.locator(".notification-toast", has_text="no server was found")
            toast.wait_for(timeout=30_000)
            toast.get_by_text("Install", exact=True).click()
            editor.page.locator(".notification-toast", has_text="installing the server").wait_for(timeout=30_000)
            editor.until(lambda: "ready" in editor.status(), editor.status, seconds=280)
            (server,) = editor.servers()
            assert any(part.endswith("globalStorage/midfill.midfill/server/bin/midfill") for part in server.cmdline())
            path = editor.open("a.py", b"def area(width, height):\n    return\n")
            editor.keys("ArrowDown", "End")
            editor.type(" ")
            editor.until(editor.ghost, lambda: "no ghost text")
            editor.keys("Tab")
            assert len(editor.saved(path)) > len(b"def area(width, height):\n    return \n")
