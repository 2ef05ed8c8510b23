"""From a model's folder to its denoiser: `config.json` says the shape, `denoiser.json` how it denoises."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from engine.denoisers import families
from engine.denoisers.base import Denoiser, SuffixPlace
from engine.denoisers.block_causal import BlockCausalDenoiser
from engine.denoisers.on_disk import check_memory, check_whole
from engine.denoisers.transformer import Shape, Transformer
from engine.denoisers.weights import load_adapter, read_config, read_tensors
from engine.errors import ModelUnavailable
from engine.memory import give_back
from engine.tokenizer import Tokenizer

DESCRIPTION = "denoiser.json"
Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class Description:
    """`denoiser.json`. family: block-causal, whole-sequence or blocks. start, fill_end: token ids; control: ids that no text
    encodes to and none may show; mask: id of the noise token, or None where the adapter brings an embedding; window: tokens
    read at most, canvas and all.

    Of block-causal models: rank: of the adapter, 0 for none; suffix: encoded, pinned or both; max_slots: of a canvas.
    Of the others: shifted: a place's token is predicted at the place before it; block: tokens of a block; end: put behind
    the suffix; expand, delete: ids of DreamOn's tokens; threshold, replace_above: of the sampler.
    """

    family: str
    start: int
    fill_end: int = -1
    control: list[int] = field(default_factory=list)
    mask: int | None = None
    rank: int = 0
    suffix: str = "encoded"
    max_slots: int = 32
    window: int = 2048
    shifted: bool = False
    block: int = 0
    end: int | None = None
    expand: int | None = None
    delete: int | None = None
    threshold: float | None = None
    replace_above: float | None = None


def read_description(folder: Path, config: dict[str, Any]) -> Description:
    """What the folder says of itself; for a known model type (`families.RECIPES`), or a plain folder with a mask token, what
    it leaves out is known.

    Raises `ModelUnavailable` where nothing says which token is noise, or a key is unknown.
    """
    path, said = folder / DESCRIPTION, {}
    if path.exists():
        try:
            said = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(said, dict):
                raise ValueError("it is no object")
            unknown = sorted(set(said) - {f.name for f in dataclasses.fields(Description)})
            if unknown:
                raise ValueError(f"unknown key {unknown[0]!r}")
            _check_types(said)
        except (OSError, ValueError, TypeError) as broken:
            raise ModelUnavailable(f"{path} cannot be read: {broken}") from None
    recipe = families.RECIPES.get(config.get("model_type", ""))
    family = said.get("family") or (recipe.family if recipe else families.BLOCK_CAUSAL)
    if family not in families.FAMILIES:
        raise ModelUnavailable(f"{folder}: unknown denoiser family {family!r} (known: {', '.join(families.FAMILIES)})")
    values: dict[str, Any] = {}
    if family != families.BLOCK_CAUSAL:
        from engine.denoisers.masked_loading import described

        values = described(folder, config, recipe)
    elif not said:
        values = _plain(folder, config)
    try:
        return Description(**(values | said | {"family": family}))
    except TypeError as broken:
        raise ModelUnavailable(f"{path} cannot be read: {broken}") from None


def _check_types(said: dict[str, Any]) -> None:
    """Raises `ValueError` for a value of another type than `Description` has for its key."""
    kinds = {f.name: str(f.type) for f in dataclasses.fields(Description)}
    for key, value in said.items():
        kind = kinds[key]
        allowed: tuple[type, ...] = (float, int) if "float" in kind else (int,) if "int" in kind else (str,)
        allowed = (bool,) if kind == "bool" else (list,) if kind.startswith("list") else allowed
        fits = isinstance(value, allowed) and (kind == "bool" or not isinstance(value, bool))
        if kind.startswith("list") and fits:
            fits = all(isinstance(one, int) and not isinstance(one, bool) for one in value)
        if not fits and not (value is None and "None" in kind):
            raise ValueError(f"{key} must be {kind.replace(' | None', ' or null')}, not {value!r}")


def _check_ids(folder: Path, description: Description, vocabulary: int) -> None:
    named = {"start": description.start, "fill_end": description.fill_end, "mask": description.mask}
    for key, token in named.items():
        if token is not None and not 0 <= token < vocabulary:
            raise ModelUnavailable(f"{folder / DESCRIPTION}: {key} {token} is no token of a vocabulary of {vocabulary}")


def _plain(folder: Path, config: dict[str, Any]) -> dict[str, Any]:
    """A Hugging Face folder without `denoiser.json`: its `mask_token_id` and `eos_token_id` serve."""
    mask, end = config.get("mask_token_id"), config.get("eos_token_id")
    end = end[0] if isinstance(end, list) and end else end
    start = end if config.get("bos_token_id") is None else config["bos_token_id"]
    if not (isinstance(mask, int) and isinstance(end, int) and isinstance(start, int)):
        raise ModelUnavailable(
            f"{folder} is a left-to-right model: no {DESCRIPTION}, and config.json names no mask_token_id and eos_token_id"
        )
    return {"start": start, "fill_end": end, "control": sorted({start, end, mask}), "mask": mask, "suffix": "pinned"}


def load_denoiser(
    folder: Path,
    name: str,
    device: torch.device,
    dtype: torch.dtype,
    progress: Progress = lambda share, text: None,
    trust_remote_code: bool = False,
) -> Denoiser:
    """Reads a folder into a denoiser. Raises `ModelUnavailable` where something is missing, broken or unknown, and where a
    model can only be run by the code that comes with it, unless that is trusted."""
    if not folder.is_dir():
        raise ModelUnavailable(f"no model {name!r}: {folder} is not a folder")
    progress(0.05, "reading the description")
    config = read_config(folder)
    if config.get("model_type") == families.DIFFUSION_GEMMA:
        from engine.denoisers.gemma_loading import load_diffusion_gemma

        return load_diffusion_gemma(folder, name, device, dtype, progress)
    description = read_description(folder, config)
    if description.family != families.BLOCK_CAUSAL:
        from engine.denoisers.masked_loading import load_masked

        return load_masked(folder, name, config, description, device, dtype, progress, trust_remote_code)
    try:
        suffix = SuffixPlace(description.suffix)
    except ValueError:
        raise ModelUnavailable(
            f"{folder}: suffix must be encoded, pinned or both, not {description.suffix!r}"
        ) from None
    shape = Shape.from_config(config)
    _check_ids(folder, description, shape.vocabulary)
    tokenizer = Tokenizer(folder / "tokenizer.json")
    check_memory(folder, check_whole(folder), dtype, device, families.what_fits)
    progress(0.2, "reading the weights")
    state = read_tensors(folder, dtype)
    progress(0.6, "laying out the weights")
    model = Transformer(shape, state, dtype).to(device)
    adapter = load_adapter(shape, description.rank, state, dtype).to(device) if description.rank else None
    del state
    give_back()  # what loading took and nobody needs any more
    progress(1.0, "ready")
    return BlockCausalDenoiser(
        name,
        model,
        tokenizer,
        start=description.start,
        fill_end=description.fill_end,
        control=frozenset(description.control),
        adapter=adapter,
        mask=description.mask,
        suffix=suffix,
        max_slots=description.max_slots,
        window=description.window,
    )
