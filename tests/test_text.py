"""Offsets, lines and columns agree with a plain second account of them, in every encoding, on any text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import BadInput
from engine.text import Document, Encoding, LineIndex, decode_text, line_ending, read_document

# Letters of every width, every line break, lone surrogates, and what Python alone takes for a line break.
ALPHABET = "aé\u20ac😀\n\r\f\v\x1c\u0085\u2028\u2029\t\ud83d\ude00"
texts = st.text(ALPHABET, max_size=40) | st.text(max_size=20)
encodings = st.sampled_from(Encoding)


def width(character: str, encoding: Encoding) -> int:
    """Units that one character takes, from the definitions of the encodings."""
    code = ord(character)
    if encoding is Encoding.UTF32:
        return 1
    if encoding is Encoding.UTF16:
        return 1 if code < 0x10000 else 2
    return 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4


def positions(text: str, encoding: Encoding) -> list[tuple[int, int]]:
    """The position of every offset, counted one character at a time; between \\r and \\n it is before the \\r."""
    found, line, column = [], 0, 0
    for place, character in enumerate(text):
        inside_break = text[place - 1 : place + 1] == "\r\n" and place > 0
        found.append(found[-1] if inside_break else (line, column))
        if character == "\n" or (character == "\r" and text[place : place + 2] != "\r\n"):
            line, column = line + 1, 0
        elif character != "\r":
            column += width(character, encoding)
    return [*found, (line, column)]


@settings(deadline=None)
@given(texts, encodings)
def test_positions_are_those_of_the_definition(text: str, encoding: Encoding) -> None:
    index = LineIndex(text)
    expected = positions(text, encoding)
    assert [index.position(offset, encoding) for offset in range(len(text) + 1)] == expected
    for offset, (line, column) in enumerate(expected):
        if text[offset - 1 : offset + 1] != "\r\n" or offset == 0:
            assert index.offset(line, column, encoding) == offset


@settings(deadline=None)
@given(texts, encodings, st.integers(-2, 60), st.integers(-2, 120))
def test_any_position_is_clamped_to_the_nearest_before_it(
    text: str, encoding: Encoding, line: int, column: int
) -> None:
    offset = LineIndex(text).offset(line, column, encoding)
    expected = positions(text, encoding)
    last = expected[-1][0]
    if line > last:
        assert offset == len(text)
    elif line < 0:
        assert offset == 0
    else:
        wanted = max(found for found in expected if found <= (line, max(0, column)))
        assert expected[offset] == wanted
        assert offset == expected.index(wanted)


@settings(deadline=None)
@given(texts)
def test_lines_are_what_lies_between_breaks(text: str) -> None:
    index = LineIndex(text)
    lines = re.split("\r\n|\n|\r", text)
    assert [index.line_text(line) for line in range(index.line_count)] == lines
    assert all(index.line_at(index.line_start(line)) == line for line in range(index.line_count))
    assert [index.text[index.line_start(n) : index.line_end(n)] for n in range(index.line_count)] == lines


@settings(deadline=None)
@given(texts, st.integers(-2, 50), st.integers(-2, 50))
def test_strict_offset_is_exact_or_refused(text: str, line: int, column: int) -> None:
    index = LineIndex(text)
    try:
        assert index.offset_strict(line, column) == index.offset(line, column)
        assert column <= len(index.line_text(line))
    except BadInput as error:
        assert "\n" not in str(error)
        assert line < 0 or column < 0 or line >= index.line_count or column > len(index.line_text(line))


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        (2, 0, "line 3 is past the end of the text, which has 2 lines"),
        (1, 2, "column 3 is past the end of line 2, which has 1 character"),
        (0, 4, "column 5 is past the end of line 1, which has 3 characters"),
        (-1, 0, "lines and columns count from 1: there is no 0:1"),
    ],
)
def test_strict_offset_says_what_is_past_what(line: int, column: int, message: str) -> None:
    with pytest.raises(BadInput, match=re.escape(message)):
        LineIndex("a😀c\nd").offset_strict(line, column)


def test_a_line_that_is_not_there_is_an_index_error() -> None:
    for line in (-1, 1):
        with pytest.raises(IndexError):
            LineIndex("a").line_text(line)


def test_long_texts() -> None:
    long_line = "😀" + "x" * 199_999
    index = LineIndex(long_line + "\n" + "a\n" * 200_000)
    assert index.line_count == 200_002
    for encoding in Encoding:
        column = index.position(200_000, encoding)[1]
        assert index.offset(0, column, encoding) == 200_000
    assert index.position(len(index.text)) == (200_001, 0)
    assert LineIndex("a\r" * 200_000).line_count == 200_001


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", "\n"), ("a", "\n"), ("a\r\nb\r\nc\n", "\r\n"), ("a\rb", "\r"), ("a\nb\r\n", "\n"), ("a\u2028b\r\n", "\r\n")],
)
def test_line_ending_is_the_most_used(text: str, expected: str) -> None:
    assert line_ending(text) == expected


def test_document_keeps_its_lines() -> None:
    document = Document("a\nb")
    assert document.lines is document.lines
    assert document == Document("a\nb")


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_decoded_bytes_are_the_text(text: str) -> None:
    data = text.encode()
    assert decode_text(data, "it").encode() == data


def test_a_file_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes("\ufeffx = 1\r\ny = 'é😀'\r\x0c\n".encode())
    document = read_document(path)
    assert document.text.encode() == path.read_bytes()
    assert (document.language, document.path) == ("python", str(path))
    assert read_document(path, "go").language == "go"


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"a\0b", "is a binary file"), (b"a\xffb", "is not UTF-8 text: byte 0xff at 1"), (b"\xff\xfea\0", "UTF-16")],
)
def test_what_is_not_text_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(data)
    with pytest.raises(BadInput, match=message):
        read_document(path)


def test_what_is_not_a_file_is_refused(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path, "is a directory"),
        (tmp_path / "none.py", "there is no file"),
        (tmp_path / ("x" * 5000), "cannot be read"),
        ("a\0b", "cannot be read"),
    ):
        with pytest.raises(BadInput, match=message):
            read_document(path)
    with pytest.raises(BadInput, match="unknown language 'klingon'"):
        read_document(tmp_path / "none.py", "klingon")
