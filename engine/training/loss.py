"""One training document through the transformer: the clean causal streams once, without gradient, then all its canvases.

This is block diffusion's training pass (BD3-LM, arXiv 2503.09573: one clean stream, noisy blocks that look at it)
with the stream encoded by the frozen base, so that only the canvases are differentiated.
"""

from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.denoisers.layout import MAX_SUFFIX
from engine.denoisers.transformer import Adapter, Masked, Transformer
from engine.training.examples import TrainingDocument


class _Keep:
    """Keeps each layer's keys and values of the clean streams."""

    def __init__(self) -> None:
        self.layers: list[tuple[Tensor, Tensor]] = []

    def extend(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        self.layers.append((keys, values))
        return keys, values


class _Behind:
    """Puts a canvas's keys and values behind the kept ones."""

    def __init__(self, kept: _Keep) -> None:
        self._kept = kept.layers

    def extend(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        before_keys, before_values = self._kept[layer]
        before_keys, before_values = before_keys.to(keys.dtype), before_values.to(values.dtype)  # read in int8, say
        return torch.cat((before_keys, keys), 2), torch.cat((before_values, values), 2)


class _BySpot:
    """Attention of each spot's canvases over the prefix, their own suffix and themselves (an `Attention`).

    Of all the pairs of a document's tokens a canvas looks at one in five: the others are not even computed.
    """

    def __init__(self, parts: list[tuple[slice, slice, slice, Tensor]], context: int) -> None:
        """parts: of each spot, its places among the queries, those of the prefix and of its suffix among `context` kept
        ones, and its mask."""
        self._context = context
        self._parts = parts

    def __call__(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        found = []
        for own, prefix, suffix, mask in self._parts:
            among = slice(self._context + own.start, self._context + own.stop)
            seen = [torch.cat((x[:, :, prefix], x[:, :, suffix], x[:, :, among]), 2) for x in (keys, values)]
            attend = Masked(mask, queries.shape[1] // keys.shape[1])
            found.append(attend(queries[:, :, own], seen[0], seen[1]))
        return torch.cat(found, 2)


def document_loss(
    model: Transformer, adapter: Adapter, document: TrainingDocument, reader: Transformer | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """reader: encodes the context in the model's place: the same weights in int8, as in use.

    Weighted sum of the masked slots' cross-entropies (a scalar with gradient), the sum of weights, and the share
    of masked slots up to the fill end whose best token is the right one (both scalars without gradient)."""
    device = model.device
    streams = [document.prefix, *document.suffixes]
    first = torch.tensor([sum(map(len, streams[:i])) for i in range(len(streams))], device=device)
    stream_of = torch.cat([torch.full((len(s),), i) for i, s in enumerate(streams)]).to(device)
    ids = torch.tensor([t for s in streams for t in s], device=device)
    index = torch.arange(len(ids), device=device)
    starts = torch.tensor([MAX_SUFFIX, *(MAX_SUFFIX - len(s) for s in document.suffixes)], device=device)
    positions = index - first[stream_of] + starts[stream_of]
    with torch.no_grad():
        causal = (stream_of[:, None] == stream_of[None, :]) & (index[:, None] >= index[None, :])
        kept = _Keep()
        reads = reader or model
        reads(reads.embed(ids[None]), positions, kept, causal)

    canvas_of: list[int] = []
    tokens: list[int] = []
    masked: list[bool] = []
    weights: list[float] = []
    places: list[int] = []
    prefix_lengths: list[int] = []
    spots: list[int] = []
    causal_canvases: list[bool] = []
    for number, canvas in enumerate(document.canvases):
        size = 1 + len(canvas.tokens)
        canvas_of += [number] * size
        tokens += [document.prefix[canvas.prefix_length - 1], *canvas.tokens]
        masked += [False, *canvas.masked]
        weights += [*canvas.weights, 0.0]  # shifted: the place before a slot predicts it
        places += range(MAX_SUFFIX + canvas.prefix_length - 1, MAX_SUFFIX + canvas.prefix_length - 1 + size)
        prefix_lengths += [canvas.prefix_length - 1] * size
        spots += [canvas.spot + 1] * size
        causal_canvases += [canvas.causal] * size
    noisy = torch.tensor(tokens, device=device)
    x = torch.where(
        torch.tensor(masked, device=device)[:, None], adapter.mask_embedding.to(model.dtype), model.embed(noisy)
    )
    canvas_index, place = torch.tensor(canvas_of, device=device), torch.arange(len(canvas_of), device=device)
    causal_places = torch.tensor(causal_canvases, device=device)
    length_before = torch.tensor(prefix_lengths, device=device)
    parts = []
    for own, spot in _runs(spots):
        suffix = slice(int(first[spot]), int(first[spot]) + len(streams[spot]))
        longest = max(prefix_lengths[own])
        before = torch.arange(longest, device=device)[None, :] < length_before[own][:, None]
        after = torch.ones(len(before), suffix.stop - suffix.start, dtype=torch.bool, device=device)
        within = canvas_index[own][:, None] == canvas_index[own][None, :]
        within &= (place[own][:, None] >= place[own][None, :]) | ~causal_places[own][:, None]
        parts.append((own, slice(0, longest), suffix, torch.cat((before, after, within), 1)))
    attention = _BySpot(parts, len(ids))
    hidden = model(x[None], torch.tensor(places, device=device), _Behind(kept), None, adapter, attention)[0]
    weight = torch.tensor(weights, device=device)
    scored = weight.nonzero()[:, 0]
    targets = noisy[scored + 1]
    logits = model.logits(hidden[scored])
    losses = F.cross_entropy(logits, targets, reduction="none")
    weight = weight[scored]
    inside = weight == 1.0
    right = (logits.argmax(-1) == targets)[inside].float().mean() if inside.any() else torch.zeros(())
    return (losses * weight).sum(), weight.sum(), right.detach()


def _runs(spots: list[int]) -> list[tuple[slice, int]]:
    """Where each stretch of equal entries lies, and the entry."""
    found, start = [], 0
    for spot, group in itertools.groupby(spots):
        stop = start + len(list(group))
        found.append((slice(start, stop), spot))
        start = stop
    return found
