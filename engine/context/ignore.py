"""What is never read: what `.gitignore` and `.midfillignore` name, secrets, what lies outside the workspace, what is no source."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import pathspec

RULES = (".gitignore", ".midfillignore")  # in this order in each folder: the later one has the last word
MOST_BYTES = 1_000_000
_SECRETS = re.compile(
    r"(?i)\.env(\..*)?|.*\.(pem|key|p12|pfx|jks|keystore|kdbx|asc|gpg|ovpn)|id_(rsa|dsa|ecdsa|ed25519).*"
    r"|\.?(netrc|npmrc|pypirc|htpasswd|pgpass|git-credentials)|.*credentials?(\..*)?|.*secrets?(\..*)?|.*\.tfstate.*"
)


def is_secret(name: str) -> bool:
    """Whether a file or folder of this name holds secrets: `.env`, keys, credentials."""
    return bool(_SECRETS.fullmatch(name))


def may_read(root: Path, path: Path) -> bool:
    """Whether a file of the workspace at `root` may be read for context. Opens nothing but files of rules."""
    try:
        inside = path.resolve().relative_to(root.resolve())  # a link that leaves the workspace leads outside
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return False
    except (OSError, ValueError):
        return False
    parts = inside.parts
    if ".git" in parts or any(map(is_secret, parts)):
        return False
    return not any(_ignored(root, parts[:count], count < len(parts)) for count in range(1, len(parts) + 1))


def _ignored(root: Path, parts: tuple[str, ...], is_folder: bool) -> bool:
    """As git decides: the last rule that matches, of the deepest folder that has one."""
    verdict = False
    for depth in range(len(parts)):
        name = "/".join(parts[depth:]) + ("/" if is_folder else "")
        for rules in RULES:
            spec = _spec(root.joinpath(*parts[:depth]) / rules)
            if spec is not None and (said := spec.check_file(name).include) is not None:
                verdict = said
    return verdict


def _spec(path: Path) -> pathspec.GitIgnoreSpec | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return _read(path, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=256)
def _read(path: Path, changed: int, size: int) -> pathspec.GitIgnoreSpec | None:
    try:
        return pathspec.GitIgnoreSpec.from_lines(path.read_text(encoding="utf-8", errors="replace").splitlines())
    except (OSError, ValueError):
        return None
