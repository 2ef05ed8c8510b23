"""How a person sees a fill: the draft after each step, then the completion in place."""

from __future__ import annotations

import re

from engine.filler import Completion, Draft
from engine.text import Document, LineIndex
from lsp_server.cli.output import Screen

SURE, LIKELY = 0.9, 0.6  # confidence from which a slot is shown as such
CONTEXT = 4  # lines shown above and below the completion

_BREAK = re.compile(r"\r\n|\n|\r")
Piece = tuple[str, str]  # text, style


def show_legend(screen: Screen) -> None:
    """What the lines of `show_draft` mean."""
    sure, likely, doubtful = (screen.paint(word, style) for word, style in _LEGEND)
    by = f"; {sure}, {likely}, {doubtful}" if screen.colour else ""
    screen.line(
        screen.paint("slots decided of all | the draft, `", "faint")
        + "·"
        + screen.paint("` for an undecided slot; what runs past the hole is cut off at the end", "faint")
        + by
    )


_LEGEND = ((f"sure from {SURE}", "sure"), (f"likely from {LIKELY}", "likely"), ("doubtful", "doubtful"))


def show_draft(screen: Screen, draft: Draft, named_block: bool = False) -> None:
    """One step, with slots decided of all: a slot's colour tells its confidence, a dot is an undecided one."""
    total = len(draft.slots)
    decided = sum(slot.decided for slot in draft.slots)
    title = f"step {draft.step:>2} {decided:>{len(str(total))}}/{total}"
    if named_block:
        title = f"block {draft.block + 1} {title}"
    for index, line in enumerate(_lines(_pieces(draft))):
        lead = title if index == 0 else " " * len(title)
        screen.line(f"{screen.paint(lead, 'faint')} │ {_painted(screen, line)}")


def show_in_place(screen: Screen, document: Document, completion: Completion) -> None:
    """The lines around the completion, numbered; a mark at the side of each line that it is part of."""
    text = completion.apply(document.text)
    start, end = completion.start, completion.start + len(completion.text)
    lines = LineIndex(text)
    first, last = lines.line_at(start), lines.line_at(end)
    top, bottom = max(0, first - CONTEXT), min(lines.line_count - 1, last + CONTEXT)
    width = len(str(bottom + 1))
    for line in range(top, bottom + 1):
        begin, close = lines.line_start(line), lines.line_end(line)
        if line == lines.line_count - 1 and line > last and begin == close:
            break  # what stands behind the final line break is no line
        cut, resume = min(max(start, begin), close), max(min(end, close), begin)
        filled = text[cut:resume] if cut < resume else ""
        touched = bool(filled) or first <= line < last
        pieces = [(text[begin:cut], ""), (filled, "filled"), (text[max(cut, resume) : close], "")]
        mark = screen.paint(f"{'>' if touched else ' '} {line + 1:>{width}}", "filled" if touched else "faint")
        screen.line(f"{mark} │ {_painted(screen, pieces)}")


def summary(completion: Completion) -> str:
    """What it took, in one line."""
    ms = completion.ms
    return (
        f"{completion.tokens} tokens in {completion.steps} steps, confidence {completion.confidence:.2f}, "
        f"{ms.total:.0f} ms (encode {ms.encode:.0f}, denoise {ms.denoise:.0f}, check {ms.check:.0f})"
    )


def _pieces(draft: Draft) -> list[Piece]:
    """The draft's text in pieces: what earlier blocks wrote, then slot by slot, a healed word's remnant left out."""
    whole = "".join(slot.text for slot in draft.slots)
    pieces = [(draft.text.removesuffix(whole), "")] if draft.text.endswith(whole) else []
    skip = len(whole) - len(draft.text) if whole.endswith(draft.text) else 0
    for slot in draft.slots:
        style = "faint" if not slot.decided else _certainty(slot.confidence)
        pieces.append((slot.text[skip:], style))
        skip = max(0, skip - len(slot.text))
    return pieces


def _certainty(confidence: float) -> str:
    return "sure" if confidence >= SURE else "likely" if confidence >= LIKELY else "doubtful"


def _lines(pieces: list[Piece]) -> list[list[Piece]]:
    lines: list[list[Piece]] = [[]]
    for text, style in pieces:
        for index, part in enumerate(_BREAK.split(text)):
            if index:
                lines.append([])
            lines[-1].append((part, style))
    return lines


def _painted(screen: Screen, pieces: list[Piece]) -> str:
    return "".join(screen.paint(text, style) for text, style in pieces)
