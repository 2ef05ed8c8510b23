"""What a denoiser is to the rest of the engine: it encodes what is read, and scores a canvas's slots."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from torch import Tensor

from engine.canvas import Canvas
from engine.denoisers.sampling import SamplerSettings
from engine.filler import CancelToken
from engine.tokenizer import Tokenizer

PREFILL_CHUNK = 128  # tokens encoded between two looks at the cancel flag


class Noise(enum.Enum):
    """What stands in an undecided slot: the mask token (absorbing), or a random token (uniform)."""

    ABSORBING = "absorbing"
    UNIFORM = "uniform"


class SuffixPlace(enum.Enum):
    """Where a denoiser wants the suffix: pinned in the canvas behind the slots, encoded beside the prefix, or both."""

    PINNED = "pinned"
    ENCODED = "encoded"
    BOTH = "both"


@dataclass(frozen=True)
class Traits:
    """What a denoiser declares of itself. `window`: tokens that fit, canvas and all. `max_slots`: of one canvas.

    `vocabulary`: how many tokens there are to draw uniform noise from. `exact_cache`: a reused cache gives what a
    fresh one would. `fill_end`: -1 where the model has none. `conditioned`: the next step reads the logits that the
    sampler judged by, as its carry. `sampling`: how the model is sampled, where nobody says otherwise.
    """

    noise: Noise
    suffix: SuffixPlace
    learns_length: bool
    exact_cache: bool
    fill_end: int
    control: frozenset[int]
    max_slots: int
    max_pinned: int
    window: int
    vocabulary: int
    conditioned: bool = False
    sampling: SamplerSettings = field(default_factory=SamplerSettings)


@dataclass(frozen=True)
class Encoded:
    """What the denoiser has read. `state` is its own affair and is good until the next `encode`."""

    tokens: int
    cached_tokens: int
    state: Any


@dataclass(frozen=True)
class Edit:
    """What a model would rather do with a slot than fill it: make two of it, or take it out. confidence: 0 to 1."""

    slot: int
    expand: bool
    confidence: float


@dataclass(frozen=True)
class Step:
    """logits: [slots, vocabulary] in fp32. edits: proposed, one a slot at most (DreamOn); carry: for the next step."""

    logits: Tensor
    edits: tuple[Edit, ...] = ()
    carry: Any = None


@runtime_checkable
class BatchDenoiser(Protocol):
    """A denoiser that can score several canvases of one size in one pass."""

    def step_many(self, encoded: Encoded, canvases: Sequence[Canvas], carries: Sequence[Any]) -> list[Step]:
        """What `step` gives for each canvas."""
        ...


@runtime_checkable
class SharingDenoiser(Protocol):
    """A denoiser whose weights several threads may use at once."""

    def sibling(self) -> Denoiser:
        """Another over the same weights, with a cache of its own."""
        ...


@dataclass(frozen=True)
class Likelihood:
    """How a text of n tokens was read. logp: [n], natural logarithm of each token's probability; rivals, rival_logp: [n, k],
    the likeliest tokens of each place, best first."""

    logp: Tensor
    rivals: Tensor
    rival_logp: Tensor


@runtime_checkable
class CausalReader(Protocol):
    """A denoiser that can also read a text left to right, as the model it was made from did."""

    def read(
        self, prefix: list[int], texts: Sequence[list[int]], cancel: CancelToken, rivals: int = 64
    ) -> list[Likelihood]:
        """rivals: how many are told for each place. Each text as what follows the prefix. Texts must not be empty. Raises `Cancelled`, as `encode`."""
        ...


@runtime_checkable
class BlockwiseDenoiser(Protocol):
    """A denoiser whose canvases end where a block of its training ends."""

    def room(self, prefix: Sequence[int], suffix: Sequence[int]) -> int:
        """How many slots the canvas behind this prefix may have; 1 or more."""
        ...


class Denoiser(Protocol):
    name: str
    tokenizer: Tokenizer
    traits: Traits

    @property
    def device(self): ...

    def encode(self, prefix: list[int], suffix: list[int], cancel: CancelToken) -> Encoded:
        """Reads the prefix (and the suffix, where `traits.suffix` says so). Raises `Cancelled` between two chunks."""
        ...

    def step(self, encoded: Encoded, canvas: Canvas, carry: Any) -> Step:
        """Scores every slot of the canvas once."""
        ...
