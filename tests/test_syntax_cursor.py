"""What a cursor (`¦`) stands in: an empty line that opens a block, an element between brackets."""

from __future__ import annotations

import pytest

from engine.syntax import SyntaxTree, argument_at, opens_block


def placed(language: str, marked: str) -> tuple[SyntaxTree, int]:
    return SyntaxTree.parse(marked.replace("¦", ""), language), marked.index("¦")


@pytest.mark.parametrize(
    ("language", "marked", "expected"),
    [
        ("python", "def f():\n    ¦\n", True),
        ("python", "def f():\n¦", True),
        ("python", "def f():  # why:\n\n    ¦\n\ndef g():\n    pass\n", True),
        ("python", "def f(\n    a,\n) -> int:\n    ¦\n", True),
        ("python", "if a:\n    if b:\n        ¦\n    c\n", True),
        ("python", "class A:\n\tdef f(self):\n\t\t¦\n\n\tdef g(self):\n\t\tpass\n", True),
        ("python", "def f():\n    ¦\n    return 1\n", False),
        ("python", "def f():\n    x = 1\n    ¦\n", False),
        ("python", "def f():\n    x¦\n", False),
        ("python", "def f(): ¦\n", False),
        ("python", "x = {\n    'a':\n    ¦\n}\n", False),
        ("python", "# note:\n¦\n", False),
        ("python", 'x = """a:\n¦\n"""\n', False),
        ("python", "¦\n", False),
        ("javascript", "function f() {\n  ¦\n}\n", True),
        ("javascript", "function f() {\n  ¦\n", True),
        ("javascript", "function f() { // {\n  ¦\n}\n", True),
        ("javascript", "function f() {\n  ¦\n  a();\n}\n", False),
        ("javascript", "function f() {\n  a();\n  ¦\n}\n", False),
        ("go", "func f() {\n\t¦\n}\n", True),
        ("rust", "fn f() {\r\n    ¦\r\n}\r\n", True),
        ("lua", "function f(a)\n  ¦\nend\n", True),
        ("lua", "function f(a)\n  ¦\n  b()\nend\n", False),
        ("ruby", "def f\n  ¦\nend\n", True),
        ("ruby", "a.each do |b|\n  ¦\nend\n", True),
        ("shellscript", "if a; then\n  ¦\nfi\n", True),
        ("yaml", "a:\n  ¦\nb: 1\n", True),
        ("html", "<p>\n  ¦\n</p>\n", True),
        ("plaintext", "a:\n  ¦\n", False),
    ],
)
def test_opens_block(language: str, marked: str, expected: bool) -> None:
    assert opens_block(*placed(language, marked)) is expected


@pytest.mark.parametrize(
    ("language", "marked", "element", "index", "closes"),
    [
        ("python", "f(¦)", "", 0, True),
        ("python", "f(a, ¦)", " ", 1, True),
        ("python", "f(a, b¦c, d)", " bc", 1, True),
        ("python", "f(a, g(b, ¦c), d)", " c", 1, True),
        ("python", "f(a, (b, c)¦, d)", " (b, c)", 1, True),
        ("python", "x[¦a:b]", "a:b", 0, True),
        ("python", "f('a, (', ¦b)", " b", 1, True),
        ("python", "print(os.path.join(path, ¦))\n", " ", 1, True),
        ("python", "f(a, ¦b\nc", " b", 1, False),
        ("javascript", "f({ a: 1, ¦b })", " b ", 1, True),
        ("go", "f(a, 😀¦, b)", " 😀", 1, True),
    ],
)
def test_argument(language: str, marked: str, element: str, index: int, closes: bool) -> None:
    tree, offset = placed(language, marked)
    found = argument_at(tree, offset)
    assert found is not None
    assert (tree.text[found.start : found.end], found.index) == (element, index)
    assert tree.text[found.opening] == found.bracket
    assert (found.closing is not None) is closes
    assert found.closing is None or tree.text[found.closing] in ")]}"


@pytest.mark.parametrize("marked", ["¦f(a)", "f(a)¦", "x = ¦1", "f¦(a)"])
def test_no_argument_outside_brackets(marked: str) -> None:
    assert argument_at(*placed("python", marked)) is None
