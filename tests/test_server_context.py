"""What the server reads of a workspace, and when it looks again."""

from __future__ import annotations

from pathlib import Path

import pytest

from lsp_server.surroundings import Surroundings
from tests.lsp_client import Client
from tests.test_server import Gated, served


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "prices.py").write_text("def total(rows):\n    return sum(rows)\n")
    (tmp_path / "main.py").write_text("from prices import total\n\ntotal(\n")
    return tmp_path


def initialize(client: Client, root: Path | None, **options: object) -> None:
    folders = [{"uri": root.as_uri(), "name": "project"}] if root else None
    params = {
        "processId": None,
        "rootUri": None,
        "capabilities": {"workspace": {"workspaceFolders": True}},
        "workspaceFolders": folders,
        "initializationOptions": options,
    }
    client.ask("initialize", params)
    client.notify("initialized", {})


def ask(client: Client, root: Path) -> None:
    uri = (root / "main.py").as_uri()
    client.open((root / "main.py").read_text(), uri=uri)
    client.inline(2, 6, uri=uri)


def test_a_request_reads_what_the_workspace_holds(project: Path) -> None:
    filler = Gated()
    with served(filler) as client:
        initialize(client, project)
        ask(client, project)
    assert filler.begun[0][2].context == "# prices.py\ndef total(rows):\n    return sum(rows)\n\n"


@pytest.mark.parametrize("options", [{"context_tokens": 0}, {"context_tokens": 5}])
def test_the_budget_is_a_setting(project: Path, options: dict) -> None:
    filler = Gated()
    with served(filler) as client:
        initialize(client, project, **options)
        ask(client, project)
    assert filler.begun[0][2].context == ""


def test_without_a_folder_nothing_is_read(project: Path) -> None:
    filler = Gated()
    with served(filler) as client:
        initialize(client, None)
        ask(client, project)
    assert filler.begun[0][2].context == ""


def test_what_was_gathered_holds_while_the_cursor_stays_near_and_is_looked_at_anew_when_idle(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.text import read_document

    now = 100.0
    monkeypatch.setattr("lsp_server.surroundings.time.monotonic", lambda: now)
    surroundings = Surroundings()
    surroundings.use_roots([project])
    document = read_document(project / "main.py")

    def text() -> str:
        return surroundings.text("main", document, len(document.text) - 1, 100, Gated())

    first = text()
    (project / "prices.py").write_text("def total(rows):\n    return 0\n")
    now += 2
    assert first and text() == first
    now += 10
    assert "return 0" in text()
