"""`textDocument/inlineCompletion`: ghost text at the cursor."""

from __future__ import annotations

import asyncio
import dataclasses

from lsprotocol import types

from engine.filler import CancelToken, Filler
from engine.text import Document
from lsp_server import drafts, jobs
from lsp_server.ahead import Prepared
from lsp_server.fills import Outdated, Superseded
from lsp_server.jobs import OnDraft, Place
from lsp_server.schedule import Rank
from lsp_server.server import MidfillServer
from lsp_server.workspace import OpenDocument

ACCEPTED = "midfill.accepted"


@dataclasses.dataclass(frozen=True)
class _Answer:
    """Where an answer goes: `range` is replaced by `before` and a completion for `place`."""

    range: types.Range
    before: str
    place: Place


def register(server: MidfillServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_INLINE_COMPLETION, types.InlineCompletionOptions())
    async def inline_completion(
        ls: MidfillServer, params: types.InlineCompletionParams
    ) -> list[types.InlineCompletionItem]:
        uri = params.text_document.uri
        opened = ls.offered(uri)
        answer = _answer(ls, opened, params) if opened is not None else None
        if opened is None or answer is None:
            return []
        snapshot = opened.document
        await ls.ahead.wait_for(snapshot, answer.place.offset)
        if not ls.is_current(uri, snapshot):
            raise Outdated
        invoked = params.context.trigger_kind == types.InlineCompletionTriggerKind.Invoked
        on_draft = drafts.sender(ls, uri, answer.range) if ls.settings.drafts else None
        texts = await find_texts(
            ls,
            uri,
            answer.place,
            Rank.ASKED if invoked else Rank.TYPED,
            types.TEXT_DOCUMENT_INLINE_COMPLETION,
            on_draft,
        )
        return [_item(uri, opened, answer, text) for text in texts[: answer.place.settings.alternatives]]


async def find_texts(
    ls: MidfillServer, uri: str, place: Place, rank: Rank, kind: str, on_draft: OnDraft | None = None
) -> list[str]:
    """Texts for a place, best first: what is left of an earlier offer, else what the model finds, which is remembered."""
    choice = ls.settings.offer_choice()
    wanted = place.settings.alternatives
    offered = ls.offers.find(uri, choice, place.document, place.offset, wanted)[:wanted]

    def job(filler: Filler, token: CancelToken) -> tuple[list[str], bool]:
        if offered and (left := jobs.still_fitting(place.document, place.offset, offered)):
            return left, True
        read = with_context(ls, uri, place, filler)
        limit = None if rank is Rank.ASKED else float(ls.settings.time_limit)
        return jobs.texts_of(jobs.fill(filler, token, read, on_draft, limit), wanted), False

    ls.surroundings.note(place.document, place.offset, ls.store.snapshots())
    delay = ls.settings.debounce / 1000 if rank is Rank.TYPED and not offered else 0.0
    found = await ls.fills.run(kind, uri, rank, job, delay)
    if found is None:
        return []
    texts, again = found
    if texts and not again:
        ls.offers.add(uri, choice, place.document, place.offset, texts, wanted)
    return texts


def with_context(ls: MidfillServer, uri: str, place: Place, filler: Filler) -> Place:
    """The place with what is to be read of other files. Runs in the model's thread."""
    budget = ls.settings.context_tokens
    text = ls.surroundings.text(uri, place.document, place.offset, budget, filler)
    return dataclasses.replace(place, settings=place.settings.with_(context=text)) if text else place


def prepare(ls: MidfillServer, uri: str, position: types.Position) -> None:
    """Fills at a place ahead of time, at the lowest rank, so that a request for it finds an offer."""
    opened = ls.offered(uri)
    if opened is None or not ls.settings.ahead or ls.scheduler.busy:
        return
    document, offset = opened.document, opened.offset(position)
    task = asyncio.get_running_loop().create_task(_prepare(ls, uri, document, offset))
    ls.keep_running(task)
    ls.ahead.begin(Prepared(document, offset, task))


async def _prepare(ls: MidfillServer, uri: str, document: Document, offset: int) -> None:
    place = Place(document, offset, ls.settings.fill_settings(alternatives=1))
    try:
        await find_texts(ls, uri, place, Rank.AHEAD, "ahead")
    except (Outdated, Superseded):
        return


def _answer(ls: MidfillServer, opened: OpenDocument, params: types.InlineCompletionParams) -> _Answer | None:
    """What to fill and where it goes; None where the protocol leaves no room for an answer."""
    document, offset, before = opened.document, opened.offset(params.position), ""
    place = types.Range(opened.position(offset), opened.position(offset))
    selected = params.context.selected_completion_info
    if selected is not None:
        # The item that the editor's list has selected is taken as inserted; an answer must extend its text.
        start, end = opened.offset(selected.range.start), opened.offset(selected.range.end)
        place = types.Range(opened.position(start), opened.position(end))
        if not start <= offset <= end or place.start.line != place.end.line:
            return None
        before = selected.text
        document = Document(
            document.text[:start] + before + document.text[end:], document.language, document.path, document.version
        )
        offset = start + len(before)
    invoked = params.context.trigger_kind == types.InlineCompletionTriggerKind.Invoked
    settings = ls.settings.fill_settings(ls.settings.alternatives if invoked else 1)
    return _Answer(place, before, Place(document, offset, settings))


def _item(uri: str, opened: OpenDocument, answer: _Answer, text: str) -> types.InlineCompletionItem:
    inserted = answer.before + text
    return types.InlineCompletionItem(
        insert_text=inserted, range=answer.range, command=_accepted(uri, opened, answer.range.start, inserted)
    )


def _accepted(uri: str, opened: OpenDocument, start: types.Position, inserted: str) -> types.Command:
    """What a client runs after an accept: it names the place behind the text."""
    lines = inserted.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    width = opened.width(lines[-1])
    line, column = start.line + len(lines) - 1, width + (start.character if len(lines) == 1 else 0)
    argument = {"uri": uri, "position": {"line": line, "character": column}}
    return types.Command(title="accepted", command=ACCEPTED, arguments=[argument])
