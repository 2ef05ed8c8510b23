"""Line endings: a completion has those of its document."""

from __future__ import annotations

from engine.text import Document, line_ending


def adopt(document: Document, text: str) -> str:
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    ending = line_ending(document.text)
    return plain if ending == "\n" else plain.replace("\n", ending)
