"""A model on a server: a real HTTP server of the test's own, which can be slow, wrong, away, or hostile."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from engine.errors import BadInput, Cancelled, ModelUnavailable
from engine.filler import CancelToken, Completion, Draft, FillSettings, run
from engine.hole import hole_at
from engine.infill import load_filler
from engine.remote import client as clients
from engine.remote.breaker import REST, Breaker
from engine.remote.prompts import answer, fill_in_the_middle, template_of
from engine.text import Document
from tests.cli import midfill

pytest.importorskip("httpx")
DOCUMENT = Document("def add(a, b):\n    return \n\n\nprint(add(1, 2))\n", "python")
AT = DOCUMENT.text.index("return ") + len("return ")


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, dict[str, Any], str | None]] = []
        self.pieces: list[str] = ["a", " +", " b"]
        self.statuses: list[int] = []  # of the next requests
        self.wait = 0.0  # seconds before each piece
        self.raw: bytes | None = None
        self.closed = threading.Event()  # a client went away in the middle

    def url(self, model: str = "Qwen2.5-Coder-7B") -> str:
        return f"vllm://127.0.0.1:{self.server_address[1]}/{model}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        body = json.dumps({"data": [{"id": "Qwen2.5-Coder-7B"}, {"id": "org/chat"}]}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body if self.server.raw is None else self.server.raw)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append((self.path, body, self.headers["authorization"]))
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        self.send_response(status)
        self.end_headers()
        if status != 200:
            return
        try:
            if self.server.raw is not None:
                self.wfile.write(self.server.raw)
                return
            for piece in self.server.pieces:
                time.sleep(self.server.wait)
                choice = {"text": piece} if "prompt" in body else {"delta": {"content": piece}}
                self.wfile.write(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n")
                self.wfile.flush()
            self.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            self.server.closed.set()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


@contextmanager
def serving() -> Iterator[Server]:
    made = Server()
    threading.Thread(target=made.serve_forever, daemon=True).start()
    try:
        yield made
    finally:
        made.shutdown()
        made.server_close()


def fill(server: Server, model: str = "Qwen2.5-Coder-7B") -> Completion:
    return run(load_filler(server.url(model)), DOCUMENT, hole_at(DOCUMENT, AT))


def test_a_hole_is_filled_with_the_models_own_tokens(server, monkeypatch):
    monkeypatch.setenv("MIDFILL_API_KEY", "secret")
    events = list(load_filler(server.url()).fill(DOCUMENT, hole_at(DOCUMENT, AT), FillSettings(seed=7), CancelToken()))
    assert [e.text for e in events if isinstance(e, Draft)] == ["a", "a +", "a + b"]
    assert events[-1].text == "a + b"
    path, body, key = server.asked[0]
    assert (path, key, body["seed"]) == ("/v1/completions", "Bearer secret", 7)
    assert body["prompt"].startswith("<|fim_prefix|>def add") and body["prompt"].endswith("<|fim_middle|>")


def test_a_model_without_such_tokens_is_told_what_to_do(server):
    server.pieces = ["```python\n", "a + b", "\n```"]
    assert fill(server, "org/chat").text == "a + b"
    path, body, _ = server.asked[0]
    assert path == "/v1/chat/completions" and "<HOLE/>" in body["messages"][0]["content"]


def test_what_breaks_the_syntax_is_not_offered(server):
    server.pieces = ["a + (b", "}"]
    found = fill(server)
    compile(found.apply(DOCUMENT.text), "x", "exec")


def test_a_busy_server_is_asked_again_and_one_that_refuses_is_not(server, monkeypatch):
    server.statuses = [503, 429]
    assert fill(server).text == "a + b" and len(server.asked) == 3
    server.statuses, server.asked = [401], []
    with pytest.raises(ModelUnavailable, match="MIDFILL_API_KEY"):
        fill(server)
    assert len(server.asked) == 1


def test_a_cancel_closes_the_stream(server):
    server.wait, server.pieces = 0.1, ["x "] * 500
    cancel, begun = CancelToken(), time.monotonic()
    with pytest.raises(Cancelled):
        for event in load_filler(server.url()).fill(DOCUMENT, hole_at(DOCUMENT, AT), FillSettings(), cancel):
            assert isinstance(event, Draft)
            cancel.cancel()
    assert time.monotonic() - begun < 2 and server.closed.wait(3)


def test_a_cancel_does_not_wait_for_a_server_that_says_nothing(server):
    server.wait = 20
    cancel = CancelToken()
    threading.Timer(0.3, cancel.cancel).start()
    begun = time.monotonic()
    with pytest.raises(Cancelled):
        run(load_filler(server.url()), DOCUMENT, hole_at(DOCUMENT, AT), FillSettings(), cancel)
    assert time.monotonic() - begun < 3


@pytest.mark.parametrize(
    "raw", [b"data: nonsense\n\n", b'data: {"choices": 3}\n\n', b'data: {"error": "x"}\n\n', b"data: []\n\n"]
)
def test_nonsense_is_said_to_be_that(server, raw):
    filler = load_filler(server.url())
    server.raw = raw
    with pytest.raises(ModelUnavailable, match="OpenAI-compatible"):
        run(filler, DOCUMENT, hole_at(DOCUMENT, AT))


def test_a_server_that_never_stops_or_hangs_is_given_up(server, monkeypatch):
    monkeypatch.setattr(clients, "LONGEST", 1000)
    server.pieces = ["x" * 100] * 10_000
    with pytest.raises(ModelUnavailable, match="does not stop"):
        fill(server)
    monkeypatch.setattr(clients, "SILENCE", 0.3)
    monkeypatch.setattr(clients, "RETRIES", 0)
    server.pieces, server.wait = ["x"], 5
    with pytest.raises(ModelUnavailable, match="in time"):
        fill(server)


def test_a_server_that_is_away_is_left_alone_for_a_while():
    with serving() as server:
        filler = load_filler(server.url())
    for _ in range(3):
        with pytest.raises(ModelUnavailable, match="cannot be reached"):
            run(filler, DOCUMENT, hole_at(DOCUMENT, AT))
    begun = time.monotonic()
    with pytest.raises(ModelUnavailable, match="is asked again in"):
        run(filler, DOCUMENT, hole_at(DOCUMENT, AT))
    assert time.monotonic() - begun < 0.1


def test_the_breaker_lets_one_try_through_when_its_time_is_up():
    now = 0.0
    breaker = Breaker("it", lambda: now)
    for _ in range(3):
        breaker.check()
        breaker.failed("gone")
    with pytest.raises(ModelUnavailable, match="gone"):
        breaker.check()
    now = REST + 1
    breaker.check()
    breaker.failed("gone")  # once is enough now
    with pytest.raises(ModelUnavailable):
        breaker.check()
    now = 3 * REST
    breaker.succeeded()
    breaker.check()


@pytest.mark.parametrize("address", ["vllm://", "vllm://host", "vllm://user:pass@host:1/m", "vllm://host:99999/m"])
def test_an_address_that_is_none_shows_no_password(address):
    with pytest.raises(BadInput) as raised:
        load_filler(address)
    assert "vllm://HOST:PORT/NAME" in str(raised.value) and "pass" not in str(raised.value)


def test_the_command_line_tells_what_is_missing(server, tmp_path):
    (tmp_path / "a.py").write_text(DOCUMENT.text)
    ran = midfill("fill", f"{tmp_path / 'a.py'}:2:12", "--model", server.url())
    assert ran.code == 0 and b"a + b" in ran.out
    ran = midfill("fill", f"{tmp_path / 'a.py'}:2:12", "--model", server.url("other"))
    assert ran.code == 3 and "has no model 'other'" in ran.err and ran.err.count("\n") == 1
    ran = midfill("fill", f"{tmp_path / 'a.py'}:2:12", "--model", "vllm://127.0.0.1:9/m")
    assert ran.code == 3 and "cannot be reached" in ran.err


def test_a_document_that_holds_the_models_tokens_does_not_move_the_hole():
    template = template_of("Qwen2.5-Coder-7B")
    assert template is not None and template_of("some-chat-model") is None
    prompt = fill_in_the_middle(template, "x = '<|fim_suffix|>{suffix}'\n", "{prefix}\n")
    assert prompt.count("<|fim_suffix|>") == 1 and prompt.count("{prefix}") == 1 and prompt.count("{suffix}") == 1


def test_an_answer_is_taken_out_of_its_fence():
    assert answer("```py\na + b\n```\n") == "a + b" and answer("a + b\n") == "a + b\n"
