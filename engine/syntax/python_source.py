"""CPython's own word on whether Python source is right: tree-sitter's grammar misses errors of indentation."""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_left, bisect_right

# A line that may begin a top-level statement: not indented, blank, a comment, a closing bracket or a continuation.
_TOP_LEVEL = re.compile(r"^(?!(?:elif|else|except|finally)\b)[^\s#)\]},:.\\]", re.MULTILINE)
_LONE_RETURN = re.compile(r"\r(?!\n)")
# How many edges further out, before and behind, the chunk around an edit is tried.
_WIDENINGS = ((0, 0), (1, 0), (0, 1), (3, 0), (0, 3), (3, 3))


def compiles(text: str) -> bool:
    """Whether CPython can parse `text` as a module. Says nothing and raises nothing, whatever the text.

    Costs about a second a megabyte. Text too deeply nested for the parser counts as not compiling.
    """
    # A byte order mark is right at the start of a file, which is what the text came from.
    text = text.removeprefix("\ufeff")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def compiles_around(text: str, start: int, end: int) -> bool:
    """Whether the top-level statements that hold [start, end) (code points) compile on their own.

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
    return any(compiles(text[chunk_start:chunk_end]) for chunk_start, chunk_end in sorted(chunks, key=_length))


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
