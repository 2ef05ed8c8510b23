"""Text to tokens and back, byte for byte, for byte-level BPE tokenizers. Imports no torch.

Text that looks like a control token is plain text here: the control tokens keep their ids, but no text encodes to them.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.errors import ModelUnavailable

# The last pre-token of a text may still grow as a person types; everything before it tokenizes the same whatever follows.
# A word takes one space before it; other white space before it is a pre-token whose length depends on the word.
_LAST_WORD = re.compile(r"(?:\s+|\s*\d|(?: |\s*(?<! ))(?:[^\W\d_]+|(?:[^\w\s]|_)+))\Z")
_SPACE = "\u2581"
_BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")
_LONGEST_REMNANT = 48  # characters; a longer last word is cut at a token boundary instead


class Tokenizer:
    """A BPE tokenizer that joins exactly: byte-level (GPT-2's family: SmolLM, Qwen, Llama 3) or with byte fallback
    (SentencePiece's: Gemma), where a space is written as U+2581 and a character that has no token as its bytes.

    Raises `ModelUnavailable` where the file is missing, broken or of another kind.
    """

    def __init__(self, path: Path | str) -> None:
        from tokenizers import Tokenizer as Backend

        try:
            described = json.loads(Path(path).read_text(encoding="utf-8"))
            # runs of white space alone are added tokens of Gemma's that text is meant to encode to
            kept = [t for t in described.get("added_tokens") or [] if not t["content"].strip(_SPACE + " \n\t")]
            described["added_tokens"] = kept  # so that "<|endoftext|>" in a document is text like any other
            described["post_processor"] = None  # and nothing is put around what is encoded
            self._backend = Backend.from_str(json.dumps(described))
            vocabulary = described["model"]["vocab"]
        except FileNotFoundError:
            raise ModelUnavailable(f"no tokenizer at {path}") from None
        except Exception as broken:  # the library raises bare Exceptions
            raise ModelUnavailable(f"the tokenizer {path} cannot be read: {broken}") from None
        self._byte_level = "ByteLevel" in json.dumps([described.get("decoder"), described.get("pre_tokenizer")])
        if not self._byte_level and not _falls_back_to_bytes(described):
            raise ModelUnavailable(f"the tokenizer {path} is not byte-level: only byte-level BPE joins exactly")
        self.size: int = max(vocabulary.values()) + 1
        self._texts = [""] * self.size
        for text, index in vocabulary.items():
            self._texts[index] = text

    @functools.cached_property
    def token_bytes(self) -> list[bytes]:
        """The bytes of each token, by id. Control tokens (not made of byte characters' merges) stand as their own text."""
        if not self._byte_level:
            return [_fallback_bytes(t) for t in self._texts]
        table = _byte_of_character()
        return [bytes(table[c] for c in t) if all(c in table for c in t) else t.encode() for t in self._texts]

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`. A lone surrogate, which has no bytes, is read as U+FFFD."""
        return self._backend.encode(_encodable(text), add_special_tokens=False).ids

    def encode_with_ends(self, text: str) -> tuple[list[int], list[int]]:
        """Token ids, and for each token the offset (code points of `text`) behind its last character."""
        encoding = self._backend.encode(_encodable(text), add_special_tokens=False)
        return encoding.ids, [end for _, end in encoding.offsets]

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        table = self.token_bytes
        return b"".join(table[i] for i in ids)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`; bytes that are not UTF-8 (half a character) become U+FFFD."""
        return self.decode_bytes(ids).decode("utf-8", errors="replace")


def split_for_healing(prefix: str) -> tuple[str, str]:
    """Cuts a prefix before its last, perhaps half-typed, word: (what tokenizes the same whatever follows, the remnant).

    The remnant is typed again by the first slots, so that `json.lo` may go on as `loads`, and a line break is merged
    with the indentation behind it as the base has learned. Token healing as in Microsoft's guidance library.
    """
    tail = prefix[-_LONGEST_REMNANT - 1 :]
    found = _LAST_WORD.search(tail)
    if not found or not found.group() or (found.start() == 0 and len(prefix) > len(tail)):
        return prefix, ""
    cut = len(prefix) - len(found.group())
    return prefix[:cut], prefix[cut:]


def _encodable(text: str) -> str:
    if text.isascii():
        return text
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


@functools.cache
def _byte_of_character() -> dict[str, int]:
    """GPT-2's table from printable characters to bytes."""
    plain = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {chr(b): b for b in plain}
    rest = (b for b in range(256) if b not in set(plain))
    return table | {chr(256 + n): b for n, b in enumerate(rest)}


def _falls_back_to_bytes(described: dict[str, Any]) -> bool:
    """Whether every text has tokens, no space is put before it, and none is lost."""
    model = described["model"]
    normalizer = json.dumps(described.get("normalizer"), ensure_ascii=False)
    plain = "Prepend" not in normalizer and "Metaspace" not in json.dumps(described.get("pre_tokenizer"))
    return bool(model.get("byte_fallback")) and "<0x00>" in model["vocab"] and _SPACE in normalizer and plain


def _fallback_bytes(token: str) -> bytes:
    found = _BYTE_TOKEN.fullmatch(token)
    return bytes([int(found[1], 16)]) if found else token.replace(_SPACE, " ").encode()
