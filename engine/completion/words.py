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
    """Takes off a repetition of the word behind the cursor; nothing is left where the words would stick together, nor
    where a finished word before the cursor would only become one that nobody knows."""
    if _only_lengthens(document, hole, text):
        return ""
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
        last = _before(document, hole) + last
    return text if _is_known(document, hole, last + word) else ""


def known(document: Document, hole: Hole, text: str) -> bool:
    """Whether the word that a text makes with the one before the cursor is known; true where it goes on with none.

    A start of a completion that failed may end anywhere: `return total|` is not to become `return totaly`.
    """
    before, first = _before(document, hole), _WORD_START.match(text)
    more = first.group() if first else ""
    return not before or not more or _is_known(document, hole, before + more)


def _only_lengthens(document: Document, hole: Hole, text: str) -> bool:
    """Whether a text adds letters to a word that stands elsewhere too, nothing else, and makes one that does not."""
    before, letters = _before(document, hole), text.strip()
    if not before or not letters or not all(map(_is_word, letters)) or not text.startswith(letters):
        return False
    return _is_known(document, hole, before) and not _is_known(document, hole, before + letters)


def _before(document: Document, hole: Hole) -> str:
    """The part of a word before the cursor."""
    found = _WORD_END.search(document.text, max(0, hole.start - 100), hole.start)
    return found.group() if found else ""


def _is_known(document: Document, hole: Hole, word: str) -> bool:
    return word in _keywords(document.language) or _stands_in(document, hole, word)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _stands_in(document: Document, hole: Hole, word: str) -> bool:
    pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
    before = hole.start - len(_before(document, hole))  # not the very word at the cursor
    return bool(pattern.search(document.text, 0, before) or pattern.search(document.text, hole.end))


@cache
def _keywords(language: str) -> frozenset[str]:
    """The grammar's own words, and Python's built-in names."""
    rules = grammar(language)
    if rules is None:
        return frozenset()
    kinds = (rules.node_kind_for_id(number) for number in range(rules.node_kind_count))
    words = {kind for kind in kinds if kind and kind.isidentifier()}
    return frozenset(words | set(dir(builtins))) if language == "python" else frozenset(words)
