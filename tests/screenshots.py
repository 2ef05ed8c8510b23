"""Takes the pictures of docs/screenshots with the embedded model: `python -m tests.screenshots`."""

from __future__ import annotations

import html
import shutil
import tempfile
from pathlib import Path

from tests.neovim_screen import COLUMNS, Screen, neovim
from tests.vscode.browser import CHROMIUM, FLAGS, ROOT, driver, vscode

PICTURES = ROOT / "docs" / "screenshots"
SOURCE = '''\
class Item:
    def __init__(self, name, price, count=1):
        self.name = name
        self.price = price
        self.count = count


def total(items):
    """Adds up what all items cost."""
    result = 0

        result += item.price * item.count
    return result
'''


def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    in_vscode()
    in_neovim()


def in_neovim() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shop.py"
        path.write_text(SOURCE)
        with neovim(Path(folder), path, None, extra="vim.cmd.syntax('on') vim.o.termguicolors = true") as screen:
            screen.shows("ready")
            screen.keys("10jA    ")
            screen.shows("for item in items:")
            screen.read(0.5)
            picture(screen, PICTURES / "neovim-ghost-text.png")


def picture(screen: Screen, path: Path) -> None:
    """The terminal's screen as a page, and the page as a picture."""
    rows = []
    for row in range(len(screen.lines)):
        cells = [screen.cell(row, column) for column in range(COLUMNS)]
        rows.append(
            "".join(
                f'<span style="color:{_colour(c.fg, "#e0e2ea")};background:{_colour(c.bg, "#14161b")}'
                + (";font-weight:bold" if c.bold else "")
                + (";filter:invert(1)" if c.reverse else "")
                + f'">{html.escape(c.data)}</span>'
                for c in cells
            )
        )
    page = browser_page(
        f'<pre style="display:inline-block;margin:8px;font:16px/1.25 monospace">{"<br>".join(rows)}</pre>'
    )
    page.locator("pre").screenshot(path=path)
    page.context.browser.close()


def browser_page(body: str):
    program = next(filter(None, map(shutil.which, CHROMIUM)))
    page = driver().chromium.launch(executable_path=program, args=FLAGS.split()).new_page()
    page.set_content(f'<body style="background:#14161b">{body}</body>')
    return page


def _colour(name: str, default: str) -> str:
    if name == "default":
        return default
    return f"#{name}" if len(name) == 6 and all(c in "0123456789abcdef" for c in name.lower()) else name


def in_vscode() -> None:
    with tempfile.TemporaryDirectory() as folder, vscode(Path(folder), {"editor.fontSize": 16}, (1000, 560)) as editor:
        editor.ready()
        editor.open("shop.py", SOURCE.encode())
        editor.keys(*["ArrowDown"] * 10)
        editor.type("    ")
        editor.until(editor.ghost, lambda: "no ghost text")
        editor.command("Notifications: Clear All Notifications")
        editor.keys("Escape", "Backspace")
        editor.type(" ")
        editor.until(editor.ghost, lambda: "no ghost text")
        editor.page.wait_for_timeout(500)
        editor.page.screenshot(path=PICTURES / "vscode-ghost-text.png")
        editor.keys("Escape")
        editor.command("Midfill: Show denoising")
        editor.until(
            lambda: any(
                "offered" in f.locator("#outcome").inner_text()
                for f in editor.page.frames
                if f.locator("#outcome").count()
            ),
            lambda: "no panel",
        )
        editor.page.wait_for_timeout(500)
        editor.page.screenshot(path=PICTURES / "vscode-denoising.png")


if __name__ == "__main__":
    main()
