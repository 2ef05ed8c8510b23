"""`workspace/executeCommand` and code actions: what only a diffusion model can do. See docs/protocol.md."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any, TypeGuard

from lsprotocol import converters, types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from engine.context.ignore import is_secret
from engine.filler import CancelToken, Completion, Filler
from engine.hole import hole_between
from engine.marks import marked_holes
from engine.together import Filled, Mark, fill_together
from lsp_server import drafts, jobs
from lsp_server.features import inline_completion
from lsp_server.fills import Outdated
from lsp_server.jobs import Place
from lsp_server.progress import Progress
from lsp_server.schedule import Rank
from lsp_server.server import MidfillServer
from lsp_server.workspace import OpenDocument

FILL_HOLES = "midfill.fillHoles"
REWRITE = "midfill.rewriteSelection"
ALTERNATIVES = "midfill.alternatives"
DENOISE = "midfill.denoise"
_CONVERTER = converters.get_converter()
MOST_RANGES = 64  # filled together
_PATIENCE = 60.0  # seconds for the editor to apply an edit; a person may be asked first


def register(server: MidfillServer) -> None:
    @server.command(FILL_HOLES)
    async def fill_holes(ls: MidfillServer, argument: Any = None) -> dict[str, Any]:
        opened, given = _opened(ls, argument, "ranges", "apply")
        ranges = _ranges(opened, given["ranges"]) if given.get("ranges") is not None else None
        snapshot = opened.document

        def job(filler: Filler, token: CancelToken) -> list[Filled]:
            if ranges is None:
                marks = marked_holes(snapshot)
            else:
                marks = [Mark(hole_between(snapshot, start, end)) for start, end in ranges]
            return _filled(filler, snapshot, marks[:MOST_RANGES], ls.settings.fill_settings(1), token, report)

        bar = Progress(ls, "Midfill: filling holes")
        report = _reporter(bar)
        ls.keep_running(asyncio.get_running_loop().create_task(bar.show()))
        try:
            return await _changing(ls, opened, given, FILL_HOLES, job, "the document marks no hole")
        finally:
            bar.end("")

    @server.command(REWRITE)
    async def rewrite_selection(ls: MidfillServer, argument: Any = None) -> dict[str, Any]:
        opened, given = _opened(ls, argument, "range", "apply")
        start, end = _range(opened, given.get("range"))
        if start == end:
            raise JsonRpcInvalidParams("range is empty: select what is to be rewritten")
        snapshot = opened.document

        def job(filler: Filler, token: CancelToken) -> list[Filled]:
            hole = hole_between(snapshot, start, end)
            settings = ls.settings.fill_settings(1).with_(rewrite=True)
            found = jobs.fill(filler, token, Place(snapshot, start, settings, hole))
            same = found.text == snapshot.text[start:end]
            return [Filled(Mark(hole), "" if same else found.text, found.confidence)]

        return await _changing(ls, opened, given, REWRITE, job, "nothing is selected")

    @server.command(ALTERNATIVES)
    async def alternatives(ls: MidfillServer, argument: Any = None) -> dict[str, Any]:
        opened, given = _opened(ls, argument, "position", "count")
        count = given.get("count", ls.settings.alternatives)
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= 16:
            raise JsonRpcInvalidParams("count must be a whole number from 1 to 16")
        offset = opened.offset(_position(given.get("position")))
        place = Place(opened.document, offset, ls.settings.fill_settings(count))

        def job(filler: Filler, token: CancelToken) -> Completion:
            return jobs.fill(filler, token, inline_completion.with_context(ls, opened.uri, place, filler))

        found = await ls.fills.run(ALTERNATIVES, opened.uri, Rank.ASKED, job)
        where = _shown(types.Range(opened.position(offset), opened.position(offset)))
        sure = {} if found is None else {a.text: a.confidence for a in reversed(found.alternatives)}
        if found is not None:
            sure[found.text] = found.confidence
        texts = jobs.texts_of(found, count) if found is not None else []
        return {"items": [{"text": text, "range": where, "confidence": round(sure[text], 4)} for text in texts]}

    @server.command(DENOISE)
    async def denoise(ls: MidfillServer, argument: Any = None) -> dict[str, Any]:
        opened, given = _opened(ls, argument, "position", "token")
        if not isinstance(given.get("token", ""), str):
            raise JsonRpcInvalidParams("token must be a string")
        offset = opened.offset(_position(given.get("position")))
        where = types.Range(opened.position(offset), opened.position(offset))
        place = Place(opened.document, offset, ls.settings.fill_settings(1))
        on_draft = drafts.sender(ls, given["uri"], where, given.get("token"))

        def job(filler: Filler, token: CancelToken) -> Completion:
            read = inline_completion.with_context(ls, opened.uri, place, filler)
            return jobs.fill(filler, token, read, on_draft)

        found = await ls.fills.run(DENOISE, opened.uri, Rank.ASKED, job)
        text, confidence, steps = (found.text, found.confidence, found.steps) if found else ("", 0.0, 0)
        return {"text": text, "range": _shown(where), "confidence": round(confidence, 4), "steps": steps}

    @server.command(inline_completion.ACCEPTED)
    def accepted(ls: MidfillServer, argument: Any = None) -> None:
        opened, given = _opened(ls, argument, "position", "version")
        inline_completion.prepare(ls, opened.uri, _position(given.get("position")))

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=_KINDS))
    def code_action(ls: MidfillServer, params: types.CodeActionParams) -> list[types.CodeAction]:
        opened = ls.offered(params.text_document.uri)
        if opened is None or (params.context.only and not any(_wanted(kind) for kind in params.context.only)):
            return []
        uri = params.text_document.uri
        actions = [_action("Midfill: fill all holes", FILL_HOLES, {"uri": uri})]
        if params.range.start != params.range.end:
            given = {"uri": uri, "range": _shown(params.range)}
            actions.insert(0, _action("Midfill: rewrite the selection", REWRITE, given))
        return actions


_KINDS = [types.CodeActionKind.RefactorRewrite]


def _wanted(kind: types.CodeActionKind | str) -> bool:
    """Whether a client that asks for a kind of action would take ours: it, or one that it is part of."""
    name = str(getattr(kind, "value", kind))
    return name == "" or f"{types.CodeActionKind.RefactorRewrite.value}.".startswith(f"{name}.")


def _action(title: str, command: str, argument: dict[str, Any]) -> types.CodeAction:
    return types.CodeAction(
        title=title,
        kind=types.CodeActionKind.RefactorRewrite,
        command=types.Command(title=title, command=command, arguments=[argument]),
    )


def _filled(
    filler: Filler, document, marks, settings, token: CancelToken, report: Callable[[float, str], None]
) -> list[Filled]:
    for event in fill_together(filler, document, marks, settings, token):
        if isinstance(event, list):
            return event
        # nobody knows how many rounds there will be: each takes a part of what is left
        report(1 - 0.8**event.number, f"round {event.number} over {len(marks)} holes")
    raise RuntimeError("a filler ended without completions")


def _reporter(bar: Progress) -> Callable[[float, str], None]:
    """Reports from the model's thread."""
    loop = asyncio.get_running_loop()

    def report(share: float, message: str) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has closed: the server is on its way out
            loop.call_soon_threadsafe(bar.report, share, message)

    return report


async def _changing(
    ls: MidfillServer, opened: OpenDocument, given: Mapping, kind: str, job, none: str
) -> dict[str, Any]:
    """Runs a job that changes the text, and has the client apply the edit, or hands the edit back."""
    snapshot = opened.document
    try:
        found = await ls.fills.run(kind, opened.uri, Rank.ASKED, job)
    except Outdated:
        return {"holes": 0, "filled": 0, "applied": False, "message": "the document changed meanwhile"}
    found = found or []
    made = [one for one in found if one.text]
    answer: dict[str, Any] = {"holes": len(found), "filled": len(made), "applied": False}
    if not made:
        answer["message"] = (
            none
            if not found
            else "nothing was found that fits" + (" better than what stands there" if kind == REWRITE else "")
        )
        return answer
    answer["message"] = f"filled {len(made)} of {len(found)} holes" if kind == FILL_HOLES else "rewritten"
    edit = _edit(ls, given["uri"], opened, made)
    can_apply = ls.client_capabilities.workspace and ls.client_capabilities.workspace.apply_edit
    if given.get("apply") is False or not can_apply:
        answer["edit"] = _CONVERTER.unstructure(edit)
        if given.get("apply") is not False:
            answer["message"] += "; the editor did not say that it can apply edits, so the edit is in this answer"
        return answer
    if not ls.is_current(opened.uri, snapshot):
        return answer | {"message": "the document changed meanwhile"}
    try:
        asked = ls.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(edit=edit, label="Midfill"))
        outcome = await asyncio.wait_for(asked, _PATIENCE)
    except TimeoutError:
        return answer | {"message": "the editor did not say whether it applied the edit"}
    except JsonRpcException as refused:
        return answer | {"message": f"the editor refused the edit: {refused.message}"}
    answer["applied"] = bool(outcome is not None and outcome.applied)
    if not answer["applied"]:
        answer["message"] = "the editor did not apply the edit"
    return answer


def _edit(ls: MidfillServer, uri: str, opened: OpenDocument, made: list[Filled]) -> types.WorkspaceEdit:
    edits = [
        types.TextEdit(
            range=types.Range(opened.position(one.mark.hole.start), opened.position(one.mark.hole.end)),
            new_text=one.text,
        )
        for one in made
    ]
    workspace = ls.client_capabilities.workspace
    if workspace and workspace.workspace_edit and workspace.workspace_edit.document_changes:
        of = types.OptionalVersionedTextDocumentIdentifier(uri=uri, version=opened.version)
        return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(text_document=of, edits=list(edits))])
    return types.WorkspaceEdit(changes={uri: edits})


def _opened(ls: MidfillServer, argument: Any, *keys: str) -> tuple[OpenDocument, dict[str, Any]]:
    """The document that an argument names, and the argument, which may have these further keys."""
    if not isinstance(argument, dict) or not isinstance(argument.get("uri"), str):
        raise JsonRpcInvalidParams("the argument must be one object with a uri")
    if unknown := [key for key in argument if key not in ("uri", *keys)]:
        raise JsonRpcInvalidParams(f"unknown: {', '.join(map(repr, unknown))}; there are uri, {', '.join(keys)}")
    if not isinstance(argument.get("apply", True), bool):
        raise JsonRpcInvalidParams("apply must be true or false")
    opened = ls.store.find(argument["uri"])
    if opened is None:
        raise JsonRpcInvalidParams(f"{argument['uri']} is not open")
    if is_secret(PurePosixPath(opened.path or "").name):
        raise JsonRpcInvalidParams("a file of this name may hold secrets: it gets no completions")
    return opened, argument


def _ranges(opened: OpenDocument, value: Any) -> list[tuple[int, int]]:
    """Offsets of several ranges, in the order of the text."""
    if not isinstance(value, list) or not value:
        raise JsonRpcInvalidParams("ranges must be a list of one range or more")
    ranges = sorted({_range(opened, found) for found in value})
    for (start, end), (after, _) in itertools.pairwise(ranges):
        if after < end or after == start:
            raise JsonRpcInvalidParams("ranges must not overlap")
    return ranges


def _range(opened: OpenDocument, value: Any) -> tuple[int, int]:
    """Offsets of a range as the client has it, in order."""
    if not isinstance(value, dict):
        raise JsonRpcInvalidParams("a range must be an object with start and end")
    first, last = sorted(opened.offset(_position(value.get(key))) for key in ("start", "end"))
    return first, last


def _position(value: Any) -> types.Position:
    line, column = (value.get("line"), value.get("character")) if isinstance(value, dict) else (None, None)
    if not (_is_count(line) and _is_count(column)):
        raise JsonRpcInvalidParams("a position must be an object with line and character")
    return types.Position(line, column)


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _shown(range_: types.Range) -> dict[str, Any]:
    return {
        "start": {"line": range_.start.line, "character": range_.start.character},
        "end": {"line": range_.end.line, "character": range_.end.character},
    }
