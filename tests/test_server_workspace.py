"""The server's copy equals the editor's after any edits, in every position encoding."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from lsp_server.workspace import OpenDocument, TextStore

ENCODINGS = ("utf-8", "utf-16", "utf-32")
# Letters of every width, every line break, and what Python alone takes for a line break.
ALPHABET = "ab é\u20ac😀\u200d\n\r\f\v\x1c\u0085\u2028\t"


def store(encoding: str = "utf-16") -> TextStore:
    return TextStore(None, position_encoding=types.PositionEncodingKind(encoding))


def opened(text: str, encoding: str = "utf-16", uri: str = "file:///a.py", language: str = "python") -> OpenDocument:
    texts = store(encoding)
    texts.put_text_document(types.TextDocumentItem(uri=uri, language_id=language, version=1, text=text))
    document = texts.find(uri)
    assert document is not None
    return document


def edit(start: tuple[int, int], end: tuple[int, int], text: str) -> types.TextDocumentContentChangePartial:
    where = types.Range(types.Position(*start), types.Position(*end))
    return types.TextDocumentContentChangePartial(range=where, text=text)


def width(text: str, encoding: str) -> int:
    return {"utf-8": len(text.encode()), "utf-16": len(text.encode("utf-16-le")) // 2, "utf-32": len(text)}[encoding]


def editors_position(text: str, offset: int, encoding: str) -> tuple[int, int]:
    """Line and column as the protocol counts them, written down a second time and plainly."""
    before = text[:offset]
    flat = before.replace("\r\n", "\n").replace("\r", "\n")
    lines = flat.split("\n")
    return len(lines) - 1, width(lines[-1], encoding)


def splits_a_break(text: str, offset: int) -> bool:
    return text[offset - 1 : offset + 1] == "\r\n"


@given(st.data(), st.sampled_from(ENCODINGS), st.text(ALPHABET, max_size=30))
def test_any_edits_keep_the_copy_equal(data: st.DataObject, encoding: str, text: str) -> None:
    document = opened(text, encoding)
    for _ in range(3):
        start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
        if splits_a_break(text, start) or splits_a_break(text, end):
            continue  # no editor has a cursor there
        new = data.draw(st.text(ALPHABET, max_size=5))
        document.apply_change(edit(editors_position(text, start, encoding), editors_position(text, end, encoding), new))
        text = text[:start] + new + text[end:]
        assert document.source == text and document.document.text == text


@given(st.data(), st.sampled_from(ENCODINGS))
def test_halves_of_characters_that_a_broken_client_sends_are_joined_when_they_meet(
    data: st.DataObject, encoding: str
) -> None:
    document, text = opened("", encoding), ""
    for _ in range(6):
        start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
        new = data.draw(st.text(st.sampled_from("a\n\ud83d\ude00"), max_size=3))
        document._replace(start, end, new)
        joined = text[:start] + new + text[end:]
        text = joined.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        assert document.source == text
        document.document.text.encode()  # no half is left in what the engine sees
        assert len(document.document.text) == len(text)


def test_an_edit_below_a_form_feed_lands_where_the_editor_has_it() -> None:  # case 06
    document = opened("A = 1\n\f\nB = 2\ndef f():\n    return \n")
    document.apply_change(edit((4, 11), (4, 11), "A"))
    assert document.source == "A = 1\n\f\nB = 2\ndef f():\n    return A\n"
    assert len(document.lines) == 6


def check_clamped(start: tuple[int, int], expected: str) -> None:
    document = opened("ab\ncd")
    document.apply_change(edit(start, start, "X"))
    assert document.source == expected


def test_positions_past_the_end_are_clamped() -> None:
    check_clamped((0, 99), "abX\ncd")
    check_clamped((9, 0), "ab\ncdX")


def test_a_range_that_is_the_wrong_way_round_and_a_whole_change() -> None:
    document = opened("abcdef")
    document.apply_change(edit((0, 4), (0, 2), "-"))
    assert document.source == "ab-ef"
    document.apply_change(types.TextDocumentContentChangeWholeDocument(text="new"))
    assert document.source == "new"


def test_a_snapshot_changes_with_every_change_and_with_none() -> None:
    document = opened("a")
    before = document.document
    assert document.document is before
    document.apply_change(edit((0, 0), (0, 0), ""))
    assert document.document is not before and before.text == "a"


@pytest.mark.parametrize(
    ("uri", "language", "expected", "path"),
    [
        ("untitled:Untitled-1", "python", "python", None),
        ("untitled:Untitled-1", "no-such", "plaintext", None),
        ("file:///x/a%20b.go", "no-such", "go", "/x/a b.go"),
        ("vscode-notebook-cell:/x/a.ipynb#ch1", "python", "python", None),
    ],
)
def test_any_scheme_and_language(uri: str, language: str, expected: str, path: str | None) -> None:
    document = opened("x", uri=uri, language=language).document
    assert (document.language, document.path) == (expected, path)


def test_documents_that_are_not_open_are_not_known_and_not_read_from_disk(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "a.py").write_text("secret")
    texts = store()
    uri = (tmp_path / "a.py").as_uri()
    assert texts.find(uri) is None
    texts.update_text_document(types.VersionedTextDocumentIdentifier(version=2, uri=uri), edit((0, 0), (0, 0), "x"))
    assert texts.find(uri) is None


def test_halves_of_a_character_meet_and_a_lone_one_can_be_encoded() -> None:
    document = opened("ab")
    document.apply_change(edit((0, 1), (0, 1), "\ud83d"))
    assert document.document.text == "a\ufffdb"
    document.apply_change(edit((0, 2), (0, 2), "\ude00"))
    assert document.document.text == "a😀b"
    assert document.position(2) == types.Position(0, 3)
