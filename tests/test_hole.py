"""What is filled at a cursor or in a selection."""

from __future__ import annotations

import pytest

from engine.errors import BadInput
from engine.hole import SELECTION_SLOTS, SLOTS, HoleKind, hole_at, hole_between
from engine.text import Document


def check(marked: str, kind: HoleKind, language: str = "python") -> None:
    at = marked.index("¦")
    hole = hole_at(Document(marked.replace("¦", ""), language), at)
    assert (hole.start, hole.end, hole.kind) == (at, at, kind)
    assert hole.slots == SLOTS[kind]


@pytest.mark.parametrize(
    "marked, kind",
    [
        ("def f(a):\n    return ¦\n", HoleKind.REST_OF_LINE),
        ("def f(a):\n    return a + ¦", HoleKind.REST_OF_LINE),
        ("print(os.path.join(path, ¦))\n", HoleKind.EXPRESSION),
        ("x = json.lo¦(handle)\n", HoleKind.REST_OF_LINE),
        ("def f():\n    ¦\n", HoleKind.BLOCK),
        ("def f():\n    ¦\n\nf()\n", HoleKind.BLOCK),
        ("x = 1\n¦\ny = 2\n", HoleKind.LINE),
        ("def f():\n    x = 1\n    ¦\n    return x\n", HoleKind.LINE),
        ("¦x = 1\n", HoleKind.LINE),
        ("x = 'ab¦cd'\n", HoleKind.STRING),
        ("# what ¦\nx = 1\n", HoleKind.COMMENT),
        ("¦", HoleKind.LINE),
    ],
)
def test_the_kind_at_a_cursor(marked, kind):
    check(marked, kind)


@pytest.mark.parametrize(
    "marked, kind, language",
    [
        ("function f() {\n  ¦\n}\n", HoleKind.BLOCK, "javascript"),
        ("function f() {\n  return ¦\n}\n", HoleKind.REST_OF_LINE, "javascript"),
        ("some words ¦\n", HoleKind.REST_OF_LINE, "plaintext"),
    ],
)
def test_other_languages(marked, kind, language):
    check(marked, kind, language)


def test_a_selection_is_replaced_and_sized_by_its_text():
    document = Document("x" * 2000, "plaintext")
    assert hole_between(document, 5, 10).kind is HoleKind.SELECTION
    assert hole_between(document, 5, 10).slots == SELECTION_SLOTS[0]
    assert 100 < hole_between(document, 0, 400).slots < 200
    assert hole_between(document, 0, 2000).slots == SELECTION_SLOTS[1]


def test_an_empty_selection_is_a_cursor():
    document = Document("x = ", "python")
    assert hole_between(document, 4, 4) == hole_at(document, 4)


@pytest.mark.parametrize("start, end", [(-1, 2), (0, 5), (3, 2)])
def test_a_range_outside_the_document_is_refused(start, end):
    with pytest.raises(BadInput):
        hole_between(Document("x = ", "python"), start, end)
