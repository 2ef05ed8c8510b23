"""The layers: who imports whom, what is free of torch, and who may fetch."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# Each layer may import from itself and from those before it.
LAYERS = [
    ("errors", "memory"),
    ("text",),
    ("rope",),
    ("syntax",),
    ("hole",),
    ("completion",),
    ("filler", "scripted"),
    ("together", "marks"),
    ("tokenizer",),
    ("context",),
    ("remote",),
    ("canvas",),
    ("denoisers",),
    ("sampler",),
    ("joint", "rewrite", "diffusion", "left_to_right", "infill"),
    ("check",),
    ("training",),
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
# Looked up inside a function, where the layer below has to ask the one above by name.
ALLOWED = {
    ("text", "syntax"),  # a path's language
    ("infill", "training"),  # where the fetched base lies
}
TORCH_FREE = ["engine.infill", "engine.filler", "engine.completion", "engine.check.bench", "engine.training.options"]
TORCH_FREE += ["lsp_server.server", "lsp_server.serve", "lsp_server.cli.main"]


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def modules(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("path", modules("engine"), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_layer_imports_only_from_those_above_it(path):
    own = path.relative_to(ROOT / "engine").parts[0].removesuffix(".py")
    if own == "__init__":
        return
    for name in imports(path):
        parts = name.split(".")
        assert parts[0] not in ("lsp_server", "pygls", "lsprotocol"), f"{path} knows the protocol: {name}"
        if parts[0] == "engine" and len(parts) > 1 and parts[1] in RANK:
            assert RANK[parts[1]] <= RANK[own] or (own, parts[1]) in ALLOWED, f"{path} imports {name}"


@pytest.mark.parametrize("path", modules("lsp_server"), ids=lambda p: str(p.relative_to(ROOT)))
def test_the_server_names_no_tensor(path):
    roots = {name.split(".")[0] for name in imports(path)}
    assert not roots & {"torch", "transformers", "safetensors", "numpy", "tokenizers"}


@pytest.mark.parametrize("name", TORCH_FREE)
def test_torch_is_not_imported_before_a_model_is_asked_for(name):
    code = f"import sys, {name}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_only_training_may_fetch():
    """Nothing but the trainer's own fetching starts pip, nothing but `midfill models pull` asks a hub, and nothing opens a
    connection of its own."""
    for path in [*modules("engine"), *modules("lsp_server")]:
        names = imports(path)
        fetching = {"urllib.request", "http.client", "requests", "httpx", "huggingface_hub"}
        allowed = (
            ROOT / "engine/denoisers/pull.py",
            ROOT / "engine/remote/client.py",
        )  # the latter: where a person names a server
        assert not fetching & names or path in allowed, path
        if "subprocess" in names:
            # share.py starts a server of this very installation, to measure it
            assert path.parent.name in ("training", "check") or path.name == "share.py", path
