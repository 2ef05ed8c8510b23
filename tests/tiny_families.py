"""Tiny models of the larger families, built on the spot: random weights, the class's own code, a tokenizer of its kind."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from tokenizers import Tokenizer as Backend
from tokenizers import decoders, normalizers, pre_tokenizers, trainers
from tokenizers.models import BPE

from engine.tokenizer import Tokenizer
from tests import tiny

GEMMA_VOCABULARY = 512
PAD, EOS, BOS, TURN, TURN_END = 0, 1, 2, 3, 4
GEMMA_CONTROL = ["<pad>", "<eos>", "<bos>", "<|turn>", "<turn|>"]
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|turn>{{ message['role'] }}\n{{ message['content'] }}<turn|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|turn>model\n{% endif %}"
)
PROMPT_WORDS = "Below is a file. In one place stands for text that is missing. ```\n[[HOLE 1]]\n```\n"


def write_gemma_tokenizer(folder: Path) -> None:
    """A BPE tokenizer with byte fallback, as Gemma's: U+2581 for a space, runs of spaces as added tokens."""
    backend = Backend(BPE(byte_fallback=True, unk_token=None))
    backend.normalizer = normalizers.Replace(" ", "\u2581")
    backend.pre_tokenizer = pre_tokenizers.Split("\u2581", "merged_with_next")
    backend.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    trainer = trainers.BpeTrainer(
        vocab_size=GEMMA_VOCABULARY - 3,
        special_tokens=[*GEMMA_CONTROL, *(f"<0x{b:02X}>" for b in range(256))],
        initial_alphabet=[chr(c) for c in range(32, 127)] + ["\n", "\u2581"],
        show_progress=False,
    )
    backend.train_from_iterator([tiny.TEXT, PROMPT_WORDS], trainer)
    described = json.loads(backend.to_str())
    described["added_tokens"] = [t for t in described["added_tokens"] if t["content"] in GEMMA_CONTROL]
    vocabulary = described["model"]["vocab"]
    for run in ("\u2581\u2581", "\u2581\u2581\u2581\u2581", "\n\n"):
        at = vocabulary.setdefault(run, len(vocabulary))
        described["added_tokens"].append(
            {"id": at, "content": run, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
            | {"special": False}
        )
    (folder / "tokenizer.json").write_text(json.dumps(described), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<bos>", "eos_token": "<eos>"})
    )
    (folder / "chat_template.jinja").write_text(CHAT_TEMPLATE)


@cache
def gemma_tokenizer() -> Tokenizer:
    with TemporaryDirectory() as folder:
        write_gemma_tokenizer(Path(folder))
        return Tokenizer(Path(folder) / "tokenizer.json")


def gemma(seed: int = 0, canvas: int = 32, window: int = 16, sees: str | None = None):
    """A random DiffusionGemma with one sliding and one full layer. sees: its `use_bidirectional_attention`."""
    from transformers import DiffusionGemmaConfig, DiffusionGemmaForBlockDiffusion, Gemma4VisionConfig
    from transformers.models.diffusion_gemma import DiffusionGemmaTextConfig

    text = DiffusionGemmaTextConfig(
        vocab_size=GEMMA_VOCABULARY,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        global_head_dim=16,
        num_global_key_value_heads=2,
        sliding_window=window,
        layer_types=["sliding_attention", "full_attention"],
        num_experts=4,
        top_k_experts=2,
        moe_intermediate_size=32,
        max_position_embeddings=4096,
        eos_token_id=[EOS, TURN_END],
        bos_token_id=BOS,
        pad_token_id=PAD,
        use_bidirectional_attention=sees,
    )
    vision = Gemma4VisionConfig(hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2)
    config = DiffusionGemmaConfig(text_config=text, vision_config=vision, canvas_length=canvas)
    torch.manual_seed(seed)
    model = DiffusionGemmaForBlockDiffusion(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "vision" not in name:
                parameter.add_(0.05 * torch.randn_like(parameter))
    model.generation_config.eos_token_id = [EOS, TURN_END]
    return model.requires_grad_(False)


def write_gemma(folder: Path, **options) -> Path:
    """A folder as a person would have it."""
    folder.mkdir(parents=True, exist_ok=True)
    gemma(**options).save_pretrained(folder)
    write_gemma_tokenizer(folder)
    return folder


# --- masked models, shaped like Qwen and Llama, and one that comes with its own code

EXPAND, DELETE = 398, 399  # ids that no text has
OWN_CODE = '''\
"""A model's own code, as LLaDA2.x brings some: attends by the mask that it is given."""

from transformers import LlamaConfig, LlamaForCausalLM


class TinyConfig(LlamaConfig):
    model_type = "llada2_moe"


class TinyModel(LlamaForCausalLM):
    config_class = TinyConfig
'''
LLADA_CONFIG = {
    "hidden_size": "d_model",
    "num_hidden_layers": "n_layers",
    "num_attention_heads": "n_heads",
    "num_key_value_heads": "n_kv_heads",
    "intermediate_size": "mlp_hidden_size",
    "max_position_embeddings": "max_sequence_length",
    "tie_word_embeddings": "weight_tying",
    "rope_theta": "rope_theta",
    "rms_norm_eps": "rms_norm_eps",
    "vocab_size": "vocab_size",
    "mask_token_id": "mask_token_id",
    "eos_token_id": "eos_token_id",
}
LLADA_NAMES = {
    "self_attn.q_proj": "q_proj",
    "self_attn.k_proj": "k_proj",
    "self_attn.v_proj": "v_proj",
    "self_attn.o_proj": "attn_out",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ff_norm",
    "mlp.gate_proj": "ff_proj",
    "mlp.up_proj": "up_proj",
    "mlp.down_proj": "ff_out",
}
# family: (the reference's shape, model_type, more of config.json, denoiser.json)
MASKED = {
    "dream-coder": ("qwen2", "Dream", {}, {}),
    "dreamon": ("qwen2", "Dream", {"expand_token_id": EXPAND, "delete_token_id": DELETE}, {}),
    "open-dcoder": ("qwen2", "qwen2", {}, {"family": "whole-sequence", "shifted": True}),
    "llada": ("llama", "llada", {}, {}),
    "sdar": ("qwen3", "sdar", {"block_size": 8}, {}),
    "fast-dllm": ("qwen2", "Fast_dLLM_Qwen", {"bd_size": 16}, {}),
    "llada2": ("llama", "llada2_moe", {"block_size": 16}, {"threshold": 0.7, "replace_above": 0.5}),
}


def write_masked(folder: Path, family: str) -> Path:
    """The folder of a tiny masked model, under the names of its family's own config and weights."""
    from safetensors.torch import save_file

    shape, kind, more, description = MASKED[family]
    folder.mkdir(parents=True, exist_ok=True)
    config = tiny.config(shape) | {"model_type": kind} | more
    state = tiny.state(shape)
    if family == "llada":
        config = {theirs: config[ours] for ours, theirs in LLADA_CONFIG.items()} | {"model_type": "llada"}
        config |= {"block_type": "llama", "layer_norm_type": "rms", "include_bias": False}
        state = {_as_llada(name): value for name, value in state.items()}
    if family == "llada2":
        config["auto_map"] = {"AutoConfig": "own_code.TinyConfig", "AutoModelForCausalLM": "own_code.TinyModel"}
        config["architectures"] = ["TinyModel"]
        (folder / "own_code.py").write_text(OWN_CODE)
    (folder / "config.json").write_text(json.dumps(config))
    if description:
        (folder / "denoiser.json").write_text(json.dumps(description))
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    tiny.write_tokenizer(folder / "tokenizer.json")
    return folder


def _as_llada(name: str) -> str:
    name = name.replace("model.embed_tokens.", "model.transformer.wte.").replace(
        "model.norm.", "model.transformer.ln_f."
    )
    for ours, theirs in LLADA_NAMES.items():
        name = name.replace(ours, theirs)
    return name.replace("model.layers.", "model.transformer.blocks.")
