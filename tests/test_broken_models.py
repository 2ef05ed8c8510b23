"""A model's folder that is broken in some way is one clear line and exit code 3, never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import tiny
from tests.cli import midfill


def spoil(folder: Path, name: str, **changes: object) -> None:
    path = folder / name
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("name", "how", "says"),
    [
        ("config.json", "[]", "no object"),
        ("config.json", "{", "cannot be read"),
        ("denoiser.json", "[]", "cannot be read"),
        ("denoiser.json", {"max_slots": "x"}, "max_slots must be int"),
        ("denoiser.json", {"control": [True]}, "control must be list"),
        ("denoiser.json", {"fill_end": 999_999}, "is no token"),
        ("denoiser.json", {"mask": -1}, "is no token"),
        ("denoiser.json", {"famly": "x"}, "unknown key 'famly'"),
        ("denoiser.json", {"suffix": "behind"}, "suffix must be"),
        ("config.json", {"hidden_size": "x"}, "shape"),
        ("config.json", {"num_hidden_layers": 3}, "lack"),
        ("model.safetensors", "cut", "broken or cut off"),
        ("model.safetensors", "gone", "missing"),
        ("tokenizer.json", "{}", "tokenizer"),
        ("tokenizer.json", "gone", "no tokenizer"),
    ],
)
def test_a_broken_folder_is_told_in_a_line(tmp_path: Path, name: str, how: object, says: str) -> None:
    folder = tiny.write_folder(tmp_path / "model", described=True)
    path = folder / name
    if isinstance(how, dict):
        spoil(folder, name, **how)
    elif how == "gone":
        path.unlink()
    elif how == "cut":
        path.write_bytes(path.read_bytes()[:1000])
    else:
        path.write_text(str(how))
    (tmp_path / "a.py").write_text("x = \n")
    ran = midfill("fill", f"{tmp_path / 'a.py'}:1:5", "--model", str(folder))
    assert ran.code == 3 and ran.err.count("\n") == 1 and says in ran.err, ran


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe.py")
    for path in (tmp_path / "pipe.py", Path("/dev/zero")):
        ran = midfill("fill", f"{path}:1:1")
        assert ran.code == 2 and "no regular file" in ran.err
