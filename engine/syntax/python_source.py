"""CPython's own word on whether Python source is right: tree-sitter's grammar misses errors of indentation."""

from __future__ import annotations

import ast
import re
import warnings

# A line that may begin a top-level statement: not indented, blank, a comment, a closing bracket or a continuation.
_TOP_LEVEL = re.compile(r"^(?!(?:elif|else|except|finally)\b)[^\s#)\]},:.\\]", re.MULTILINE)
# How often the chunk around an edit is doubled, for edges that fell into a long string or bracket.
_WIDENINGS = 4


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
    text = text.replace("\r\n", " \n").replace("\r", "\n")  # as many characters, and one kind of break to look for
    edges = _edges(text)
    first = sum(edge <= start for edge in edges) - 1
    last = sum(edge < end for edge in edges)
    for widening in range(_WIDENINGS + 1):
        more = 2**widening - 1
        chunk_start = edges[max(0, first - more)] if first >= 0 else 0
        chunk_end = edges[last + more] if last + more < len(edges) else len(text)
        if first - more < 0:
            chunk_start = 0
        if compiles(text[chunk_start:chunk_end]):
            return True
        if chunk_start == 0 and chunk_end == len(text):
            return False
    return False


def _edges(text: str) -> list[int]:
    """Where top-level statements may begin, in order; a decorator's statement begins at the decorator."""
    edges: list[int] = []
    decorated = False
    for match in _TOP_LEVEL.finditer(text):
        if not decorated:
            edges.append(match.start())
        decorated = match.group() == "@"
    return edges
