"""Grammars, incremental parse, what the cursor stands in, and which errors were there before. Needs no model.

`tree` holds the parse, `parsed` keeps it with its document; `faults`, `regions`, `cursor` and `units` answer questions of it; `lexis` and `scan` answer
where code is too broken to parse; `languages` and `grammars` name and load what is known; `python_source` asks CPython.
"""

from engine.syntax.cursor import Argument, argument_at, opens_block
from engine.syntax.faults import new_faults
from engine.syntax.grammars import GrammarStatus, available_grammars
from engine.syntax.languages import LANGUAGES, Language, is_known, known, language_for_path
from engine.syntax.parsed import EditSince, came_from, is_parsed, tree_of
from engine.syntax.python_source import Rejection, compiles, compiles_around, rejection
from engine.syntax.regions import Region
from engine.syntax.tree import SyntaxFault, SyntaxNode, SyntaxTree
from engine.syntax.units import unit_end

__all__ = [
    "LANGUAGES",
    "Argument",
    "EditSince",
    "GrammarStatus",
    "Language",
    "Region",
    "Rejection",
    "SyntaxFault",
    "SyntaxNode",
    "SyntaxTree",
    "argument_at",
    "available_grammars",
    "came_from",
    "compiles",
    "compiles_around",
    "is_known",
    "is_parsed",
    "known",
    "language_for_path",
    "new_faults",
    "opens_block",
    "rejection",
    "tree_of",
    "unit_end",
]
