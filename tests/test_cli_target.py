"""PATH:LINE:COL is read from the right, counts from 1, and says what is wrong with it."""

from __future__ import annotations

import pytest

from engine.errors import BadInput
from engine.text import LineIndex
from lsp_server.cli.target import Target, marked, parse_target

TEXT = "ab\r\nc😀d\rlast"


def check(text: str, expected: Target) -> None:
    target = parse_target(text)
    assert target == expected
    assert parse_target(str(target)) == target


def test_positions_and_ranges() -> None:
    check("a.py:3:5", Target("a.py", (3, 5), (3, 5)))
    check("a.py:3:5-4:1", Target("a.py", (3, 5), (4, 1)))
    check("a.py:3:5-3:5", Target("a.py", (3, 5), (3, 5)))
    check("-:3:5", Target(None, (3, 5), (3, 5)))


def test_the_path_may_hold_anything() -> None:
    check("C:\\a b.py:3:5", Target("C:\\a b.py", (3, 5), (3, 5)))
    check("a:1:2:3:5", Target("a:1:2", (3, 5), (3, 5)))
    check("a:1:2-3:4:5:6", Target("a:1:2-3:4", (5, 6), (5, 6)))
    check("odd\nname:1:1", Target("odd\nname", (1, 1), (1, 1)))
    check("--:1:1", Target("--", (1, 1), (1, 1)))


def test_standard_input_is_no_option() -> None:
    assert [parse_target(text).path for text in marked(["-:1:1", "-a:1:1", "x-:1:1"])] == [None, "-a", "x-"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a hole is PATH:LINE:COL"),
        ("a.py", "a hole is PATH:LINE:COL"),
        ("a.py:3", "a hole is PATH:LINE:COL"),
        (":3:5", "a hole is PATH:LINE:COL"),
        ("a.py:3:x", "a hole is PATH:LINE:COL"),
        ("a.py:3:-5", "a hole is PATH:LINE:COL"),
        ("a.py:٣:٥", "a hole is PATH:LINE:COL"),
        ("a.py:3:5-", "a hole is PATH:LINE:COL"),
        ("a.py:1:" + "9" * 5000, "a hole is PATH:LINE:COL"),
        ("a.py:0:5", "count from 1"),
        ("a.py:3:0", "count from 1"),
        ("a.py:3:5-3:0", "count from 1"),
        ("a.py:3:5-3:4", "before it begins"),
        ("a.py:3:5-2:9", "before it begins"),
    ],
)
def test_what_is_no_position(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        parse_target(text)


@pytest.mark.parametrize(
    ("target", "text"),
    [("f:1:3-2:1", ""), ("f:2:2-2:3", "😀"), ("f:2:3-3:2", "d\rl"), ("f:1:2-3:5", "b\r\nc😀d\rlast")],
)
def test_columns_count_characters(target: str, text: str) -> None:
    start, end = parse_target(target).offsets(LineIndex(TEXT))
    assert TEXT[start:end] == (text or "\r\n")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("f:4:1", "f: line 4 is past the end of the text"),
        ("f:2:5", "f: column 5 is past the end of line 2"),
        ("f:1:1-9:1", "f: line 9 is past"),
    ],
)
def test_places_that_the_text_lacks(target: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        parse_target(target).offsets(LineIndex(TEXT))
