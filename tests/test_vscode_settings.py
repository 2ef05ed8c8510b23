"""What the VS Code extension declares: the server's own settings, and nothing that a repository could harm a person with."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path

import pytest

EXTENSION = Path(__file__).parents[1] / "editors" / "vscode"
PACKAGE = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
PROPERTIES = PACKAGE["contributes"]["configuration"]["properties"]


def test_the_settings_are_the_servers_own() -> None:
    spec = importlib.util.spec_from_file_location("vscode_settings", EXTENSION / "settings.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.properties() == PROPERTIES, "run python editors/vscode/settings.py"


@pytest.mark.parametrize(
    "name", ["server.path", "server.source", "server.pipArguments", "model", "device", "memoryLimit"]
)
def test_what_is_run_and_with_what_is_the_machines_to_say(name: str) -> None:
    assert PROPERTIES[f"midfill.{name}"]["scope"] == "machine"


def test_an_untrusted_workspace_is_served_within_limits() -> None:
    trust = PACKAGE["capabilities"]["untrustedWorkspaces"]
    assert trust["supported"] == "limited"
    assert set(trust["restrictedConfigurations"]) <= set(PROPERTIES)
    assert "midfill.server.path" in trust["restrictedConfigurations"]


def test_no_code_of_the_extension_opens_a_connection() -> None:
    for path in (EXTENSION / "src").glob("*.ts"):
        text = path.read_text(encoding="utf-8")
        assert not any(
            word in text for word in ("fetch(", "node:http", "node:net", "XMLHttpRequest", "TelemetryLogger")
        )


@pytest.mark.slow
def test_the_extensions_own_unit_tests() -> None:
    from tests.vscode.browser import HOME, needed

    needed()
    npm = shutil.which("npm")
    assert npm is not None
    path = f"{HOME / 'bin'}:/usr/bin:/bin:{Path(npm).parent}"
    for script in ("check", "test"):
        ran = subprocess.run(
            [npm, "run", "--silent", script],
            cwd=EXTENSION,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={"PATH": path, "HOME": str(HOME)},
        )
        assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
