"""What else a candidate may be, where the whole of it breaks the syntax: closed, or shorter. Nothing is invented."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.completion.brackets import balance

_TOKEN_ENDS = re.compile(r"(?<=[\w)\]}\"'])(?=[^\w]|$)")
MOST_SHORTER = 10
MOST_LINES = 4


def variants(text: str, language: str) -> Iterator[str]:
    """The text; with the brackets and quotes that it left open closed (a canvas may end early); without last lines."""
    yield text
    closing = balance(text).closing
    if closing:
        yield text + closing
    if language == "python" and not text.rstrip().endswith(":"):
        yield text.rstrip() + closing + ":"  # passes only where a block's header is what is missing
    lines = text.splitlines(keepends=True)
    for count in range(len(lines) - 1, max(0, len(lines) - 1 - MOST_LINES), -1):
        yield "".join(lines[:count]).rstrip()


def shorter(text: str) -> Iterator[str]:
    """Starts of the text that end with a word, a string or a closing bracket, the longest first."""
    ends = [m.start() for m in _TOKEN_ENDS.finditer(text) if 0 < m.start() < len(text)]
    for end in ends[::-1][:MOST_SHORTER]:
        if text[:end].strip():
            yield text[:end]
