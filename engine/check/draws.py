"""Draws that are the same for a key on any machine and in any version of Python: by a hash of the key, and nothing else."""

from __future__ import annotations

import hashlib
import random


def digest(key: str) -> bytes:
    """Bytes to sort by. A path's escaped bytes are read as question marks."""
    return hashlib.sha256(key.encode(errors="replace")).digest()


def generator(key: str) -> random.Random:
    return random.Random(int.from_bytes(digest(key)[:8], "big"))
