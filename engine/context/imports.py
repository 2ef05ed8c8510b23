"""The files of the workspace that a file imports: Python's modules, JavaScript's and TypeScript's relative paths."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from engine.text import Document

_PYTHON = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+([\w, \t(*]+)|import[ \t]+([\w., \t]+))", re.M
)
_SCRIPT = re.compile(r"""(?:from|import|require\()\s*["'](\.{1,2}/[^"'\n]+)["']""")
_ENDINGS = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs")
_REACH = 20_000  # characters of a file that its imports stand in
_SOURCE_FOLDERS = ("", "src", "lib")


def imported_files(document: Document, roots: Sequence[Path]) -> Iterator[Path]:
    """Paths that may be there, in the order of the imports. Touches no file."""
    if document.path is None:
        return
    here = Path(document.path).parent
    text = document.text[:_REACH]
    if document.language == "python":
        yield from _python(text, here, roots)
    elif document.language in ("javascript", "javascriptreact", "typescript", "typescriptreact"):
        for found in _SCRIPT.finditer(text):
            target = here / found.group(1)
            yield target
            yield from (target.with_name(target.name + ending) for ending in _ENDINGS)
            yield from (target / f"index{ending}" for ending in _ENDINGS)


def _python(text: str, here: Path, roots: Sequence[Path]) -> Iterator[Path]:
    for found in _PYTHON.finditer(text):
        dots, module, names, plain = found.groups()
        if plain is not None:
            for one in plain.split(","):
                yield from _modules(one.split()[0] if one.split() else "", here, roots, 0)
            continue
        yield from _modules(module, here, roots, len(dots))
        for name in re.findall(r"\w+", names):
            yield from _modules(f"{module}.{name}" if module else name, here, roots, len(dots))


def _modules(module: str, here: Path, roots: Sequence[Path], dots: int) -> Iterator[Path]:
    parts = [part for part in module.split(".") if part]
    if dots:
        base = here
        for _ in range(dots - 1):
            base = base.parent
        folders = [base]
    else:
        folders = [here, *(root / source for root in roots for source in _SOURCE_FOLDERS)]
    for folder in folders:
        target = folder.joinpath(*parts)
        if parts:
            yield target.with_name(target.name + ".py")
        yield target / "__init__.py"
