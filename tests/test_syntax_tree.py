"""Trees in code points: an incremental edit equals a fresh parse, whatever the characters; faults; nodes; regions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.syntax import Region, SyntaxTree
from engine.syntax.tree import _STRIDE

PIECES = st.sampled_from(
    [
        *"()[]{}:;,.='\"#`\n\r\f\t é😀\ud83d\ude00",
        "\r\n",
        "\n    ",
        "def f(x):",
        "return x",
        "if a:",
        '"""',
        "f'{x}'",
        "const a = 1;",
        "function g() {",
        "// c\n",
        "`${b}`",
        "x",
    ]
)
snippets = st.lists(PIECES, max_size=25).map("".join)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(["python", "javascript", "rust", "yaml", "plaintext"]), snippets, st.data())
def test_an_edited_tree_equals_a_fresh_one(language: str, text: str, data: st.DataObject) -> None:
    tree = SyntaxTree.parse(text, language)
    for _ in range(4):
        start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(tree.text))] * 2)))
        new = data.draw(snippets)
        expected = tree.text[:start] + new + tree.text[end:]
        tree = tree.edit(start, end, new)
        fresh = SyntaxTree.parse(expected, language)
        assert tree.text == expected
        assert tree.errors() == fresh.errors()
        assert str(tree.root) == str(fresh.root)


def test_an_edit_leaves_the_tree_before_as_it_was() -> None:
    tree = SyntaxTree.parse("x = (1)\n", "python")
    shape = str(tree.root)
    broken = tree.edit(6, 7, "")
    assert broken.errors() != []
    assert (tree.errors(), str(tree.root), tree.text) == ([], shape, "x = (1)\n")


@pytest.mark.parametrize(("start", "end"), [(-1, 0), (2, 1), (0, 9)])
def test_an_edit_outside_the_text_is_refused(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="no range"):
        SyntaxTree.parse("x = 1", "python").edit(start, end, "")


@settings(deadline=None)
@given(st.text("aé€😀\n\ud83d", max_size=30), st.integers(0, 3))
def test_bytes_and_code_points_convert_both_ways(text: str, times: int) -> None:
    text = (text + "😀") * (1 + times * _STRIDE // 20)
    tree = SyntaxTree.parse(text, "markdown")
    step = max(1, len(text) // 50)
    for offset in [*range(0, len(text), step), len(text)]:
        byte = tree.byte_of(offset)
        assert byte == len(text[:offset].encode("utf-8", "replace"))
        assert tree.offset_of(byte) == offset


def test_faults_say_what_and_where() -> None:
    text = 's = "😀";\nconst x = f(1;\n'
    (fault,) = SyntaxTree.parse(text, "javascript").errors()
    place = text.index(";", 8)
    assert (fault.kind, fault.start, fault.end, fault.node_type) == ("missing", place, place, ")")
    assert fault.since == text.index("(1")
    errors = SyntaxTree.parse("a = 1\n) b = 2\n", "python").errors()
    assert [(fault.kind, fault.start) for fault in errors] == [("error", 6)]


def test_node_at() -> None:
    tree = SyntaxTree.parse('x = "😀" + name(1)\n', "python")
    node = tree.node_at(13)
    assert node is not None
    assert (node.type, tree.text[node.start : node.end]) == ("identifier", "name")
    assert node.ancestors[:2] == ("call", "binary_operator")
    assert node.ancestors[-1] == "module"
    assert SyntaxTree.parse("x", "plaintext").node_at(0) is None
    empty = SyntaxTree.parse("", "python").node_at(0)
    assert empty is not None and empty.type == "module"


REGIONS = [
    # c, s and m (code, string, comment) mark the cursor before the next character
    ("python", "¦x = 1", "code"),
    ("python", "x = ¦'a'", "code"),
    ("python", "x = '¦a'", "string"),
    ("python", "x = 'a¦'", "string"),
    ("python", "x = 'a'¦", "code"),
    ("python", "x = '😀¦' + '😀'", "string"),
    ("python", "x = 1  # a¦", "comment"),
    ("python", "x = 1  # a¦\ny = 2", "comment"),
    ("python", "x = 1  # a\r\n¦y = 2", "code"),
    ("python", "x = 1  ¦# a", "code"),
    ("python", 'def f():\n    """a\n    ¦b"""', "string"),
    ("python", "x = f'a{¦b}c'", "code"),
    ("python", "x = f'a{b¦}c'", "code"),
    ("python", "x = f'a¦{b}c'", "string"),
    ("python", "x = f'a{b}¦c'", "string"),
    ("python", "x = f'a{d['¦k']}'", "string"),
    ("python", "x = 'a' ¦'b'", "code"),
    ("python", "print('half ¦\ny = 1", "string"),
    ("python", 'def f():\n    """half ¦\n', "string"),
    ("python", "f(x, # half ¦", "comment"),
    ("python", "f(x, ¦", "code"),
    ("python", "x = (1\ny = '¦a'\n", "string"),
    ("python", '"""a\n\nb\n"""\n\n¦x = [', "code"),
    ("javascript", "a = `b${¦c}d`", "code"),
    ("javascript", "a = `b${c}¦d`", "string"),
    ("javascript", "/* a ¦*/ b", "comment"),
    ("javascript", "/* a */¦", "code"),
    ("javascript", "/* a */¦\n", "code"),
    ("javascript", "// a¦", "comment"),
    ("typescript", "let a: str¦ing", "code"),
    ("rust", 'let a = "b¦";', "string"),
    ("rust", "/// doc¦\nfn f() {}", "comment"),
    ("rust", "fn f<'¦a>() {}", "code"),
    ("go", "package a\nvar b = `c¦`", "string"),
    ("c", "char a = 'b¦';", "string"),
    ("cpp", 'auto a = R"(b¦)";', "string"),
    ("java", 'class A { String b = "c¦"; }', "string"),
    ("lua", "x = [[a¦]]", "string"),
    ("lua", "-- a¦", "comment"),
    ("shellscript", 'echo "a $(¦b) c"', "code"),
    ("shellscript", 'echo "a¦ $(b) c"', "string"),
    ("ruby", '"a#{¦b}"', "code"),
    ("ruby", '"a¦#{b}"', "string"),
    ("csharp", 'class A { string b = $"c{¦d}"; }', "code"),
    ("csharp", 'class A { string b = $"c¦{d}"; }', "string"),
    ("php", "<?php $a = 'b¦';", "string"),
    ("kotlin", 'val a = "b¦"', "string"),
    ("swift", 'let a = "b¦"', "string"),
    ("json", '{"a": "b¦"}', "string"),
    ("yaml", "a: 'b¦'", "string"),
    ("yaml", "a: b¦c", "code"),
    ("toml", 'a = "b¦"', "string"),
    ("html", "<a b='c¦'>d</a>", "string"),
    ("html", "<!-- a¦ -->", "comment"),
    ("css", "/* a¦ */", "comment"),
    ("css", 'a { b: "c¦"; }', "string"),
    ("plaintext", "it's ¦", "code"),
]


@pytest.mark.parametrize(("language", "marked", "expected"), REGIONS)
def test_region(language: str, marked: str, expected: str) -> None:
    offset = marked.index("¦")
    tree = SyntaxTree.parse(marked.replace("¦", ""), language)
    assert tree.region(offset) is Region(expected)


@settings(deadline=None)
@given(st.sampled_from(["python", "javascript", "ruby", "plaintext"]), snippets)
def test_every_question_has_an_answer_on_any_text(language: str, text: str) -> None:
    tree = SyntaxTree.parse(text, language)
    for offset in range(len(text) + 1):
        assert isinstance(tree.region(offset), Region)
        node = tree.node_at(offset)
        assert node is None or 0 <= node.start <= node.end <= len(text)


def test_deep_nesting_is_answered() -> None:
    tree = SyntaxTree.parse("[" * 50_000, "json")
    assert tree.region(49_999) is Region.CODE
    assert tree.errors() != []
