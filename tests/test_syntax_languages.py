"""Every language of the table has a grammar that loads and tells right code from broken code."""

from __future__ import annotations

import subprocess
import sys

import pytest

from engine.errors import BadInput
from engine.syntax import grammars
from engine.syntax.languages import LANGUAGES, Language, is_known, known, language_for_path
from engine.syntax.lexis import RULES
from engine.syntax.tree import SyntaxTree

SNIPPETS = {
    "python": ("def f(x):\n    return [x]\n", "def f(x:\n    return [x]\n"),
    "javascript": ("const f = (x) => ({ x });\n", "const f = (x => ({ x });\n"),
    "javascriptreact": ("const a = <b c={1}>d</b>;\n", "const a = <b c={1}>d</;\n"),
    "typescript": ("const x: Map<string, number> = y as any;\n", "const x: Map<string, = y;\n"),
    "typescriptreact": ("const a: JSX.Element = <b c={1}>d</b>;\n", "const a = <b c={1}>d</;\n"),
    "go": ("package a\n\nfunc f() int {\n\treturn 1\n}\n", "package a\n\nfunc f() int {\n\treturn (1\n}\n"),
    "rust": ("fn f<'a>(x: &'a str) -> usize { x.len() }\n", "fn f(x: &str) -> usize { x.len( }\n"),
    "c": ("int f(void) { return 1; }\n", "int f(void) { return 1 \n"),
    "cpp": ("template <class T> T f(T x) { return x; }\n", "template <class T> T f(T x) { return x;\n"),
    "java": ("class A { int f() { return 1; } }\n", "class A { int f() { return 1 } }\n"),
    "lua": ("local function f(x)\n  return x\nend\n", "local function f(x\n  return x\nend\n"),
    "shellscript": ("if [ -f a ]; then\n  echo b\nfi\n", "if [ -f a ]; then\n  echo b\n"),
    "json": ('{"a": [1, null]}\n', '{"a": [1, null}\n'),
    "jsonc": ('// a\n{"a": 1}\n', '// a\n{"a": }\n'),
    "yaml": ("a:\n  - b\n  - c: 1\n", "a: [b\nc: }\n"),
    "toml": ('[a]\nb = "c"\n', "[a\nb = \n"),
    "html": ("<p class='a'>b</p>\n", "<p class='a'>b</p\n<"),
    "css": ("a { color: red; }\n", "a { color: red; \n"),
    "ruby": ("def f(x)\n  x + 1\nend\n", "def f(x\n  x + 1\nend\n"),
    "csharp": ("class A { int F() => 1; }\n", "class A { int F( => 1; }\n"),
    "php": ("<?php function f($x) { return $x; }\n", "<?php function f($x) { return $x; \n"),
    "kotlin": ("fun f(x: Int): Int {\n  return x\n}\n", "fun f(x: Int: Int {\n  return x\n}\n"),
    "swift": ("func f(x: Int) -> Int {\n  return x\n}\n", "func f(x: Int -> Int {\n  return x\n\n"),
    # Every text is Markdown: its grammar finds faults in none.
    "markdown": ("# a\n\n- b\n", None),
}


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.id)
def test_the_grammar_tells_right_from_broken(language: Language) -> None:
    right, broken = SNIPPETS[language.id]
    tree = SyntaxTree.parse(right, language.id)
    assert tree.has_grammar
    assert tree.errors() == []
    if broken is not None:
        assert SyntaxTree.parse(broken, language.id).errors() != []


def test_all_grammars_are_reported() -> None:
    statuses = grammars.available_grammars()
    assert [status.language for status in statuses] == [language.id for language in LANGUAGES]
    assert all(status.loads and not status.problem for status in statuses)


def test_a_grammar_that_fails_counts_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter_lua", None)
    grammars._load.cache_clear()
    try:
        tree = SyntaxTree.parse("local x = (", "lua")
        assert not tree.has_grammar
        assert tree.errors() == []
        (lua,) = [status for status in grammars.available_grammars() if status.language == "lua"]
        assert not lua.loads
        assert "tree_sitter_lua" in lua.problem
        assert tree.unit_end(6, "rest_of_line") == 11
    finally:
        grammars._load.cache_clear()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/b.py", "python"),
        ("B.PY", "python"),
        ("x.d.ts", "typescript"),
        ("x.tsx", "typescriptreact"),
        (".bashrc", "shellscript"),
        ("dir.py/Gemfile", "ruby"),
        ("Cargo.lock", "toml"),
        ("a.hs", "plaintext"),
        ("py", "plaintext"),
        ("", "plaintext"),
    ],
)
def test_language_by_path(path: str, expected: str) -> None:
    assert language_for_path(path) == expected


def test_ids_and_aliases() -> None:
    assert known("plaintext") == "plaintext"
    assert known("sh") == "shellscript"
    assert is_known("cs")
    assert not is_known("klingon")
    with pytest.raises(BadInput, match="unknown language 'klingon'; known are c, cpp, "):
        known("klingon")


def test_no_name_is_claimed_twice() -> None:
    for names in (
        [name for language in LANGUAGES for name in (language.id, *language.aliases)],
        [ending for language in LANGUAGES for ending in language.endings],
        [filename for language in LANGUAGES for filename in language.filenames],
    ):
        assert len(names) == len(set(names))


def test_every_language_but_markdown_has_a_lexis() -> None:
    assert set(RULES) == {language.id for language in LANGUAGES} - {"markdown"}


def test_no_grammar_and_no_torch_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys, engine.syntax, engine.text;"
        "print([name for name in sys.modules if name.startswith(('torch', 'tree_sitter_'))])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
