"""The canvas: one block of tokens under denoising, and its text.

Only slots change; pinned tokens and the remnant of a half-typed word are given. Tensors are one-dimensional, a place
a slot, on the denoiser's device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from engine.filler import DraftSlot
from engine.tokenizer import Tokenizer

UNDECIDED = "·"  # how an undecided slot is shown to a person


@dataclass
class Canvas:
    """slots: token ids [n], right where `decided` [n] is true and noise elsewhere; confidence: [n], 0 to 1.

    pinned: the start of the suffix behind the slots, for denoisers that want it there; never altered.
    required: bytes that the canvas's text has to begin with (the remnant of a half-typed word).
    revoked: [n], how often each slot was put back to noise.
    answer: [n], the best token of every slot after the last step, where that is not what the slots hold (uniform noise).
    """

    slots: Tensor
    decided: Tensor
    confidence: Tensor
    revoked: Tensor
    pinned: tuple[int, ...] = ()
    required: bytes = b""
    forced: dict[int, int] = field(default_factory=dict)
    answer: Tensor | None = None

    @staticmethod
    def empty(size: int, device: torch.device, pinned: Sequence[int] = (), required: bytes = b"") -> Canvas:
        """A canvas of `size` undecided slots."""
        return Canvas(
            slots=torch.zeros(size, dtype=torch.long, device=device),
            decided=torch.zeros(size, dtype=torch.bool, device=device),
            confidence=torch.zeros(size, device=device),
            revoked=torch.zeros(size, dtype=torch.long, device=device),
            pinned=tuple(pinned),
            required=required,
        )

    def __len__(self) -> int:
        return len(self.slots)

    @property
    def shown(self) -> Tensor:
        """[n]: what a person is shown of each decided slot."""
        return self.slots if self.answer is None else self.answer

    @property
    def finished(self) -> bool:
        return bool(self.decided.all())

    def expand(self, slot: int) -> None:
        """Puts two undecided slots in one's place."""
        self._keep([*range(slot + 1), *range(slot, len(self))], fresh=(slot, slot + 1))

    def delete(self, slot: int) -> None:
        """Takes a slot out."""
        self._keep([i for i in range(len(self)) if i != slot])

    def _keep(self, places: list[int], fresh: tuple[int, ...] = ()) -> None:
        """The slots at these places, in this order; `fresh` ones (new numbering) undecided."""
        at = torch.tensor(places, dtype=torch.long, device=self.slots.device)
        self.slots, self.decided = self.slots[at], self.decided[at]
        self.confidence, self.revoked = self.confidence[at], self.revoked[at]
        self.answer = None
        self.forced = {new: self.forced[old] for new, old in enumerate(places) if old in self.forced}
        for slot in fresh:
            self.decided[slot] = False

    def tokens(self, fill_end: int) -> list[int]:
        """The decided tokens up to the fill end or the first undecided slot."""
        found: list[int] = []
        for token, decided in zip(self.shown.tolist(), self.decided.tolist(), strict=True):
            if not decided or token == fill_end:
                break
            found.append(token)
        return found

    def mean_confidence(self, fill_end: int) -> float:
        """Over the slots that the text is made of, the fill end included: it says that the text ends here."""
        count = min(len(self.tokens(fill_end)) + 1, len(self))
        return float(self.confidence[:count].mean()) if count else 0.0

    def draft(self, tokenizer: Tokenizer, fill_end: int) -> tuple[str, tuple[DraftSlot, ...]]:
        """The text a person would see after this step, undecided slots as a dot, and each slot by itself."""
        slots = []
        for token, decided, confidence in zip(
            self.shown.tolist(), self.decided.tolist(), self.confidence.tolist(), strict=True
        ):
            if decided and token == fill_end:
                break
            slots.append(DraftSlot(tokenizer.decode([token]) if decided else UNDECIDED, confidence, decided))
        text = "".join(slot.text for slot in slots)
        given = self.required.decode(errors="replace")
        return text.removeprefix(given), tuple(slots)


def may_begin(token_bytes: Sequence[bytes], required: bytes) -> list[int]:
    """Ids of the tokens that a text beginning with `required` may begin with; all that are not empty, if it is empty."""
    return [i for i, b in enumerate(token_bytes) if b and (b.startswith(required) or required.startswith(b))]


def valid_text(data: bytes) -> str:
    """The longest start of `data` that is UTF-8: a canvas may end within a character."""
    try:
        return data.decode()
    except UnicodeDecodeError as broken:
        return data[: broken.start].decode()
