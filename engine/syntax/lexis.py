"""What a language's letters mean before any grammar: comments, strings, brackets, and what opens a block.

Enough to scan code that is not finished, where a parser gives up. `RULES` has one entry a language id.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import cached_property


class Blocks(Enum):
    """How a language marks where a block ends: by indentation, by a closing brace, by a word, or not at all."""

    INDENT = "indent"
    BRACES = "braces"
    WORDS = "words"
    NONE = "none"


@dataclass(frozen=True)
class StringRule:
    """A kind of string: a pattern of its opening, its closing (`{0}` is what the opening's group 1 held)."""

    opening: str
    closing: str
    multiline: bool = False
    escapes: bool = True


@dataclass(frozen=True)
class Lexis:
    """line_comment, opener, ender, continues, resumes: patterns. block_comments: pairs as in `StringRule`.

    opener: what a line ends with whose body follows on the next lines. ender: what the line behind a body starts with.
    """

    line_comment: str = ""
    block_comments: tuple[tuple[str, str], ...] = ()
    strings: tuple[StringRule, ...] = ()
    brackets: str = "()[]{}"
    blocks: Blocks = Blocks.NONE
    opener: str = ""
    ender: str = ""
    continues: str = ""  # what a line ends with that goes on in the next
    resumes: str = ""  # what a line starts with that goes on from the last
    lone_closers: str = ""  # closing brackets that need no opening one
    colon_ends_expression: bool = False

    @cached_property
    def opener_pattern(self) -> re.Pattern[str]:
        return re.compile(f"(?:{self.opener})$" if self.opener else r"(?!)")

    @cached_property
    def ender_pattern(self) -> re.Pattern[str]:
        return re.compile(self.ender or r"(?!)")

    @cached_property
    def continues_pattern(self) -> re.Pattern[str]:
        return re.compile(f"(?:{self.continues})$" if self.continues else r"(?!)")

    @cached_property
    def resumes_pattern(self) -> re.Pattern[str]:
        return re.compile(self.resumes or r"(?!)")


_DOUBLE = StringRule('"', '"')
_SINGLE = StringRule("'", "'")
_TRIPLE_DOUBLE = StringRule('"""', '"""', multiline=True)
_TRIPLE_SINGLE = StringRule("'''", "'''", multiline=True)
# A whole character, so that a lifetime ('a) or a digit separator (1'000) opens nothing.
_CHARACTER = StringRule(r"'(?=(?:\\[^'\r\n]*|[^'\\\r\n])')", "'")
_BLOCK = (r"/\*", "*/")

_BRACES = {
    "line_comment": "//",
    "block_comments": (_BLOCK,),
    "blocks": Blocks.BRACES,
    "opener": r"\{",
    "ender": r"\}",
    # An operator that needs a right-hand side; not ++, --, nor a comma, which ends an element of a list.
    "continues": r"&&|\|\||(?<!\+)\+|(?<!-)-|[*=?&|]|=>|->|\\",
    "resumes": r"\.(?!\.)|\?\.|else\b|catch\b|finally\b",
}


def _braces(*strings: StringRule, **changes: object) -> Lexis:
    return Lexis(**{**_BRACES, "strings": strings, **changes})  # type: ignore[arg-type]


_PYTHON = Lexis(
    line_comment="#",
    strings=(_TRIPLE_DOUBLE, _TRIPLE_SINGLE, _DOUBLE, _SINGLE),
    blocks=Blocks.INDENT,
    opener=":",
    continues=r"\\",
    colon_ends_expression=True,
)
_SCRIPT = _braces(_DOUBLE, _SINGLE, StringRule("`", "`", multiline=True))
_C = _braces(_DOUBLE, _CHARACTER)
_CPP = _braces(StringRule(r'R"([^()\\\s]{0,16})\(', '){0}"', multiline=True, escapes=False), _DOUBLE, _CHARACTER)
_JSON = _braces(_DOUBLE, continues="")

RULES: dict[str, Lexis] = {
    "python": _PYTHON,
    "javascript": _SCRIPT,
    "javascriptreact": _SCRIPT,
    "typescript": _SCRIPT,
    "typescriptreact": _SCRIPT,
    "go": _braces(_DOUBLE, _CHARACTER, StringRule("`", "`", multiline=True, escapes=False), resumes=""),
    "rust": _braces(
        StringRule('r(#*)"', '"{0}', multiline=True, escapes=False), StringRule('"', '"', multiline=True), _CHARACTER
    ),
    "c": _C,
    "cpp": _CPP,
    "java": _braces(_TRIPLE_DOUBLE, _DOUBLE, _CHARACTER),
    "kotlin": _braces(_TRIPLE_DOUBLE, _DOUBLE, _CHARACTER),
    "swift": _braces(_TRIPLE_DOUBLE, _DOUBLE),
    "csharp": _braces(
        _TRIPLE_DOUBLE, StringRule(r'(?:@\$|\$@|@)"', r'"', multiline=True, escapes=False), _DOUBLE, _CHARACTER
    ),
    "php": _braces(
        StringRule('"', '"', multiline=True), StringRule("'", "'", multiline=True), line_comment=r"//|#(?!\[)"
    ),
    "css": _braces(_DOUBLE, _SINGLE, line_comment="", continues="", resumes=""),
    "json": _JSON,
    "jsonc": _JSON,
    "lua": Lexis(
        line_comment=r"--(?!\[=*\[)",
        block_comments=((r"--\[(=*)\[", "]{0}]"),),
        strings=(StringRule(r"\[(=*)\[", "]{0}]", multiline=True, escapes=False), _DOUBLE, _SINGLE),
        blocks=Blocks.WORDS,
        opener=r"\b(?:then|do|else|repeat)|\bfunction\b[^()]*\([^()]*\)",
        ender=r"(?:end|else|elseif|until)\b",
        continues=r"\b(?:and|or|not)|\.\.|[=+*/]",
    ),
    "ruby": Lexis(
        line_comment="#",
        block_comments=((r"(?m:^)=begin\b", "\n=end"),),
        strings=(StringRule('"', '"', multiline=True), StringRule("'", "'", multiline=True)),
        blocks=Blocks.WORDS,
        opener=r"\b(?:then|do|else|begin|ensure)|\bdo\s*\|[^|]*\|"
        r"|^\s*(?:def|class|module|if|unless|while|until|case|for|elsif|when|rescue)\b.*",
        ender=r"(?:end|else|elsif|when|rescue|ensure)\b",
        continues=r"&&|\|\||[+*=\\]",
        resumes=r"\.(?!\.)|&\.",
    ),
    "shellscript": Lexis(
        line_comment=r"(?<![^\s;&|(])#",
        strings=(StringRule('"', '"', multiline=True), StringRule("'", "'", multiline=True, escapes=False)),
        blocks=Blocks.WORDS,
        opener=r"\b(?:then|do|else)|\{",
        ender=r"(?:fi|done|else|elif|esac)\b|\}",
        continues=r"&&|\||\\",
        lone_closers=")",  # as in the patterns of `case`
    ),
    "yaml": Lexis(
        line_comment=r"(?<!\S)#",
        strings=(StringRule(r'(?<![^\s:,\[{(-])"', '"', multiline=True), StringRule(r"(?<![^\s:,\[{(-])'", "'")),
        blocks=Blocks.INDENT,
        opener=r":(?:\s*[|>][+-]?)?",
    ),
    "toml": Lexis(
        line_comment="#",
        strings=(
            _TRIPLE_DOUBLE,
            StringRule("'''", "'''", multiline=True, escapes=False),
            _DOUBLE,
            StringRule("'", "'", escapes=False),
        ),
    ),
    "html": Lexis(
        block_comments=(("<!--", "-->"),),
        brackets="",
        blocks=Blocks.WORDS,
        opener=r"<[a-zA-Z][^<>]*(?<!/)>",
        ender="</",
    ),
}
PLAIN = Lexis(brackets="")
"""For plain text, Markdown and whatever is not known: no comments, strings or brackets, only lines."""
