"""Tokens to text and back, exactly; control tokens as plain text; where a prefix is cut for healing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ModelUnavailable
from engine.tokenizer import Tokenizer, split_for_healing
from tests import tiny


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=80))
def test_decode_of_encode_is_the_text(text):
    tokenizer = tiny.tokenizer()
    assert tokenizer.decode_bytes(tokenizer.encode(text)) == text.encode()


def test_text_that_looks_like_a_control_token_is_plain_text():
    tokenizer = tiny.tokenizer()
    for marker in tiny.CONTROL:
        ids = tokenizer.encode(f"x = '{marker}'")
        assert not {tiny.FILL_END, tiny.MASK} & set(ids)
        assert tokenizer.decode(ids) == f"x = '{marker}'"


def test_a_lone_surrogate_does_not_stop_the_encoding():
    assert tiny.tokenizer().decode(tiny.tokenizer().encode("a\ud800b")) == "a\ufffdb"


@pytest.mark.parametrize(
    "prefix, remnant",
    [
        ("return json.lo", "lo"),
        ("return json.", "."),
        ("return ", " "),
        ("def f():\n    ", "\n    "),
        ("def f():\n", "\n"),
        ("if x:\n    foo", " foo"),
        ("x = foo_", "_"),
        ("x = 12", "2"),
        ("x =  1", "  1"),
        ("", ""),
        ("x" * 60, ""),
        ("grün", "grün"),
    ],
)
def test_the_last_word_is_the_remnant(prefix, remnant):
    kept, rest = split_for_healing(prefix)
    assert kept + rest == prefix
    assert rest == remnant


@given(st.text(alphabet="ab_ \n.(1é", max_size=30), st.text(alphabet="ab_ \n.(1é", max_size=10))
def test_what_is_kept_tokenizes_the_same_whatever_follows(prefix, more):
    kept, rest = split_for_healing(prefix)
    tokenizer = tiny.tokenizer()
    ids = tokenizer.encode(kept)
    assert tokenizer.encode(kept + rest + more)[: len(ids)] == ids


def test_a_broken_tokenizer_is_named(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelUnavailable, match="tokenizer"):
        Tokenizer(tmp_path / "tokenizer.json")
    with pytest.raises(ModelUnavailable, match="no tokenizer"):
        Tokenizer(tmp_path / "missing.json")
