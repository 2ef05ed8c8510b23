"""A completion as a patch that `git apply` and `patch -p1` take."""

from __future__ import annotations

import re
from pathlib import Path

from engine.filler import Completion

CONTEXT = 3
_LINE = re.compile(r"[^\n]*\n|[^\n]+")  # a patch's lines end at \n alone; what else stands in them is content
_ODD = re.compile(r'[\x00-\x1f"\\\x7f]')


def unified_diff(text: str, completion: Completion, path: str) -> str:
    """The change that the completion makes to `text`, one hunk; empty where it changes nothing."""
    result = completion.apply(text)
    if result == text:
        return ""
    old, new = _LINE.findall(text), _LINE.findall(result)
    # Everything before and behind the hole is the same, so the hunk is found without comparing whole files.
    first = text.count("\n", 0, completion.start)
    behind = min(len(old) - 1, text.count("\n", 0, completion.end)) if old else 0
    same = max(0, len(old) - behind - 1)
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    same = min(same, len(old) - first, len(new) - first)
    while same < min(len(old), len(new)) - first and old[-1 - same] == new[-1 - same]:
        same += 1
    start, tail = max(0, first - CONTEXT), min(same, CONTEXT)
    removed, added = old[first : len(old) - same], new[first : len(new) - same]
    before, after = old[start:first], old[len(old) - same : len(old) - same + tail]
    shared = len(before) + len(after)
    name = path.lstrip("/")
    header = (
        f"--- {_quoted('a/' + name)}\n+++ {_quoted('b/' + name)}\n"
        f"@@ -{_span(start, shared + len(removed))} +{_span(start, shared + len(added))} @@\n"
    )
    marked = [(" ", before), ("-", removed), ("+", added), (" ", after)]
    return header + "".join(_marked(mark, line) for mark, lines in marked for line in lines)


def patch_name(path: str) -> str:
    """A file's name as a patch should have it: from its repository's root, so that `git apply` finds it there; without a
    repository, from the working directory, or whole where it is not below that."""
    if path == "-":
        return "stdin"
    whole = Path(path).absolute()
    for folder in whole.parents:
        if (folder / ".git").exists():
            return whole.relative_to(folder).as_posix()
    try:
        return whole.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path


def _span(start: int, count: int) -> str:
    return f"{start + 1 if count else start},{count}"


def _marked(mark: str, line: str) -> str:
    return mark + line if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"


def _quoted(name: str) -> str:
    """As git writes names: quoted where they hold what would break the line, and closed by a tab behind spaces."""
    if _ODD.search(name):
        return '"' + _ODD.sub(lambda odd: f"\\{ord(odd.group()):03o}", name) + '"'
    return name + "\t" if " " in name else name
