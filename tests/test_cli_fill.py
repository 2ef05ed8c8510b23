"""`midfill fill`: what it prints, what it writes, and what it says of bad input."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from tests.cli import Ran, midfill, run, scripted

SOURCE = "def add(a, b):\r\n    return \r\n# 😀\x0c end"
HOLE = (2, 12)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "odd:name 1.py"
    path.write_bytes(SOURCE.encode())
    return path


def check(source: Path, *options: str, out: str, text: str = "a + b", **fill: object) -> Ran:
    ran = midfill("fill", f"{source}:2:12", *options, *scripted(source.parent, text, **fill))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == out.encode()
    return ran


def test_the_completion_alone_is_printed(source: Path) -> None:
    check(source, out="a + b\n")
    check(source, text="a\r\n", out="a\r\n")
    check(source, text="é😀\x85", out="é😀\x85\n")
    assert source.read_bytes() == SOURCE.encode()


def test_lone_surrogates_do_not_crash(source: Path) -> None:
    check(source, text="\ud800", out="?\n")
    ran = midfill("fill", f"{source}:2:12", "--json", *scripted(source.parent, "\ud800"))
    assert ran.json["text"] == "\ud800"


def test_json_is_one_object_alone(source: Path) -> None:
    model = scripted(
        source.parent, "a + b", alternatives=["b + a", "sum"], drafts=["a", "a +", "a + b"], confidence=0.5
    )
    ran = midfill("fill", f"{source}:2:12", "--json", "--alternatives", "2", *model)
    found = ran.json
    assert ran.out.count(b"\n") == 1 and ran.code == 0 and not ran.err
    ms = found.pop("ms")
    assert list(ms) == ["encode", "denoise", "check", "total"]
    assert found == {
        "text": "a + b",
        "range": {"start": {"line": 2, "column": 12}, "end": {"line": 2, "column": 12}},
        "confidence": 0.5,
        "steps": 3,
        "tokens": 3,
        "cached_tokens": 0,
        "encoded_tokens": 0,
        "alternatives": [{"text": "b + a", "confidence": 0.5}],
        "model": "scripted",
        "hole": "rest_of_line",
    }


def test_a_range_counts_characters_and_excludes_its_end(source: Path) -> None:
    model = scripted(source.parent, "x")
    found = midfill("fill", f"{source}:3:3-3:4", "--json", *model).json
    assert found["range"] == {"start": {"line": 3, "column": 3}, "end": {"line": 3, "column": 4}}
    assert found["hole"] == "selection"
    midfill("fill", f"{source}:3:3-3:4", "--in-place", *model)
    assert source.read_bytes() == SOURCE.replace("😀", "x").encode()


def test_the_diff(source: Path) -> None:
    ran = midfill("fill", f"{source}:2:12", "--diff", *scripted(source.parent, "a + b"))
    lines = ran.out.decode().split("\n")
    assert lines[0].endswith("odd:name 1.py\t")
    assert lines[2:6] == ["@@ -1,3 +1,3 @@", " def add(a, b):\r", "-    return \r", "+    return a + b\r"]


def test_alternatives_are_headed(source: Path) -> None:
    out = "--- 1 of 2, confidence 0.90\na + b\n--- 2 of 2, confidence 0.90\nb + a\n"
    check(source, "--alternatives", "3", out=out, alternatives=["b + a"])


def test_in_place_changes_the_hole_and_keeps_the_mode(source: Path) -> None:
    source.chmod(0o750)
    link = source.parent / "link.py"
    link.symlink_to(source)
    check(link, "--in-place", out="")
    assert source.read_bytes() == SOURCE.replace("return ", "return a + b").encode()
    assert stat.S_IMODE(source.stat().st_mode) == 0o750
    assert link.is_symlink()
    assert sorted(path.name for path in source.parent.iterdir()) == ["link.py", "odd:name 1.py", "script.json"]


def test_in_place_with_a_diff_shows_what_it_wrote(source: Path) -> None:
    ran = midfill("fill", f"{source}:2:12", "--in-place", "--diff", *scripted(source.parent, "a + b"))
    assert b"+    return a + b\r\n" in ran.out
    assert b"return a + b" in source.read_bytes()


def test_in_place_does_not_overwrite_what_somebody_wrote_meanwhile(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lsp_server.cli import model

    load = model.load

    def slow(*arguments: object) -> object:
        source.write_text("newer")
        return load(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(model, "load", slow)
    ran = run(monkeypatch, "fill", f"{source}:2:12", "--in-place", *scripted(source.parent, "a + b"))
    assert ran.code == 2 and "was changed" in ran.err
    assert source.read_text() == "newer"


def test_a_failed_write_leaves_the_file_and_nothing_else(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    ran = run(monkeypatch, "fill", f"{source}:2:12", "--in-place", *scripted(source.parent, "a + b"))
    assert (ran.code, ran.err.count("\n")) == (2, 1) and "No space left" in ran.err
    assert source.read_bytes() == SOURCE.encode()
    assert len(list(source.parent.iterdir())) == 2


def test_standard_input(tmp_path: Path) -> None:
    model = scripted(tmp_path, "a + b")
    ran = midfill("fill", "-:2:12", "--language", "python", "--json", *model, stdin=SOURCE.encode())
    assert (ran.json["text"], ran.json["hole"]) == ("a + b", "rest_of_line")
    ran = midfill("fill", "-:2:12", "--diff", *model, stdin=SOURCE.encode())
    assert ran.out.startswith(b"--- a/stdin\n+++ b/stdin\n")


def test_steps_are_shown_in_plain_lines(source: Path) -> None:
    model = scripted(source.parent, "a +\r\n  b\x1b", drafts=["a", "a +\r\n  b"])
    ran = midfill("fill", f"{source}:2:12", "--show-steps", *model)
    lines = ran.out.decode().split("\n")
    assert lines[0].endswith(":2:12: rest of line, filled by scripted")
    assert lines[1].startswith("slots decided of all") and lines[2:6] == [
        "step  1 1/1 │ a",
        "step  2 1/1 │ a +",
        "            │   b",
        "",
    ]
    assert lines[6:10] == ["  1 │ def add(a, b):", "> 2 │     return a +", "> 3 │   b␛", "  4 │ # 😀␌ end"]
    assert "tokens in 2 steps, confidence 0.90" in lines[11]


def test_colour_is_for_terminals_that_want_it(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("fill", f"{source}:2:12", "--show-steps", *scripted(source.parent, "a + b"))
    plain = midfill(*arguments)
    coloured = midfill(*arguments, terminal=True)
    assert "return \x1b[1;32ma + b\x1b[0m" in coloured.out.decode()
    assert b"\x1b" not in plain.out
    monkeypatch.setenv("NO_COLOR", "1")
    assert b"\x1b" not in run(monkeypatch, *arguments, terminal=True).out


def test_steps_stay_off_standard_output_beside_json(source: Path) -> None:
    import subprocess
    import sys

    arguments = ["fill", f"{source}:2:12", "--show-steps", "--json", *scripted(source.parent, "a + b")]
    done = subprocess.run([sys.executable, "-m", "lsp_server.cli.main", *arguments], capture_output=True)
    assert json.loads(done.stdout)["text"] == "a + b"
    assert b"step  1" in done.stderr and done.returncode == 0


def test_nothing_to_offer_is_1(source: Path) -> None:
    for text, options in [("", ["--in-place"]), ("x", ["--min-confidence", "0.6"])]:
        ran = midfill("fill", f"{source}:2:12", *options, *scripted(source.parent, text, confidence=0.5))
        assert (ran.code, ran.out, ran.err.count("\n")) == (1, b"", 1)
        assert ran.err.startswith("midfill: nothing could be filled at ")
    ran = midfill("fill", f"{source}:2:12", "--json", *scripted(source.parent, ""))
    assert (ran.code, ran.json["text"]) == (1, "")
    assert source.read_bytes() == SOURCE.encode()


BAD = [
    (["none.py:1:1"], "there is no file none.py"),
    ([".:1:1"], ". is a directory"),
    (["binary:1:1"], "binary is a binary file"),
    (["latin:1:1"], "latin is not UTF-8"),
    (["wide:1:1"], "UTF-16"),
    (["good.py:3:1"], "line 3 is past the end of the text"),
    (["good.py:1:7"], "column 7 is past the end of line 1, which has 5 characters"),
    (["good.py:1:3-1:2"], "before it begins"),
    (["good.py"], "a hole is PATH:LINE:COL"),
    (["good.py:0:1"], "count from 1"),
    (["good.py:1:1", "--language", "klingon"], "unknown language 'klingon'"),
    (["-:1:1", "--language", "klingon"], "unknown language 'klingon'"),
    (["-:2:1"], "-: line 2 is past"),
    (["-:1:1", "--in-place"], "standard input cannot be written"),
    (["locked.py:1:1", "--in-place"], "locked.py is read-only"),
    (["good.py:1:1", "--slots", "0"], "slots must be a whole number from 1 to 4096, not 0"),
    (["good.py:1:1", "--slots", "many"], "argument --slots: invalid int value"),
    (["good.py:1:1", "--steps", "0"], "steps must be"),
    (["good.py:1:1", "--seed", "-1"], "--seed: must be a whole number from 0"),
    (["good.py:1:1", "--seed", "9" * 30], "--seed: must be a whole number from 0"),
    (["good.py:1:1", "--alternatives", "17"], "alternatives must be"),
    (["good.py:1:1", "--min-confidence", "nan"], "min_confidence must be from 0 to 1"),
    (["good.py:1:1", "--precision", "int3"], "argument --precision"),
    (["good.py:1:1", "--json", "--diff"], "not allowed with"),
    (["good.py:1:1", "--nonsense"], "--nonsense"),
    ([], "required"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_input_is_one_line_and_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    files = {"good.py": b"a = 1\n", "binary": b"\x7fELF\0", "latin": b"caf\xe9\n", "wide": "a".encode("utf-16")}
    for name, data in {**files, "locked.py": b"a"}.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "locked.py").chmod(0o444)
    monkeypatch.chdir(tmp_path)
    # A model that does not exist: what is wrong with the input is found before one is asked for.
    ran = midfill("fill", *arguments, "--model", "none")
    assert (ran.code, ran.out) == (2, b"")
    assert ran.err.startswith("midfill: ") and ran.err.count("\n") == 1
    assert message in ran.err


@pytest.mark.parametrize("model", ["no-such-model", "scripted:none.json", "."])
def test_a_model_that_cannot_be_loaded_is_3(tmp_path: Path, source: Path, model: str) -> None:
    name = str(tmp_path) if model == "." else model
    ran = midfill("fill", f"{source}:2:12", "--model", name)
    assert (ran.code, ran.out, ran.err.count("\n")) == (3, b"", 1)
    assert name.removeprefix("scripted:") in ran.err


def test_what_was_read_of_other_files_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.diffusion import DiffusionFiller
    from tests import tiny

    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "prices.py").write_text("def total(rows):\n    return sum(rows)\n")
    (tmp_path / "main.py").write_text("from prices import total\n\nx = total(\n")
    seen = []

    class Reads(DiffusionFiller):
        def fill(self, document, hole, settings, cancel):
            seen.append(settings.context)
            yield from super().fill(document, hole, settings, cancel)

    monkeypatch.setattr("lsp_server.cli.model.load", lambda *_: Reads(tiny.ScriptedDenoiser(["1)"])))
    hole = f"{tmp_path / 'main.py'}:3:11"
    ran = run(monkeypatch, "fill", hole, "--explain")
    assert "read prices.py:1-2" in ran.err and "defines total" in ran.err
    assert seen == ["# prices.py\ndef total(rows):\n    return sum(rows)\n\n"]
    told = json.loads(run(monkeypatch, "fill", hole, "--explain", "--json").out)
    assert [piece["path"] for piece in told["context"]["read"]] == ["prices.py"]
    assert "context" not in json.loads(run(monkeypatch, "fill", hole, "--json", "--context", "0").out)
    assert seen[-1] == ""
    assert run(monkeypatch, "fill", hole, "--context", "-1").code == 2
