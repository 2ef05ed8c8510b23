"""Loads tree-sitter grammars from their wheels, each when it is first asked for. One that fails counts as none."""

from __future__ import annotations

import importlib
import warnings
from dataclasses import dataclass
from functools import cache

import tree_sitter

from engine.syntax.languages import LANGUAGES, find


@dataclass(frozen=True)
class GrammarStatus:
    """Whether a language's grammar loads, for `midfill doctor`; `problem` says why not (empty where it does)."""

    language: str
    name: str
    wheel: str
    loads: bool
    problem: str = ""


def grammar(language: str) -> tree_sitter.Language | None:
    """The grammar of a language id; None for plain text, for an unknown id, and where the grammar cannot be loaded."""
    return _load(language)[0]


def available_grammars() -> list[GrammarStatus]:
    """Tries every grammar of the table."""
    statuses = []
    for language in LANGUAGES:
        loaded, problem = _load(language.id)
        statuses.append(GrammarStatus(language.id, language.name, language.wheel, loaded is not None, problem))
    return statuses


@cache
def _load(language: str) -> tuple[tree_sitter.Language | None, str]:
    entry = find(language)
    if entry is None:
        return None, "no grammar is known"
    try:
        with warnings.catch_warnings():
            # Some wheels still hand over an int, which only warns.
            warnings.simplefilter("ignore", DeprecationWarning)
            return tree_sitter.Language(getattr(importlib.import_module(entry.module), entry.function)()), ""
    except Exception as error:  # a broken wheel may raise anything; the language is then treated as plain text
        return None, " ".join(f"{type(error).__name__}: {error}".split())
