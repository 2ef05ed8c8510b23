"""A live server under malformed messages, and under typists: short runs of what `make soak` and `make load` do."""

from __future__ import annotations

import pytest

from tests.load import fuzz, typists
from tests.load.serving import serving

pytestmark = pytest.mark.slow


def test_malformed_messages_never_end_the_server_nor_go_unanswered() -> None:
    with serving(script={"default": "1"}) as client:
        assert fuzz.run(client, seconds=20, seed=7) == []


def test_typists_get_every_answer_once_and_none_out_of_turn() -> None:
    with serving() as client:
        assert typists.run(client, seconds=5) == []
