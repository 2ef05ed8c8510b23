"""Words at the seam: a completion does not run into the word behind the cursor, unless the word that comes out is known.

`for (const ¦item of items)` is not to become `itemitem`, nor `re.finda¦ll(` `re.findallll(`.
"""

from __future__ import annotations

import builtins
import re
from functools import cache

from engine.hole import Hole
from engine.syntax.grammars import grammar
from engine.text import Document

_WORD_END = re.compile(r"\w*\Z")
_WORD_START = re.compile(r"\w*")


def part(document: Document, hole: Hole, text: str) -> str:
    """Takes off a repetition of the word behind the cursor; nothing is left where the words would stick together."""
    behind = _WORD_START.match(document.text, hole.end)
    word = behind.group() if behind else ""
    if hole.start != hole.end or not word or not text:
        return text
    if text.endswith(word) and not _is_word(text[: -len(word)][-1:]):
        # the whole word once more: what is before it may stand before the one that is there
        return text[: -len(word)] if text != word else ""
    if not _is_word(text[-1]):
        return text
    start = _WORD_END.search(text)
    last = start.group() if start else ""
    if last == text:  # the word before the cursor is part of it, too
        before = _WORD_END.search(document.text, max(0, hole.start - 100), hole.start)
        last = (before.group() if before else "") + last
    made = last + word
    return text if made in _keywords(document.language) or _stands_in(document, hole, made) else ""


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _stands_in(document: Document, hole: Hole, word: str) -> bool:
    pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
    return bool(pattern.search(document.text, 0, hole.start) or pattern.search(document.text, hole.end))


@cache
def _keywords(language: str) -> frozenset[str]:
    """The grammar's own words, and Python's built-in names."""
    rules = grammar(language)
    if rules is None:
        return frozenset()
    kinds = (rules.node_kind_for_id(number) for number in range(rules.node_kind_count))
    words = {kind for kind in kinds if kind and kind.isidentifier()}
    return frozenset(words | set(dir(builtins))) if language == "python" else frozenset(words)
