"""A rope equals a plain text under any edits, and its positions equal those of the plain text's line index."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import rope as ropes
from engine.rope import Rope
from engine.syntax import EditSince, SyntaxTree, came_from, tree_of
from engine.text import Document, Encoding, LineIndex

ALPHABET = "ab é€😀‍\n\n\r\f\v\x1c\u0085\u2028\t\ud83d\ude00"
TEXT = st.text(st.sampled_from(ALPHABET), max_size=60)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ropes, "_CHUNK", 4)


def check(rope: Rope, text: str, encoding: Encoding) -> None:
    assert rope.text == text and len(rope) == len(text)
    index = LineIndex(text)
    assert rope.line_count == index.line_count
    for offset in range(-1, len(text) + 2):
        assert rope.position(offset) == index.position(offset, encoding)
    for line in range(-1, index.line_count + 1):
        for column in range(-1, 9):
            assert rope.offset(line, column) == index.offset(line, column, encoding)


@given(st.data(), st.sampled_from(Encoding), TEXT)
def test_any_edits_equal_a_plain_text(data: st.DataObject, encoding: Encoding, text: str) -> None:
    rope = Rope(text, encoding)
    for _ in range(6):
        start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
        new = data.draw(TEXT)
        rope.edit(start, end, new)
        text = text[:start] + new + text[end:]
        check(rope, text, encoding)
        low, high = data.draw(st.tuples(*[st.integers(-3, len(text) + 3)] * 2))
        assert rope.slice(low, high) == text[max(0, low) : max(0, high)]


def test_a_break_that_two_edits_make_is_one_break() -> None:
    rope = Rope("abcd\refgh")
    rope.edit(5, 5, "\n")
    check(rope, "abcd\r\nefgh", Encoding.UTF32)
    rope.edit(5, 5, "x")
    check(rope, "abcd\rx\nefgh", Encoding.UTF32)
    rope.edit(5, 6, "")
    check(rope, "abcd\r\nefgh", Encoding.UTF32)


def test_a_range_outside_the_text_is_refused() -> None:
    for start, end in ((-1, 0), (0, 4), (2, 1)):
        with pytest.raises(ValueError):
            Rope("abc").edit(start, end, "")


@settings(max_examples=50)
@given(st.data())
def test_a_tree_made_by_edits_since_an_earlier_text_equals_a_fresh_one(data: st.DataObject) -> None:
    text = "def f(a):\n    return a\n\nclass C:\n    x = 'é'\n"
    base = Document(text, "python")
    tree_of(base)
    edit = None
    for _ in range(4):
        start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
        new = data.draw(st.text(st.sampled_from("ab (:)\n'é"), max_size=6))
        text = text[:start] + new + text[end:]
        edit = edit.then(start, end, len(new)) if edit else EditSince(base, start, end, start + len(new))
    document = Document(text, "python")
    came_from(document, edit)
    tree, fresh = tree_of(document), SyntaxTree.parse(text, "python")
    assert tree.text == text and str(tree.root) == str(fresh.root)
    assert tree_of(document) is tree


def test_an_edit_of_a_long_text_costs_its_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ropes, "_CHUNK", 2048)
    rope = Rope("x = 1\n" * 200_000, Encoding.UTF16)
    chunks = len(rope._chunks)
    begun = time.process_time()
    for number in range(50):
        rope.edit(rope.offset(100_000, 5), rope.offset(100_000, 5), str(number % 10))
    assert time.process_time() - begun < 50 * 0.05  # a whole copy of the lines' starts would take far longer
    assert len(rope._chunks) <= chunks + 1
