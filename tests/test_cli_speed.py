"""`midfill speed`: the holes it draws, and the figures it prints."""

from __future__ import annotations

import json

import pytest

from engine.check.speed import draw_lines, measure
from engine.diffusion import DiffusionFiller
from tests.cli import midfill
from tests.tiny import ScriptedDenoiser, denoiser


def test_the_holes_are_lines_of_code_taken_out_and_the_same_for_a_seed() -> None:
    lines = draw_lines(5, seed=3)
    assert lines == draw_lines(5, seed=3) and lines != draw_lines(5, seed=4)
    for line in lines:
        assert line.document.text[line.offset :].startswith("\n") and len(line.code) >= 8
        assert line.document.text[: line.offset].rpartition("\n")[2].strip() == ""


def test_a_typed_character_reads_little_anew() -> None:
    figures = measure(DiffusionFiller(denoiser()), draw_lines(2, seed=0))
    # the last token or two change with the character; all else is in the cache
    assert figures["typed_encoded_tokens"] - figures["typed_cached_tokens"] <= 4
    assert figures["typed_cached_tokens"] > 100 and figures["steps"] >= 1
    assert "left_to_right_ratio" not in figures


def test_left_to_right_writes_as_many_tokens() -> None:
    asked = []

    class Baseline:
        def fill_left_to_right(self, document, hole, max_tokens, stop_at_line_break, cancel):
            from engine.filler import Completion, Timing

            asked.append(max_tokens)
            return Completion("", hole.start, hole.end, ms=Timing(denoise=7.0))

    figures = measure(DiffusionFiller(ScriptedDenoiser(["return 12"])), draw_lines(3, seed=0), Baseline())
    assert figures["left_to_right_ms"] == {"p50": 7.0, "p95": 7.0} and len(set(asked)) == 1 and asked[0] >= 2


@pytest.mark.slow
def test_the_servers_own_share_is_printed() -> None:
    ran = midfill("speed", "--only", "server", "--json")
    share = json.loads(ran.out)["server_share_ms"]
    assert ran.code == 0 and share["lines"] == 10_000 and 0 < share["p50"] <= share["p95"]


def test_wrong_options_are_refused_in_a_line() -> None:
    assert midfill("speed", "--holes", "0").code == 2
    ran = midfill("speed", "--model", "no-such-model", "--only", "model")
    assert ran.code == 3 and ran.err.count("\n") == 1
