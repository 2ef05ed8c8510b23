"""Could Python source that is cut off be gone on with, or begun, so that it compiles?

Asked of the lines above a hole and of those below it: each side is given the least that completes it. Above, what it
left open is closed; below, it is given what its brackets, quotes and indentation speak of. A side that does not
compile even so is broken by itself, and no fill of the hole mends that.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from engine.syntax.scan import Kind, indent_width, lexis_of, state_at, tokens

Compiles = Callable[[str], bool]

_PYTHON = lexis_of("python")
_TRY = re.compile(r"try[ \t]*:[ \t]*(?:#.*)?$")
# Stand-ins for an open bracket or string and all behind it; an operand, or the end of a header's first line.
_CLOSED = {"(": ("(x)", "()"), "[": ("[x]", "[]"), "{": ("{}", "{x}"), '"': ('""',)}
_GOES_ON = ("", ":", " else x", ": x", " in x", " in x:", "():")
_OPENERS = {")": "f(", "]": "[", "}": "{"}
_BEFORE_BRACKETS = ("if ", "def ", "x = ", "class ", "from x import ")
_REACH = 80  # lines below the hole that may speak of the headers they need


def prefix_completes(text: str, compiles: Compiles) -> bool:
    """Whether whole lines of source, cut off anywhere, can be gone on with to something that compiles.

    Where a bracket or a string is open, what is in it is not judged.
    """
    state = state_at(text, 0, len(text), _PYTHON)
    inside = state.inside if state.inside and state.inside.kind is Kind.STRING else None
    if state.brackets:
        place, bracket = state.brackets[0]
    elif inside:
        place, bracket = inside.start, '"'
    else:
        return any(compiles(text + rest) for rest in _rests(text))
    for closed in _CLOSED[bracket]:
        for end in _GOES_ON:
            head = f"{text[:place]}{closed}{end}\n"
            if any(compiles(head + rest) for rest in _rests(head)):
                return True
    return False


def _rests(text: str) -> list[str]:
    """What may be missing behind whole lines: a header's body, what is decorated, an operand behind a backslash; and
    `finally` of each `try` that is still open."""
    lines = _logical_lines(text)
    if not lines:
        return [""]
    indent = _indent(lines[-1])
    depth = indent_width(indent) + 1
    handlers = ""
    for line in reversed(lines):
        width = indent_width(_indent(line))
        if width < depth:
            depth = width
            if _TRY.match(line.strip()):
                handlers += f"{_indent(line)}finally:\n{_indent(line)} pass\n"
    bodies = ("", f"{indent} pass\n", f"{indent}def f(): pass\n", f"{indent} case _: pass\n", "x\n", "x:\n pass\n")
    start = "" if text.endswith(("\n", "\r")) else "\n"
    return [start + body + handlers for body in bodies]


def _logical_lines(text: str) -> list[str]:
    """The first line of each logical line: not those that a bracket, a string or a backslash carries on."""
    starts, depth = [0], 0
    for token in tokens(text, 0, len(text), _PYTHON):
        if token.kind is Kind.OPEN:
            depth += 1
        elif token.kind is Kind.CLOSE:
            depth = max(0, depth - 1)
        elif token.kind is Kind.BREAK and not depth and text[max(0, token.start - 1)] != "\\":
            starts.append(token.end)
    lines = [re.split(r"[\r\n]", text[start:], maxsplit=1)[0] for start in starts[-_REACH * 4 :]]
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


def suffix_completes(text: str, compiles: Compiles) -> bool:
    """Whether lines of source that begin anywhere can be preceded by something so that they compile."""
    chain = _headers(text)
    leading = re.match(r"(?:[ \t\f]*(?:\r\n|\n|\r))*([ \t]*)", text)
    depth = leading.group(1) if leading else ""
    starts = ["", f"{depth}if x:\n{depth} pass\n", f"{depth}try:\n{depth} pass\n", f"{depth}@x\n"]
    starts += [f"{depth}{opener}\n" for opener in _openers(text)]
    if depth:
        starts.append(f"{depth[:-1]}match x:\n{depth}case _:\n{depth} pass\n")
    return any(compiles(chain + start + text) for start in starts)


def _openers(text: str) -> list[str]:
    """What may have opened the brackets that `text` closes, or the string that it begins in."""
    found = []
    for quote in ("", '"""', "'''"):
        lone: list[str] = []
        depth = 0
        for token in tokens(quote + text, 0, len(quote) + len(text), _PYTHON):
            if token.kind is Kind.OPEN:
                depth += 1
            elif token.kind is Kind.CLOSE and depth:
                depth -= 1
            elif token.kind is Kind.CLOSE:
                lone.append(_OPENERS[token.text])
        if not lone and not quote:
            continue
        # Whatever is in braces with brackets of its own is a dictionary's value, or a key or an element.
        brackets = "".join(reversed(lone))
        nested = "".join(reversed(lone[1:])).replace("{", "{x: ") + "".join(lone[:1])
        for inner in dict.fromkeys((brackets, nested, nested.replace("[", "x["))):
            found += [inner + quote + operand for operand in ("", "x", "x: x") if inner or not operand]
        found += [before + brackets + quote for before in _BEFORE_BRACKETS]
    return list(dict.fromkeys(found))


def _headers(text: str) -> str:
    """Headers at every depth that the lines below fall back to: `try` where one of them is handled, else `if`."""
    needed: dict[str, str] = {}
    deepest: int | None = None
    for line in text.splitlines()[:_REACH]:
        code = line.lstrip()
        if not code or code.startswith("#"):
            continue
        width = indent_width(_indent(line))
        if deepest is None:
            deepest = width
        if width < deepest:
            handled = re.match(r"(except|finally)\b", code)
            needed[_indent(line)] = "try:" if handled else "if x:"
            deepest = width
    if deepest:
        needed.setdefault("", "if x:")
    ordered = sorted(needed.items(), key=lambda item: indent_width(item[0]))
    return "".join(f"{indent}{header}\n" for indent, header in ordered)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
