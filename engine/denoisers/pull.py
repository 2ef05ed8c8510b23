"""Fetches a model's files from the Hugging Face hub, and only when a person asks for that by name. Imports no torch until the
files are there.

What is there already is not fetched again, and a file that was cut off goes on where it stopped. HF_ENDPOINT names another
hub, HF_TOKEN a token for gated models; both are the hub library's own affair.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from engine.denoisers import families
from engine.errors import BadInput, ModelUnavailable

# code is fetched only for models that cannot be run without it, and it is not run by fetching it
WANTED = ("*.safetensors", "*.safetensors.index.json", "*.json", "*.jinja", "LICENSE*", "NOTICE*", "README.md")
RUNNABLE = ("llama", "qwen2", "qwen3", families.DIFFUSION_GEMMA, *families.RECIPES)
PART = ".incomplete"
NOTES = "pulled.json"
SPARE = 100_000_000  # bytes of disk that are left free
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Plan:
    """files: name and size in bytes. revision: the commit that they are of. licence: as the hub has it."""

    id: str
    revision: str
    licence: str
    files: tuple[tuple[str, int], ...]

    @property
    def size(self) -> int:
        return sum(size for _, size in self.files)


def pull(model: str, folder: Path, progress: Progress, revision: str | None = None) -> Plan:
    """Brings a model of the hub into a folder. progress: called with bytes there, bytes in all, and the file's name.

    Raises `BadInput` for what is no id, `ModelUnavailable` where the hub does not have the model, cannot be reached, where the
    model could not be run anyway, or where the disk is too small.
    """
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", model):
        raise BadInput(f"a model of the hub is OWNER/NAME, as google/diffusiongemma-26B-A4B-it, not {model!r}")
    hub = _hub()
    plan = _plan(hub, model, revision)
    known = families.known(model)
    _check_room(folder, plan)
    there = 0
    # the small ones first: a model that cannot be run is refused before gigabytes of it have come
    for number, (name, size) in enumerate(sorted(plan.files, key=lambda file: (file[0] != "config.json", file[1]))):
        progress(there, plan.size, name)
        before = there

        def advanced(count: int, name: str = name, before: int = before) -> None:
            progress(before + count, plan.size, name)

        _fetch(hub, plan, name, folder, advanced)
        there += size
        if number == 0:
            _check_runnable(folder, model)
    if known and known.describes and not (folder / "denoiser.json").exists():
        (folder / "denoiser.json").write_text(json.dumps(dict(known.describes)) + "\n", encoding="utf-8")
    progress(plan.size, plan.size, "all of it is there")
    from engine.denoisers.on_disk import check_whole

    check_whole(folder)
    return plan


def _hub() -> Any:
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # read when the library is imported
    try:
        import huggingface_hub
    except ImportError:
        raise ModelUnavailable("fetching a model needs huggingface_hub: pip install 'midfill[models]'") from None
    return huggingface_hub


def _plan(hub: Any, model: str, revision: str | None) -> Plan:
    known = families.known(model)
    wanted = [*WANTED, *(["*.py"] if known and known.own_code else [])]
    info = _asked(model, lambda: hub.HfApi().model_info(model, revision=revision, files_metadata=True))
    files = tuple(
        (file.rfilename, file.size or 0)
        for file in info.siblings or []
        if any(fnmatch.fnmatch(file.rfilename, pattern) for pattern in wanted) and "/" not in file.rfilename
    )
    names = [name for name, _ in files]
    if "config.json" not in names or not any(name.endswith(".safetensors") for name in names):
        raise ModelUnavailable(f"{model} holds no config.json and safetensors: not a model that can be run here")
    licence = getattr(info.card_data, "license", None) or (known.licence if known else "not said")
    return Plan(model, info.sha or revision or "main", str(licence), files)


def _fetch(hub: Any, plan: Plan, name: str, folder: Path, advanced: Callable[[int], None]) -> None:
    from huggingface_hub.file_download import http_get
    from huggingface_hub.utils import build_hf_headers, tqdm

    class Bar(tqdm):
        """Tells us how far a file is, and draws nothing."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs.pop("name", None)
            super().__init__(*args, **(kwargs | {"disable": True}))
            self._count = kwargs.get("initial") or 0

        def update(self, n: float | None = 1) -> bool | None:
            self._count += n or 0
            advanced(int(self._count))
            return super().update(n)

    url = hub.hf_hub_url(plan.id, name, revision=plan.revision)
    about = _asked(plan.id, lambda: hub.get_hf_file_metadata(url))
    etag, goal = str(about.etag), folder / name
    if goal.is_file() and goal.stat().st_size == about.size and _noted(folder).get(name) == etag:
        return
    # the library's own part files are new ones in each run: here what has come stays, named by the content it is of
    part = folder / f"{name}.{etag[:16]}{PART}"
    headers = build_hf_headers()
    if urlparse(about.location).netloc != urlparse(url).netloc:
        headers.pop("authorization", None)  # the token is for the hub alone

    def download() -> None:
        part.touch()
        with part.open("r+b") as opened:
            if opened.seek(0, os.SEEK_END) > (about.size or 0):
                opened.seek(opened.truncate(0))
            http_get(
                about.location,
                opened,
                headers=headers,
                resume_size=opened.tell(),
                expected_size=about.size,
                displayed_filename=name,
                tqdm_class=Bar,
            )

    _asked(plan.id, download)
    if _digest(part, etag) not in (etag, None):
        part.unlink()
        raise ModelUnavailable(f"{plan.id}: what came of {name} is not what the hub has: fetch it again")
    part.replace(goal)
    noted = _noted(folder) | {name: etag}
    (folder / NOTES).write_text(json.dumps(noted) + "\n", encoding="utf-8")


def _noted(folder: Path) -> dict[str, str]:
    """Which content each file that was fetched has, by the hub's own name for it."""
    try:
        return dict(json.loads((folder / NOTES).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def _digest(file: Path, etag: str) -> str | None:
    """The hash that the hub names content by: SHA-256 of large files, git's SHA-1 of small ones; None where it is neither."""
    if re.fullmatch(r"[0-9a-f]{64}", etag):
        digest = hashlib.sha256()
    elif re.fullmatch(r"[0-9a-f]{40}", etag):
        digest = hashlib.sha1(f"blob {file.stat().st_size}\0".encode(), usedforsecurity=False)
    else:
        return None
    with file.open("rb") as opened:
        while data := opened.read(1 << 20):
            digest.update(data)
    return digest.hexdigest()


def _asked(model: str, call: Callable[[], Any]) -> Any:
    """What the hub answers; all that can go wrong with it in one line."""
    from huggingface_hub import errors

    try:
        return call()
    except errors.GatedRepoError:
        raise ModelUnavailable(
            f"{model} is gated: accept its terms on its page, then set HF_TOKEN to a token of yours"
        ) from None
    except errors.RepositoryNotFoundError:
        raise ModelUnavailable(f"the hub has no model {model}, or does not show it to everybody") from None
    except errors.OfflineModeIsEnabled:
        raise ModelUnavailable("HF_HUB_OFFLINE is set: nothing can be fetched") from None
    except Exception as broken:  # connections, HTTP, the disk
        reason = " ".join(str(broken).split())[:160] or type(broken).__name__
        raise ModelUnavailable(f"{model} could not be fetched: {reason} (the same command goes on from here)") from None


def _check_room(folder: Path, plan: Plan) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    there = sum(f.stat().st_size for name, _ in plan.files if (f := folder / name).is_file())
    there += sum(f.stat().st_size for f in folder.glob(f"*{PART}"))
    free = shutil.disk_usage(folder).free
    if plan.size - there + SPARE > free:
        raise ModelUnavailable(
            f"{plan.id} needs {(plan.size - there) / 1e9:.1f} GB of disk, and {folder} has {free / 1e9:.1f} GB free"
        )


def _check_runnable(folder: Path, model: str) -> None:
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        kind = config.get("model_type")
    except (OSError, ValueError, AttributeError) as broken:
        raise ModelUnavailable(f"{model}: its config.json cannot be read: {broken}") from None
    if kind not in RUNNABLE:
        raise ModelUnavailable(f"{model} is of type {kind!r}, which cannot be run here (see `midfill models`)")
    plain = kind in ("llama", "qwen2", "qwen3") and config.get("mask_token_id") is None
    known = families.known(model)
    if plain and not (known and known.describes):
        raise ModelUnavailable(f"{model} is a left-to-right model: its config.json names no mask_token_id")
