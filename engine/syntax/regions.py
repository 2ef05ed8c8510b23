"""Whether a cursor stands in code, in a string or in a comment; code between the braces of a string is code."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from engine.syntax import scan

if TYPE_CHECKING:
    from engine.syntax.tree import SyntaxTree


class Region(Enum):
    CODE = "code"
    STRING = "string"
    COMMENT = "comment"


# Names of named nodes in the grammars of `languages.LANGUAGES`.
_STRINGS = (
    # Python, JavaScript, Lua, Bash, JSON, TOML, Ruby, PHP
    "string template_string raw_string ansi_c_string heredoc_body string_array bare_string encapsed_string"
    " heredoc nowdoc_string quoted_key regex"
    # Go, Rust, C, C++, Java, C#, Kotlin, Swift
    " interpreted_string_literal raw_string_literal rune_literal string_literal char_literal character_literal"
    " system_lib_string verbatim_string_literal interpolated_string_expression multiline_string_literal"
    " line_string_literal multi_line_string_literal regex_literal"
    # YAML, HTML, CSS
    " double_quote_scalar single_quote_scalar block_scalar quoted_attribute_value string_value"
)
_COMMENTS = "comment line_comment block_comment multiline_comment html_comment js_comment doc_comment"
_INTERPOLATIONS = (
    "interpolation template_substitution string_interpolation interpolated_expression raw_str_interpolation"
    " command_substitution expansion simple_expansion arithmetic_expansion process_substitution"
)
STRINGS = frozenset(_STRINGS.split())
COMMENTS = frozenset(_COMMENTS.split())
INTERPOLATIONS = frozenset(_INTERPOLATIONS.split())
_CLOSED_COMMENT = ("*/", "-->", "]]", "=]", "=end")


def region(tree: SyntaxTree, offset: int) -> Region:
    """The region of a cursor at `offset`: behind the opening quote and before the closing one is in the string; behind
    the last character of a line comment is in the comment. What the grammar cannot tell, in broken code, is scanned."""
    if not tree.has_grammar:
        return _scanned(tree, offset)
    found = _parsed(tree, offset)
    if found is Region.CODE and _is_broken(tree, offset):
        return _scanned(tree, offset)
    return found


def _parsed(tree: SyntaxTree, offset: int) -> Region:
    if _ends_line_comment(tree, offset):
        return Region.COMMENT
    if not 0 < offset < len(tree.text):
        return Region.CODE
    for node in reversed(tree.path_to(offset - 1, offset + 1)):
        if node.is_named:
            if node.type in INTERPOLATIONS:
                return Region.CODE
            if node.type in COMMENTS:
                return Region.COMMENT
            if node.type in STRINGS:
                return Region.STRING
    return Region.CODE


def _ends_line_comment(tree: SyntaxTree, offset: int) -> bool:
    """Whether the cursor stands at the end of a line that ends in a comment."""
    text = tree.text
    if offset == 0 or text[offset - 1] in "\r\n" or text[offset : offset + 1] not in ("", "\n", "\r"):
        return False
    for node in reversed(tree.path_to(offset - 1, offset)):
        if node.is_named and node.type in COMMENTS:
            return not text[tree.offset_of(node.start_byte) : offset].endswith(_CLOSED_COMMENT)
    return False


def _is_broken(tree: SyntaxTree, offset: int) -> bool:
    """Whether a fault touches the cursor's line before the cursor, or the cursor."""
    begin = scan.line_start(tree.text, offset)
    return any(fault.start <= offset and fault.end >= begin for fault in tree.errors())


def _scanned(tree: SyntaxTree, offset: int) -> Region:
    state = scan.state_at(tree.text, tree.scan_start(offset), offset, scan.lexis_of(tree.language))
    if state.inside is None:
        return Region.CODE
    return Region.STRING if state.inside.kind is scan.Kind.STRING else Region.COMMENT
