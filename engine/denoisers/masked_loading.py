"""From a folder to a whole-sequence or block denoiser: by our own forward pass where the model is shaped like Qwen or Llama,
by the code that comes with it where a person has said that it may be run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from engine.denoisers import families
from engine.denoisers.base import Denoiser
from engine.denoisers.block_diffusion import BlockDiffusionDenoiser
from engine.denoisers.device import float_precision
from engine.denoisers.on_disk import check_memory, check_whole
from engine.denoisers.passes import OwnCodePass, OwnPass, Pass
from engine.denoisers.sampling import SamplerSettings
from engine.denoisers.transformer import Shape, Transformer
from engine.denoisers.weights import read_tensors
from engine.denoisers.whole_sequence import WholeSequenceDenoiser
from engine.errors import ModelUnavailable
from engine.memory import give_back
from engine.tokenizer import Tokenizer

if TYPE_CHECKING:
    from engine.denoisers.loading import Description

OUR_SHAPES = ("llama", "qwen2", "qwen3")


def described(folder: Path, config: dict[str, Any], recipe: families.Recipe | None) -> dict[str, Any]:
    """What the recipe, `config.json`, `generation_config.json` and the tokenizer's added tokens say of a masked model."""
    generation = _read(folder / "generation_config.json")
    added = {token["content"]: token for token in _read(folder / "tokenizer.json").get("added_tokens") or []}

    def named(key: str) -> int | None:
        value = config.get(key, generation.get(key))
        value = value[0] if isinstance(value, list) and value else value
        return value if isinstance(value, int) else None

    def token(key: str, text: str) -> int | None:
        found = named(key)
        return found if found is not None else added.get(text, {}).get("id")

    values: dict[str, Any] = dict(recipe.values) if recipe else {}
    mask, end = named("mask_token_id"), named("eos_token_id")
    if mask is not None:
        values["mask"] = mask
    start = named("bos_token_id") if named("bos_token_id") is not None else end
    if start is not None:
        values["start"] = start
    special = {t["id"] for t in added.values() if t.get("special")}
    values["control"] = sorted(special | {i for i in (mask, end, start, named("pad_token_id")) if i is not None})
    if recipe and recipe.family == families.WHOLE_SEQUENCE and recipe.shape == "qwen2":
        values |= {"end": end}  # as DreamOn's own prompt has it
        values |= {"expand": token("expand_token_id", "<|expand|>"), "delete": token("delete_token_id", "<|delete|>")}
    if recipe and recipe.block:
        key, size = recipe.block
        values["block"] = config.get(key) if isinstance(config.get(key), int) else size
    return values


def load_masked(
    folder: Path,
    name: str,
    config: dict[str, Any],
    description: Description,
    device: torch.device,
    dtype: torch.dtype,
    progress: Callable[[float, str], None],
    trust_remote_code: bool,
) -> Denoiser:
    """Raises `ModelUnavailable`."""
    if description.mask is None:
        raise ModelUnavailable(f"{folder}: neither config.json nor denoiser.json names the mask token")
    if description.family == families.BLOCKS and description.block < 1:
        raise ModelUnavailable(f"{folder}: a model of blocks needs their size: `block` in denoiser.json")
    shape = _shape(config)
    if shape is None and not trust_remote_code:
        raise ModelUnavailable(_refusal(folder, config))
    if shape is None:
        dtype = float_precision(device, dtype)
    files = check_whole(folder)
    check_memory(folder, files, dtype, device, families.what_fits)
    progress(0.1, "reading the tokenizer")
    tokenizer = Tokenizer(folder / "tokenizer.json")
    progress(0.2, "reading the weights")
    model, run = None, None
    if shape is None:
        run = _own_code(folder, config, device, dtype)
    else:
        state = _renamed(read_tensors(folder, dtype))
        progress(0.6, "laying out the weights")
        model = Transformer(shape, state, dtype).to(device)
        del state
        give_back()  # what loading took and nobody needs any more
    vocabulary = run.vocabulary if run else model.shape.vocabulary  # type: ignore[union-attr]
    for token in (description.mask, description.start, description.expand, description.delete, description.end):
        if token is not None and not 0 <= token < vocabulary:
            raise ModelUnavailable(f"{folder}: token {token} is not among the model's {vocabulary}")
    sampling = SamplerSettings(
        threshold=SamplerSettings.threshold if description.threshold is None else description.threshold,
        replace_above=description.replace_above,
    )
    common: dict[str, Any] = {
        "mask": description.mask,
        "shifted": description.shifted,
        "control": frozenset(description.control),
        "start": description.start,
        "window": description.window,
        "sampling": sampling,
    }
    progress(1.0, "ready")
    if description.family == families.BLOCKS:
        return BlockDiffusionDenoiser(name, model, tokenizer, block=description.block, run=run, **common)
    whole: Pass = run or OwnPass(model)  # type: ignore[arg-type]
    edits: dict[str, Any] = {"end": description.end, "expand": description.expand, "delete": description.delete}
    return WholeSequenceDenoiser(name, whole, tokenizer, **edits, **common)


def _shape(config: dict[str, Any]) -> Shape | None:
    """The shape of our own pass; None for a model that only its own code can run."""
    recipe = families.RECIPES.get(config.get("model_type", ""))
    shape = recipe.shape if recipe else config.get("model_type")
    if shape == "llada":  # LLaDA-MoE has the same model type, and another shape
        return Shape.from_config(_llada(config)) if "n_layers" in config else None
    return Shape.from_config(config | {"model_type": shape}) if shape in OUR_SHAPES else None


def _llada(config: dict[str, Any]) -> dict[str, Any]:
    """LLaDA's config (OLMo's names) in Llama's names. Raises `ModelUnavailable` for parts that its 8B does not have."""
    for key, wanted in (("include_bias", False), ("block_type", "llama"), ("layer_norm_type", "rms")):
        if config.get(key, wanted) != wanted:
            raise ModelUnavailable(f"a LLaDA with {key} = {config[key]!r} is not supported")
    names = {
        "hidden_size": "d_model",
        "num_hidden_layers": "n_layers",
        "num_attention_heads": "n_heads",
        "num_key_value_heads": "n_kv_heads",
        "intermediate_size": "mlp_hidden_size",
        "max_position_embeddings": "max_sequence_length",
        "tie_word_embeddings": "weight_tying",
        "attention_bias": "include_qkv_bias",
        "rope_theta": "rope_theta",
        "rms_norm_eps": "rms_norm_eps",
    }
    made = {ours: config[theirs] for ours, theirs in names.items() if config.get(theirs) is not None}
    size = config.get("embedding_size") or config.get("vocab_size")
    return made | {"model_type": "llama", "vocab_size": size}


_LLADA_NAMES = (
    ("model.transformer.wte.", "model.embed_tokens."),
    ("model.transformer.ln_f.", "model.norm."),
    ("model.transformer.ff_out.", "lm_head."),
    ("model.transformer.blocks.", "model.layers."),
    (".q_proj.", ".self_attn.q_proj."),
    (".k_proj.", ".self_attn.k_proj."),
    (".v_proj.", ".self_attn.v_proj."),
    (".attn_out.", ".self_attn.o_proj."),
    (".attn_norm.", ".input_layernorm."),
    (".ff_norm.", ".post_attention_layernorm."),
    (".ff_proj.", ".mlp.gate_proj."),
    (".up_proj.", ".mlp.up_proj."),
    (".ff_out.", ".mlp.down_proj."),
)


def _renamed(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """LLaDA's names of weights as Llama's; all others as they are."""
    if not any(name.startswith("model.transformer.") for name in state):
        return state
    renamed = {}
    for name, value in state.items():
        for theirs, ours in _LLADA_NAMES:
            name = name.replace(theirs, ours)
        renamed[name] = value
    return renamed


def _refusal(folder: Path, config: dict[str, Any]) -> str:
    kind = config.get("model_type")
    if not config.get("auto_map"):
        return f"{folder}: a model of type {kind!r} is not known, and no code comes with it (see `midfill models`)"
    file = next(iter(str(v) for v in config["auto_map"].values())).split("--")[-1].split(".")[0]
    return (
        f"{folder}: a model of type {kind!r} is run by code that comes with it ({file}.py and what that imports), which "
        "could do anything on this machine: read it, then give --trust-remote-code"
    )


def _own_code(folder: Path, config: dict[str, Any], device: torch.device, dtype: torch.dtype) -> OwnCodePass:
    """The model as its own code makes it. Called only where that is trusted."""
    from engine.denoisers.gemma_loading import quiet, require_transformers

    require_transformers()
    import transformers

    quiet()
    names = config.get("auto_map") or {}
    auto: Any = transformers.AutoModelForCausalLM if "AutoModelForCausalLM" in names else transformers.AutoModel
    try:
        model = auto.from_pretrained(folder, trust_remote_code=True, local_files_only=True, dtype=dtype)
    except Exception as broken:  # whatever that code raises
        reason = " ".join(f"{type(broken).__name__}: {broken}".split())[:200]
        raise ModelUnavailable(f"{folder}: its own code cannot load it: {reason}") from None
    context = config.get("max_position_embeddings") or config.get("max_sequence_length") or 2048
    return OwnCodePass(model.eval().requires_grad_(False).to(device), context)


def _read(path: Path) -> dict[str, Any]:
    """A JSON object; empty where there is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
