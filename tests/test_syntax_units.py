"""Where a unit ends. In the cases `¦` is where the completion begins and `▮` where it must end; what follows ran on."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.syntax import SyntaxTree, unit_end
from engine.syntax.units import KINDS


def check(language: str, kind: str, marked: str, suffix: str | None = None) -> None:
    text = marked.replace("▮", "").replace("¦", "")
    offset = marked.replace("▮", "").index("¦")
    expected = marked.replace("¦", "").index("▮")
    for ending in ("\n", "\r\n"):
        moved = [len(text[:place].replace("\n", ending)) for place in (offset, expected)]
        whole = text.replace("\n", ending)
        by_scan = unit_end(whole, moved[0], kind, language, suffix)
        by_tree = SyntaxTree.parse(whole, language).unit_end(moved[0], kind, suffix)
        assert (whole[moved[0] : by_scan], by_tree) == (whole[moved[0] : moved[1]], by_scan)


@pytest.mark.parametrize(
    ("language", "marked"),
    [
        ("python", "x = ¦f(1)▮\ny = 2"),
        ("python", "x = ¦f(1,\n    2)▮\ny = 2"),
        ("python", "x = ¦f(')',  # (\n    2)▮\ny = 2"),
        ("python", 'x = ¦"""a\n(b\n"""▮\ny = 2'),
        ("python", "x = ¦'a▮\ny = 2"),
        ("python", "x = ¦a + \\\n    b▮\ny = 2"),
        ("python", "x = ¦1▮  \n"),
        ("python", "x = ¦1  # why▮\ny = 2"),
        ("python", "f(a,\n    ¦b)▮\ny = 2"),
        ("python", "f(a,\n    ¦b,▮\n    c)\ny = 2"),
        ("python", "return json.lo¦ad▮)\n"),
        ("python", "return json.lo¦ad(h)▮\nx"),
        ("python", "x¦▮\n  = 1"),
        ("python", "x = ¦{'a': [1,\n 2]}▮\n"),
        ("python", "x = ¦f(1,\n    2▮"),
        ("javascript", "const x = ¦f(1);▮\ny();"),
        ("javascript", "if (x) ¦{\n  y();\n}▮\nz();"),
        ("javascript", "if (x) ¦{\n  y();\n} else {\n  z();\n}▮\nw();"),
        ("javascript", "if (x) ¦{\n  y();\n}\nelse {\n  z();\n}▮\nw();"),
        ("javascript", "const x = ¦a\n  .b()\n  .c();▮\ny();"),
        ("javascript", "const x = ¦a &&\n  b;▮\ny();"),
        ("javascript", "¦i++▮\ny();"),
        ("javascript", "function f() { ¦return 1; }▮\n"),
        ("javascript", "function f() {\n  ¦return 1;▮\n}\n"),
        ("javascript", "const f = ¦`a ${b}\n(`;▮\nc"),
        ("go", "x := ¦[]int{\n\t1,\n}▮\ny"),
        ("rust", "let x: &'static str = ¦f('(')▮\ng"),
        ("c", "int x = ¦a[1];▮ // b\n".replace("▮ // b", " // b▮")),
        ("lua", "local x = ¦f(1)▮\ny"),
        ("shellscript", "case $x in\n  ¦a) b ;;▮\n  c) d ;;\nesac"),
        ("ruby", "x = ¦a\n  .b▮\ny"),
        ("json", '{"a": ¦[1,\n 2],▮\n "b": 1}'),
        ("plaintext", "it's ¦(a smile▮\nand more"),
        ("markdown", "- ¦a (b▮\n- c"),
    ],
)
@pytest.mark.parametrize("kind", ["rest_of_line", "line"])
def test_statement(language: str, kind: str, marked: str) -> None:
    check(language, kind, marked)


@pytest.mark.parametrize(
    ("language", "marked", "suffix"),
    [
        ("python", "x = f(¦a,\n    b)▮\ny", "\nz = 1\n"),
        ("python", "x = f(¦a,▮\n    b)\ny", ")\nz = 1\n"),
        ("python", "x = f(¦a,▮\n    b)\ny", "\n    c,\n)\nz = 1\n"),
        ("python", "x = f(g(¦a)▮\n    b)\ny", ")\nz = 1\n"),
        ("python", "g(\n    f(¦a\n    )▮\n)", "\n)\nz = 1\n"),
        ("javascript", "function f() { ¦return 1;▮ }", " }\n"),
        ("python", "f(a,\n    ¦b▮)", ")\n"),
        ("python", "f(a,\n    ¦b)▮", "\nc\n"),
        ("javascript", "if (x) {¦\n  y();\n}▮\nz();", "\nw();\n"),
        ("javascript", "f(() => {¦▮\n  y();\n});\nz();", "\n  w();\n});\n"),
    ],
)
def test_statement_takes_the_brackets_that_the_suffix_lacks(language: str, marked: str, suffix: str) -> None:
    check(language, "rest_of_line", marked, suffix)


@pytest.mark.parametrize(
    ("language", "marked"),
    [
        ("python", "def f():\n    ¦return 1▮\n\n\ndef g():\n    pass"),
        ("python", "def f():\n    ¦if a:\n        b\n    else:\n        c▮\nd"),
        ("python", "class A:\n    def f(self):\n        ¦x = [\n1,\n]\n\n        return x▮\n\n    def g(self):\n"),
        ("python", 'def f():\n    ¦x = """\na\n"""\n    return x▮\ny'),
        ("python", "def f():¦\n    return 1▮\n\nx"),
        ("python", "def f():¦▮\nx"),
        ("python", "def f(): ¦return 1▮\nx"),
        ("python", "def f():\n    ¦\n    return 1▮\n\nx"),
        ("python", "def f():\n    ¦▮\nx = 1"),
        ("python", "def f():\n    ¦return 1▮\n# next\nx"),
        ("python", "def f():\n    ¦a = 1  # (\n    b = 2▮\nx"),
        ("python", "def f():\n    ¦return 1▮\n\n    "),
        ("python", "\tdef f():\n\t\t¦a\n\t\tb▮\n\tc"),
        ("python", "def f():\n¦    return 1▮\nx"),
        ("python", "def f():\n    ¦return (1▮"),
        ("javascript", "function f() {\n  ¦if (a) {\n    b('}');\n  }\n  // }\n  return c;▮\n}\nd();"),
        ("javascript", "function f() {¦\n  return c;▮\n}\nd();"),
        ("go", "func f() {\n\t¦switch x {\n\tcase 1:\n\t}▮\n}\n\nfunc g() {}"),
        ("c", "int f() {\n  ¦return 1;▮\nint g() {"),
        ("lua", "function f()\n  ¦if a then\n    b()\n  end▮\nend\nc"),
        ("ruby", "def f\n  ¦a\n  b▮\nend"),
        ("shellscript", "if a; then\n  ¦b\n  c▮\nfi"),
        ("yaml", "a:\n  ¦b: 1\n  c: 2▮\nd: 3"),
        ("plaintext", "a\n  ¦b (\n  c▮\nd"),
    ],
)
def test_block(language: str, marked: str) -> None:
    check(language, "block", marked)


@pytest.mark.parametrize(
    ("language", "marked"),
    [
        ("python", "f(¦a + g(b, c)▮, d)"),
        ("python", "f(¦a▮)"),
        ("python", "f(¦\n    a▮\n)"),
        ("python", "x[¦a▮]"),
        ("python", "x[¦a▮:b]"),
        ("python", "if ¦a == {1: 2}▮:\n    b"),
        ("python", "x = ¦lambda y: y▮\nz"),
        ("python", "f(¦'a, b)'▮, c)"),
        ("python", "f(¦a▮\nb"),
        ("python", "f(¦a▮  # b, c\n)"),
        ("python", "f'{¦a▮}b'"),
        ("python", "f'{¦a▮' + b"),
        ("python", "while ¦(x := f()) > 1▮:\n"),
        ("javascript", "const x = ¦a ? b : c▮;"),
        ("javascript", "f(¦() => {\n  a;\n}▮, b)"),
        ("javascript", "x = `${¦a▮}`"),
        ("rust", "f(¦&a▮)"),
    ],
)
def test_expression(language: str, marked: str) -> None:
    check(language, "expression", marked)


@pytest.mark.parametrize(
    ("language", "marked"),
    [
        ("python", "x = 'a¦b \\' c▮' + 'd'"),
        ("python", 'x = "it¦\'s▮"\ny'),
        ("python", "x = 'a¦b▮\ny = 'c'"),
        ("python", 'def f():\n    """a¦ "b"\n\n    c▮"""\n    d'),
        ("javascript", "x = `a¦\nb▮`;"),
        ("go", "x := `a¦\\▮` + b"),
        ("rust", 'let x = r#"a¦"b▮"#;'),
        ("lua", "x = [==[a¦]]b▮]==]"),
        ("json", '{"a": "b¦c▮", "d": 1}'),
    ],
)
def test_string(language: str, marked: str) -> None:
    check(language, "string", marked)


@pytest.mark.parametrize(
    ("language", "kind", "marked"),
    [
        ("python", "comment", "# a ¦b (c▮\nd"),
        ("javascript", "comment", "/* a ¦b ▮*/ c"),
        ("javascript", "comment", "/* a ¦b▮\n * c */"),
        ("python", "line", '"""a\n¦b (▮\nc"""'),
        ("python", "line", '"""a\n¦b▮"""\nc'),
        ("python", "rest_of_line", "x = 1  # a ¦(b▮\nc"),
        ("python", "selection", "x = ¦a\nb\n▮"),
    ],
)
def test_others(language: str, kind: str, marked: str) -> None:
    check(language, kind, marked)


def test_a_tree_knows_what_a_line_at_the_left_edge_is() -> None:
    text = '"""it\'s\n"""\n\nx = [\n    1,\n]\ny'
    offset = text.index("x")
    assert SyntaxTree.parse(text, "python").unit_end(offset, "line") == text.index("\ny")


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown kind of hole 'word'"):
        unit_end("x", 0, "word", "python")


PIECES = st.sampled_from(
    [*"()[]{}:;,.='\"#`\n\t a😀\ud83d\\", "\r\n", "\n    ", "def f():", '"""', "/*", "*/", "//", "[["]
)


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(["python", "javascript", "rust", "lua", "ruby", "shellscript", "yaml", "html", "plaintext"]),
    st.sampled_from(KINDS),
    st.lists(PIECES, max_size=20).map("".join),
    st.lists(PIECES, max_size=20).map("".join),
    st.none() | st.lists(PIECES, max_size=8).map("".join),
)
def test_the_end_is_in_the_text_and_needs_nothing_behind_it(
    language: str, kind: str, prefix: str, fill: str, suffix: str | None
) -> None:
    text = prefix + fill
    end = unit_end(text, len(prefix), kind, language, suffix)
    assert len(prefix) <= end <= len(text)
    assert unit_end(text[:end], len(prefix), kind, language, suffix) <= end
    if kind == "expression" and end > len(prefix):
        assert not text[end - 1].isspace()


def test_long_texts_are_cut() -> None:
    prefix = "x = '" + "y" * 200_000 + "'\n" + "def f(a):\n    return a\n\n" * 20_000 + "def last():\n    "
    assert unit_end(prefix + "return 1\nz", len(prefix), "block", "python") == len(prefix) + 8
    line = "x = [" + "(1, 'a'), " * 20_000
    assert unit_end(line + "b]\nz", len(line), "rest_of_line", "python") == len(line) + 2
