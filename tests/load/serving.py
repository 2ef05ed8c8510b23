"""A server process for a load: scripted, or with the embedded model."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.load.client import LoadClient

SCRIPT = {"default": "value + 1", "step_ms": 15, "fills": [{"drafts": ["v", "value", "value +"], "text": "value + 1"}]}


@contextlib.contextmanager
def serving(embedded: bool = False, script: dict | None = None, settings: dict | None = None) -> Iterator[LoadClient]:
    """An initialized client of a new server process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "script.json"
        path.write_text(json.dumps(script or SCRIPT))
        command = [sys.executable, "-m", "lsp_server", "--model", "embedded" if embedded else f"scripted:{path}"]
        with open(Path(folder) / "log", "wb") as log:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
            assert process.stdin is not None and process.stdout is not None
            client = LoadClient(process.stdout, process.stdin, process)
            try:
                client.initialize(options=settings)
                yield client
            finally:
                process.kill()
                process.wait()
