"""Could a Python document compile with some fill of its hole? Asked of what stands above the hole, and of what stands below.

Each side is given the least that completes it: above, what it left open is closed; below, it is given the headers
that its indentation speaks of. A side that does not compile even so is broken by itself.
"""

from __future__ import annotations

import re

from engine.completion.brackets import PAIRS
from engine.syntax import compiles
from engine.syntax.scan import Kind, lexis_of, line_start, state_at, tokens, unclosed

_HEADER = re.compile(r"^([ \t]*)(\w+)\b.*:[ \t]*(?:#.*)?$")
_OPENERS = ("", "x = (", "x = [", "x = {", "x = f(", 'x = """', "x = '''", "if (")
_CONTINUED = re.compile(r"\\(?:\r\n|\n|\r)\Z")
_REACH = 80  # lines below the hole that may speak of the headers they need


def prefix_completes(text: str) -> bool:
    """Whether whole lines of source, cut off anywhere, can be gone on with to something that compiles."""
    lexis = lexis_of("python")
    state = state_at(text, 0, len(text), lexis)
    ends = ['"""', "'''", '"', "'", ""] if state.inside is not None and state.inside.closing is not None else [""]
    brackets = "".join(PAIRS.get(c, "") for _, c in reversed(state.brackets))
    for end in ends:
        closing = end + brackets
        if not closing and _CONTINUED.search(text):
            closing = "0"
        for after in (closing + "\n", closing + ":\n") if closing else ("",):  # it may be a header that is left open
            if any(compiles(text + after + body) for body in _bodies(text, after)):
                return True
    return False


def _bodies(text: str, after: str) -> list[str]:
    """What the open blocks at the end of `text` may lack once it is closed with `after`: a body of the last header,
    `finally` of each open `try`, a function behind a decorator."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        return [""]
    last = lines[-1]
    tails = [""]
    depth = len(last[: len(last) - len(last.lstrip())].expandtabs(8)) + 1
    tail = ""
    for line in reversed(lines):
        width = len(line[: len(line) - len(line.lstrip())].expandtabs(8))
        if width >= depth:
            continue
        depth = width
        header = _HEADER.match(line)
        if header and header.group(2) == "try":
            tail += f"{header.group(1)}finally:\n{header.group(1)} pass\n"
            tails.append(tail)
        if not width:
            break
    start = "" if not text or (text + after).endswith(("\n", "\r")) else "\n"
    # a bracket left open may have begun on a line that is less deep than the last one
    depths = sorted({line[: len(line) - len(line.lstrip())] for line in lines[-20:]}, key=len)
    bodies = ["", *(f"{d}{more}{least}\n" for d in depths for more in ("", " ") for least in ("pass", "def f(): pass"))]
    return [start + body + tail for body in bodies for tail in tails]


def suffix_completes(text: str) -> bool:
    """Whether whole lines of source that begin anywhere can be preceded by something so that they compile."""
    chain = _headers(text)
    indent = re.match(r"(?:[ \t]*(?:\r\n|\n|\r))*([ \t]*)", text)
    depth = indent.group(1) if indent else ""
    for opener in _OPENERS:
        first = f"{depth}{opener}\n" if opener else ""
        for before in (chain, chain + f"{depth}if x:\n{depth} pass\n", chain + f"{depth}try:\n{depth} pass\n"):
            if compiles(before + first + text):
                return True
    return False


def _headers(text: str) -> str:
    """Headers at every depth that the lines below fall back to: `try` where one of them is handled, else `if`."""
    needed: dict[str, str] = {}
    deepest: int | None = None
    for line in _logical_lines(text)[:_REACH]:
        code = line.lstrip()
        if not code or code.startswith("#"):
            continue
        indent = line[: len(line) - len(code)]
        width = len(indent.expandtabs(8))
        if deepest is None:
            deepest = width
        if width < deepest:
            handled = re.match(r"(except|finally)\b", code)
            needed[indent] = "try:" if handled else "if x:"
            deepest = width
    if deepest:
        needed.setdefault("", "if x:")
    ordered = sorted(needed.items(), key=lambda item: len(item[0].expandtabs(8)))
    return "".join(f"{indent}{header}\n" for indent, header in ordered)


def _logical_lines(text: str) -> list[str]:
    """The lines of `text` but those that begin inside a bracket or a string: their indentation says nothing."""
    inside: list[tuple[int, int]] = []
    opened: list[int] = []
    for token in tokens(text, 0, len(text), lexis_of("python")):
        if token.kind is Kind.OPEN:
            opened.append(token.start)
        elif token.kind is Kind.CLOSE and opened:
            inside.append((opened.pop(), token.start))
        elif token.kind is Kind.STRING:
            inside.append((token.start, token.end))
    inside.sort()
    found: list[str] = []
    at = 0
    for line in text.splitlines(keepends=True):
        if not any(start < at <= end for start, end in inside):
            found.append(line.rstrip("\r\n"))
        at += len(line)
    return found


def broken_by_itself(text: str, start: int, end: int) -> bool:
    """Whether the lines above the hole [start, end), or those below it, could compile with no fill at all."""
    line = line_start(text, start)
    if not prefix_completes(text[:line]):
        return True
    _, _, rest = text[end:].partition("\n")
    closes = any(token.kind is Kind.CLOSE for token in unclosed(rest, 0, len(rest), lexis_of("python")))
    if closes or suffix_completes(rest):
        return False  # a bracket that closes below may have been meant to open in the hole
    return bool(text[line:start].strip()) or not suffix_completes(text[end:])
