"""The syntax gate over Python's own standard library: whatever a model writes, no completion breaks a file.

Holes are dug in files that compile, and filled with what stood there and then damaged: cut short, doubled, with brackets
and quotes put in or left out, with lines of other places. So every completion offered has to leave a file that compiles.
"""

from __future__ import annotations

import random
import sysconfig
import warnings
from pathlib import Path

import pytest

from engine.check.dig import draw
from engine.completion import Candidate, complete
from engine.hole import hole_at
from engine.syntax import SyntaxTree, tree_of
from engine.text import Document

pytestmark = pytest.mark.slow

PUT_IN = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    '"',
    "'",
    '"""',
    ":",
    ",",
    "\\",
    "#",
    "\n",
    "\n    ",
    "\t",
    "=",
    "@",
    "else:",
    "lambda ",
]
LARGEST = 60_000  # characters; CPython parses each file once a candidate
HOLES, CANDIDATES = 240, 5


def damaged(draw: random.Random, text: str, elsewhere: str) -> str:
    for _ in range(draw.randint(0, 3)):
        at = draw.randint(0, len(text))
        kind = draw.randrange(6)
        if kind == 0:
            text = text[:at]
        elif kind == 1:
            text = text[:at] + draw.choice(PUT_IN) + text[at:]
        elif kind == 2:
            text = text[:at] + text[at + draw.randint(1, 3) :]
        elif kind == 3:
            text = text + text[at:]
        elif kind == 4:
            start = draw.randrange(len(elsewhere))
            text = text[:at] + elsewhere[start : start + draw.randint(1, 80)]
        else:
            lines = text.split("\n")
            draw.shuffle(lines)
            text = "\n".join(lines)
    return text


def right(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "file", "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
    return True


def library(seed: int) -> list[Document]:
    folder = Path(sysconfig.get_path("stdlib"))
    paths = sorted(p for p in folder.rglob("*.py") if not {"site-packages", "lib2to3", "test"} & set(p.parts))
    random.Random(seed).shuffle(paths)
    documents = []
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if 500 < len(text) < LARGEST and right(text):
            documents.append(Document(text, "python", str(path)))
        if len(documents) == 60:
            break
    return documents


@pytest.mark.parametrize("seed", range(3))
def test_no_completion_breaks_a_file_of_the_standard_library(seed):
    random_ = random.Random(seed)
    documents = library(seed)
    offered = 0
    for dug in draw(documents, HOLES, seed):
        document, expected = dug.without, dug.expected
        hole = hole_at(document, dug.start)
        texts = [damaged(random_, expected, random_.choice(documents).text) for _ in range(CANDIDATES)]
        found = complete(document, hole, [Candidate(text, 1.0) for text in texts])
        if found is None:
            continue
        offered += 1
        whole = document.text[: hole.start] + found.text + document.text[hole.end :]
        where = f"{dug.document.path}:{dug.line} {texts!r} -> {found.text!r}"
        assert right(whole), where
        faults = len(SyntaxTree.parse(whole, "python").errors())
        assert faults <= max(len(tree_of(document).errors()), len(tree_of(dug.document).errors())), where
    assert offered > HOLES / 2
