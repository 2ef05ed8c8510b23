"""New faults are those that the fill brought, not those that stood there before nor those that it mended."""

from __future__ import annotations

import pytest

from engine.syntax import SyntaxTree, new_faults


def check(language: str, marked: str, fill: str, clean: bool) -> None:
    """`marked` holds the hole between ⟦ and ⟧, or the cursor as ¦."""
    marked = marked.replace("¦", "⟦⟧")
    start, end = marked.index("⟦"), marked.index("⟧") - 1
    before = SyntaxTree.parse(marked.replace("⟦", "").replace("⟧", ""), language)
    after = before.edit(start, end, fill)
    faults = new_faults(before, after, start, end, start + len(fill))
    assert (faults == []) is clean, faults
    assert all(fault in after.errors() or fault.node_type in "()[]{}" for fault in faults)


@pytest.mark.parametrize(
    ("language", "marked", "fill"),
    [
        ("python", "def f(path):\n    print(os.path.join(path, ¦))\n", "'a'"),
        ("python", "x = names[¦]\n", "1"),
        ("python", "x = ¦\n", "1"),
        ("python", "x = ⟦(1⟧\ny = 2\n", "2"),
        ("python", "a = 1\n) b\ny = ¦\n", "2"),
        ("python", "y = ¦\nz = 1\n) b\n", "2"),
        ("python", "s = '😀'; ) b\ny = ¦\n", "'😀'"),
        ("javascript", "const x = ¦;\n", "f(1)"),
        ("javascript", "function f() {\n  ¦\n", "const x = g(1);"),
        ("javascript", "function f() {\n  ¦\n", "const x = 1;\n}"),
        ("go", "package a\n\nfunc f() {\n\t¦\n", "return"),
        ("rust", "fn f() {\n    let a = ¦\n}\n", "g();"),
        ("plaintext", "a (¦", "(("),
    ],
)
def test_a_right_fill_brings_none(language: str, marked: str, fill: str) -> None:
    check(language, marked, fill, clean=True)


@pytest.mark.parametrize(
    ("language", "marked", "fill"),
    [
        ("python", "def f(path):\n    print(os.path.join(path, ¦))\n", "'a')"),
        ("python", "x = names[¦]\n", "("),
        ("python", "x = names[¦]\n", "'a"),
        ("python", "x = ¦\n", "f("),
        ("python", "x = ¦\ny = 2\n", ")"),
        ("python", "a = 1\n) b\ny = ¦\n", "f(2"),
        ("python", "y = ¦\nz = 1\n) b\n", "(2"),
        ("javascript", "const x = ¦;\n", "f(1"),
        ("javascript", "const x = ¦;\n", "f(;"),
        ("javascript", "function f() {\n  ¦\n", "const x = g(1;"),
        ("javascript", "function f() {\n  ¦\n", "const x = g(1));"),
        ("javascript", "function f() {\n  ¦\n}\n", "if (x) {"),
        ("go", "package a\n\nfunc f() {\n\t¦\n}\n", "return (1"),
        ("rust", "fn f() {\n    let a = ¦\n}\n", "g(;"),
        ("c", "int f(void) {\n  ¦\n}\n", "return 1"),
    ],
)
def test_a_broken_fill_brings_some(language: str, marked: str, fill: str) -> None:
    check(language, marked, fill, clean=False)


@pytest.mark.parametrize("language", ["python", "javascript", "go", "rust"])
def test_there_are_never_more_faults_than_before_in_what_is_passed(language: str) -> None:
    text = "a ) b\n{\n  c(\n  \nd ] e\n"
    before = SyntaxTree.parse(text, language)
    offset = text.index("\n  \n") + 3
    for fill in ("x", "x)", "(", "[]", "f(1)", "'", "x = 1;", "}", "{ y }"):
        after = before.edit(offset, offset, fill)
        if not new_faults(before, after, offset, offset, offset + len(fill)):
            assert len(after.errors()) <= len(before.errors())
