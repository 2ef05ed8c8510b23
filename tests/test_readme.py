"""What the README promises is what the code says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from lsp_server.cli.main import build_parser
from lsp_server.cli.target import marked
from lsp_server.settings import settings_table

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = [README, (ROOT / "docs" / "check.md").read_text(encoding="utf-8")]


def test_the_table_of_settings_is_the_codes_own():
    assert settings_table().strip() in README


def commands() -> list[str]:
    found = [
        one for text in DOCS for one in re.findall(r"^ {4}(?:[^#\n|]*\| )?(midfill [a-z]+[^#\n]*)", text, re.MULTILINE)
    ]
    return [command.strip() for command in found]


def test_the_readme_shows_commands():
    assert len(commands()) >= 6


@pytest.mark.parametrize("command", commands())
def test_a_command_of_the_readme_is_one_that_the_parser_takes(command):
    arguments = marked(shlex.split(command)[1:])
    build_parser(arguments).parse_args(arguments)


@pytest.mark.parametrize("name", sorted({*re.findall(r"\]\(([\w/.]+)\)", README)}))
def test_a_link_leads_somewhere(name):
    assert (ROOT / name).exists()
