"""DiffusionGemma: a causal encoder fills the cache, a decoder with the same weights denoises a canvas of random tokens.

Google's model through transformers' own classes (`transformers.models.diffusion_gemma`), with a loop of ours: encoder and
decoder are called directly, so that tokens can be pinned, steps watched and cancelled, and the cache kept from one
keystroke to the next. Its `generate` does none of these.

    encoded: [ user turn: request, file with its hole marked ][ model turn: "<fence>", start of a long line ]
    canvas:  [ opening, pinned ][ slots ][ start of the suffix, pinned ][ closing, pinned ]

The decoder never writes the cache. In a step after the first it reads the logits that the step before was judged by; a
pinned place's are its own token's, for certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from engine.canvas import Canvas
from engine.denoisers.base import PREFILL_CHUNK, Encoded, Noise, Step, SuffixPlace, Traits
from engine.denoisers.diffusion_gemma_prompt import write
from engine.denoisers.rollback import RollbackCache
from engine.denoisers.sampling import Rule, SamplerSettings
from engine.filler import CancelToken
from engine.tokenizer import Tokenizer

WINDOW = 8192  # tokens of prompt and canvas: far more than is read of a document


@dataclass(frozen=True)
class Frame:
    """What stands around the slots of a canvas. suffix: all of it; `closing` stands behind a canvas that pins the whole."""

    opening: list[int]
    suffix: list[int]
    closing: list[int]

    def around(self, canvas: Canvas) -> tuple[list[int], list[int]]:
        """The tokens before and behind a canvas's slots."""
        pinned = list(canvas.pinned)
        return self.opening, pinned + (self.closing if pinned and pinned == self.suffix else [])


class DiffusionGemmaDenoiser:
    """model: a `DiffusionGemmaForBlockDiffusion`. head, tail: what the chat template puts around the user's text; None for
    a plain continuation of the prefix, without prompt or frame. fill_end: the token that ends the model's turn.
    """

    def __init__(
        self,
        name: str,
        model: Any,
        tokenizer: Tokenizer,
        *,
        fill_end: int,
        control: frozenset[int],
        head: list[int] | None = None,
        tail: list[int] | None = None,
    ) -> None:
        self.name, self.tokenizer, self._model = name, tokenizer, model
        self._head, self._tail = head, tail
        text = model.config.text_config
        size = model.config.canvas_length
        share = size // 8 if head is not None else 0  # of the canvas, for what is pinned on either side
        self._most_opening = share
        self.traits = Traits(
            noise=Noise.UNIFORM,
            suffix=SuffixPlace.BOTH,
            learns_length=False,
            exact_cache=True,
            fill_end=fill_end,
            control=control,
            max_slots=size - 2 * share - (4 if head is not None else 0),
            max_pinned=share,
            window=min(WINDOW, text.max_position_embeddings),
            vocabulary=text.vocab_size,
            conditioned=True,
            sampling=_sampling(model.generation_config),
        )
        self._layers = list(text.layer_types)
        self._cache = RollbackCache(self._layers, text.sliding_window)

    @property
    def device(self) -> torch.device:
        return self._model.device

    @torch.inference_mode()
    def encode(self, prefix: list[int], suffix: list[int], cancel: CancelToken) -> Encoded:
        """Reads the prompt; only what the cache does not hold is encoded. Raises `Cancelled` between two chunks."""
        if self._head is None or self._tail is None:
            ids, frame = list(prefix), Frame([], [], [])
        else:
            encode, decode = self.tokenizer.encode, self.tokenizer.decode
            prompt = write(decode(prefix), decode(suffix))
            opening = encode(prompt.opening)
            cut = max(0, len(opening) - self._most_opening)
            user = encode(prompt.user)[-(self.traits.window - self.traits.max_slots - 512) :]
            ids = self._head + user + self._tail + opening[:cut]
            frame = Frame(opening[cut:], suffix, encode(prompt.closing)[:4])
        kept = self._cache.keep(ids)
        for begin in range(kept, len(ids), PREFILL_CHUNK):
            cancel.check()
            chunk = ids[begin : begin + PREFILL_CHUNK]
            positions = torch.arange(begin, begin + len(chunk), device=self.device)[None]
            tokens = torch.tensor([chunk], device=self.device)
            self._model.model.encoder(input_ids=tokens, cache=self._cache, position_ids=positions)
            self._cache.tokens += chunk
        return Encoded(len(ids), kept, state=frame)

    def step(self, encoded: Encoded, canvas: Canvas, carry: Any = None) -> Step:
        """One decoder pass; logits of the slots alone. carry: [slots, vocabulary], what the step before was judged by."""
        return self.step_many(encoded, [canvas], [carry])[0]

    @torch.inference_mode()
    def step_many(self, encoded: Encoded, canvases: Sequence[Canvas], carries: Sequence[Any]) -> list[Step]:
        """`step` for several canvases over the same context, in one pass; they may differ in their number of slots."""
        frame: Frame = encoded.state
        rows = [_row(frame, canvas) for canvas in canvases]
        length = max(len(row) for row in rows)
        self._cache.show(len(rows))
        try:
            hidden = self._model.model.decoder(
                decoder_input_ids=torch.stack([_padded(row, length) for row in rows]),
                cache=self._cache,
                self_conditioning_logits=self._conditioning(frame, canvases, carries, length),
                self_conditioning_mask=_mixed(carries, self.device),
                decoder_attention_mask=self._mask([len(row) for row in rows], length),
                decoder_position_ids=torch.arange(encoded.tokens, encoded.tokens + length, device=self.device)[None],
            ).last_hidden_state
        finally:
            self._cache.show(1)
        steps = []
        for row, canvas in zip(hidden, canvases, strict=True):
            at = len(frame.opening)
            steps.append(Step(self._logits(row[at : at + len(canvas)])))
        return steps

    def _logits(self, hidden: Tensor) -> Tensor:
        """[slots, h] -> [slots, vocabulary] in fp32, capped softly as the model has it."""
        cap = self._model.final_logit_softcapping
        return torch.tanh(self._model.lm_head(hidden).float() / cap) * cap

    def _conditioning(
        self, frame: Frame, canvases: Sequence[Canvas], carries: Sequence[Any], length: int
    ) -> Tensor | None:
        """[canvases, length, vocabulary] in the weights' format; None in the first step."""
        if all(carry is None for carry in carries):
            return None
        dtype = self._model.model.decoder.embed_tokens.weight.dtype
        shape = (len(canvases), length, self.traits.vocabulary)
        made = torch.zeros(shape, dtype=dtype, device=self.device)
        for row, canvas, carry in zip(made, canvases, carries, strict=True):
            if carry is None:
                continue
            before, behind = frame.around(canvas)
            at, end = len(before), len(before) + len(canvas)
            row[at:end] = carry.to(dtype)
            places = [*range(at), *range(end, end + len(behind))]
            row[places] = -torch.inf
            row[places, before + behind] = 0.0
        return made

    def _mask(self, lengths: list[int], length: int) -> dict[str, Tensor | None] | None:
        """None where all canvases have one length: all sees all. Otherwise nobody sees what only pads a shorter one."""
        if len(set(lengths)) == 1:
            return None
        masks: dict[str, Tensor | None] = {}
        for kind in set(self._layers):
            read = self._cache.places_seen(self._layers.index(kind))
            mask = torch.ones(len(lengths), 1, length, read + length, dtype=torch.bool, device=self.device)
            for row, own in zip(mask, lengths, strict=True):
                row[:, :, read + own :] = False
            masks[kind] = mask
        return masks


def _row(frame: Frame, canvas: Canvas) -> Tensor:
    """The canvas as the decoder reads it: opening, slots, pinned tokens."""
    before, behind = frame.around(canvas)
    like = canvas.slots
    return torch.cat((like.new_tensor(before, dtype=torch.long), like, like.new_tensor(behind, dtype=torch.long)))


def _padded(row: Tensor, length: int) -> Tensor:
    return torch.nn.functional.pad(row, (0, length - len(row)))


def _mixed(carries: Sequence[Any], device: torch.device) -> Tensor | None:
    """Which canvases have a carry, where some have none yet."""
    given = [carry is not None for carry in carries]
    return torch.tensor(given, device=device) if any(given) and not all(given) else None


def _sampling(config: Any) -> SamplerSettings:
    """The checkpoint's own settings, and the class's defaults where it says nothing."""
    values = {k: v for k, v in config.to_dict().items() if v is not None}
    defaults = config._get_default_generation_params()
    bound = getattr(config, "sampler_config", None) or defaults["sampler_config"]

    def of(name: str) -> Any:
        return values.get(name, defaults[name])

    return SamplerSettings(
        rule=Rule.ENTROPY,
        entropy_bound=bound.entropy_bound,
        sure_entropy=of("confidence_threshold"),
        max_steps=of("max_denoising_steps"),
        schedule=(of("t_max"), of("t_min")),
        stable_steps=of("stability_threshold"),
    )
