"""`midfill fill --markers [PATHS]`: every marker that a person has written into the files, those of one file filled together."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import BadInput
from lsp_server.cli import model, output
from lsp_server.cli.holes import patch

if TYPE_CHECKING:
    from engine.filler import Filler, FillSettings
    from engine.marks import Written
    from engine.together import Filled

MARKER = "⟪fill⟫"


def run(options: argparse.Namespace) -> int:
    """Returns 0; 1 where there is no marker, or none could be filled. Raises `BadInput` and `ModelUnavailable`.

    A file that git does not have as it stands is refused with --in-place, unless forced: no other copy is made.
    """
    from engine.check.repository import documents, is_safe_with_git
    from engine.filler import FillSettings
    from engine.marks import written_holes
    from lsp_server.cli.in_place import check_writable, replace_text

    if options.show_steps or options.alternatives != 1 or options.explain:
        raise BadInput("--markers goes with none of --show-steps, --explain and --alternatives")
    pattern = _pattern(options.marker)
    paths = [Path(path) for path in options.target or ["."]]
    files = [document for document in documents(paths)[0] if pattern.search(document.text)]
    if not files:
        output.say(f"no file has a marker {options.marker or MARKER}")
        return 1
    if options.in_place:
        for document in files:
            check_writable(document.path or "")
            if not options.force and not is_safe_with_git(Path(document.path or "")):
                raise BadInput(f"{document.path} is not in git as it stands: commit it first, or give --force")
    filler = model.load(options.model, options)
    settings = FillSettings(
        slots=options.slots, steps=options.steps, min_confidence=options.min_confidence, seed=options.seed
    )
    done = wanted = 0
    told: list[dict[str, Any]] = []
    for document in files:
        written = written_holes(document, pattern)
        found = _filled(filler, written, settings, document.path or "")
        result = written.filled(found)
        done += sum(bool(one.text) for one in found)
        wanted += len(found)
        if options.in_place and result != document.text:
            replace_text(document.path or "", document.text, result)  # each file as soon as it is done, whole
        if options.json:
            told.append(_json(document.path or "", written, found))
        elif not options.in_place or options.diff:
            output.write(patch(document.text, result, document.path or ""))
            output.flush()
    if options.json:
        output.write(output.as_json({"model": filler.name, "files": told}))
    if done < wanted:
        output.say(f"filled {done} of {wanted} markers; for the others nothing that fits was found")
    return 0 if done else 1


def _pattern(text: str | None) -> re.Pattern[str]:
    try:
        return re.compile(text if text is not None else re.escape(MARKER))
    except re.error as error:
        raise BadInput(f"--marker {text!r} is no regular expression: {error}") from None


def _filled(filler: Filler, written: Written, settings: FillSettings, path: str) -> list[Filled]:
    from engine.filler import CancelToken
    from engine.together import fill_together

    ticker = output.Ticker()
    try:
        for event in fill_together(filler, written.document, written.marks, settings, CancelToken()):
            if isinstance(event, list):
                return event
            ticker.show(f"{path}: denoising {len(written.marks)} holes, round {event.number}")
    finally:
        ticker.close()
    raise RuntimeError("a filler ended without completions")


def _json(path: str, written: Written, found: list[Filled]) -> dict[str, Any]:
    """Places are those of the file as it was, counted from 1."""
    holes = []
    for one, marker in zip(found, written.markers, strict=True):
        line, column = written.document.lines.position(one.mark.hole.start)
        before = written.document.lines.line_start(line)
        earlier = sum(
            len(m)
            for f, m in zip(found, written.markers, strict=True)
            if before <= f.mark.hole.start < one.mark.hole.start
        )
        holes.append(
            {
                "line": line + 1,
                "column": column + earlier + 1,
                "marker": marker,
                "text": one.text,
                "confidence": round(one.confidence, 4),
            }
        )
    return {"path": path, "holes": holes}
