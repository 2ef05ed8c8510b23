"""CPython's own word on whether Python source is right: tree-sitter's grammar misses errors of indentation."""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

# A line that may begin a top-level statement: not indented, blank, a comment, a closing bracket or a continuation.
_TOP_LEVEL = re.compile(r"^(?!(?:elif|else|except|finally)\b)[^\s#)\]},:.\\]", re.MULTILINE)
_LONE_RETURN = re.compile(r"\r(?!\n)")
# How many edges further out, before and behind, the chunk around an edit is tried.
_WIDENINGS = ((0, 0), (1, 0), (0, 1), (3, 0), (0, 3), (3, 3))


@dataclass(frozen=True)
class Rejection:
    """Why CPython does not compile a text.

    grammar: it cannot be parsed. Else it can, and is wrong all the same: a `return` outside of a function, a keyword
    given twice, `nonlocal` of a name that no function around has.
    line: from 1, and column: code points before what is wrong, where CPython says.
    """

    grammar: bool
    message: str
    line: int | None = None
    column: int | None = None


def rejection(text: str) -> Rejection | None:
    """What CPython says against `text` as a module; None where it compiles. Says nothing and raises nothing, whatever the
    text. A top-level `await` is right, as it is in a notebook.

    Costs about half a second a megabyte. Text too deeply nested for the parser counts as not compiling.
    """
    # A byte order mark is right at the start of a file, which is what the text came from.
    text = text.removeprefix("\ufeff")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            # quicker than ast.parse, which makes objects of the tree
            compile(text, "", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        except SyntaxError as error:
            column = None if error.offset is None else max(0, error.offset - 1)
            return Rejection(not _parses(text), error.msg, error.lineno, column)
        except (ValueError, RecursionError, MemoryError) as error:
            return Rejection(True, str(error))
    return None


def compiles(text: str) -> bool:
    """Whether CPython can parse `text` as a module, whatever else it may have against it. See `rejection`."""
    found = rejection(text)
    return found is None or not found.grammar


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def compiles_around(text: str, start: int, end: int, whole: bool = False) -> bool:
    """Whether the top-level statements that hold [start, end) (code points) can be parsed on their own.

    whole: and CPython has nothing else against them.

    For documents that are too long, or too broken elsewhere, to be judged whole. Where the chunk does not compile it is
    widened a few times, as its edges may have fallen into a string or a bracket.
    """
    if "\r" in text:
        text = _LONE_RETURN.sub("\n", text)  # so that every break ends in \n, which is what re's ^ looks for
    edges = _edges(text)
    first = bisect_right(edges, start) - 1
    last = bisect_left(edges, max(end, start + 1))
    chunks = {
        (
            edges[first - before] if first >= before else 0,
            edges[last + behind] if last + behind < len(edges) else len(text),
        )
        for before, behind in _WIDENINGS
    }
    right = (lambda chunk: rejection(chunk) is None) if whole else compiles
    return any(right(text[chunk_start:chunk_end]) for chunk_start, chunk_end in sorted(chunks, key=_length))


def _length(chunk: tuple[int, int]) -> int:
    return chunk[1] - chunk[0]


def _edges(text: str) -> list[int]:
    """Where top-level statements may begin, in order; a decorator's statement begins at the decorator."""
    edges: list[int] = []
    decorated = False
    for match in _TOP_LEVEL.finditer(text):
        if not decorated:
            edges.append(match.start())
        decorated = match.group() == "@"
    return edges
