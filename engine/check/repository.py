"""The files of a repository that holes may be dug in: what git tracks, else what may be read; only lines changed since a revision."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.context.ignore import may_read
from engine.errors import BadInput
from engine.syntax.languages import PLAINTEXT, language_for_path
from engine.text import Document, read_document

_HUNK = re.compile(r"^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True)
class Skipped:
    """A file that was left out, and why."""

    path: str
    why: str


def documents(paths: Sequence[Path]) -> tuple[list[Document], list[Skipped]]:
    """The source files below `paths`, by path, and those that were left out.

    Raises `BadInput` for a path that is not there, and where no file of a known language is left.
    """
    found: dict[str, Document] = {}
    skipped: list[Skipped] = []
    for path in paths:
        if not path.exists():
            raise BadInput(f"there is no {path}")
        for file in [path] if path.is_file() else list(_files(path)):
            name = file.as_posix()
            if language_for_path(name) == PLAINTEXT or name in found:
                continue
            try:
                document = read_document(file)
            except BadInput as error:
                skipped.append(Skipped(name, str(error)))
                continue
            if document.text.strip():
                found[name] = document
    if not found:
        where = ", ".join(map(str, paths))
        why = f": {skipped[0].why}" if skipped else " (what git ignores is not read)"
        raise BadInput(f"{where} holds no file in a language that Midfill knows{why}")
    return [found[name] for name in sorted(found)], skipped


def tree(folder: Path) -> tuple[Path, list[Path]]:
    """The root of the repository that `folder` lies in (or the folder), and all its files but those that git ignores."""
    try:
        root = Path(_git(folder, "rev-parse", "--show-toplevel").strip()).resolve()
        listed = _git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
        paths = [root / name for name in sorted(set(filter(None, listed)))]
    except BadInput:
        root = folder.resolve()
        paths = sorted(root.rglob("*"))
    return root, [path for path in paths if path.is_symlink() or path.is_file()]


def is_safe_with_git(path: Path) -> bool:
    """Whether git has the file as it stands, so that whatever is written over it can be had back."""
    try:
        folder, name = path.resolve().parent, path.name
        tracked = _git(folder, "ls-files", "--", name)
        return bool(tracked) and not _git(folder, "status", "--porcelain", "--", name).strip()
    except BadInput:
        return False


def changed_lines(folder: Path, base: str) -> dict[str, set[int]]:
    """By absolute path, the lines (from 1) that differ from a revision. Raises `BadInput` without git or the revision."""
    root = Path(_git(folder, "rev-parse", "--show-toplevel").strip())
    if base.startswith("-"):
        raise BadInput(f"{base!r} is no revision")
    text = _git(
        folder, "diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-renames", "--dst-prefix=b/", base, "--"
    )
    found: dict[str, set[int]] = {}
    current: set[int] = set()
    left = 0  # lines of a hunk still to come: what looks like a header among them is text
    for line in text.split("\n"):
        if left:
            left -= line[:1] in ("+", "-")
        elif line.startswith("+++ "):
            name = line[4:].strip('"').removeprefix("b/")
            current = found.setdefault((root / name).resolve().as_posix(), set())
        elif match := _HUNK.match(line):
            gone, count = (int(match.group(n) or 1) for n in (1, 3))
            first = int(match.group(2))
            current.update(range(first, first + count))
            left = gone + count
    return found


def _files(folder: Path) -> Iterator[Path]:
    try:
        listed = _git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        names = sorted(name for name in listed.split("\0") if name)
        candidates = [folder / name for name in names]
    except BadInput:  # no git: all files there are, but for hidden folders
        candidates = sorted(
            path for path in folder.rglob("*") if not any(p.startswith(".") for p in path.relative_to(folder).parts)
        )
    for path in candidates:
        if may_read(folder, path):
            yield path


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-c", "core.quotePath=false", "-C", str(folder), *arguments], capture_output=True, timeout=60
        )
    except FileNotFoundError:
        raise BadInput("git cannot be found") from None
    except subprocess.TimeoutExpired:
        raise BadInput("git did not answer within a minute") from None
    if done.returncode:
        raise BadInput(" ".join(done.stderr.decode(errors="replace").split()) or "git failed")
    return done.stdout.decode(errors="surrogateescape")
