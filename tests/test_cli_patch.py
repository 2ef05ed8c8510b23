"""A patch says exactly what the completion changes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.filler import Completion
from lsp_server.cli.output import as_bytes
from lsp_server.cli.patch import unified_diff


def check(text: str, hole: tuple[int, int], completion: str, expected: str) -> None:
    diff = unified_diff(text, Completion(completion, *hole), "/a b/f.py")
    head = "--- a/a b/f.py\t\n+++ b/a b/f.py\t\n"
    assert diff == (head + expected if expected else "")


def test_one_hunk_with_three_lines_around() -> None:
    text = "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
    check(text, (8, 9), "five", "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n")
    check(text, (8, 8), "new\n", "@@ -2,6 +2,7 @@\n 2\n 3\n 4\n+new\n 5\n 6\n 7\n")
    check(text, (8, 10), "", "@@ -2,7 +2,6 @@\n 2\n 3\n 4\n-5\n 6\n 7\n 8\n")
    check(text, (8, 9), "5", "")


def test_a_missing_line_break_at_the_end_is_told() -> None:
    none = "\\ No newline at end of file\n"
    check("a", (1, 1), "b", f"@@ -1,1 +1,1 @@\n-a\n{none}+ab\n{none}")
    check("a", (1, 1), "\n", f"@@ -1,1 +1,1 @@\n-a\n{none}+a\n")
    check("a\nb", (0, 1), "x", f"@@ -1,2 +1,2 @@\n-a\n+x\n b\n{none}")


def test_an_empty_file_and_other_line_breaks() -> None:
    check("", (0, 0), "a\n", "@@ -0,0 +1,1 @@\n+a\n")
    check("a\r\n\x0cb\r\n", (1, 1), "!", "@@ -1,2 +1,2 @@\n-a\r\n+a!\r\n \x0cb\r\n")


def test_odd_names_are_quoted() -> None:
    assert unified_diff("", Completion("a", 0, 0), 'x\n"y').startswith('--- "a/x\\012\\042y"\n+++ "b/x\\012\\042y"\n')


@pytest.mark.skipif(shutil.which("git") is None, reason="applies patches with git")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text("ab\n\r ", max_size=40), new=st.text("ab\n\r ", max_size=8), data=st.data())
def test_git_applies_it(tmp_path: Path, text: str, new: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    completion = Completion(new, start, data.draw(st.integers(start, len(text))))
    path = tmp_path / "f.txt"
    path.write_bytes(text.encode())
    diff = unified_diff(text, completion, "f.txt")
    if diff and text:  # to git a patch from nothing makes a new file
        command = ["git", "apply", "--whitespace=nowarn", "--unidiff-zero"]
        subprocess.run(command, cwd=tmp_path, input=as_bytes(diff), check=True)
        assert path.read_bytes() == completion.apply(text).encode()
    else:
        assert not text or completion.apply(text) == text
