"""The files for CI systems are right YAML, and every option in them is one that the command has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lsp_server.cli.main import build_parser

ROOT = Path(__file__).parents[1]
yaml = pytest.importorskip("yaml")


def options_of(command: str) -> list[str]:
    return re.findall(r"(?<!\S)--[a-z-]+", command)


def known(name: str) -> str:
    (commands,) = [a for a in build_parser([name])._actions if a.dest == "command"]
    return commands.choices[name].format_help()


def test_the_hooks_of_pre_commit() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    for hook in hooks:
        assert {"id", "name", "entry", "language"} <= set(hook)
    assert all(option in known("check") for option in options_of(hooks[0]["entry"]))


@pytest.mark.parametrize("name", ["action.yml", "gitlab.yml"])
def test_the_jobs_of_ci(name: str) -> None:
    text = (ROOT / "editors" / "ci" / name).read_text(encoding="utf-8")
    data = yaml.safe_load(text)
    assert data
    (command,) = [line for line in text.splitlines() if "midfill" in line and " check " in line and "--html" in line]
    assert options_of(command) and all(option in known("check") for option in options_of(command))
    if name == "action.yml":  # an input is never pasted into a script, where it could be anything
        for step in data["runs"]["steps"]:
            assert "${{" not in step.get("run", "")
