"""Writing a completion into its file: all of it or nothing, and nothing over what somebody else wrote meanwhile."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from engine.errors import BadInput


def check_writable(path: str) -> None:
    """Raises `BadInput` for a file that is read-only, before any work is done for it."""
    writable = os.access(path, os.W_OK) and os.stat(path).st_mode & 0o222  # root may write all, but was told not to
    if not writable:
        raise BadInput(f"{path} is read-only")


def replace_text(path: str, old: str, new: str) -> None:
    """Replaces the file's text, keeping its mode, its owner where that may be set, and a link that leads to it.

    Raises `BadInput` where it cannot be written, or no longer holds `old`.
    """
    target = Path(os.path.realpath(path))
    try:
        if target.read_bytes() != old.encode():
            raise BadInput(f"{path} was changed while its hole was filled: nothing is written")
        status = target.stat()
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(new.encode("utf-8", "replace"))
                file.flush()
                os.fsync(file.fileno())
            _keep_owner(name, status)
            os.chmod(name, stat.S_IMODE(status.st_mode))
            os.replace(name, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror or error}") from None


def _keep_owner(name: str, status: os.stat_result) -> None:
    if hasattr(os, "chown"):
        with contextlib.suppress(OSError):  # only root may give files away
            os.chown(name, status.st_uid, status.st_gid)
