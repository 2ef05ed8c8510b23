"""CPython's own parser decides, silently and on any text."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.syntax import compiles, compiles_around, rejection


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("x = 1\r\ny = 2\r", True),
        ("\ufeffx = 1\n", True),
        ("x = '\\d' is 1\n", True),
        ("\x0c\nx = 1\n", True),
        ("if x:\nprint(1)\n", False),
        ("a = 1\n   b = 2\n", False),
        ("x = (\n", False),
        ("x = '\0'\n", False),
        ("x = '\ud83d'\n", False),
        ("(" * 100_000, False),
        ("x = " + "-" * 200_000 + "1", False),
    ],
)
def test_compiles(text: str, expected: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiles(text) is expected


@pytest.mark.parametrize(
    ("text", "grammar", "line"),
    [
        ("x = 1\n", None, None),
        ("x = await y\n", None, None),
        ("x = (\n", True, 1),
        ("x = 1\nreturn x\n", False, 2),
        ("f(a=1,\n  a=2)\n", False, 2),
        ("def f():\n    nonlocal x\n", False, 2),
        ("def f():\n    await x\n", False, 2),
        ("x = '\0'\n", True, None),
    ],
)
def test_what_cpython_has_against_a_text(text: str, grammar: bool | None, line: int | None) -> None:
    found = rejection(text)
    if grammar is None:
        assert found is None
    else:
        assert found is not None and (found.grammar, found.line) == (grammar, line)
        assert compiles(text) is not grammar


@settings(deadline=None)
@given(st.text(max_size=30))
def test_any_text_is_judged(text: str) -> None:
    assert compiles(text) in (True, False)


DOCUMENT = '''import a

@decorated
def f(x):
    """Long

text at the edge (
"""
    return [
x,
]

try:
    b = 1
except E:
    c = 2

def broken(:
    pass

def g():
    return 3
'''


@pytest.mark.parametrize(
    ("place", "old", "new", "expected"),
    [
        ("return 3", "", "", True),
        ("return 3", "3", "(3", False),
        ("broken", "", "", False),
        ("b = 1", "b = 1", "b = ", False),
        ("c = 2", "", "", True),
        ("x,", "", "", True),
        ("x,", "x,", "x,,", False),
        ("text at", "", "", True),
        ("def f", "", "", True),
        ("import a", "", "", True),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_compiles_around(place: str, old: str, new: str, expected: bool, ending: str) -> None:
    at = DOCUMENT.index(place)
    at = DOCUMENT.index(old, at)
    text = DOCUMENT[:at] + new + DOCUMENT[at + len(old) :]
    start = len(text[:at].replace("\n", ending))
    assert compiles_around(text.replace("\n", ending), start, start + len(new)) is expected


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 5))
def test_anywhere_in_right_source_is_right(place: int, length: int) -> None:
    text = Path(ast.__file__).read_text(encoding="utf-8")[:20_000]
    text = text[: text.rindex("\n\n\n") + 1]
    assert compiles(text)
    start = place % len(text)
    assert compiles_around(text, start, min(len(text), start + length))
