"""Which brackets and quotes a piece of code leaves open, and where it closes one that it did not open."""

from __future__ import annotations

from dataclasses import dataclass

PAIRS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Balance:
    """unmatched: offset of the first closing bracket that the text did not open, None where there is none.
    closing: what would close all that the text leaves open, in order."""

    unmatched: int | None
    closing: str


def balance(text: str) -> Balance:
    """Scans a fragment, which need not parse. Brackets in strings do not count; a line break ends a plain string."""
    stack: list[str] = []
    quote = ""
    unmatched: int | None = None
    at = 0
    while at < len(text):
        c = text[at]
        if quote:
            if c == "\\":
                at += 1
            elif c == quote or c == "\n":
                quote = ""
        elif c in "\"'`":
            quote = c
        elif c in PAIRS:
            stack.append(PAIRS[c])
        elif c in ")]}":
            if stack and stack[-1] == c:
                stack.pop()
            elif unmatched is None:
                unmatched = at
        at += 1
    return Balance(unmatched, quote + "".join(reversed(stack)))
