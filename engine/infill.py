"""Which filler a model's name means, and how to get it. Imports no torch until a model that needs it is asked for."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import BadInput, ModelUnavailable
from engine.filler import Filler
from engine.remote import is_remote

if TYPE_CHECKING:
    import torch

    from engine.left_to_right import LeftToRightFiller

EMBEDDED = "embedded"
EMBEDDED_FOLDER = Path(__file__).parent / "models" / "embedded"
SCRIPTED = "scripted:"

Progress = Callable[[float, str], None]


def load_filler(
    model: str = EMBEDDED,
    *,
    device: str = "auto",
    precision: str = "auto",
    threads: int | None = None,
    progress: Progress | None = None,
    trust_remote_code: bool = False,
) -> Filler:
    """The filler of a model: `embedded`, a folder, the name of one that was pulled, `vllm://HOST:PORT/NAME` (a server of
    one's own), or `scripted:FILE` (for tests of servers and editors).

    device: auto, cpu, cuda, cuda:N, mps. precision: auto, int8, bf16, fp32. threads: of the CPU, all by default.
    progress: called with a share (0 to 1) and a few words. trust_remote_code: run the code that comes with a model that
    cannot be run otherwise. Nothing is ever downloaded.
    Raises `ModelUnavailable` where the model is not there or broken, `BadInput` for a wrong option.
    """
    if model.startswith(SCRIPTED):
        from engine.scripted import ScriptedFiller

        return ScriptedFiller.load(model.removeprefix(SCRIPTED))
    if is_remote(model):
        from engine.remote.filler import RemoteFiller

        return RemoteFiller.connect(model)
    folder = model_folder(model)
    progress = progress or (lambda share, text: None)
    progress(0.0, "starting torch")
    where, dtype = _torch(device, precision, threads)
    from engine.denoisers.loading import load_denoiser
    from engine.diffusion import DiffusionFiller

    return DiffusionFiller(load_denoiser(folder, model, where, dtype, progress, trust_remote_code))


def use_threads(count: int) -> None:
    """How many threads of the CPU the calling thread's passes may take."""
    import torch

    torch.set_num_threads(count)


def pulled_folder(model: str) -> Path:
    """Where `midfill models pull` puts a model of the hub."""
    from engine.training.base import cache_folder

    return cache_folder() / "models" / model.replace("/", "--")


def load_baseline(*, device: str = "auto", precision: str = "auto", threads: int | None = None) -> LeftToRightFiller:
    """The base of the embedded model as the left-to-right model it was, for comparison.

    Raises `ModelUnavailable`, naming the command that fetches it, where it is not on this machine.
    """
    from engine.training.base import LAST_CONTROL, START, base_folder

    folder = base_folder()
    where, dtype = _torch(device, precision, threads)
    from engine.denoisers.weights import load_base
    from engine.left_to_right import LeftToRightFiller
    from engine.tokenizer import Tokenizer

    model, tokenizer = load_base(folder, dtype).to(where), Tokenizer(folder / "tokenizer.json")
    return LeftToRightFiller("ar", model, tokenizer, START, frozenset(range(LAST_CONTROL + 1)))


def load_embedded_base(
    *, device: str = "auto", precision: str = "auto", threads: int | None = None
) -> LeftToRightFiller:
    """The embedded model's own weights without what makes them a denoiser, left to right, to compare speed with.

    Raises `ModelUnavailable` where they are missing.
    """
    where, dtype = _torch(device, precision, threads)
    from engine.denoisers.loading import read_description
    from engine.denoisers.weights import load_base, read_config
    from engine.left_to_right import LeftToRightFiller
    from engine.tokenizer import Tokenizer

    folder = model_folder(EMBEDDED)
    description = read_description(folder, read_config(folder))
    model, tokenizer = load_base(folder, dtype).to(where), Tokenizer(folder / "tokenizer.json")
    return LeftToRightFiller("left to right", model, tokenizer, description.start, frozenset(description.control))


def describe(
    model: str = EMBEDDED, *, device: str = "auto", precision: str = "auto", threads: int | None = None
) -> dict[str, Any]:
    """What this machine would run with, for `midfill doctor`: imports torch, loads no weights."""
    missing_device: str | None = None
    try:
        where, dtype = _torch(device, precision, threads)
    except ModelUnavailable as missing:
        if device == "auto":
            raise
        where, dtype = _torch("auto", precision, threads)
        missing_device = str(missing)
    import torch

    from engine.denoisers.device import multiplies_bf16, multiplies_int8
    from engine.denoisers.families import what_fits
    from engine.denoisers.on_disk import check_memory, check_whole

    found: dict[str, Any] = {
        "model": model,
        "device": str(where),
        "precision": {torch.int8: "int8", torch.bfloat16: "bf16"}.get(dtype, "fp32"),
        "native_bf16": multiplies_bf16(where),
        "native_int8": multiplies_int8(where),
        "threads": torch.get_num_threads(),
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "gpu": torch.cuda.get_device_name(where) if where.type == "cuda" else None,
    }
    try:
        folder = model_folder(model) if not model.startswith(SCRIPTED) and not is_remote(model) else None
        found["folder"] = str(folder) if folder else None
        found["weights_mb"] = round(sum(f.stat().st_size for f in folder.glob("*.safetensors")) / 1e6) if folder else 0
        if folder is not None:
            check_memory(folder, check_whole(folder), dtype, where, what_fits)
        found["problem"] = missing_device
    except ModelUnavailable as missing:
        found |= {"folder": None, "weights_mb": 0, "problem": str(missing)}
    if found["gpu"] is None:
        found["gpu_hint"] = (
            "this torch has no CUDA: install a CUDA build of torch to use a GPU"
            if torch.version.cuda is None
            else "torch has CUDA, but sees no GPU: is the driver installed?"
        )
    return found


def tuned_folder(path: Path) -> Path:
    """Where `midfill tune` puts what it made of a code base, unless told."""
    from engine.training.base import cache_folder

    whole = path.resolve()
    return cache_folder() / "tuned" / f"{whole.stem or 'root'}-{zlib.crc32(str(whole).encode(errors='replace')):08x}"


def model_folder(model: str) -> Path:
    """The folder of the embedded model, of a pulled one, or the one named. Raises `ModelUnavailable`."""
    if model == EMBEDDED:
        if not (EMBEDDED_FOLDER / "config.json").is_file():
            raise ModelUnavailable(
                f"the embedded model's weights are missing from {EMBEDDED_FOLDER}: reinstall midfill"
            )
        return EMBEDDED_FOLDER
    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder
    if re.fullmatch(r"[\w.-]+/[\w.-]+", model):
        if (pulled := pulled_folder(model)).is_dir():
            return pulled
        raise ModelUnavailable(
            f"no model {model!r}: there is no such folder, and it was not pulled (`midfill models pull {model}` fetches it)"
        )
    raise ModelUnavailable(f"no model {model!r}: name `embedded` or the folder of a model")


def _torch(device: str, precision: str, threads: int | None) -> tuple[torch.device, torch.dtype]:
    if threads is not None and not 1 <= threads <= 1024:
        raise BadInput(f"threads must be from 1 to 1024, not {threads}")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing is fetched, whatever a library would like
    import torch

    from engine.denoisers.device import pick_device, pick_precision

    if threads:
        torch.set_num_threads(threads)
    where = pick_device(device)
    return where, pick_precision(precision, where)
