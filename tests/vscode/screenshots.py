"""Takes the pictures of docs/screenshots with the embedded model: `python -m tests.vscode.screenshots`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.vscode.browser import ROOT, vscode

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
