"""Holes dug in real code: their kinds, a draw that is the same anywhere, and what `midfill check` says of the answers."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from engine.check.dig import Kind, candidates, draw
from engine.check.layout import same_code
from engine.check.repository import changed_lines, documents
from engine.errors import BadInput
from engine.syntax import SyntaxTree
from engine.text import Document
from tests.cli import midfill

SOURCE = """import os


def total(rows, rate=1):
    # adds them up
    result = sum(rows) * rate
    if result > 10:
        print("large", result)
        return result
    return os.path.join("a name", str(result))
"""


def texts(source: str, language: str, kind: Kind) -> list[str]:
    return [dug.expected for dug in candidates(Document(source, language, "x"))[kind]]


def test_the_kinds_of_holes_in_python() -> None:
    assert texts(SOURCE, "python", Kind.STRING) == ["large", "a name"]
    assert texts(SOURCE, "python", Kind.COMMENT) == ["adds them up"]
    assert "sum(rows) * rate" in texts(SOURCE, "python", Kind.EXPRESSION)
    assert texts(SOURCE, "python", Kind.ARGUMENT)[:3] == ["rows", '"large"', "result"]
    assert 'print("large", result)\n        return result' in texts(SOURCE, "python", Kind.BLOCK)
    lines = texts(SOURCE, "python", Kind.LINE)
    assert "import os" in lines and "return result" in lines and "# adds them up" not in lines
    assert all(line.endswith(rest) for line, rest in zip(lines, texts(SOURCE, "python", Kind.LINE_REST), strict=True))


@pytest.mark.parametrize(
    ("language", "source", "values"),
    [
        ("json", '{"name": "midfill", "deep": {"size": 123}}', ['"midfill"', '{"size": 123}', "123"]),
        ("toml", 'name = "midfill"\nsize = 123\n', ['"midfill"', "123"]),
        ("yaml", "name: midfill\nsize: 123\n", ["midfill", "123"]),
    ],
)
def test_values_of_data(language: str, source: str, values: list[str]) -> None:
    found = candidates(Document(source, language, "x"))
    assert [dug.expected for dug in found[Kind.VALUE]] == values
    assert not any(found[kind] for kind in Kind if kind is not Kind.VALUE)


def test_other_languages_have_holes_too() -> None:
    go = "package a\n\nfunc f(a int) int {\n\tx := g(a, 12345)\n\treturn x\n}\n"
    assert "12345" in texts(go, "go", Kind.ARGUMENT)
    assert "x := g(a, 12345)\n\treturn x" in texts(go, "go", Kind.BLOCK)
    script = 'const a = "text here"; // a note\n'
    assert texts(script, "javascript", Kind.STRING) == ["text here"] and texts(script, "javascript", Kind.COMMENT) == [
        "a note"
    ]


def test_a_hole_put_back_is_the_document() -> None:
    for found in candidates(Document(SOURCE, "python", "x")).values():
        for dug in found:
            without = dug.without.text
            assert without[: dug.start] + dug.expected + without[dug.start :] == SOURCE


def test_a_draw_is_the_same_for_a_seed_whatever_the_order_and_goes_by_turns() -> None:
    files = [Document(SOURCE.replace("total", name), "python", f"{name}.py") for name in ("alpha", "beta", "gamma")]
    drawn = draw(files, 12, seed=1)
    assert drawn == draw(files[::-1], 12, seed=1) and drawn != draw(files, 12, seed=2)
    assert {dug.kind for dug in drawn} == set(Kind) - {Kind.VALUE}
    assert len({(d.document.path, d.start, d.end, d.kind) for d in drawn}) == 12
    assert len(draw(files, 10_000, seed=1)) < 10_000


def test_the_same_code_in_another_layout() -> None:
    one, other = (SyntaxTree.parse(text, "python") for text in ("f(a,  b)\n", "f(\n    a, b)\n"))
    assert same_code(one, other) and not same_code(one, SyntaxTree.parse("f(a, c)\n", "python"))
    assert same_code(SyntaxTree.parse("a  b", "plaintext"), SyntaxTree.parse("a b\n", "plaintext"))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text(SOURCE)
    (tmp_path / "notes.txt").write_text("text")
    (tmp_path / "bad.py").write_bytes(b"x = '\xff'\n")
    (tmp_path / "ignored.py").write_text("x = 1\n")
    (tmp_path / ".gitignore").write_text("ignored.py\n")
    for arguments in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "1"],
    ):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    return tmp_path


def test_the_files_are_those_of_git_in_known_languages(repository: Path) -> None:
    found, skipped = documents([repository])
    assert [Path(d.path or "").name for d in found] == ["a.py"]
    assert [Path(one.path).name for one in skipped] == ["bad.py"] and "UTF-8" in skipped[0].why


def test_changed_lines_are_those_of_the_working_tree(repository: Path) -> None:
    (repository / "a.py").write_text(SOURCE.replace("result > 10", "result > 11") + "x = 1\n")
    assert changed_lines(repository, "HEAD") == {(repository / "a.py").as_posix(): {7, 11}}
    with pytest.raises(BadInput):
        changed_lines(repository, "no-such-revision")
    with pytest.raises(BadInput):
        changed_lines(repository, "--output=x")


def scripted(folder: Path, **script: object) -> tuple[str, str]:
    path = folder / "script.json"
    path.write_text(json.dumps(script))
    return "--model", f"scripted:{path}"


def test_two_runs_with_one_seed_give_the_same_but_for_times(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    model = scripted(tmp_path_factory.mktemp("model"), default="value")

    def report() -> dict:
        found = json.loads(midfill("check", str(repository), "--holes", "9", "--json", *model).out)
        for part in (found, *found["by_kind"].values()):
            part.pop("ms")
        for hole in found["holes"]:
            hole.pop("ms")
        return found

    assert report() == report()


def test_thresholds_decide_the_exit_code(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("model")
    right = scripted(folder, default="adds them up")
    only = ("check", str(repository), "--kind", "comment")
    ran = midfill(*only, "--min-exact", "1", *right)
    assert ran.code == 0 and b"comment" in ran.out
    wrong = scripted(folder, default="no idea")
    ran = midfill(*only, "--min-exact", "0.5", "--max-p95-ms", "1e9", *wrong)
    assert ran.code == 1 and "exact is 0.000, less than 0.5" in ran.err
    broken = scripted(folder, default=")")
    ran = midfill("check", str(repository), "--kind", "line", "--holes", "2", *broken)
    assert ran.code == 1 and "broke the syntax" in ran.err
    assert midfill(*only, "--max-empty", "0", *scripted(folder, default="")).code == 1


def test_only_changed_lines_are_dug(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    model = scripted(tmp_path_factory.mktemp("model"), default="value")
    (repository / "a.py").write_text(SOURCE.replace("result > 10", "result > 11"))
    found = json.loads(midfill("check", str(repository), "--base", "HEAD", "--json", *model).out)
    assert {hole["line"] for hole in found["holes"]} == {7}
    subprocess.run(["git", "checkout", "-q", "a.py"], cwd=repository, check=True)
    ran = midfill("check", str(repository), "--base", "HEAD", *model)
    assert ran.code == 2 and "no hole can be dug in the lines changed since HEAD" in ran.err


@pytest.mark.parametrize("what", ["missing", "empty", "binary", "option"])
def test_bad_input_is_a_line(tmp_path: Path, what: str) -> None:
    (tmp_path / "empty").mkdir()
    if what == "binary":
        (tmp_path / "empty" / "a.py").write_bytes(b"\0\1")
    arguments = {"missing": ["nope"], "option": ["empty", "--holes", "0"]}.get(what, ["empty"])
    ran = midfill("check", *(str(tmp_path / a) if not a.startswith("-") and a != "0" else a for a in arguments))
    assert ran.code == 2 and ran.err.count("\n") == 1
