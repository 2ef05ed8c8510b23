"""Several holes filled together: each sees the drafts of the others, and the result is checked as a whole."""

from __future__ import annotations

import ast

import pytest
import torch

from engine.denoisers.base import Step
from engine.diffusion import DiffusionFiller
from engine.errors import BadInput, Cancelled
from engine.filler import CancelToken, Completion, FillSettings
from engine.hole import Hole, HoleKind
from engine.marks import marked_holes
from engine.text import Document
from engine.together import Filled, Mark, Round, applied, fill_together
from tests.tiny import FILL_END, VOCABULARY, ScriptedDenoiser

SOURCE = """def load():
    ...

def total(rows):
    ...

print(...)
"""


class ReadsTheOthers(ScriptedDenoiser):
    """Names a new thing in the first hole, and uses in the later ones whatever name it reads in front of them."""

    def __init__(self) -> None:
        super().__init__([""])
        self.read = ""

    def encode(self, prefix, suffix, cancel):
        self.read = self.tokenizer.decode(prefix) + "\0" + self.tokenizer.decode(suffix)
        return super().encode(prefix, suffix, cancel)

    def step(self, encoded, canvas, carry):
        before = self.read.partition("\0")[0]
        name = next((n for n in ("prices", "values") if n in before), "rows")
        line = (before + canvas.required.decode()).rpartition("\n")[2]
        if "load" in before.rstrip().rpartition("\n")[2]:
            body = "return prices"
        else:
            body = name if "print" in line else f"return sum({name})"
        text = canvas.required.decode() + body  # the remnant is typed again
        tokens = self.tokenizer.encode(text)[: len(canvas)]
        tokens += [FILL_END] * (len(canvas) - len(tokens))
        logits = torch.full((len(canvas), VOCABULARY), -9.0)
        logits[torch.arange(len(canvas)), torch.tensor(tokens)] = 9.0
        return Step(logits)


class Nothing:
    """A filler that never finds anything."""

    name = "nothing"

    def fill(self, document, hole, settings, cancel):
        yield Completion("", hole.start, hole.end)


def filled(filler, document: Document, marks: list[Mark], **settings) -> tuple[list[Round], list[Filled]]:
    *rounds, last = fill_together(filler, document, marks, FillSettings(**settings), CancelToken())
    assert isinstance(last, list)
    return rounds, last


def test_a_name_that_one_hole_introduces_is_used_in_another() -> None:
    document = Document(SOURCE, "python")
    marks = marked_holes(document)
    assert [mark.hole.kind for mark in marks] == [HoleKind.BLOCK, HoleKind.BLOCK, HoleKind.EXPRESSION]
    rounds, made = filled(DiffusionFiller(ReadsTheOthers()), document, marks)
    text = applied(document.text, made)
    assert text == "def load():\n    return prices\n\ndef total(rows):\n    return sum(prices)\n\nprint(prices)\n"
    ast.parse(text)
    assert rounds and len(rounds[-1].drafts) == 3


def test_what_cannot_be_filled_stays_as_it_was() -> None:
    document = Document("def f():\n    ...\n\ndef g():\n    ...\n", "python")
    _, made = filled(Nothing(), document, marked_holes(document))
    assert [one.text for one in made] == ["", ""] and applied(document.text, made) == document.text


def test_below_the_asked_confidence_a_hole_stays_as_it_was() -> None:
    document = Document("x = ...\ny = ...\n", "python")
    _, made = filled(
        DiffusionFiller(ScriptedDenoiser(["1"], sure=0.5)), document, marked_holes(document), min_confidence=0.9
    )
    assert [one.text for one in made] == ["", ""]


def test_marks_that_overlap_are_refused() -> None:
    document = Document("x = 1 + 2\n", "python")
    marks = [Mark(Hole(4, 9, HoleKind.EXPRESSION, 8)), Mark(Hole(8, 9, HoleKind.EXPRESSION, 8))]
    with pytest.raises(BadInput, match="overlap"):
        filled(DiffusionFiller(ScriptedDenoiser(["1"])), document, marks)


def test_cancel_is_honoured_between_steps() -> None:
    document = Document("x = ...\ny = ...\n", "python")
    cancel = CancelToken()
    run = fill_together(
        DiffusionFiller(ScriptedDenoiser(["1"])), document, marked_holes(document), FillSettings(), cancel
    )
    cancel.cancel()
    with pytest.raises(Cancelled):
        next(run)


@pytest.mark.parametrize(
    ("language", "text", "found"),
    [
        ("python", "def f():\n    pass\n", [("pass", "block")]),
        ("python", "def f():\n    x = 1\n    pass\n", []),
        ("python", "class A:\n    ...\n", [("...", "block")]),
        ("python", "x = [..., 1]\n", [("...", "expression")]),
        ("python", "# TODO: sort\n", [("", "line")]),
        ("python", "# TODO: sort\nitems.sort()\n", []),
        ("python", "def f():\n    # FIXME this\n\nx = 1\n", [("", "line")]),
        ("python", "x = 1  # TODO: later\n", []),
        ("python", "x = '...'  # pass\n", []),
        ("javascript", "function f() {\n  // TODO: add\n}\n", [("", "line")]),
        ("rust", "fn f() -> u8 {\n    todo!()\n}\n", [("todo!()", "expression")]),
        ("go", "package a\n\n// TODO nothing\n", [("", "line")]),
        ("plaintext", "TODO ...", []),
    ],
)
def test_what_a_document_marks(language: str, text: str, found: list[tuple[str, str]]) -> None:
    marks = marked_holes(Document(text, language))
    assert [(text[mark.hole.start : mark.hole.end], str(mark.hole.kind)) for mark in marks] == found


def test_a_todo_is_filled_on_a_new_line_at_its_depth() -> None:
    (mark,) = marked_holes(Document("def f():\r\n    # TODO: one\r\n", "python"))
    assert mark.lead == "\r\n    " and mark.hole.start == mark.hole.end == len("def f():\r\n    # TODO: one")
