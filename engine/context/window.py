"""How much of the document a denoiser reads: a window before the hole and one behind it. Imports no torch.

The window's start moves in coarse steps as the prefix grows, so that typing only extends what was encoded.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.hole import Hole
from engine.text import Document
from engine.tokenizer import split_for_healing

PREFIX_CHARACTERS = 1600  # read before the hole, at least, where there are so many
STEP = 800  # characters by which the window's start moves
SUFFIX_CHARACTERS = 600


@dataclass(frozen=True)
class Window:
    """What is read. Line breaks are `\\n` here, whatever the document has: the completion gets the document's own.

    prefix: what is encoded before the hole. remnant: the half-typed word behind it that the first slots type again.
    suffix: what stands behind the hole.
    """

    prefix: str
    remnant: str
    suffix: str


def cut_window(document: Document, hole: Hole, context: str = "") -> Window:
    """context: text of other files, put before the prefix."""
    text = document.text
    start = max(0, hole.start - PREFIX_CHARACTERS - STEP)
    start -= start % STEP
    if start:
        line = text.rfind("\n", start, min(start + STEP // 2, hole.start)) + 1
        start = line or start
    prefix, remnant = split_for_healing(_plain(text[start : hole.start]))
    return Window(context + prefix, remnant, _plain(text[hole.end : hole.end + SUFFIX_CHARACTERS]))


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
