"""Filters and gate: the cases under `cases/`, and properties that no candidate may break."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.completion import Candidate, complete
from engine.hole import hole_at, hole_between
from engine.syntax import SyntaxTree, compiles, new_faults
from engine.text import Document

CASES = sorted((Path(__file__).parent / "cases").glob("*.txt"))


def read(path: Path) -> tuple[Document, int, int, list[str], str]:
    """A case's document, the hole's range in it, the candidates, and the expected text with its marks."""
    text = path.read_text(encoding="utf-8").replace("␉", "\t").replace("␍\n", "\r\n")
    _, *sections = text.split("--- ")
    candidates, expected = [], ""
    for section in sections:
        head, _, body = section.partition("\n")
        body = body.removesuffix("\n").removesuffix("\r")
        if head.startswith("document"):
            language = head.split()[1]
            marked = body
        elif head == "candidate":
            candidates.append(body)
        else:
            expected = body
    if "¦" in marked:
        start = end = marked.index("¦")
        marked = marked.replace("¦", "")
    else:
        start, end = marked.index("⟦"), marked.index("⟧") - 1
        marked = marked.replace("⟦", "").replace("⟧", "")
    return Document(marked, language), start, end, candidates, expected


@pytest.mark.parametrize("path", CASES, ids=[p.stem for p in CASES])
def test_case(path):
    document, start, end, candidates, expected = read(path)
    hole = hole_at(document, start) if start == end else hole_between(document, start, end)
    found = complete(document, hole, [Candidate(c, 0.5) for c in candidates])
    text = found.text if found else ""
    assert document.text[: hole.start] + "«" + text + "»" + document.text[hole.end :] == expected


def test_a_further_candidate_is_asked_for_only_when_the_first_fails():
    asked = []

    def stream():
        for text in ("1", "2"):
            asked.append(text)
            yield Candidate(text, 0.5)

    document = Document("x = ", "python")
    assert complete(document, hole_at(document, 4), stream()) == Candidate("1", 0.5)
    assert asked == ["1"]


PROGRAM = '''import os


def walk(root, names=("a", "b")):
    """Yields files: one a name."""
    found = []
    for name in names:
        try:
            path = os.path.join(root, name)
            if os.path.exists(path) and [
                path,
                name,
            ]:
                found.append({"path": path, "name": name})
        except OSError as error:
            raise ValueError(f"cannot {error!r}") from error
        else:
            continue
    return found
'''


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_nothing_that_is_offered_breaks_what_could_compile(data):
    """Holes dug anywhere in a right program, filled with pieces of it that were cut and mixed."""
    start = data.draw(st.integers(0, len(PROGRAM) - 1))
    end = data.draw(st.integers(start, min(len(PROGRAM), start + 80)))
    pieces = []
    for _ in range(data.draw(st.integers(1, 3))):
        a = data.draw(st.integers(0, len(PROGRAM) - 1))
        piece = PROGRAM[a : a + data.draw(st.integers(1, 60))]
        piece += data.draw(st.sampled_from(["", ")", "\n", "\n    ", '"', ":", "\n        x = 1\n"]))
        pieces.append(Candidate(piece, 0.5))
    document = Document(PROGRAM[:start] + PROGRAM[end:], "python")
    tree = SyntaxTree.parse(document.text, "python")
    hole = hole_at(document, start, tree)
    found = complete(document, hole, pieces, tree)
    if found is None or not found.text:
        return
    after = document.text[:start] + found.text + document.text[start:]
    assert compiles(after)
    assert not new_faults(tree, SyntaxTree.parse(after, "python"), start, start, start + len(found.text))


@pytest.mark.parametrize("text", ["a\x00b", "a\x1b[0mb", "a\ufffdb"])
def test_control_characters_end_a_completion(text):
    document = Document("x = ", "plaintext")
    found = complete(document, hole_at(document, 4), [Candidate(text, 0.5)])
    assert found is not None and found.text == "a"


def test_a_large_document_is_judged_around_its_hole():
    """CPython takes a second a megabyte: in a long document only the statement around the hole is parsed."""
    text = "def f(a):\n    return a\n\n\n" * 9000 + "def last(a):\n    return "
    document = Document(text, "python")
    tree = SyntaxTree.parse(text, "python")
    hole = hole_at(document, len(text), tree)
    assert complete(document, hole, [Candidate(")", 0.5), Candidate("a", 0.5)], tree) == Candidate("a", 0.5)
