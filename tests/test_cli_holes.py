"""`midfill fill FILE --holes`: one patch, one object, or the file itself; what cannot be filled stays."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli import midfill

SOURCE = "def f():\n    ...\n\n\ndef g():\n    pass\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_text(SOURCE)
    return path


def scripted(folder: Path, **script: object) -> tuple[str, str]:
    path = folder / "script.json"
    path.write_text(json.dumps(script))
    return "--model", f"scripted:{path}"


def test_the_patch_applies(source: Path) -> None:
    subprocess.run(["git", "init", "-q", source.parent], check=True)
    ran = midfill("fill", str(source), "--holes", *scripted(source.parent, default="return 1"))
    assert ran.code == 0 and source.read_text() == SOURCE
    subprocess.run(["git", "apply"], input=ran.out, cwd=source.parent, check=True)
    assert source.read_text() == SOURCE.replace("...", "return 1").replace("pass", "return 1")


def test_in_place_and_what_stays(source: Path) -> None:
    model = scripted(source.parent, fills=[{"when": "def g():\n    ", "text": ""}, {"text": "return 1"}])
    ran = midfill("fill", str(source), "--holes", "--in-place", *model)
    assert ran.code == 0 and ran.out == b"" and "filled 1 of 2" in ran.err
    assert source.read_text() == SOURCE.replace("...", "return 1")


def test_json_names_each_hole(source: Path) -> None:
    ran = midfill("fill", str(source), "--holes", "--json", *scripted(source.parent, default="return 1"))
    holes = json.loads(ran.out)["holes"]
    assert [hole["text"] for hole in holes] == ["return 1", "return 1"]
    assert holes[0]["range"] == {"start": {"line": 2, "column": 5}, "end": {"line": 2, "column": 8}}


def test_nothing_marked_and_wrong_use_are_told(source: Path) -> None:
    model = scripted(source.parent, default="")
    assert midfill("fill", str(source), "--holes", *model).code == 1
    source.write_text("x = 1\n")
    ran = midfill("fill", str(source), "--holes", *model)
    assert ran.code == 1 and "marks no hole" in ran.err
    assert midfill("fill", str(source), "--holes", "--show-steps", *model).code == 2
    assert midfill("fill", f"{source}:1:1", "--holes", *model).code == 2


@pytest.mark.slow
def test_the_example_is_filled_by_the_embedded_model() -> None:
    example = Path(__file__).parent.parent / "examples" / "holes.py"
    ran = midfill("fill", str(example), "--holes", "--json")
    holes = json.loads(ran.out)["holes"]
    assert ran.code == 0 and len(holes) == 3
    text = example.read_text()
    lines = text.splitlines(keepends=True)
    for hole in reversed(holes):
        if hole["text"]:
            at = hole["range"]["start"]
            offset = sum(map(len, lines[: at["line"] - 1])) + at["column"] - 1
            text = text[:offset] + hole["text"] + text[offset + 3 :]
    compile(text, "holes.py", "exec")
