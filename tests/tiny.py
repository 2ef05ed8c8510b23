"""Tiny models for tests: a byte-level tokenizer of 400 tokens, random transformers of two layers, a scripted denoiser."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from tokenizers import Tokenizer as Backend
from tokenizers import decoders, pre_tokenizers, trainers
from tokenizers.models import BPE

from engine.denoisers.base import Encoded, Noise, Step, SuffixPlace, Traits
from engine.denoisers.block_causal import BlockCausalDenoiser
from engine.denoisers.transformer import Adapter, Shape, Transformer
from engine.tokenizer import Tokenizer

TEXT = (
    "def load(path):\n    with open(path) as handle:\n        return json.load(handle)\n\n\nclass Stack:\n    pass\n"
    * 4
)
CONTROL = ["<|endoftext|>", "<mask>"]
FILL_END, MASK = 0, 1
VOCABULARY = 400


def write_tokenizer(path: Path) -> None:
    backend = Backend(BPE())
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=CONTROL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator([TEXT], trainer)
    backend.save(str(path))


@cache
def tokenizer() -> Tokenizer:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        write_tokenizer(path)
        return Tokenizer(path)


def config(family: str = "llama") -> dict:
    return {
        "model_type": family,
        "vocab_size": VOCABULARY,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "intermediate_size": 48,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "max_position_embeddings": 1024,
        "tie_word_embeddings": True,
        "mask_token_id": MASK,
        "eos_token_id": FILL_END,
        "bos_token_id": FILL_END,
    }


def hugging_face(family: str = "llama", seed: int = 0):
    """A random transformers model of the family, and its config as a dict."""
    import transformers

    torch.manual_seed(seed)
    classes = {
        "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
        "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM),
        "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM),
    }
    of, model = classes[family]
    made = model(of(**config(family))).eval()
    with torch.no_grad():
        for parameter in made.parameters():  # biases and gains too, so that none can be forgotten
            parameter.add_(0.1 * torch.randn_like(parameter))
    return made


def state(family: str = "llama", seed: int = 0) -> dict[str, torch.Tensor]:
    return {
        k: v.clone().contiguous() for k, v in hugging_face(family, seed).state_dict().items() if k != "lm_head.weight"
    }


def denoiser(
    family: str = "llama",
    *,
    seed: int = 0,
    suffix: SuffixPlace = SuffixPlace.ENCODED,
    adapter: bool = True,
    dtype: torch.dtype = torch.float32,
    max_slots: int = 16,
) -> BlockCausalDenoiser:
    shape = Shape.from_config(config(family))
    model = Transformer(shape, state(family, seed), dtype)
    adapted = None
    if adapter:
        torch.manual_seed(seed + 1)
        adapted = Adapter(shape, 4).requires_grad_(False)
        for parameter in adapted.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
        adapted = adapted.to(dtype)
    return BlockCausalDenoiser(
        "tiny",
        model,
        tokenizer(),
        start=FILL_END,
        fill_end=FILL_END,
        control=frozenset({FILL_END, MASK}),
        adapter=adapted,
        mask=None if adapter else MASK,
        suffix=suffix,
        max_slots=max_slots,
        max_pinned=8,
        window=1024,
    )


def write_folder(folder: Path, family: str = "llama", *, described: bool = False) -> Path:
    """A model's folder as a person would have it: config.json, model.safetensors, tokenizer.json."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config(family)))
    save_file(state(family), folder / "model.safetensors")
    write_tokenizer(folder / "tokenizer.json")
    if described:
        description = {"family": "block-causal", "start": 0, "fill_end": 0, "control": [0, 1], "mask": MASK}
        (folder / "denoiser.json").write_text(json.dumps(description))
    return folder


def traits(noise: Noise = Noise.ABSORBING, **changes) -> Traits:
    values = {
        "noise": noise,
        "suffix": SuffixPlace.ENCODED,
        "learns_length": True,
        "exact_cache": True,
        "fill_end": FILL_END,
        "control": frozenset({FILL_END, MASK}),
        "max_slots": 16,
        "max_pinned": 0,
        "window": 1024,
        "vocabulary": VOCABULARY,
    }
    return Traits(**(values | changes))


class ScriptedDenoiser:
    """Knows what each canvas shall become, and how sure it is of each slot: logits without a model.

    `texts`: one a canvas, in order, the last one for all that follow. `sure`: probability of a slot's right token.
    """

    def __init__(self, texts: list[str], sure: float = 0.99, noise: Noise = Noise.ABSORBING, **changes) -> None:
        self.name, self.tokenizer = "scripted", tokenizer()
        self.traits = traits(noise, **changes)
        self.texts, self.sure = texts, sure
        self.canvases = -1
        self.seen: list[tuple[list[int], tuple[int, ...]]] = []  # slots and pinned tokens of every step
        self.prefixes: list[list[int]] = []

    device = torch.device("cpu")

    def encode(self, prefix, suffix, cancel) -> Encoded:
        cancel.check()
        self.canvases += 1
        self.prefixes.append(prefix)
        return Encoded(len(prefix), 0, None)

    def step(self, encoded, canvas, carry) -> Step:
        self.seen.append((canvas.slots.tolist(), canvas.pinned))
        text = self.texts[min(self.canvases, len(self.texts) - 1)]
        tokens = self.tokenizer.encode(text)[: len(canvas)]
        tokens += [FILL_END] * (len(canvas) - len(tokens))
        rest = torch.log(torch.tensor((1 - self.sure) / (VOCABULARY - 1)))
        logits = torch.full((len(canvas), VOCABULARY), float(rest))
        logits[torch.arange(len(canvas)), torch.tensor(tokens)] = float(torch.log(torch.tensor(self.sure)))
        return Step(logits)
