"""The settings of `midfill check` in a repository: `[tool.midfill.check]` in pyproject.toml, or `[check]` in midfill.toml.

Names are those of the options. What is run, and which model, is not among them: only the command line says that, so that a
repository that a person only looks at cannot make this machine do anything.
"""

from __future__ import annotations

import argparse
import difflib
import tomllib
from pathlib import Path
from typing import Any

from engine.context.root import workspace_root
from engine.errors import BadInput

DEFAULTS: dict[str, Any] = {"holes": 40, "seed": 0}
_TYPES: dict[str, tuple[type, ...]] = {
    "holes": (int,),
    "seed": (int,),
    "kind": (list,),
    "base": (str,),
    "baseline": (str,),
    "min_exact": (int, float),
    "min_layout": (int, float),
    "min_similarity": (int, float),
    "min_pass": (int, float),
    "max_empty": (int, float),
    "max_p95_ms": (int, float),
}
RATES = ("min_exact", "min_layout", "min_similarity", "min_pass", "max_empty")


def complete(options: argparse.Namespace, kinds: list[str]) -> None:
    """Fills in what the command line leaves open: from the repository's file, else the defaults. Raises `BadInput`."""
    path, table = _table(Path(options.paths[0]))
    for key, value in table.items():
        name = key.replace("-", "_")
        where = f"{path}: {key}"
        if name not in _TYPES:
            known = [one.replace("_", "-") for one in _TYPES]
            near = difflib.get_close_matches(key.replace("_", "-"), known, 1)
            hint = f"did you mean {near[0]!r}?" if near else "there are " + ", ".join(known)
            raise BadInput(f"{path}: unknown key {key!r} in {_section(path)}: {hint}")
        if not isinstance(value, _TYPES[name]) or isinstance(value, bool):
            words = {int: "a whole number", float: "a number", str: "a text", list: "a list of kinds"}
            raise BadInput(f"{where} must be {words[_TYPES[name][-1]]}, not {value!r}")
        if isinstance(value, list) and (wrong := [one for one in value if one not in kinds]):
            raise BadInput(f"{where} holds {wrong[0]!r}; kinds are {', '.join(kinds)}")
        if name == "baseline":
            value = str(path.parent / str(value))
        if getattr(options, name) is None:
            setattr(options, name, value)
    for name, value in DEFAULTS.items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    if options.holes < 1:
        raise BadInput(f"--holes must be 1 or more, not {options.holes}")
    for name in RATES:
        limit = getattr(options, name)
        if limit is not None and not 0 <= limit <= 1:
            raise BadInput(f"--{name.replace('_', '-')} must be a rate from 0 to 1, not {limit:g}")


def _table(start: Path) -> tuple[Path, dict[str, Any]]:
    """The file that has settings, and they: midfill.toml before pyproject.toml."""
    root = workspace_root(start / "x" if start.is_dir() else start)
    for name in ("midfill.toml", "pyproject.toml"):
        path = root / name
        try:
            data: Any = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise BadInput(f"cannot read {path}: {error.strerror}") from None
        except ValueError as error:  # the library's message ends with "(at line 3, column 7)"
            raise BadInput(f"{path} is no TOML: {error}") from None
        for key in ("check",) if name == "midfill.toml" else ("tool", "midfill", "check"):
            data = data.get(key, {}) if isinstance(data, dict) else {}
        if not isinstance(data, dict):
            raise BadInput(f"{path}: {_section(path)} must be a table")
        if data:
            return path, data
    return root, {}


def _section(path: Path) -> str:
    return "[check]" if path.name == "midfill.toml" else "[tool.midfill.check]"
