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


def gemma(seed: int = 0, canvas: int = 32, window: int = 16, scale: float = 1.0):
    """A random DiffusionGemma with one sliding and one full layer. scale: of the weights, above 1 for surer logits."""
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
    )
    vision = Gemma4VisionConfig(hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2)
    config = DiffusionGemmaConfig(text_config=text, vision_config=vision, canvas_length=canvas)
    torch.manual_seed(seed)
    model = DiffusionGemmaForBlockDiffusion(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "vision" not in name:
                parameter.add_(0.05 * torch.randn_like(parameter)).mul_(scale)
    model.generation_config.eos_token_id = [EOS, TURN_END]
    return model.requires_grad_(False)


def write_gemma(folder: Path, **options) -> Path:
    """A folder as a person would have it."""
    folder.mkdir(parents=True, exist_ok=True)
    gemma(**options).save_pretrained(folder)
    write_gemma_tokenizer(folder)
    return folder
