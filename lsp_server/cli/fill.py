"""`midfill fill`: fills one hole of a file."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from typing import TYPE_CHECKING, Any

from engine.errors import BadInput
from lsp_server.cli import model, output
from lsp_server.cli.options import seed
from lsp_server.cli.target import Target, parse_target

if TYPE_CHECKING:
    from engine.context import Context
    from engine.filler import Completion, Filler, FillSettings
    from engine.hole import Hole
    from engine.text import Document

DESCRIPTION = """\
Fills a hole of a file and prints the completion. In a line the rest of the statement is filled, on an empty line that
opens a block the block, between brackets an expression; a range is replaced."""

EPILOG = """\
examples:
  midfill fill app.py:14:9                     a cursor: before column 9 of line 14
  midfill fill app.py:10:1-12:1 --diff         a range: its end is not part of it
  midfill fill app.py:14:9 --alternatives 3 --json
  midfill fill app.py --holes                  all marked holes together, as a patch
  midfill fill --markers src --in-place        every ⟪fill⟫ below src, in files that git has as they stand
  midfill fill -:14:9 --language python        PATH `-`: the text comes from standard input

--json prints one object: text, range (from 1, end exclusive), confidence (0 to 1), steps, tokens, cached_tokens and
encoded_tokens (found in the cache, of how many), ms (by stage), alternatives, model, hole."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument(
        "target",
        nargs="*",
        metavar="PATH:LINE:COL",
        help="the hole, or PATH:L1:C1-L2:C2; lines and columns count from 1, columns in characters",
    )
    shown = parser.add_argument_group("output")
    form = shown.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one object, and nothing else on standard output")
    form.add_argument("--diff", action="store_true", help="print the change as a patch")
    parser.add_argument(
        "--holes",
        action="store_true",
        help="the argument is a file: fill all holes that it marks itself, each seeing the drafts of the others: "
        "`...`, a lone `pass`, and below a TODO line (shown as a patch unless --in-place or --json)",
    )
    parser.add_argument(
        "--markers",
        action="store_true",
        help="the arguments are files and folders (default: .): fill every marker \u27eafill\u27eb in them, those of one file together "
        "(shown as patches unless --in-place or --json)",
    )
    parser.add_argument("--marker", metavar="REGEX", help="another marker for --markers")
    parser.add_argument(
        "--force",
        action="store_true",
        help="with --markers --in-place: files that git does not have as they stand, too",
    )
    shown.add_argument("--in-place", action="store_true", help="write the completion into the file")
    shown.add_argument(
        "--show-steps",
        action="store_true",
        help="show the draft after each denoising step, then the completion in place (on standard error beside --json "
        "and --diff)",
    )
    shown.add_argument(
        "--explain",
        action="store_true",
        help="tell on standard error, or under `context` of --json, which code of other files was read, and why",
    )
    shown.add_argument("--alternatives", type=int, default=1, metavar="N", help="completions to look for (default: 1)")
    how = parser.add_argument_group("filling")
    how.add_argument("--language", metavar="ID", help="of the text (default: by the file's name; else plaintext)")
    how.add_argument("--slots", type=int, metavar="N", help="tokens that the hole may need (default: by its kind)")
    how.add_argument("--steps", type=int, metavar="N", help="at most N denoising steps a canvas (default: the model's)")
    how.add_argument(
        "--context",
        type=int,
        default=256,
        metavar="N",
        help="tokens of related code of the file's project that are read before the prefix (default: 256; 0: none)",
    )
    how.add_argument("--seed", type=seed, default=0, metavar="N", help="of the sampler (default: 0)")
    how.add_argument(
        "--min-confidence",
        type=float,
        default=0.0,
        metavar="X",
        help="from 0 to 1: rather nothing than less sure (default: 0)",
    )
    model.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Returns 0, or 1 where nothing could be filled. Raises `BadInput` and `ModelUnavailable`."""
    # What can be wrong with the input is found before the model, which takes seconds, is loaded.
    from engine.syntax.languages import PLAINTEXT

    if options.markers:
        from lsp_server.cli import markers

        return markers.run(options)
    if options.marker or options.force:
        raise BadInput("--marker and --force go with --markers")
    options.target = _one(options.target)
    if options.holes:
        from lsp_server.cli import holes

        return holes.run(options)
    target = parse_target(options.target)
    settings = _settings(options)
    if options.context < 0:
        raise BadInput(f"--context must be 0 or more, not {options.context}")
    document = _document(target, options)
    hole = _hole(target, document)
    filler = model.load(options.model, options)
    context = _context(options, target, document, hole, filler)
    completion = _fill(options, target, document, hole, filler, settings.with_(context=context.text))
    if options.in_place and completion.text:
        from lsp_server.cli.in_place import replace_text

        replace_text(target.name, document.text, completion.apply(document.text))
    _print(options, target, document, hole, filler, completion, context)
    if completion.text:
        if document.language == PLAINTEXT and options.language is None:
            output.flush()
            output.say(f"{target.name} is taken for plain text, so no syntax was checked: name its --language")
        return 0
    output.flush()
    output.say(f"nothing could be filled at {target}: {completion.why or 'no completion that fits was found'}")
    return 1


def _one(targets: list[str]) -> str:
    if len(targets) != 1:
        what = "a hole is required, as app.py:14:9" if not targets else f"{targets[1]}: one hole at a time"
        raise BadInput(f"{what} (see `midfill fill --help`)")
    return targets[0]


def _settings(options: argparse.Namespace) -> FillSettings:
    from engine.filler import FillSettings

    return FillSettings(
        slots=options.slots,
        steps=options.steps,
        alternatives=options.alternatives,
        min_confidence=options.min_confidence,
        seed=options.seed,
    )


def _context(options: argparse.Namespace, target: Target, document: Document, hole: Hole, filler: Filler) -> Context:
    from pathlib import Path

    from engine.context import Context, Workspace, gather
    from engine.context.root import workspace_root

    count = getattr(filler, "count_tokens", None)
    if target.path is None or options.context == 0 or count is None:
        return Context()
    path = Path(target.path).resolve()
    whole = dataclasses.replace(document, path=str(path), notes=document.notes)
    workspace = Workspace([workspace_root(path)])
    found = gather(workspace, whole, hole.start, options.context, count, limit_ms=500)
    if options.explain and not options.json:
        from lsp_server.cli import explain

        for line in explain.lines(found):
            output.say(line)
    return found


def _document(target: Target, options: argparse.Namespace) -> Document:
    from engine.syntax.languages import PLAINTEXT, known
    from engine.text import Document, decode_text, read_document

    if target.path is not None:
        document = read_document(target.path, options.language)
        if options.in_place:
            from lsp_server.cli.in_place import check_writable

            check_writable(target.path)
        return document
    if options.in_place:
        raise BadInput("--in-place needs a file: standard input cannot be written to")
    language = known(options.language or PLAINTEXT)
    if sys.stdin is None:
        raise BadInput("standard input is closed")
    return Document(decode_text(sys.stdin.buffer.read(), "standard input"), language)


def _hole(target: Target, document: Document) -> Hole:
    from engine.hole import hole_between

    return hole_between(document, *target.offsets(document.lines))


def _fill(
    options: argparse.Namespace,
    target: Target,
    document: Document,
    hole: Hole,
    filler: Filler,
    settings: FillSettings,
) -> Completion:
    from engine.filler import CancelToken, Completion
    from lsp_server.cli import view

    screen = _screen(options) if options.show_steps else None
    if screen:
        screen.line(screen.paint(f"{target}: {hole.kind.replace('_', ' ')}, filled by {filler.name}", "title"))
    ticker = output.Ticker()
    blocks, candidate = 0, 1
    for steps, event in enumerate(filler.fill(document, hole, settings, CancelToken()), start=1):
        if isinstance(event, Completion):
            ticker.close()
            return event
        if screen is None:
            ticker.show(f"denoising: step {steps}" + (f", try {event.candidate}" if event.candidate > 1 else ""))
        if screen:
            if steps == 1:
                view.show_legend(screen)
            if event.candidate != candidate:
                candidate = event.candidate
                screen.line(
                    screen.paint(
                        "that did not fit, or more was asked for: another canvas, beginning with another word", "faint"
                    )
                )
            blocks = max(blocks, event.block)
            view.show_draft(screen, event, named_block=blocks > 0)
    raise RuntimeError("the filler ended without a completion")


def _screen(options: argparse.Namespace) -> output.Screen:
    return output.Screen(sys.stderr if options.json or options.diff else sys.stdout)


def _print(
    options: argparse.Namespace,
    target: Target,
    document: Document,
    hole: Hole,
    filler: Filler,
    completion: Completion,
    context: Context,
) -> None:
    if options.show_steps and completion.text:
        from lsp_server.cli import view

        screen = _screen(options)
        screen.line()
        view.show_in_place(screen, document, completion)
        screen.line()
        screen.line(screen.paint(view.summary(completion), "faint"))
    if options.json:
        told = _json(document, hole, filler, completion)
        if options.explain:
            from lsp_server.cli import explain

            told["context"] = explain.as_dict(context)
        output.write(output.as_json(told))
    elif not completion.text:
        return
    elif options.diff:
        from lsp_server.cli.patch import patch_name, unified_diff

        output.write(unified_diff(document.text, completion, patch_name(target.name)))
    elif options.alternatives > 1:
        found = [(completion.text, completion.confidence)]
        found += [(other.text, other.confidence) for other in completion.alternatives]
        for number, (text, confidence) in enumerate(found, start=1):
            output.write(f"--- {number} of {len(found)}, confidence {confidence:.2f}\n{_ended(text)}")
    elif not options.show_steps and not options.in_place:
        output.write(_ended(completion.text))


def _ended(text: str) -> str:
    return text if text.endswith(("\n", "\r")) else text + "\n"


def _json(document: Document, hole: Hole, filler: Filler, completion: Completion) -> dict[str, Any]:
    def place(offset: int) -> dict[str, int]:
        line, column = document.lines.position(offset)
        return {"line": line + 1, "column": column + 1}

    ms = completion.ms
    stages = {"encode": ms.encode, "denoise": ms.denoise, "check": ms.check, "total": ms.total}
    return {
        "text": completion.text,
        "range": {"start": place(completion.start), "end": place(completion.end)},
        "confidence": round(completion.confidence, 4),
        "steps": completion.steps,
        "tokens": completion.tokens,
        "cached_tokens": completion.cached_tokens,
        "encoded_tokens": completion.encoded_tokens,
        "ms": {stage: round(value, 1) for stage, value in stages.items()},
        "alternatives": [
            {"text": other.text, "confidence": round(other.confidence, 4)} for other in completion.alternatives
        ],
        "model": filler.name,
        "hole": str(hole.kind),
    }
