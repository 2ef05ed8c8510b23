"""Typing on is free: what is left of an offer is found by the text around the cursor."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.text import Document
from lsp_server.offers import AFTER, BEFORE, Offers

URI = "file:///a.py"


def offered(text: str, *texts: str, entries: int = 8) -> Offers:
    offers = Offers(entries)
    add(offers, text, *texts)
    return offers


def add(offers: Offers, text: str, *texts: str) -> None:
    before, after = text.split("¦")
    offers.add(URI, "model", Document(before + after), len(before), texts)


def found(offers: Offers, text: str, uri: str = URI, choice: str = "model") -> tuple[str, ...]:
    before, after = text.split("¦")
    return offers.find(uri, choice, Document(before + after), len(before))


@pytest.mark.parametrize(
    ("now", "left"),
    [
        ("x = ¦\ny = 1\n", ("sum(a)", "max(a)")),
        ("x = s¦\ny = 1\n", ("um(a)",)),
        ("x = sum(a¦\ny = 1\n", (")",)),
        ("x = sum(¦)\ny = 1\n", ("a)",)),  # the editor closed the bracket; the filters take ours off
        ("x = sum(a)¦\ny = 1\n", ()),
        ("x = t¦\ny = 1\n", ()),
        ("x = ¦\ny = 2\n", ()),
        ("x =¦\ny = 1\n", ()),
        ("z = ¦\ny = 1\n", ()),
    ],
)
def test_what_is_left_of_an_offer(now: str, left: tuple[str, ...]) -> None:
    assert found(offered("x = ¦\ny = 1\n", "sum(a)", "max(a)"), now) == left


def test_another_document_or_model_has_offers_of_its_own() -> None:
    offers = offered("x = ¦", "1")
    assert found(offers, "x = ¦", uri="file:///b.py") == ()
    assert found(offers, "x = ¦", choice="other") == ()


def test_an_edit_far_away_does_not_matter_and_one_nearby_does() -> None:
    far = "a = 1\n" * (BEFORE // 3)
    offers = offered(far + "x = ¦\n" + far, "sum(a)")
    assert found(offers, "new line\n" + far + "x = s¦\n" + far + "more") == ("um(a)",)
    assert found(offers, far + "b = 2\nx = s¦\n" + far) == ()


def test_the_newest_offer_wins_and_the_oldest_goes_first() -> None:
    offers = offered("x = ¦", "old", entries=2)
    add(offers, "x = ¦", "new")
    assert found(offers, "x = ¦") == ("new",)
    add(offers, "y = ¦", "third")
    assert len(offers) == 2 and found(offers, "x = o¦") == ()
    offers.forget(URI)
    assert len(offers) == 0


def test_no_entries_remember_nothing() -> None:
    assert found(offered("x = ¦", "1", entries=0), "x = ¦") == ()


@given(
    st.text("ab\n (", max_size=30), st.text("ab\n )", max_size=30), st.text("ab\n", min_size=1, max_size=20), st.data()
)
def test_what_is_typed_and_what_is_left_are_the_offer(before: str, after: str, text: str, data: st.DataObject) -> None:
    offers = Offers(4)
    offers.add(URI, 0, Document(before + after), len(before), [text])
    typed = data.draw(st.integers(0, len(text) - 1))
    now = before + text[:typed]
    (left,) = offers.find(URI, 0, Document(now + after), len(now))
    assert (now + left).startswith(before) and text.endswith(left)


def test_windows_are_bounded() -> None:
    offers = Offers(1)
    offers.add(URI, 0, Document("x" * 10_000), 5_000, ["1"])
    (offer,) = offers._ring
    assert len(offer.before) == BEFORE and len(offer.after) == AFTER
