"""The workspace that a file belongs to: the nearest folder above it that a project begins in."""

from __future__ import annotations

from pathlib import Path

_MARKS = (
    ".git",
    ".hg",
    "pyproject.toml",
    "setup.py",
    "package.json",
    "go.mod",
    "Cargo.toml",
    "pom.xml",
    "CMakeLists.txt",
)


def workspace_root(path: Path) -> Path:
    """The project's folder; the file's own where there is none above it."""
    folder = path.resolve().parent
    for candidate in (folder, *folder.parents):
        if any((candidate / mark).exists() for mark in _MARKS):
            return candidate
    return folder
