"""Control characters: what a model writes ends at the first one that no source text holds."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\ufffd]")


def cut(text: str) -> str:
    """Up to the first C0 control but tab, line breaks and form feed, or replacement character (half a character)."""
    found = _CONTROL.search(text)
    return text[: found.start()] if found else text
