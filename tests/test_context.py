"""Related code of other files: what is found, what is never read, and how much of it goes in."""

from __future__ import annotations

import builtins
import io
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.context import Workspace, gather
from engine.context.ignore import may_read
from engine.context.names import definitions, names_near
from engine.context.render import rendered
from engine.context.root import workspace_root
from engine.context.similar import Ring, similarity
from engine.context.window import cut_window
from engine.hole import hole_at
from engine.text import Document, read_document


def words(text: str) -> int:
    return len(text.split())


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write(
        tmp_path,
        {
            "pyproject.toml": "",
            "app/main.py": "from app.prices import total\nfrom . import tools\n\ndef run(rows):\n    return total(rows) + tools.tax(\n",
            "app/prices.py": 'def total(rows, rate=1):\n    """Adds up."""\n    return sum(rows) * rate\n\n\ndef other():\n    pass\n',
            "app/tools.py": "class Tax:\n    def tax(self, amount):\n        return amount\n",
            "app/unrelated.py": "def total(nothing):\n    pass\n",
        },
    )
    return tmp_path


def at_end(path: Path) -> tuple[Document, int]:
    document = read_document(path)
    return document, len(document.text) - 1


def test_definitions_that_the_scope_names_are_brought_from_imported_files(project: Path) -> None:
    document, offset = at_end(project / "app/main.py")
    found = gather(Workspace([project]), document, offset, 200, words)
    assert [(p.path, p.lines, p.reason) for p in found.pieces] == [
        ("app/tools.py", (2, 3), "defines tax"),
        ("app/prices.py", (1, 3), "defines total"),
    ]
    assert found.text.startswith("# app/prices.py\ndef total(rows, rate=1):") and "other" not in found.text
    # the nearest to the cursor stands last, next to the prefix
    assert found.text.index("prices.py") < found.text.index("tools.py")
    assert cut_window(document, hole_at(document, offset), found.text).prefix.startswith("# app/prices.py")


def test_a_class_that_is_named_comes_whole_though_its_method_is_named_nearer(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "store.py": "class Account:\n    balance = 0\n\n    def withdraw(self, cents):\n        self.balance -= cents\n",
            "app.py": "from store import Account\n\n\ndef move(source, target: Account):\n    source.withdraw(1)\n    target.\n",
        },
    )
    document = read_document(tmp_path / "app.py")
    found = gather(Workspace([tmp_path]), document, len(document.text) - 1, 200, words)
    assert [(piece.path, piece.lines) for piece in found.pieces] == [("store.py", (1, 5))]


def test_the_budget_is_kept_and_what_is_over_it_is_told(project: Path) -> None:
    document, offset = at_end(project / "app/main.py")
    found = gather(Workspace([project]), document, offset, 10, words)
    assert words(found.text) <= 10 and [p.path for p in found.pieces] == ["app/tools.py"]
    assert [left.why.split()[-1] for left in found.left_out] == ["budget"]
    assert gather(Workspace([project]), document, offset, 0, words).text == ""


def test_open_documents_are_read_as_they_stand_and_others_from_disk(project: Path) -> None:
    document, offset = at_end(project / "app/main.py")
    edited = Document("def total(rows):\n    return 0\n", "python", str(project / "app/prices.py"))
    found = gather(Workspace([project], lambda: [edited]), document, offset, 200, words)
    assert "return 0" in found.text and "sum(rows)" not in found.text


def test_a_long_definition_is_its_head_and_the_first_line_of_its_docstring(tmp_path: Path) -> None:
    body = "".join(f"    x{n} = {n}\n" for n in range(30))
    document = Document(f'def long(a):\n    """Does it.\n\n    More.\n    """\n{body}', "python", "x.py")
    (found,) = definitions(document)
    assert found.text == 'def long(a):\n    """Does it."""'


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        ("python", "class A:\n    def f(self): pass\n@dec\ndef g(): pass\n", ["A", "f", "g"]),
        ("javascript", "export function f() {}\nclass A { m() {} }\n", ["f", "A", "m"]),
        ("typescript", "interface I { a: number }\ntype T = string\n", ["I", "T"]),
        ("go", "package a\n\nfunc F() {}\n\ntype T struct{}\n", ["F"]),
        ("rust", "fn f() {}\nstruct S;\nimpl S { fn m(&self) {} }\n", ["f", "S", "m"]),
        ("java", "class A { void m() {} }\n", ["A", "m"]),
        ("c", "int f(int a) { return a; }\n", ["f"]),
        ("plaintext", "def f(): pass", []),
    ],
)
def test_definitions_in_several_languages(language: str, text: str, names: list[str]) -> None:
    assert [d.name for d in definitions(Document(text, language))] == names


def test_relative_imports_of_scripts_are_followed(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "package.json": "{}",
            "src/a.ts": "import { sum } from './b'\nsum(\n",
            "src/b.ts": "export function sum(x: number) { return x }\n",
        },
    )
    document, offset = at_end(tmp_path / "src/a.ts")
    found = gather(Workspace([tmp_path]), document, offset, 100, words)
    assert (
        found.text.startswith("// src/b.ts\nexport function sum") and workspace_root(tmp_path / "src/a.ts") == tmp_path
    )


def test_cycles_and_broken_files_do_no_harm(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "import a, b\nimport c.\nb.x(\n", "b.py": "import a\ndef x(:\n", "c.py": "\x00"})
    (tmp_path / "d.py").write_bytes(b"\xff\xfe")
    document, offset = at_end(tmp_path / "a.py")
    assert gather(Workspace([tmp_path]), document, offset, 100, words).text.count("# b.py") <= 1


# what is never read


@pytest.mark.parametrize(
    "name",
    [
        ".env",
        ".env.local",
        "server.pem",
        "tls.key",
        "id_rsa",
        "id_ed25519.pub",
        "credentials.json",
        "secrets.yaml",
        "aws/credentials",
        ".git/config",
        ".netrc",
        "terraform.tfstate",
        "build/out.py",
        "deep/er/gen.py",
        "kept/private.py",
    ],
)
def test_what_is_named_secret_or_ignored_is_never_read(tmp_path: Path, name: str) -> None:
    write(tmp_path, {name: "x", ".gitignore": "build/\ngen.py\n", "kept/.midfillignore": "private.py\n"})
    assert not may_read(tmp_path, tmp_path / name)


@pytest.mark.parametrize("name", ["a.py", "environment.py", "keys.py", "build/kept.py", "gitlog.py"])
def test_what_is_not_may_be_read(tmp_path: Path, name: str) -> None:
    write(tmp_path, {name: "x", ".gitignore": "build/*\n!build/kept.py\n*.log\n"})
    assert may_read(tmp_path, tmp_path / name)


def test_links_out_of_the_workspace_folders_and_large_files_are_not_read(tmp_path: Path) -> None:
    inside = tmp_path / "project"
    write(tmp_path, {"outside.py": "x", "project/large.py": "x" * 1_000_001})
    os.symlink(tmp_path / "outside.py", inside / "link.py")
    for name in ("link.py", "../outside.py", "large.py", ".", "missing.py"):
        assert not may_read(inside, inside / name)


def test_ignored_files_are_not_opened_and_ignored_open_documents_are_no_context(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project, {".gitignore": "prices.py\n"})
    document, offset = at_end(project / "app/main.py")
    opened: list[str] = []
    real = builtins.open

    def recording(file, *args, **kwargs):
        opened.append(str(file))
        return real(file, *args, **kwargs)

    monkeypatch.setattr(builtins, "open", recording)
    monkeypatch.setattr(io, "open", recording)
    ignored = Document("def total(rows):\n    return 'ignored'\n", "python", str(project / "app/prices.py"))
    found = gather(Workspace([project], lambda: [ignored]), document, offset, 200, words)
    assert "total" not in found.text and not any("prices" in name for name in opened)
    assert any("tools" in name for name in opened)


def test_a_source_that_is_late_is_left_out(project: Path) -> None:
    document, offset = at_end(project / "app/main.py")

    class Slow(Workspace):
        def read(self, path: Path) -> Document | None:
            time.sleep(0.05)
            return super().read(path)

    begun = time.monotonic()
    found = gather(Slow([project]), document, offset, 200, words, limit_ms=20)
    assert time.monotonic() - begun < 2
    assert [(left.source, left.why) for left in found.left_out] == [("definitions", "it took over 20 ms")]


# similar snippets


def snippet(name: str, text: str) -> Document:
    return Document(text, "python", name)


def test_the_most_similar_snippet_of_another_file_comes_first() -> None:
    ring = Ring()
    ring.note(snippet("a.py", "def load(path):\n    with open(path) as handle:\n        return json.load(handle)\n"), 0)
    ring.note(
        snippet("b.py", "class Shop:\n    def price(self, item, amount):\n        return item.price * amount\n"), 0
    )
    here = snippet("c.py", "def save(path):\n    with open(path, 'w') as handle:\n        json.dump(")
    found = ring.most_similar(here, len(here.text))
    assert [s.path for _, s in found] == ["a.py"]
    assert ring.most_similar(snippet("a.py", here.text), len(here.text)) == []  # not from the file itself


def test_near_duplicates_and_the_oldest_leave_the_ring() -> None:
    ring = Ring(size=2)
    text = "def one(alpha, beta):\n    return alpha + beta + gamma\n"
    ring.note(snippet("a.py", text), 0)
    ring.note(snippet("copy.py", text), 0)
    assert len(ring) == 1
    for name in ("x", "y", "z"):
        ring.note(snippet(f"{name}.py", f"def {name}1({name}2, {name}3):\n    return {name}4\n"), 0)
    assert len(ring) == 2
    ring.forget("z.py")
    assert len(ring) == 1


@given(st.frozensets(st.text("abc", min_size=1)), st.frozensets(st.text("abc", min_size=1)))
def test_similarity_is_symmetric_and_from_0_to_1(one: frozenset[str], other: frozenset[str]) -> None:
    assert 0 <= similarity(one, other) == similarity(other, one) <= 1
    assert similarity(one, one) in (0.0, 1.0)


def test_names_near_a_cursor_come_nearest_first() -> None:
    document = Document("alpha = 1\n\nbeta(gamma)\n", "python")
    assert names_near(document, document.text.index("gamma")) == ["gamma", "beta", "alpha"]


def test_pieces_stand_under_their_paths_in_the_languages_own_comments() -> None:
    assert rendered([("a b.py", "x = 1\r\n")], "python") == "# a b.py\nx = 1\n\n"
    assert rendered([("a\nb.go", "x")], "go") == "// a b.go\nx\n\n"
    assert rendered([("a-->.html", "x")], "html").startswith("<!-- a>.html -->")
    assert rendered([], "python") == ""


def test_the_same_files_give_the_same_context(project: Path) -> None:
    document, offset = at_end(project / "app/main.py")
    first = gather(Workspace([project]), document, offset, 200, words)
    assert all(gather(Workspace([project]), document, offset, 200, words) == first for _ in range(3))
