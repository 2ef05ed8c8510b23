"""`midfill fill FILE --holes`: all holes that a file marks itself, filled together."""

from __future__ import annotations

import argparse
import difflib
from typing import TYPE_CHECKING, Any

from engine.errors import BadInput
from lsp_server.cli import model, output
from lsp_server.cli.patch import patch_name

if TYPE_CHECKING:
    from engine.text import Document
    from engine.together import Filled


def run(options: argparse.Namespace) -> int:
    """Returns 0, or 1 where nothing is marked or nothing could be filled. Raises `BadInput` and `ModelUnavailable`."""
    from engine.filler import CancelToken, FillSettings
    from engine.marks import marked_holes
    from engine.text import read_document
    from engine.together import applied, fill_together
    from lsp_server.cli.in_place import check_writable, replace_text

    path = options.target
    if options.show_steps or options.alternatives != 1:
        raise BadInput("--holes goes with neither --show-steps nor --alternatives")
    settings = FillSettings(
        slots=options.slots, steps=options.steps, min_confidence=options.min_confidence, seed=options.seed
    )
    document = read_document(path, options.language)
    if options.in_place:
        check_writable(path)
    marks = marked_holes(document)
    if not marks:
        output.say(f"{path} marks no hole: `...`, a lone `pass`, or a TODO line with nothing below it")
        return 1
    filler = model.load(options.model, options)
    ticker = output.Ticker()
    filled: list[Filled] = []
    try:
        for event in fill_together(filler, document, marks, settings, CancelToken()):
            if isinstance(event, list):
                filled = event
            else:
                ticker.show(f"denoising {len(marks)} holes: round {event.number}")
    finally:
        ticker.close()
    result = applied(document.text, filled)
    if options.in_place and result != document.text:
        replace_text(path, document.text, result)
    if options.json:
        output.write(output.as_json(_json(document, filled, filler.name)))
    elif not options.in_place or options.diff:
        output.write(patch(document.text, result, path))
    output.flush()
    done = sum(bool(one.text) for one in filled)
    if done < len(marks):
        output.say(f"filled {done} of {len(marks)} holes; for the others nothing that fits was found")
    return 0 if done else 1


def patch(before: str, after: str, path: str) -> str:
    name = patch_name(path)
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{name}", f"b/{name}"
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _json(document: Document, filled: list[Filled], name: str) -> dict[str, Any]:
    def place(offset: int) -> dict[str, int]:
        line, column = document.lines.position(offset)
        return {"line": line + 1, "column": column + 1}

    return {
        "model": name,
        "holes": [
            {
                "range": {"start": place(one.mark.hole.start), "end": place(one.mark.hole.end)},
                "text": one.text,
                "confidence": round(one.confidence, 4),
                "hole": str(one.mark.hole.kind),
            }
            for one in filled
        ],
    }
