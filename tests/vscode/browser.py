"""A real VS Code: code-server in a process, its window in Chromium, our extension from its .vsix, our server behind it.

`tests/vscode/setup.sh` brings what is needed; without it the tests are skipped, or fail where MIDFILL_NEED_EDITORS is set.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

ROOT = Path(__file__).parents[2]
VSIX = ROOT / "editors" / "vscode" / "midfill.vsix"
HOME = Path(os.environ.get("MIDFILL_EDITORS") or Path.home() / ".cache" / "midfill-editors")
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync --disable-dev-shm-usage"
)
PATIENCE = 30_000  # milliseconds
SETTINGS = {
    "security.workspace.trust.enabled": False,
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "chat.commandCenter.enabled": False,
    "telemetry.telemetryLevel": "off",
    "update.mode": "none",
    "extensions.autoCheckUpdates": False,
    "files.autoSave": "off",
    "editor.accessibilitySupport": "off",
    "editor.minimap.enabled": False,
    "editor.wordBasedSuggestions": "currentDocument",
    "window.confirmBeforeClose": "never",
    "midfill.server.path": str(Path(sys.executable).with_name("midfill")),
}


def missing() -> str | None:
    """What is not there, if anything."""
    if not (HOME / "ready").exists():
        return f"{HOME} has no code-server: run tests/vscode/setup.sh"
    if not VSIX.exists():
        return f"{VSIX.name} is not built: run tests/vscode/setup.sh"
    if not any(map(shutil.which, CHROMIUM)):
        return "no Chromium is installed"
    try:
        import playwright  # noqa: F401
    except ImportError:
        return "playwright is not installed: pip install -e '.[dev]'"
    return None


def needed() -> None:
    """Skips the test that calls it where the editor is not here; fails it where it has to be."""
    if why := missing():
        if os.environ.get("MIDFILL_NEED_EDITORS"):
            pytest.fail(why)
        pytest.skip(why)


class Editor:
    """The window. Keys go to where the focus is, as a person's do."""

    def __init__(self, page: Any, project: Path, server: subprocess.Popen) -> None:
        self.page, self.project, self._server = page, project, server

    def open(self, name: str, content: bytes | None = None) -> Path:
        """Opens a file of the project, written anew if `content` is given, with the cursor at its start."""
        path = self.project / name
        if content is not None:
            path.write_bytes(content)
        self.keys("Control+p")
        box = self.page.locator(".quick-input-widget input").first
        box.wait_for(state="visible", timeout=PATIENCE)
        box.fill(str(path))  # its whole path: a search may not know of a new file yet
        self.page.locator(".quick-input-list .monaco-list-row", has_text=name).first.wait_for(timeout=PATIENCE)
        self.keys("Enter")
        self.page.locator(f'.tab.active[data-resource-name="{name}"]').wait_for(timeout=PATIENCE)
        if not name.endswith(".ipynb"):
            self.page.locator(".monaco-editor.focused").first.wait_for(timeout=PATIENCE)
            self.keys("Control+Home")
        return path

    def keys(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, text: str) -> None:
        self.page.keyboard.type(text, delay=30)

    def command(self, title: str) -> None:
        """Runs a command from the palette by its title."""
        self.keys("F1")
        box = self.page.locator(".quick-input-widget input").first
        box.wait_for(state="visible", timeout=PATIENCE)
        box.fill(f">{title}")
        self.page.locator(".quick-input-list .monaco-list-row", has_text=title).first.wait_for(timeout=PATIENCE)
        self.keys("Enter")

    def ghost(self) -> str:
        """The grey text that is shown, as far as it is text of its own: words of it may stand apart."""
        parts = self.page.locator('.monaco-editor [class*="ghost-text"]').all_inner_texts()
        return "".join(parts).replace("\u00a0", " ").replace("\n", "")

    def shows(self, text: str) -> None:
        """Waits until the grey text has this in it."""
        self.until(lambda: text in self.ghost(), lambda: f"no ghost text {text!r}, but {self.ghost()!r}")

    def take(self) -> None:
        """Tab, once the grey text has stood still; once more where a busy machine let the first go by."""
        for _ in range(2):
            self.page.wait_for_timeout(400)
            shown = self.ghost()
            self.keys("Tab")
            for _ in range(100):
                if self.ghost() != shown:
                    return
                self.page.wait_for_timeout(100)
        raise AssertionError(f"Tab does not take {self.ghost()!r}")

    def hides(self) -> None:
        self.until(lambda: not self.ghost(), lambda: f"still ghost text: {self.ghost()!r}")

    def line(self, number: int) -> str:
        """The text of a line as it is shown, grey text and all; from 1."""
        lines = self.page.locator(".monaco-editor.focused .view-line").all()
        boxes = [(one.bounding_box(), one) for one in lines]
        shown = sorted((box["y"], one.inner_text()) for box, one in boxes if box is not None)  # lines come and go
        return shown[number - 1][1].replace("\u00a0", " ") if number <= len(shown) else ""

    def saved(self, path: Path) -> bytes:
        """Saves, and the bytes that are then on the disk."""
        self.keys("Control+s")
        self.page.locator(".tab.active.dirty").wait_for(state="detached", timeout=PATIENCE)
        return path.read_bytes()

    def status(self) -> str:
        return self.page.locator('[id="midfill.midfill.midfill.status"]').first.get_attribute("aria-label") or ""

    def ready(self) -> None:
        self.until(lambda: "ready" in self.status(), lambda: f"the status is {self.status()!r}")

    def until(self, holds: Callable[[], object], why: Callable[[], str], seconds: float = PATIENCE / 1000) -> None:
        deadline = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > deadline:
                raise AssertionError(why())
            self.page.wait_for_timeout(50)

    def servers(self) -> list[psutil.Process]:
        """The processes of our language server below this window's."""
        found = []
        for process in psutil.Process(self._server.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if any(part.endswith("midfill") for part in process.cmdline()) and "serve" in process.cmdline():
                    found.append(process)
        return found


@contextlib.contextmanager
def vscode(folder: Path, settings: dict[str, Any], size: tuple[int, int] = (1100, 700)) -> Iterator[Editor]:
    """An editor on an empty project below `folder`, with the extension installed, and these settings beside `SETTINGS`."""
    project, data, extensions = folder / "project", folder / "data", folder / "extensions"
    project.mkdir(exist_ok=True)
    (data / "User").mkdir(parents=True)
    (data / "User" / "settings.json").write_text(json.dumps(SETTINGS | settings))
    places = ["--user-data-dir", str(data), "--extensions-dir", str(extensions)]
    entry = [str(HOME / "bin" / "node"), str(HOME / "node_modules/code-server/out/node/entry.js")]
    environment = {**os.environ, "HOME": str(folder), "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    subprocess.run(
        [*entry, *places, "--install-extension", str(VSIX)],
        check=True,
        capture_output=True,
        env=environment,
        timeout=120,
    )
    port = _free_port()
    with open(folder / "code-server.log", "wb") as log:
        server = subprocess.Popen(
            [*entry, *places, "--auth", "none", "--bind-addr", f"127.0.0.1:{port}", "--disable-update-check"],
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
    try:
        _wait_for(f"http://127.0.0.1:{port}/healthz", server)
        program = next(filter(None, map(shutil.which, CHROMIUM)))
        browser = driver().chromium.launch(executable_path=program, args=FLAGS.split())
        try:
            page = browser.new_page(viewport={"width": size[0], "height": size[1]})
            page.goto(f"http://127.0.0.1:{port}/?folder={project}", timeout=PATIENCE)
            page.locator('[id="midfill.midfill.midfill.status"]').first.wait_for(timeout=2 * PATIENCE)
            yield Editor(page, project, server)
        finally:
            browser.close()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()


@functools.cache
def driver() -> Any:
    """One for all windows: a second beside it would be refused."""
    from playwright.sync_api import sync_playwright

    started = sync_playwright().start()
    atexit.register(started.stop)
    return started


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def _wait_for(address: str, server: subprocess.Popen) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert server.poll() is None, "code-server ended"
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=2):
            return
        time.sleep(0.3)
    raise AssertionError("code-server does not answer")
