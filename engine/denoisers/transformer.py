"""A lean forward pass for Llama- and Qwen-shaped transformers: one file, no framework, for prefill, denoising and training.

The same weights are run in two ways. Plainly, as the causal model they were trained to be; and adapted, with a
low-rank update on every linear map (LoRA, arXiv 2106.09685) and its own norm gains, as the denoiser of a canvas.
The context is always encoded plainly, so its cache is the base's own (the idea of gated LoRA, arXiv 2507.11851).

Shapes: n tokens, h hidden, H heads, K key-value heads, d head size, B canvases side by side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.denoisers.int8 import Int8Weight
from engine.errors import ModelUnavailable


@dataclass(frozen=True)
class Shape:
    """The sizes of a transformer, under the names of the design's own; read from a Hugging Face `config.json`."""

    vocabulary: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_size: int
    mlp: int
    rope_theta: float
    epsilon: float
    context: int
    tied: bool = True
    qkv_bias: bool = False
    qk_norm: bool = False

    @staticmethod
    def from_config(config: dict[str, Any]) -> Shape:
        """Raises `ModelUnavailable` for a config of another family, or one with a part that this pass does not know."""
        family = config.get("model_type")
        if family not in ("llama", "qwen2", "qwen3"):
            raise ModelUnavailable(f"a model of type {family!r} is not Llama- or Qwen-shaped (llama, qwen2, qwen3)")
        rope = config.get("rope_parameters") or {}
        scaling = config.get("rope_scaling") or rope
        if scaling and scaling.get("rope_type", scaling.get("type", "default")) not in ("default", None):
            raise ModelUnavailable(f"rope scaling {scaling} is not supported")
        if config.get("use_sliding_window") or config.get("mlp_bias"):
            raise ModelUnavailable("sliding windows and MLP biases are not supported by the block-causal denoiser")
        try:
            heads, hidden = config["num_attention_heads"], config["hidden_size"]
            return Shape(
                vocabulary=config["vocab_size"],
                hidden=hidden,
                layers=config["num_hidden_layers"],
                heads=heads,
                kv_heads=config.get("num_key_value_heads") or heads,
                head_size=config.get("head_dim") or hidden // heads,
                mlp=config["intermediate_size"],
                rope_theta=float(rope.get("rope_theta") or config.get("rope_theta") or 10000.0),
                epsilon=config.get("rms_norm_eps", 1e-6),
                context=config.get("max_position_embeddings", 2048),
                tied=config.get("tie_word_embeddings", False),
                qkv_bias=family == "qwen2" or bool(config.get("attention_bias")),
                qk_norm=family == "qwen3",
            )
        except KeyError as missing:
            raise ModelUnavailable(f"config.json lacks {missing}") from None

    @property
    def qkv(self) -> int:
        return (self.heads + 2 * self.kv_heads) * self.head_size


class Past(Protocol):
    """Where a layer's new keys and values go, and what it attends to with them before it."""

    def extend(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """[B, K, n, d] each in; all that is attended to, [B, K, m + n, d] each, out."""
        ...


class Attention(Protocol):
    """Which keys each query looks at, and what it takes from there."""

    def __call__(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """queries [B, H, n, d]; keys, values [B, K, m + n, d] -> [B, H, n, d]. Query heads of one key-value head stand one
        after another."""
        ...


class NoPast:
    def extend(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        return keys, values


class Masked:
    """Every query over all keys, but those that a mask forbids it: boolean [n, m + n], or [B, n, m + n]."""

    def __init__(self, mask: Tensor | None, group: int) -> None:
        if mask is not None:
            mask = mask.repeat(group, 1) if mask.dim() == 2 else mask.repeat(1, group, 1)[:, None]
        self._mask = mask

    def __call__(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        batch, _, n, size = queries.shape
        grouped = queries.reshape(batch, keys.shape[1], -1, size)
        return F.scaled_dot_product_attention(grouped, keys, values, attn_mask=self._mask).view(batch, -1, n, size)


class Adapter(nn.Module):
    """What turns the base into a denoiser: low-rank updates of each layer's four linear maps, norm gains, a mask embedding."""

    def __init__(self, shape: Shape, rank: int) -> None:
        super().__init__()
        self.rank = rank
        sizes = {
            "qkv": (shape.hidden, shape.qkv),
            "out": (shape.heads * shape.head_size, shape.hidden),
            "gate_up": (shape.hidden, 2 * shape.mlp),
            "down": (shape.mlp, shape.hidden),
        }
        for name, (inputs, outputs) in sizes.items():
            down = torch.randn(shape.layers, rank, inputs) / math.sqrt(inputs)
            self.register_parameter(f"{name}_a", nn.Parameter(down))
            self.register_parameter(f"{name}_b", nn.Parameter(torch.zeros(shape.layers, outputs, rank)))
        self.norms = nn.Parameter(torch.ones(shape.layers, 2, shape.hidden))  # factors on the base's gains
        self.mask_embedding = nn.Parameter(torch.zeros(shape.hidden))

    def apply_to(self, name: str, layer: int, x: Tensor, y: Tensor) -> Tensor:
        a, b = getattr(self, f"{name}_a")[layer], getattr(self, f"{name}_b")[layer]
        return y + F.linear(F.linear(x, a.to(x.dtype)), b.to(x.dtype))

    def gain(self, layer: int, norm: int, base: Tensor) -> Tensor:
        """The base's gain of a layer's first (0) or second (1) norm, times the adapter's own factors."""
        return base * self.norms[layer, norm].to(base.dtype)


class Transformer(nn.Module):
    """The base's weights, with the maps that read the same input fused (q, k, v; gate, up). Frozen: `requires_grad` is off."""

    def __init__(self, shape: Shape, state: dict[str, Any], dtype: torch.dtype = torch.float32) -> None:
        """`state`: Hugging Face names. dtype: of the weights; int8 keeps matrices in it and computes the rest in fp32.

        Raises `ModelUnavailable` where a weight is missing or of another shape."""
        super().__init__()
        self.shape = shape
        self.dtype = torch.float32 if dtype == torch.int8 else dtype
        try:
            self.embedding = _matrix(state["model.embed_tokens.weight"], dtype)
            self.head = self.embedding if shape.tied else _matrix(state["lm_head.weight"], dtype)
            self.final_norm = state["model.norm.weight"].to(self.dtype)
            self.layer_weights = [_fuse(state, f"model.layers.{i}.", shape, dtype) for i in range(shape.layers)]
        except KeyError as missing:
            raise ModelUnavailable(f"the weights lack {missing}") from None
        if self.embedding.shape != (shape.vocabulary, shape.hidden) or len(self.layer_weights[0]["qkv"]) != shape.qkv:
            raise ModelUnavailable("the weights do not have the shapes that config.json says")
        half = shape.head_size // 2
        self.frequencies = shape.rope_theta ** (-torch.arange(half, dtype=torch.float32) / half)
        self.adapter: Adapter | None = None

    @property
    def device(self) -> torch.device:
        return self.final_norm.device

    def _apply(self, fn, recurse=True):  # moves the plain tensors along with the module's own
        super()._apply(fn, recurse)

        def moved(weight):
            return weight.mapped(fn) if isinstance(weight, Int8Weight) else fn(weight)

        tied = self.head is self.embedding
        self.embedding, self.final_norm = moved(self.embedding), fn(self.final_norm)
        self.head = self.embedding if tied else moved(self.head)
        self.layer_weights = [{k: moved(v) for k, v in w.items()} for w in self.layer_weights]
        self.dtype = self.final_norm.dtype
        self.frequencies = fn(self.frequencies).float()
        return self

    def embed(self, ids: Tensor) -> Tensor:
        if isinstance(self.embedding, Int8Weight):
            return self.embedding.rows(ids)
        return F.embedding(ids, self.embedding)

    def embedding_of(self, token: int) -> Tensor:
        """[h] of one token."""
        if isinstance(self.embedding, Int8Weight):
            return self.embedding.rows(torch.tensor(token, device=self.device))
        return self.embedding[token]

    def logits(self, hidden: Tensor) -> Tensor:
        """[..., h] -> [..., vocabulary], in fp32."""
        return _times(self._norm(hidden, self.final_norm), self.head).float()

    def forward(
        self,
        x: Tensor,
        positions: Tensor,
        past: Past,
        mask: Tensor | None = None,
        adapter: Adapter | None = None,
        attention: Attention | None = None,
    ) -> Tensor:
        """Embedded tokens [B, n, h] at `positions` [n] through all layers: hidden states [B, n, h], before the last norm.

        mask: boolean [n, m + n], or [B, n, m + n], true where a token may look; None lets every token see everything.
        attention: one that knows better than a mask, in its place.
        """
        shape = self.shape
        angles = positions.float()[:, None] * self.frequencies[None, :]
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        attention = attention or Masked(mask, shape.heads // shape.kv_heads)
        batch, n, _ = x.shape
        split = [shape.heads * shape.head_size, shape.kv_heads * shape.head_size, shape.kv_heads * shape.head_size]
        for i, w in enumerate(self.layer_weights):
            h = self._norm(x, w["norm1"] if adapter is None else adapter.gain(i, 0, w["norm1"]))
            qkv = self._linear(h, "qkv", i, adapter)
            q, k, v = qkv.split(split, dim=-1)
            q = q.view(batch, n, shape.heads, shape.head_size).transpose(1, 2)
            k = k.view(batch, n, shape.kv_heads, shape.head_size).transpose(1, 2)
            v = v.view(batch, n, shape.kv_heads, shape.head_size).transpose(1, 2)
            if shape.qk_norm:
                q, k = self._norm(q, w["q_norm"]), self._norm(k, w["k_norm"])
            q, k = _rotate(q, cos, sin), _rotate(k, cos, sin)
            keys, values = past.extend(i, k, v)
            a = attention(q, keys, values).transpose(1, 2).reshape(batch, n, -1)
            x = x + self._linear(a, "out", i, adapter)
            h = self._norm(x, w["norm2"] if adapter is None else adapter.gain(i, 1, w["norm2"]))
            gate, up = self._linear(h, "gate_up", i, adapter).chunk(2, dim=-1)
            x = x + self._linear(F.silu(gate) * up, "down", i, adapter)
        return x

    def _linear(self, x: Tensor, name: str, layer: int, adapter: Adapter | None) -> Tensor:
        w = self.layer_weights[layer]
        y = _times(x, w[name], w.get(f"{name}_bias"))
        return y if adapter is None else adapter.apply_to(name, layer, x, y)

    def _norm(self, x: Tensor, gain: Tensor) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), gain, self.shape.epsilon)


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary position embedding (arXiv 2104.09864), Hugging Face's half-split layout. x: [B, heads, n, d]."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


def _times(x: Tensor, weight: Tensor | Int8Weight, bias: Tensor | None = None) -> Tensor:
    return weight.linear(x, bias) if isinstance(weight, Int8Weight) else F.linear(x, weight, bias)


def _matrix(weight: Tensor | Int8Weight, dtype: torch.dtype) -> Any:
    """In `dtype`. Any: what is not int8 is a tensor, as training needs it."""
    if dtype == torch.int8:
        return Int8Weight.of(weight)
    assert isinstance(weight, Tensor)
    return weight.to(dtype)


def _fuse(state: dict[str, Any], at: str, shape: Shape, dtype: torch.dtype) -> dict[str, Any]:
    def one(name: str) -> Any:
        whole = state[at + name]
        return (
            _matrix(whole, dtype)
            if len(whole.shape) == 2
            else whole.to(torch.float32 if dtype == torch.int8 else dtype)
        )

    def many(*names: str) -> Any:
        parts = [one(name) for name in names]
        return Int8Weight.joined(parts) if isinstance(parts[0], Int8Weight) else torch.cat(parts)

    attention = [f"self_attn.{p}_proj" for p in "qkv"]
    fused = {
        "norm1": one("input_layernorm.weight"),
        "qkv": many(*(f"{p}.weight" for p in attention)),
        "out": one("self_attn.o_proj.weight"),
        "norm2": one("post_attention_layernorm.weight"),
        "gate_up": many("mlp.gate_proj.weight", "mlp.up_proj.weight"),
        "down": one("mlp.down_proj.weight"),
    }
    if shape.qkv_bias:
        fused["qkv_bias"] = many(*(f"{p}.bias" for p in attention))
    if shape.qk_norm:
        fused |= {"q_norm": one("self_attn.q_norm.weight"), "k_norm": one("self_attn.k_norm.weight")}
    return fused
