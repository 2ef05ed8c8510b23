"""Text to tokens and back, byte for byte, for byte-level BPE tokenizers. Imports no torch.

Text that looks like a control token is plain text here: the control tokens keep their ids, but no text encodes to them.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from pathlib import Path

from engine.errors import ModelUnavailable

# The last pre-token of a text may still grow as a person types; everything before it tokenizes the same whatever follows.
# A word takes one space before it; other white space before it is a pre-token whose length depends on the word.
_LAST_WORD = re.compile(r"(?:\s+|\s*\d|(?: |\s*(?<! ))(?:[^\W\d_]+|(?:[^\w\s]|_)+))\Z")
_LONGEST_REMNANT = 48  # characters; a longer last word is cut at a token boundary instead


class Tokenizer:
    """A byte-level BPE tokenizer (GPT-2's family: SmolLM, Qwen, Llama 3).

    Raises `ModelUnavailable` where the file is missing, broken or not byte-level.
    """

    def __init__(self, path: Path | str) -> None:
        from tokenizers import Tokenizer as Backend

        try:
            described = json.loads(Path(path).read_text(encoding="utf-8"))
            described["added_tokens"] = []  # so that "<|endoftext|>" in a document is text like any other
            described["post_processor"] = None  # and nothing is put around what is encoded
            self._backend = Backend.from_str(json.dumps(described))
            vocabulary = described["model"]["vocab"]
        except FileNotFoundError:
            raise ModelUnavailable(f"no tokenizer at {path}") from None
        except Exception as broken:  # the library raises bare Exceptions
            raise ModelUnavailable(f"the tokenizer {path} cannot be read: {broken}") from None
        if "ByteLevel" not in json.dumps([described.get("decoder"), described.get("pre_tokenizer")]):
            raise ModelUnavailable(f"the tokenizer {path} is not byte-level: only byte-level BPE joins exactly")
        self.size: int = max(vocabulary.values()) + 1
        self._texts = [""] * self.size
        for text, index in vocabulary.items():
            self._texts[index] = text

    @functools.cached_property
    def token_bytes(self) -> list[bytes]:
        """The bytes of each token, by id. Control tokens (not made of byte characters' merges) stand as their own text."""
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
