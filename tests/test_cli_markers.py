"""`midfill fill --markers`: markers that a person wrote into files, filled, and nothing lost."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from engine.marks import written_holes
from engine.text import Document
from tests.cli import midfill

SOURCE = "def f(x):\r\n    return ⟪fill⟫ + x\r\n\r\n\r\ny = ⟪fill⟫\r\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_bytes(SOURCE.encode())
    (folder / "src" / "b.py").write_text("x = 1\n")
    (folder / "c.js").write_text("const a = ⟪fill⟫;\n")
    for arguments in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "1"],
    ):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    return folder


@pytest.fixture
def scripted(tmp_path: Path) -> tuple[str, str]:
    path = tmp_path / "script.json"
    path.write_text(
        json.dumps({"fills": [{"when": "return ", "text": "2"}, {"when": "y = ", "text": "f(1)"}], "default": ""})
    )
    return "--model", f"scripted:{path}"


def test_every_marker_becomes_part_of_a_patch_that_git_takes(
    tree: Path, scripted: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tree)
    ran = midfill("fill", "--markers", "src", *scripted)
    assert ran.code == 0 and ran.err == ""
    assert (tree / "src" / "a.py").read_bytes() == SOURCE.encode()
    subprocess.run(["git", "apply"], input=ran.out, cwd=tree, check=True)
    assert (tree / "src" / "a.py").read_bytes() == b"def f(x):\r\n    return 2 + x\r\n\r\n\r\ny = f(1)\r\n"


def test_what_cannot_be_filled_keeps_its_marker(tree: Path, scripted: tuple[str, str]) -> None:
    ran = midfill("fill", "--markers", str(tree), "--in-place", *scripted)
    assert ran.code == 0 and "filled 2 of 3 markers" in ran.err
    assert (tree / "src" / "a.py").read_bytes() == b"def f(x):\r\n    return 2 + x\r\n\r\n\r\ny = f(1)\r\n"
    assert (tree / "c.js").read_text() == "const a = ⟪fill⟫;\n"


def test_a_file_that_git_does_not_have_as_it_stands_is_refused_unless_forced(
    tree: Path, scripted: tuple[str, str]
) -> None:
    path = tree / "src" / "a.py"
    path.write_bytes(b"# mine\r\n" + SOURCE.encode())
    ran = midfill("fill", "--markers", str(tree), "--in-place", *scripted)
    assert ran.code == 2 and "not in git as it stands" in ran.err
    assert path.read_bytes() == b"# mine\r\n" + SOURCE.encode()
    assert midfill("fill", "--markers", str(path), "--in-place", "--force", *scripted).code == 0
    assert path.read_bytes() == b"# mine\r\ndef f(x):\r\n    return 2 + x\r\n\r\n\r\ny = f(1)\r\n"


def test_another_marker_and_json(tree: Path, scripted: tuple[str, str]) -> None:
    (tree / "src" / "b.py").write_text("a = 1; y = @@1@@; z = @@2@@\n")
    ran = midfill("fill", "--markers", str(tree / "src"), "--marker", "@@[0-9]@@", "--json", *scripted)
    (file,) = json.loads(ran.out)["files"]
    assert [(h["line"], h["column"], h["marker"], h["text"]) for h in file["holes"]] == [
        (1, 12, "@@1@@", "f(1)"),
        (1, 23, "@@2@@", "f(1)"),
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--markers", "b"], 1, "no file has a marker"),
        (["--markers", "a", "--marker", "("], 2, "is no regular expression"),
        (["--markers", "a", "--show-steps"], 2, "goes with none of"),
        (["a:1:1", "--force"], 2, "go with --markers"),
        (["--markers", "nowhere"], 2, "there is no"),
    ],
)
def test_bad_input_is_a_line(tree: Path, scripted: tuple[str, str], arguments: list[str], code: int, said: str) -> None:
    names = {"a": tree / "src/a.py", "b": tree / "src/b.py", "nowhere": tree / "nowhere"}
    ran = midfill("fill", *(str(names.get(a, a)) for a in arguments), *scripted)
    assert ran.code == code and said in ran.err and ran.err.count("\n") == 1


def test_markers_side_by_side_are_one_and_empty_matches_none() -> None:
    import re

    written = written_holes(Document("a⟪⟫⟪⟫b⟪⟫", "plaintext"), re.compile("⟪⟫"))
    assert written.document.text == "ab" and written.markers == ["⟪⟫⟪⟫", "⟪⟫"]
    assert [mark.hole.start for mark in written.marks] == [1, 2]
    assert written_holes(Document("ab", "plaintext"), re.compile("x*")).marks == []
