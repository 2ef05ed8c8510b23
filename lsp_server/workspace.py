"""The server's copy of the texts that the editor has open.

pygls' own splits lines at form feeds, U+2028 and others, which no editor counts as line breaks, and reads documents
that were never opened from disk. Here lines are `engine.text.LineIndex`'s, and only what is open is known.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Sequence
from urllib.parse import unquote

from lsprotocol import types
from pygls.workspace import TextDocument, Workspace

from engine.rope import Rope
from engine.syntax import EditSince, came_from, is_parsed
from engine.syntax.languages import is_known, language_for_path
from engine.text import Document, Encoding, units
from lsp_server.logs import log

_SURROGATE = re.compile("[\ud800-\udfff]")


class OpenDocument(TextDocument):
    """One open text. `document` is an immutable snapshot; every change makes a new one."""

    def __init__(self, uri: str, source: str, version: int | None, language_id: str, encoding: Encoding) -> None:
        super().__init__(uri, source="", version=version, language_id=language_id)
        self._encoding = encoding
        self._rope = Rope(_join_surrogates(source), encoding)
        self._snapshot: Document | None = None
        self._edit: EditSince | None = None

    @property
    def source(self) -> str:
        """The text as the client has it."""
        return self._rope.text

    @property
    def document(self) -> Document:
        """The text as it stands. Two snapshots are the same object if and only if nothing changed between them."""
        if self._snapshot is None:
            path = self.path if self.uri.startswith("file:") else None
            self._snapshot = Document(
                text=_without_surrogates(self.source),
                language=_language(self.language_id or "", self.path),
                path=path,
                version=self.version,
            )
            if self._edit is not None:
                came_from(self._snapshot, self._edit)
                self._edit = dataclasses.replace(self._edit, older=None)
        return self._snapshot

    @property
    def lines(self) -> Sequence[str]:
        """Lines with their breaks, split where the protocol splits and nowhere else."""
        index, text = self.document.lines, self.document.text
        starts = [index.line_start(line) for line in range(index.line_count)] + [len(text)]
        return tuple(text[start:end] for start, end in itertools.pairwise(starts))

    def offset(self, position: types.Position) -> int:
        """Code points before a client's position, clamped to the text as the protocol says."""
        return self._rope.offset(position.line, position.character)

    def position(self, offset: int) -> types.Position:
        """A client's position of an offset in code points."""
        return types.Position(*self._rope.position(offset))

    def width(self, text: str) -> int:
        """How many columns of the client a text of one line takes."""
        return units(text, self._encoding)

    def offset_at_position(self, client_position: types.Position) -> int:
        return self.offset(client_position)

    def client_position_at_offset(self, offset: int) -> types.Position:
        return self.position(offset)

    def apply_change(self, change: types.TextDocumentContentChangeEvent) -> None:
        """Applies one change of `textDocument/didChange`, incremental or whole."""
        if isinstance(change, types.TextDocumentContentChangePartial):
            start, end = sorted((self.offset(change.range.start), self.offset(change.range.end)))
            self._replace(start, end, change.text)
        else:
            self._replace(0, len(self._rope), change.text)

    def _replace(self, start: int, end: int, text: str) -> None:
        # Halves of a character may come in two edits: with its neighbours in view, they are made one.
        if _SURROGATE.search(around := self._rope.slice(start - 1, start) + text + self._rope.slice(end, end + 1)):
            start, end, text = max(0, start - 1), min(len(self._rope), end + 1), _join_surrogates(around)
        before, self._snapshot = self._snapshot, None
        if before is not None and is_parsed(before):
            older = dataclasses.replace(self._edit, older=None) if self._edit is not None else None
            self._edit = EditSince(before, start, end, start + len(text), older)
        elif self._edit is not None:
            self._edit = self._edit.then(start, end, len(text))
        self._rope.edit(start, end, text)


class TextStore(Workspace):
    """All open texts, in the position encoding agreed with the client."""

    @classmethod
    def replacing(cls, workspace: Workspace) -> TextStore:
        """A store with the root, folders and encoding of the workspace that pygls has made for the client."""
        return cls(
            workspace.root_uri,
            workspace_folders=list(workspace.folders.values()),
            position_encoding=workspace.position_encoding,
        )

    @property
    def encoding(self) -> Encoding:
        return Encoding(types.PositionEncodingKind(self.position_encoding or "utf-16").value)

    def snapshots(self) -> list[Document]:
        """All open documents as they stand."""
        return [found.document for found in self._text_documents.values() if isinstance(found, OpenDocument)]

    def find(self, uri: str) -> OpenDocument | None:
        """The open text of this address, of any scheme; None if the client has not opened it."""
        found = self._text_documents.get(unquote(uri))
        assert found is None or isinstance(found, OpenDocument)
        return found

    def _create_text_document(
        self, doc_uri: str, source: str | None = None, version: int | None = None, language_id: str | None = None
    ) -> OpenDocument:
        return OpenDocument(doc_uri, source or "", version, language_id or "", self.encoding)

    def update_text_document(
        self, text_doc: types.VersionedTextDocumentIdentifier, change: types.TextDocumentContentChangeEvent
    ) -> None:
        document = self.find(text_doc.uri)
        if document is None:
            log.warning("a change of a document that is not open was left out")
            return
        document.version = text_doc.version
        document.apply_change(change)


def _language(language_id: str, path: str) -> str:
    """The editor's language id where the engine knows it, else what the path's ending says."""
    return language_id if is_known(language_id) else language_for_path(path)


def _without_surrogates(text: str) -> str:
    """A lone surrogate cannot be encoded; its stand-in has the same width in code points and in UTF-16."""
    return text if text.isascii() else _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def _join_surrogates(text: str) -> str:
    """Halves of a character that came in two edits, made one again; a half alone stays as it is."""
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
