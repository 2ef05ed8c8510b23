"""Holes filled at once over one model: the same answers as one after another, and an end however it comes."""

from __future__ import annotations

import time

import pytest

from engine.check.check import check
from engine.check.dig import draw
from engine.diffusion import DiffusionFiller
from engine.errors import Cancelled
from engine.filler import CancelToken, Completion, FillSettings
from engine.text import Document
from tests import tiny
from tests.cli import midfill

TEXT = "def total(rows, rate):\n    result = sum(rows) * rate\n    print(result, rows)\n    return result\n\n\n"


def drawn(count: int = 12):
    documents = [Document(TEXT * 3 + f"x = {n}\n", "python", f"{n}.py") for n in range(3)]
    return draw(documents, count, 0)


def answers(fillers, holes):
    found = list(check(fillers, holes, FillSettings(slots=6, steps=6), CancelToken(), threads=1))
    assert len(found) == len(holes) and {id(one.hole) for one in found} == {id(hole) for hole in holes}
    return {id(one.hole): one.text for one in found}


def test_several_fillers_of_one_model_give_what_one_gives():
    holes, filler = drawn(), DiffusionFiller(tiny.denoiser())
    others = filler.siblings(2)
    assert len(others) == 2
    assert answers([filler, *others], holes) == answers([DiffusionFiller(tiny.denoiser())], holes)


class Slow:
    name = "slow"

    def __init__(self, fails: bool = False) -> None:
        self.fails, self.asked = fails, 0

    def fill(self, document, hole, settings, cancel):
        self.asked += 1
        if self.fails:
            raise RuntimeError("broken")
        for _ in range(200):
            cancel.check()
            time.sleep(0.005)
        yield Completion("", hole.start, hole.end)


def test_what_is_left_is_stopped_when_somebody_stops_looking():
    fillers = [Slow(), Slow()]
    begun = time.monotonic()
    for _ in check(fillers, drawn(), FillSettings(), CancelToken()):
        break
    assert time.monotonic() - begun < 2.5 and sum(one.asked for one in fillers) <= 4


def test_an_error_or_a_cancel_ends_all_of_them():
    with pytest.raises(RuntimeError, match="broken"):
        list(check([Slow(), Slow(fails=True)], drawn(), FillSettings(), CancelToken()))
    cancelled = CancelToken()
    cancelled.cancel()
    with pytest.raises(Cancelled):
        list(check([Slow(), Slow()], drawn(), FillSettings(), cancelled))


def test_the_option_is_checked(tmp_path):
    (tmp_path / "a.py").write_text(TEXT)
    for arguments in (["--jobs", "0"], ["--jobs", "2", "--run", "true"]):
        ran = midfill("check", str(tmp_path), *arguments)
        assert ran.code == 2 and "--jobs" in ran.err
