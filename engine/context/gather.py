"""What a denoiser reads of other files: definitions first, then similar snippets, each source within its time, all within a budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.context.ignore import may_read
from engine.context.imports import imported_files
from engine.context.names import definitions, names_near
from engine.context.render import rendered
from engine.context.similar import Ring
from engine.errors import BadInput
from engine.text import Document, read_document

LIMIT_MS = 60.0  # of each source
_MOST_FILES = 40  # looked at for definitions
_CACHED_FILES = 128


@dataclass(frozen=True)
class Piece:
    """One thing that went in. lines: [first, last] from 1. reason: why, in a few words."""

    source: str
    path: str
    lines: tuple[int, int]
    reason: str
    tokens: int
    text: str


@dataclass(frozen=True)
class LeftOut:
    """One thing that did not go in, and why."""

    source: str
    what: str
    why: str


@dataclass(frozen=True)
class Context:
    """text: what goes before the prefix; empty where there is nothing."""

    text: str = ""
    pieces: tuple[Piece, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


class Workspace:
    """The folders a person has open, and what was lately edited or looked at in them.

    Only files below `roots` are read from disk, and of those only what `may_read` allows.
    """

    def __init__(self, roots: Sequence[Path], open_documents: Callable[[], Iterable[Document]] = tuple) -> None:
        self.roots = [root.resolve() for root in roots]
        self.open_documents = open_documents
        self.ring = Ring()
        self._read: dict[Path, tuple[int, Document]] = {}

    def note_edit(self, document: Document, offset: int) -> None:
        if self.allows(document):
            self.ring.note(document, document.lines.line_at(offset))

    def note_view(self, document: Document) -> None:
        if self.allows(document):
            self.ring.note(document, 0)

    def allows(self, document: Document) -> bool:
        """Whether an open document may be context for others: an ignored file may not, open or not."""
        if document.path is None:
            return False
        return any(may_read(root, Path(document.path)) for root in self.roots)

    def read(self, path: Path) -> Document | None:
        """A file of the workspace, from memory while it has not changed; None where it may not be read or cannot."""
        for root in self.roots:
            if not may_read(root, path):
                continue
            try:
                changed = path.stat().st_mtime_ns
                kept = self._read.get(path)
                if kept is not None and kept[0] == changed:
                    return kept[1]
                document = read_document(path)
            except (BadInput, OSError):
                return None
            while len(self._read) >= _CACHED_FILES:
                self._read.pop(next(iter(self._read)))
            self._read[path] = (changed, document)
            return document
        return None


@dataclass
class _Gathering:
    """What has been found so far, and what is left of the budget."""

    budget: int
    count_tokens: Callable[[str], int]
    language: str
    pieces: list[Piece] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def add(self, source: str, path: str, lines: tuple[int, int], reason: str, text: str) -> None:
        if any(p.path == path and p.lines[0] <= lines[1] and lines[0] <= p.lines[1] for p in self.pieces):
            return
        tokens = self.count_tokens(rendered([(path, text)], self.language))
        if tokens > self.budget:
            self.left_out.append(LeftOut(source, f"{path}:{lines[0]}", f"{tokens} tokens are over the budget"))
            return
        self.budget -= tokens
        self.pieces.append(Piece(source, path, lines, reason, tokens, text))


def gather(
    workspace: Workspace,
    document: Document,
    offset: int,
    budget_tokens: int,
    count_tokens: Callable[[str], int],
    limit_ms: float = LIMIT_MS,
) -> Context:
    """The context of a cursor. Deterministic for the same files, but for what its time limit leaves out.

    count_tokens: how many tokens a text takes. limit_ms: of each source; what is late is left out.
    """
    gathering = _Gathering(budget_tokens, count_tokens, document.language)
    if budget_tokens > 0:
        for name, source in (("definitions", _definitions), ("similar", _similar)):
            clock = _Clock(limit_ms)
            for found in source(workspace, document, offset, clock):
                gathering.add(name, _shown(workspace, found.path), found.lines, found.reason, found.text)
            if clock.late:
                gathering.left_out.append(LeftOut(name, "what was still to come", f"it took over {limit_ms:.0f} ms"))
    # what is most related stands last, next to the prefix
    pieces = gathering.pieces
    text = rendered([(piece.path, piece.text) for piece in reversed(pieces)], document.language)
    return Context(text, tuple(pieces), tuple(gathering.left_out))


class _Clock:
    """A source's time. Sources ask between two files, and then go with what they have."""

    def __init__(self, limit_ms: float) -> None:
        self._deadline = time.monotonic() + limit_ms / 1000
        self.late = False

    def over(self) -> bool:
        self.late = self.late or time.monotonic() > self._deadline
        return self.late


@dataclass(frozen=True)
class _Found:
    path: str
    lines: tuple[int, int]
    reason: str
    text: str


def _definitions(workspace: Workspace, document: Document, offset: int, clock: _Clock) -> Iterator[_Found]:
    """Definitions of the names around the cursor, in imported and open files; the nearest name's first."""
    names = names_near(document, offset)
    rank = {name: number for number, name in enumerate(names)}
    own = {definition.name for definition in definitions(document)}
    found: list[tuple[int, int, _Found]] = []
    for other in _files(workspace, document):
        if clock.over():
            break
        for definition in definitions(other):
            if definition.name in rank and definition.name not in own:
                # the lines that are brought: of a long definition its head alone
                lines = (definition.first + 1, definition.first + 1 + definition.text.count("\n"))
                one = _Found(other.path or "", lines, f"defines {definition.name}", definition.text)
                found.append((rank[definition.name], len(found), one))
    for place, number, one in found:
        # a class that comes whole brings its methods with it, as soon as the nearest of them is wanted
        inner = [r for r, _, other in found if other is not one and _holds(one, other)]
        found[number] = (min([place, *inner]), number, one)
    for _, _, one in sorted(found, key=lambda one: one[:2]):
        yield one


def _holds(outer: _Found, inner: _Found) -> bool:
    return outer.path == inner.path and outer.lines[0] <= inner.lines[0] and inner.lines[1] <= outer.lines[1]


def _files(workspace: Workspace, document: Document) -> Iterator[Document]:
    seen = {document.path}
    opened = {Path(other.path).resolve(): other for other in workspace.open_documents() if other.path is not None}
    count = 0
    for path in imported_files(document, workspace.roots):
        if count >= _MOST_FILES:
            return
        other = opened.get(path.resolve()) or workspace.read(path)
        if other is not None and other.path not in seen and (other.path is None or workspace.allows(other)):
            seen.add(other.path)
            count += 1
            yield other
    for other in sorted(opened.values(), key=lambda one: one.path or ""):
        if other.path not in seen and other.language == document.language and workspace.allows(other):
            seen.add(other.path)
            yield other


def _similar(workspace: Workspace, document: Document, offset: int, clock: _Clock) -> Iterator[_Found]:
    for score, snippet in workspace.ring.most_similar(document, offset):
        if clock.over():
            return
        yield _Found(snippet.path, (snippet.first + 1, snippet.last + 1), f"similar ({score:.2f})", snippet.text)


def _shown(workspace: Workspace, path: str) -> str:
    for root in workspace.roots:
        try:
            return Path(path).resolve().relative_to(root).as_posix()
        except ValueError:
            continue
    return path
