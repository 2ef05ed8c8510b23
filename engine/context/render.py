"""Context as text: each piece under a comment that names its file, as a small model knows it from code."""

from __future__ import annotations

from collections.abc import Sequence

_HASH = ("python", "shellscript", "ruby", "yaml", "toml")
_DASHES = ("lua", "sql")
_MARKUP = ("html", "markdown")


def rendered(pieces: Sequence[tuple[str, str]], language: str) -> str:
    """(path, code) pieces in their order; empty where there are none. Line breaks are `\\n`."""
    parts = []
    for path, code in pieces:
        code = code.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
        parts.append(f"{_comment(path, language)}\n{code}\n\n")
    return "".join(parts)


def _comment(path: str, language: str) -> str:
    path = " ".join(path.split())  # a path may hold line breaks
    if language in _HASH:
        return f"# {path}"
    if language in _DASHES:
        return f"-- {path}"
    if language in _MARKUP:
        return f"<!-- {path.replace('--', '')} -->"
    if language == "css":
        return f"/* {path.replace('*/', '')} */"
    return f"// {path}"
