"""`midfill models`: the list, and fetching from a hub that runs here: whole, cut off and resumed, refused, away."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch

from engine.denoisers import families
from tests import tiny_families
from tests.cli import midfill

pytest.importorskip("huggingface_hub")
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_the_list_tells_of_every_known_model(tmp_path, monkeypatch):
    monkeypatch.setenv("MIDFILL_CACHE", str(tmp_path))
    ran = midfill("models")
    assert ran.code == 0 and not ran.err
    lines = ran.out.decode().splitlines()
    assert [line.split()[0] for line in lines[1 : 1 + len(families.KNOWN)]] == [k.id for k in families.KNOWN]
    rows = {row["id"]: row for row in midfill("models", "--json").json}
    assert rows["embedded"]["here"] and not rows["google/diffusiongemma-26B-A4B-it"]["here"]
    assert set(rows["embedded"]) >= {"licence", "memory_gb", "noise", "length", "cache", "own_code", "ran"}
    (tmp_path / "models" / "Dream-org--DreamOn-v0-7B").mkdir(parents=True)
    assert {row["id"]: row["here"] for row in midfill("models", "--json").json}["Dream-org/DreamOn-v0-7B"]


def test_the_list_imports_no_torch():
    code = "import sys; from lsp_server.cli.main import main; main(['models']); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_what_is_no_id_is_refused():
    ran = midfill("models", "pull", "nonsense")
    assert ran.code == 2 and "OWNER/NAME" in ran.err and ran.err.count("\n") == 1


@dataclass
class Hub:
    """A hub of one model. slow: seconds between two pieces of a weight file. asked: paths, with the ranges asked for."""

    files: dict[str, bytes]
    name: str = "someone/tiny"
    slow: float = 0.0
    gated: bool = False
    wrong: bool = False
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    url: str = ""

    def serve(self):
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args): ...

            def do_HEAD(self):
                self._answer(body=False)

            def do_GET(self):
                self._answer(body=True)

            def _answer(self, body):
                hub.asked.append((f"{self.command} {self.path}", self.headers.get("Range")))
                if self.path.startswith("/api/models/"):
                    if not self.path.startswith(f"/api/models/{hub.name}"):
                        return self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"}, body)
                    if hub.gated:
                        return self._send(403, b"{}", {"X-Error-Code": "GatedRepo"}, body)
                    listed = [{"rfilename": n, "size": len(d), "blobId": "0"} for n, d in hub.files.items()]
                    info = {"id": hub.name, "sha": COMMIT, "siblings": listed, "cardData": {"license": "mit"}}
                    return self._send(200, json.dumps(info).encode(), {}, body)
                data = hub.files[self.path.rsplit("/", 1)[1].split("?")[0]]
                headers = {"ETag": f'"{hashlib.sha256(data).hexdigest()}"', "X-Repo-Commit": COMMIT}
                if hub.wrong:
                    data = data[:-1] + b"!"
                found = re.match(r"bytes=(\d+)-", self.headers.get("Range") or "")
                start = int(found[1]) if found else 0
                if start:
                    headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
                self._send(206 if start else 200, data[start:], headers | {"Accept-Ranges": "bytes"}, body)

            def _send(self, code, data, headers, body):
                self.send_response(code)
                for name, value in (headers | {"Content-Length": str(len(data))}).items():
                    self.send_header(name, value)
                self.end_headers()
                if not body:
                    return
                piece = 1_000_000 if hub.slow and len(data) > 1_000_000 else max(1, len(data))
                try:
                    for at in range(0, len(data), piece):
                        self.wfile.write(data[at : at + piece])
                        time.sleep(hub.slow if piece < len(data) else 0)
                except OSError:
                    pass  # whoever asked has gone

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_port}"
        return server


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tiny_families.write_masked(tmp_path_factory.mktemp("hub") / "model", "dream-coder")
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    return files | {"pytorch_model.bin": b"never fetched", "modeling.py": b"raise SystemExit"}


@pytest.fixture
def hub(model):
    made = Hub(dict(model))
    server = made.serve()
    yield made
    server.shutdown()
    server.server_close()


def started(hub, cache: Path, *arguments: str) -> subprocess.Popen:
    env = dict(os.environ, MIDFILL_CACHE=str(cache), HF_ENDPOINT=hub.url, HF_HOME=str(cache / "hf"))
    env.pop("HF_HUB_OFFLINE", None)
    command = [sys.executable, "-m", "lsp_server.cli.main", *arguments]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def pulled(hub, cache: Path, name: str = "someone/tiny") -> tuple[int, str, str]:
    process = started(hub, cache, "models", "pull", name)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


@pytest.mark.slow
def test_a_model_is_fetched_whole_and_once_and_then_fills(hub, tmp_path, model):
    code, out, err = pulled(hub, tmp_path)
    assert code == 0, err
    folder = Path(out.strip())
    assert folder == tmp_path / "models" / "someone--tiny" and "licence mit" in err and "100%" in err
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        assert (folder / name).read_bytes() == model[name]
    assert not (folder / "pytorch_model.bin").exists() and not (folder / "modeling.py").exists()
    assert next(path for path, _ in hub.asked if path.startswith("GET") and "/resolve/" in path).endswith("config.json")
    assert all("/resolve/" in path or "/api/models/" in path for path, _ in hub.asked)  # nothing else is asked or told
    hub.asked.clear()
    assert pulled(hub, tmp_path)[0] == 0
    assert not [path for path, _ in hub.asked if path.startswith("GET") and "safetensors" in path]
    (tmp_path / "a.txt").write_text("x = \ny = 2\n")
    process = started(
        hub, tmp_path, "fill", f"{tmp_path}/a.txt:1:5", "--model", "someone/tiny", "--json", "--steps", "4"
    )
    out, err = process.communicate(timeout=120)
    assert json.loads(out)["model"] == "someone/tiny", err


@pytest.mark.slow
def test_what_was_cut_off_is_no_model_and_goes_on_where_it_stopped(hub, tmp_path):
    from safetensors.torch import save

    hub.files["model.safetensors"] = save({"weight": torch.rand(8_000_000)})  # the library writes 10 MB at a time
    hub.slow = 0.2
    process = started(hub, tmp_path, "models", "pull", "someone/tiny")
    folder = tmp_path / "models" / "someone--tiny"
    until = time.monotonic() + 60
    while not any(p.stat().st_size > 1_000_000 for p in folder.rglob("*.incomplete")):
        assert time.monotonic() < until and process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "goes on from here" in err and "Traceback" not in err
    assert midfill("fill", "-:1:1", "--model", str(folder), stdin=b"x").code == 3
    hub.slow = 0.0
    hub.asked.clear()
    assert pulled(hub, tmp_path)[0] == 0
    ranges = [r for path, r in hub.asked if path.startswith("GET") and path.endswith("model.safetensors") and r]
    assert ranges and int(re.search(r"\d+", ranges[0])[0]) > 0
    assert (folder / "model.safetensors").read_bytes() == hub.files["model.safetensors"]


@pytest.mark.slow
def test_what_cannot_be_fetched_is_said_in_one_line(hub, tmp_path):
    code, _, err = pulled(hub, tmp_path, "someone/else")
    assert code == 3 and "no model someone/else" in err and "Traceback" not in err
    hub.gated = True
    code, _, err = pulled(hub, tmp_path)
    assert code == 3 and "HF_TOKEN" in err
    hub.gated = False
    hub.files["config.json"] = json.dumps({"model_type": "novel"}).encode()
    code, _, err = pulled(hub, tmp_path)
    assert code == 3 and "'novel'" in err
    assert not [path for path, _ in hub.asked if "model.safetensors" in path]
    hub.files["config.json"] = b"{}"
    hub.wrong = True
    code, _, err = pulled(hub, tmp_path / "other")
    assert code == 3 and "is not what the hub has" in err
    code, _, err = pulled(Hub({}, url="http://127.0.0.1:9"), tmp_path)
    assert code == 3 and "could not be fetched" in err and err.count("\n") == 1


# --- the models behind the command line and the server


@pytest.fixture(scope="module")
def gemma(tmp_path_factory):
    return tiny_families.write_gemma(tmp_path_factory.mktemp("gemma") / "tiny", canvas=64)


def test_fill_runs_a_tiny_diffusion_gemma_from_a_folder(gemma, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("def load(path):\n    x = \n    return x\n")
    ran = midfill("fill", f"{path}:2:9", "--model", str(gemma), "--json", "--steps", "6", "--precision", "fp32")
    assert ran.code in (0, 1) and ran.json["model"] == str(gemma)
    assert ran.json["steps"] >= 1 and ran.json["encoded_tokens"] > 100
    again = midfill("fill", f"{path}:2:9", "--model", str(gemma), "--json", "--steps", "6", "--precision", "fp32")
    assert again.json["text"] == ran.json["text"]


def test_fill_does_not_run_a_models_own_code_unless_it_is_told_to(tmp_path):
    folder = tiny_families.write_masked(tmp_path / "llada2", "llada2")
    ran = midfill("fill", "-:1:5", "--model", str(folder), stdin=b"x = \n")
    assert ran.code == 3 and "--trust-remote-code" in ran.err and ran.err.count("\n") == 1
    ran = midfill("fill", "-:1:5", "--model", str(folder), "--trust-remote-code", "--json", stdin=b"x = \n")
    assert ran.code in (0, 1) and ran.json["steps"] >= 1


@pytest.mark.slow
def test_serve_runs_a_tiny_diffusion_gemma(gemma):
    from tests.lsp_client import spawned

    command = [sys.executable, "-m", "lsp_server.cli.main", "serve", "--model", str(gemma), "--steps", "4"]
    with spawned([*command, "--precision", "fp32"]) as client:
        client.initialize()
        client.open("x = \ny = 2\n", language="plaintext")
        items = client.inline(0, 4)
        assert client.notification("$/progress", has='"end"')["value"]["message"].endswith("is ready")
        assert items and all(item["insertText"].strip() for item in items)
        again = client.inline(0, 4)
        assert [item["insertText"] for item in again] == [item["insertText"] for item in items]
        assert client.shut_down() == 0


def test_only_the_model_of_the_command_line_may_run_its_own_code(monkeypatch):
    """A repository can set an editor's `model`, and must not get its code run by that."""
    from lsp_server import loading
    from lsp_server.settings import Settings, apply

    given = []
    monkeypatch.setattr("engine.infill.load_filler", lambda model, **options: given.append((model, options)))
    loading.load_filler(Settings(model="mine"), lambda share, text: None, trusted="mine")
    loading.load_filler(Settings(model="theirs"), lambda share, text: None, trusted="mine")
    loading.load_filler(Settings(model="mine"), lambda share, text: None)
    assert [options["trust_remote_code"] for _, options in given] == [True, False, False]
    for key in ("trust_remote_code", "trustRemoteCode", "trusted"):
        assert apply(Settings(), {key: True})[1]  # no setting of that name
