"""The model loads in the background: requests wait, `initialize` does not, and a load that fails kills nothing."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

from engine.errors import ModelUnavailable
from engine.filler import CancelToken, Completion, Draft, Filler, FillSettings
from engine.hole import Hole
from engine.text import Document
from lsp_server.settings import Settings
from tests.lsp_client import CANCELLED, Client, in_thread


class Named:
    """A filler that fills its own name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def fill(
        self, document: Document, hole: Hole, settings: FillSettings, cancel: CancelToken
    ) -> Iterator[Draft | Completion]:
        yield Completion(self.name, hole.start, hole.end, 0.9)


class Loads:
    """Loads `Named` fillers once the test lets it; models called "bad..." do not load."""

    def __init__(self, opened: bool = False) -> None:
        self.gate = threading.Event()
        self.begun = threading.Event()
        self.models: list[str] = []
        if opened:
            self.gate.set()

    def __call__(self, settings: Settings, progress: Callable[[float, str], None]) -> Filler:
        self.models.append(settings.model)
        self.begun.set()
        progress(0.25, "a quarter")
        assert self.gate.wait(60)
        progress(0.75, "most of it")
        if settings.model == "bad":
            raise ModelUnavailable("no model is called 'bad'")
        if settings.model == "worse":
            raise RuntimeError("out of luck")
        return Named(settings.model)


def fill_of(client: Client) -> list[str]:
    return [item["insertText"] for item in client.inline(0, 4)]


def choose(client: Client, model: str) -> None:
    client.notify("workspace/didChangeConfiguration", {"settings": {"model": model}})


def progress_kinds(client: Client) -> list[str]:
    return [message["params"]["value"]["kind"] for message in client.messages if message.get("method") == "$/progress"]


def test_a_cancel_before_the_model_is_loaded_leaves_the_load_alone() -> None:  # case 11
    loads = Loads()
    with in_thread(loads) as client:
        client.initialize()
        client.open("x = ")
        early = client.begin_inline(0, 4)
        assert loads.begun.wait(60)
        client.cancel(early)
        assert client.response(early)["error"]["code"] == CANCELLED
        waiting = client.begin_inline(0, 4)
        loads.gate.set()
        assert [item["insertText"] for item in client.response(waiting)["result"]] == ["embedded"]
        client.wait(
            lambda message: message.get("method") == "$/progress" and message["params"]["value"]["kind"] == "end"
        )
        kinds = progress_kinds(client)
        assert kinds[0] == "begin" and kinds[-1] == "end" and kinds.count("begin") == kinds.count("end") == 1
        assert loads.models == ["embedded"]
        assert client.responses().count(early) == 1


def test_a_newer_request_goes_before_an_older_one_while_the_model_loads() -> None:
    loads = Loads()
    with in_thread(loads) as client:
        client.initialize()
        client.open("x = ")
        older, newer = client.begin_inline(0, 4), client.begin_inline(0, 3)
        assert client.response(older)["error"]["code"] == CANCELLED
        loads.gate.set()
        assert len(client.response(newer)["result"]) == 1


def test_a_client_without_progress_is_asked_for_none() -> None:
    with in_thread(Loads(opened=True)) as client:
        client.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        client.notify("initialized", {})
        client.open("x = ")
        assert fill_of(client) == ["embedded"]
        assert {message.get("method") for message in client.messages} <= {None, "midfill/status"}


def test_a_client_that_refuses_progress_gets_none() -> None:
    with in_thread(Loads(opened=True)) as client:
        client.refuses.add("window/workDoneProgress/create")
        client.initialize()
        client.open("x = ")
        assert fill_of(client) == ["embedded"]
        client.notification("window/workDoneProgress/create")
        assert fill_of(client) == ["embedded"]
        assert progress_kinds(client) == []


def test_a_load_that_fails_is_told_once_and_a_right_model_mends_it() -> None:
    with in_thread(Loads(opened=True)) as client:
        client.initialize(options={"model": "bad"})
        client.open("x = ")
        assert fill_of(client) == []
        assert client.notification("window/showMessage") == {"type": 1, "message": "Midfill: no model is called 'bad'"}
        assert fill_of(client) == []
        choose(client, "worse")
        assert fill_of(client) == []
        assert (
            "'worse' cannot be loaded: RuntimeError"
            in client.notification("window/showMessage", has="worse")["message"]
        )
        choose(client, "good")
        assert fill_of(client) == ["good"]
        assert len([message for message in client.messages if message.get("method") == "window/showMessage"]) == 2


def test_only_a_change_of_the_model_loads_again() -> None:
    loads = Loads(opened=True)
    with in_thread(loads) as client:
        client.initialize()
        client.open("x = ")
        assert fill_of(client) == ["embedded"]
        client.notify("workspace/didChangeConfiguration", {"settings": {"steps": 3}})
        assert fill_of(client) == ["embedded"]
        choose(client, "other")
        assert fill_of(client) == ["other"]
        assert loads.models == ["embedded", "other"]


def test_a_request_that_waits_gets_the_model_that_was_asked_for_last() -> None:
    loads = Loads()
    with in_thread(loads) as client:
        client.initialize(options={"model": "bad"})
        client.open("x = ")
        assert loads.begun.wait(60)
        waiting = client.begin_inline(0, 4)
        choose(client, "second")
        client.response(client.request("no/such"))  # is answered once the server has read what went before
        loads.gate.set()
        assert [item["insertText"] for item in client.response(waiting)["result"]] == ["second"]
        client.wait(lambda message: message.get("method") == "$/progress" and "second" in str(message))
        kinds = progress_kinds(client)
        assert kinds.count("begin") == kinds.count("end")
        assert not any(message.get("method") == "window/showMessage" for message in client.messages)


def test_neither_importing_nor_building_the_server_imports_torch() -> None:
    code = (
        "import sys, lsp_server.serve, lsp_server.server, engine.scripted; lsp_server.server.build_server();"
        "sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0
