"""`midfill review`: places where code goes wrong by one word, a reader's surprise at them, and its measure."""

from __future__ import annotations

import json
import math
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from engine.check import injected, review
from engine.check.places import Slip, places
from engine.check.repository import changed_lines
from engine.filler import CancelToken, TokenRead
from engine.text import Document
from tests import tiny
from tests.cli import midfill

SOURCE = """import os


def total(rows, rate, limit):
    result = 0
    for row in rows:
        if row < limit and rate >= 2:
            result += row * rate
        show(row, rate)
    return rows[limit - 1]
"""


def found(line: int, slip: Slip, text: str = SOURCE, language: str = "python") -> dict[str, tuple[str, ...]]:
    some = places(Document(text, language)).get(line, [])
    return {text[place.start : place.end]: place.others for place in some if place.slip is slip}


def test_the_places_of_each_slip():
    assert found(8, Slip.VARIABLE)["rate"] == ("rows", "row", "limit")
    assert found(7, Slip.OPERATOR) == {
        "<": ("<=", ">", ">=", "==", "!="),
        "and": ("or",),
        ">=": ("<", "<=", ">", "==", "!="),
    }
    assert found(9, Slip.ARGUMENTS) == {"row, rate": ("rate, row",)}
    assert found(10, Slip.OFF_BY_ONE) == {"limit - 1": ("limit",), "1": ("0", "2")}
    assert not found(1, Slip.VARIABLE) and not found(4, Slip.VARIABLE)  # what is made here is no use of it


def test_places_of_another_language():
    source = "function f(a, b) { if (a === b && b > 3) { log(a, b.size); } }"
    assert found(1, Slip.OPERATOR, source, "javascript")["==="] == ("!==",)
    assert found(1, Slip.ARGUMENTS, source, "javascript") == {"a, b.size": ("b.size, a",)}


class Habits:
    """A reader that has seen a text: a token is likely as it followed the two before it there."""

    name = "habits"

    def __init__(self, *texts: str) -> None:
        self._after: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        for text in texts:
            tokens = self._tokens(text)
            for three in zip(tokens, tokens[1:], tokens[2:], strict=False):
                self._after[three[:2]][three[2]] += 1

    @staticmethod
    def _tokens(text: str) -> list[str]:
        return re.findall(r"\s*\w+|\s*[^\w\s]|\s+", text)

    def read(
        self, prefix: str, texts: Sequence[str], suffix: str, cancel: CancelToken, rivals: int = 64
    ) -> list[tuple[TokenRead, ...]]:
        read = []
        for text in texts:
            before, at, tokens = self._tokens(prefix)[-2:], 0, []
            for token in self._tokens(text):
                seen = self._after[tuple(before)]
                rivals = tuple((word, math.log(n / seen.total())) for word, n in seen.most_common())
                tokens.append(TokenRead(at, at + len(token), dict(rivals).get(token, -8.0), rivals))
                before, at = [before[-1], token], at + len(token)
            read.append(tuple(tokens))
        return read


def test_the_word_that_the_reader_would_have_written_is_named():
    wrong = SOURCE.replace("row * rate", "row * limit")
    lines = {line.number: line for line in review.lines_of(Document(wrong, "python", "a.py"))}
    suspect = review.suspect(Habits(SOURCE), lines[8], CancelToken())
    assert suspect and (suspect.stands, suspect.text, suspect.place.slip) == ("limit", "rate", Slip.VARIABLE)
    assert suspect.gain > 5 and suspect.line_instead == "            result += row * rate"
    right = {line.number: line for line in review.lines_of(Document(SOURCE, "python", "a.py"))}
    suspect = review.suspect(Habits(SOURCE), right[8], CancelToken())
    assert suspect is None or suspect.gain < 0


def test_how_unusual_a_gain_is():
    unchanged = [-5.0, -4.0, -3.0, 2.0]
    assert [review.share_above(unchanged, gain) for gain in (9, 2, -3, -9)] == [0.2, 0.4, 0.6, 1.0]


def test_the_measure_counts_what_was_injected():
    lines = review.lines_of(Document(SOURCE, "python", "a.py"))
    some = list(injected.inject(Habits(SOURCE), lines, 1, CancelToken(), lambda n, of: None))
    good = injected.figures(some, 0.4)
    assert good["recall"] > 0.7 and good["precision"] > 0.7 and good["ranked"] > 0.8 and good["repaired"] > 0.7
    assert sum(one["lines"] for one in good["by_slip"].values()) == len(lines)
    blind = injected.figures(list(injected.inject(Habits(), lines, 1, CancelToken(), lambda n, of: None)), 0.2)
    assert blind["recall"] < 0.3 and blind["repaired"] < 0.3 and blind["ranked"] < 0.7


def test_a_causal_reader_reads_what_it_would_read_alone():
    alone, together = tiny.denoiser(), tiny.denoiser()
    prefix, texts = list(range(20, 60)), [[5, 6, 7, 8], [9, 10], list(range(30, 50))]
    for text, read in zip(texts, together.read(prefix, texts, CancelToken()), strict=True):
        [single] = alone.read(prefix, [text], CancelToken())
        torch.testing.assert_close(read.logp, single.logp, rtol=1e-4, atol=1e-4)
        logp = 0.0
        for at, token in enumerate(text):  # the chain rule, a token a pass
            [one] = tiny.denoiser().read([*prefix, *text[:at]], [[token]], CancelToken())
            logp += float(one.logp[0])
        assert float(read.logp.sum()) == pytest.approx(logp, abs=1e-3)
        assert torch.equal(read.rivals[:, 0], single.rivals[:, 0]) and read.rival_logp[0, 0] >= read.logp[0]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "a.py").write_text(SOURCE)
    (folder / "b.py").write_text(SOURCE.replace("total", "sums"))
    for arguments in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "1"],
    ):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    monkeypatch.setattr("lsp_server.cli.model.load", lambda name, options: Habits(SOURCE))
    return folder


def test_a_changed_line_is_flagged_and_fails_only_when_asked(shop: Path):
    (shop / "a.py").write_text(SOURCE.replace("row * rate", "row * limit"))
    ran = midfill("review", str(shop), "--json", "--level", "0.2")
    assert ran.code == 0 and ran.json["reviewed"] == 1
    [one] = ran.json["suspects"]
    assert (one["line"], one["stands"], one["instead"], one["flagged"]) == (8, "limit", "rate", True)
    ran = midfill("review", str(shop), "--level", "0.2", "--fail", "--annotations", "github")
    assert ran.code == 1 and b"+ result += row * rate" in ran.out and b"::warning file=" in ran.out


def test_what_is_the_same_or_cannot_be_reviewed_is_said(shop: Path, tmp_path: Path):
    ran = midfill("review", str(shop))
    assert ran.code == 0 and not ran.out and "no line that can be reviewed differs from HEAD" in ran.err
    for arguments, words in (
        (["--base", "nowhere"], "nowhere"),
        (["--level", "0"], "--level"),
        (["--show", "0"], "--show"),
        (["--measure", "-1"], "--measure"),
    ):
        ran = midfill("review", str(shop), *arguments)
        assert ran.code == 2 and words in ran.err and ran.err.count("\n") == 1
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "x.py").write_text("x = 1\n")
    ran = midfill("review", str(tmp_path / "bare"))
    assert ran.code == 2 and "git" in ran.err


def test_a_model_that_only_fills_is_refused(shop: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("lsp_server.cli.model.load", lambda name, options: object())
    ran = midfill("review", str(shop), "--measure", "3")
    assert ran.code == 2 and "cannot say how likely" in ran.err


def test_the_measure_prints_the_same_twice(shop: Path):
    once, again = (midfill("review", str(shop), "--measure", "9", "--json", "--seed", "4") for _ in range(2))
    assert once.code == 0 and once.out == again.out and set(json.loads(once.out)["by_slip"]) <= set(Slip)
    assert b"precision" in midfill("review", str(shop), "--measure", "9").out


def test_lines_that_look_like_a_patchs_header_are_text(shop: Path):
    (shop / "a.py").write_text(SOURCE + '"""\n++ b/b.py\n@@ -1 +1 @@\n"""\n')
    (shop / "b.py").write_text("x = 1\n" + SOURCE.replace("total", "sums"))
    changed = changed_lines(shop, "HEAD")
    assert {Path(path).name: lines for path, lines in changed.items()} == {"a.py": {11, 12, 13, 14}, "b.py": {1}}


@pytest.mark.slow
def test_the_embedded_model_is_surprised_by_a_wrong_word(shop: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.undo()
    source = (
        "import json\n\n\ndef load(path, mode):\n    with open(path) as handle:\n        return json.load(handle)\n"
    )
    (shop / "c.py").write_text(source.replace("load(handle)", "load(mode)"))
    subprocess.run(["git", "add", "."], cwd=shop, check=True)
    ran = midfill("review", str(shop), "--json")
    first = ran.json["suspects"][0]
    assert (
        (first["line"], first["stands"]) == (6, "mode") and first["instead"] in ("handle", "path") and first["gain"] > 2
    )
