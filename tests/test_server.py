"""The server as a client sees it: real pipes, raw JSON, every message checked against the protocol."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import BadInput
from engine.filler import Alternative, CancelToken, Completion, Draft, FillSettings
from engine.hole import Hole
from engine.text import Document
from tests.lsp_client import CANCELLED, INLINE, MODIFIED, URI, Client, cursor_of, in_thread, insert, range_

ENCODINGS = ("utf-8", "utf-16", "utf-32")
ASTRAL = 'names = {"😀": "grin", "👩\u200d👩\u200d👧": "family"}; label = names[¦]\nprint(label)\n'


def at(line: int, character: int) -> dict:
    """The params of a request at a position."""
    return {"textDocument": {"uri": URI}, "position": {"line": line, "character": character}}


class Gated:
    """A filler that fills what the test says, step after step, once the test opens its gate."""

    name = "gated"

    def __init__(self, text: str = "filled", others: tuple[str, ...] = (), opened: bool = True) -> None:
        self.text, self.others = text, others
        self.gate = threading.Event()
        if opened:
            self.gate.set()
        self.begun: list[tuple[Document, Hole, FillSettings]] = []
        self.ended: list[str] = []
        self.error: Exception | None = None

    def fill(
        self, document: Document, hole: Hole, settings: FillSettings, cancel: CancelToken
    ) -> Iterator[Draft | Completion]:
        self.begun.append((document, hole, settings))
        if self.error is not None:
            raise self.error
        try:
            while not self.gate.wait(0.002):
                cancel.check()
                yield Draft(1, 0, "")
            cancel.check()
            self.ended.append("done")
        finally:
            if len(self.ended) < len(self.begun):
                self.ended.append("cancelled")
        others = tuple(Alternative(text, 0.5) for text in self.others[: settings.alternatives - 1])
        yield Completion(self.text, hole.start, hole.end, 0.9, alternatives=others)

    def wait_until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 60
        while not holds():
            assert time.monotonic() < deadline
            time.sleep(0.002)


def shown(items: list[dict]) -> list[dict]:
    """What a person sees of items: all but the command that says that one was accepted."""
    return [{key: value for key, value in item.items() if key != "command"} for item in items]


def served(filler: Gated, **how: object):  # type: ignore[no-untyped-def]
    return in_thread(lambda settings, progress: filler, **how)  # type: ignore[arg-type]


@pytest.fixture
def filler() -> Gated:
    return Gated()


@pytest.fixture
def client(filler: Gated) -> Iterator[Client]:
    with served(filler) as connected:
        yield connected


# what is answered


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_astral_text_before_the_cursor(encoding: str) -> None:  # case 05
    text, cursor = cursor_of(ASTRAL, encoding)
    with served(Gated('"😀"')) as client:
        assert client.initialize(encoding)["positionEncoding"] == encoding
        client.open(text)
        (item,) = client.inline(*cursor)
        assert insert(text, item, encoding) == ASTRAL.replace("¦", '"😀"')
        # The same after typing behind astral text, in the encoding's own columns.
        client.change([{"range": range_(cursor, cursor), "text": "("}], version=2)
        (item,) = client.inline(cursor[0], cursor[1] + 1)
        assert insert(ASTRAL.replace("¦", "("), item, encoding) == ASTRAL.replace("¦", '("😀"')
        client.shut_down()


def test_the_answer_is_an_empty_range_at_the_cursor_and_replaces_nothing(client: Client) -> None:
    client.initialize()
    client.open("x = \ny = 2\n")
    assert shown(client.inline(0, 4)) == [{"insertText": "filled", "range": range_((0, 4), (0, 4))}]


def test_capabilities(client: Client) -> None:
    capabilities = client.initialize()
    assert capabilities["inlineCompletionProvider"] == {}
    assert capabilities["textDocumentSync"]["openClose"] and capabilities["textDocumentSync"]["change"] == 2
    assert "completionProvider" not in capabilities


def test_encodings_are_negotiated_with_utf_16_when_nothing_is_said(client: Client) -> None:
    answer = client.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    assert answer["capabilities"]["positionEncoding"] == "utf-16"


@pytest.mark.parametrize("trigger", [1, 2])
def test_several_when_asked_by_hand_and_one_when_automatic(trigger: int) -> None:
    filler = Gated("a", others=("b", "a", "", "c", "d", "e"))
    with served(filler) as client:
        client.initialize(options={"alternatives": 4})
        client.open("x = ")
        texts = [item["insertText"] for item in client.inline(0, 4, trigger=trigger)]
        assert texts == (["a", "b"] if trigger == 1 else ["a"])  # each once, none empty
        assert filler.begun[0][2].alternatives == (4 if trigger == 1 else 1)


def test_a_selected_item_is_extended_in_its_own_range(filler: Gated, client: Client) -> None:
    client.initialize()
    client.open("import os\nos.pa\n")
    selected = {"range": range_((1, 3), (1, 5)), "text": "path."}
    assert shown(client.inline(1, 5, selected=selected)) == [
        {"insertText": "path.filled", "range": range_((1, 3), (1, 5))}
    ]
    document, hole, _ = filler.begun[0]
    assert document.text == "import os\nos.path.\n" and hole.start == len("import os\nos.path.")


@pytest.mark.parametrize("where", [((0, 0), (1, 5)), ((1, 0), (1, 1))])
def test_a_selected_item_that_is_not_at_the_cursor_gets_nothing(client: Client, where: tuple) -> None:
    client.initialize()
    client.open("import os\nos.pa\n")
    assert client.inline(1, 5, selected={"range": range_(*where), "text": "path"}) == []


@pytest.mark.parametrize(("at", "lands"), [((0, 999), (0, 5)), ((99, 7), (1, 3)), ((1, 4), (1, 3))])
def test_positions_past_the_end_are_clamped(client: Client, at: tuple[int, int], lands: tuple[int, int]) -> None:
    client.initialize()
    client.open("first\nend")
    assert client.inline(*at)[0]["range"] == range_(lands, lands)


def test_inside_a_surrogate_pair_is_before_it(client: Client) -> None:
    client.initialize()
    client.open("😀")
    assert client.inline(0, 1)[0]["range"] == range_((0, 0), (0, 0))


@pytest.mark.parametrize("uri", ["untitled:Untitled-1", "vscode-userdata:/a/settings", "file:///a%20b/%C3%A9.py"])
def test_any_scheme(client: Client, uri: str) -> None:
    client.initialize()
    client.open("x = ", uri=uri)
    assert len(client.inline(0, 4, uri=uri)) == 1


def test_documents_that_are_not_open_get_nothing(client: Client) -> None:
    client.initialize()
    assert client.inline(0, 0) == []
    client.change([{"text": "x"}], version=2)
    client.open("x = ")
    client.notify("textDocument/didClose", {"textDocument": {"uri": URI}})
    assert client.inline(0, 0) == []


def test_languages_switched_off_get_nothing(client: Client) -> None:
    client.initialize(options={"languages": {"*": False, "go": True}})
    client.open("x = ")
    client.open("x = ", uri="file:///a.go", language="go")
    assert client.inline(0, 4) == []
    assert len(client.inline(0, 4, uri="file:///a.go")) == 1


@pytest.mark.parametrize("text", ["", "x = \ud800 \n", "\f\u2028\x00"])
def test_odd_texts_are_served(client: Client, text: str) -> None:
    client.initialize()
    client.open(text)
    assert len(client.inline(0, 0)) == 1


def test_a_long_line_in_a_long_file_is_served_while_others_are_answered() -> None:  # case 09
    functions = "".join(f"def f{number}(a, b):\n    return a + {number}\n\n" for number in range(20_000))
    text = "long = '" + "x" * 200_000 + "'\n" + functions + "def last():\n    "
    last = text.count("\n")
    filler = Gated("pass", opened=False)
    with served(filler) as client:
        client.initialize()
        client.open(text)
        client.open("x = ", uri="file:///small.py")
        slow = client.begin_inline(last, 4)
        assert client.response(client.request("no/such/method"))["error"]["code"] == -32601
        filler.gate.set()
        assert len(client.inline(0, 4, uri="file:///small.py")) == 1
        assert shown(client.response(slow)["result"]) == [{"insertText": "pass", "range": range_((last, 4), (last, 4))}]
        assert len(client.inline(0, 200_000)) == 1


# exactly one response


def test_a_cancelled_request_is_answered_as_cancelled_and_the_filler_stops() -> None:
    filler = Gated(opened=False)
    with served(filler) as client:
        client.initialize()
        client.open("x = ")
        request = client.begin_inline(0, 4)
        filler.wait_until(lambda: len(filler.begun) == 1)
        client.cancel(request)
        assert client.response(request)["error"]["code"] == CANCELLED
        filler.wait_until(lambda: filler.ended == ["cancelled"])
        filler.gate.set()
        assert len(client.inline(0, 4)) == 1
        client.cancel(request)  # once more, and for what never was
        client.cancel(12345)
        client.cancel("abc")
        client.shut_down()
        assert client.responses().count(request) == 1


def test_a_cancel_in_the_same_breath() -> None:
    filler = Gated(opened=False)
    with served(filler) as client:
        client.initialize()
        client.open("x = ")
        requests = []
        for _ in range(20):
            requests.append(client.begin_inline(0, 4))
            client.cancel(requests[-1])
        for request in requests:
            assert client.response(request)["error"]["code"] == CANCELLED
        client.shut_down()
        assert all(client.responses().count(request) == 1 for request in requests)


def test_the_newest_request_for_a_document_wins() -> None:
    filler = Gated(opened=False)
    with served(filler) as client:
        client.initialize()
        client.open("x = ")
        client.open("y = ", uri="file:///other.py")
        first = client.begin_inline(0, 4)
        filler.wait_until(lambda: len(filler.begun) == 1)
        other = client.begin_inline(0, 4, uri="file:///other.py")
        second = client.begin_inline(0, 4)
        assert client.response(first)["error"]["code"] == CANCELLED
        filler.gate.set()
        assert len(client.response(second)["result"]) == 1
        assert len(client.response(other)["result"]) == 1
        client.shut_down()
        assert sorted(filler.ended) == ["cancelled", "done", "done"]
        assert all(client.responses().count(request) == 1 for request in (first, second, other))


@pytest.mark.parametrize("closes", [False, True])
def test_a_document_that_changes_while_it_is_filled_is_said_to_have_changed(closes: bool) -> None:
    filler = Gated(opened=False)
    with served(filler) as client:
        client.initialize()
        client.open("x = ")
        stale = client.begin_inline(0, 4)
        filler.wait_until(lambda: len(filler.begun) == 1)
        if closes:
            client.notify("textDocument/didClose", {"textDocument": {"uri": URI}})
        else:
            client.change([{"range": range_((0, 4), (0, 4)), "text": "1"}], version=2)
        assert client.response(stale)["error"]["code"] == MODIFIED
        filler.wait_until(lambda: filler.ended == ["cancelled"])


def test_a_request_sees_the_document_as_it_stood_when_it_was_sent(filler: Gated, client: Client) -> None:
    """A change that the server reads in the same breath must not move the request to the changed text."""
    client.initialize()
    client.open("first")
    with client.together():
        stale = client.begin_inline(0, 5)
        client.change([{"text": "second one"}], version=2)
    assert client.response(stale)["error"]["code"] == MODIFIED
    with client.together():
        client.change([{"text": "third"}], version=3)
        current = client.begin_inline(0, 5)
    assert len(client.response(current)["result"]) == 1
    assert all(hole.start == len(document.text) for document, hole, _ in filler.begun)


def test_a_filler_that_fails_leaves_an_empty_answer_and_a_living_server(filler: Gated, client: Client) -> None:
    client.initialize()
    client.open("x = ")
    filler.error = BadInput("the canvas is longer than the context")
    assert client.inline(0, 4) == []
    assert "longer than the context" in client.notification("window/showMessage")["message"]
    assert client.inline(0, 4) == []
    filler.error = ValueError("source text")
    assert client.inline(0, 4) == []
    filler.error = None
    assert len(client.inline(0, 4)) == 1
    shown = [message for message in client.messages if message.get("method") == "window/showMessage"]
    assert len(shown) == 1 and "source text" not in json.dumps(client.messages)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(["ask", "ask", "ask", "list", "cancel", "change", "reopen", "close", "model", "go"])))
def test_every_request_is_answered_exactly_once_whatever_happens(actions: list[str]) -> None:
    filler = Gated(opened=False)
    with served(filler) as client:
        client.initialize(options={"completion": True})
        client.open("x = ")
        requests = [client.begin_inline(0, 4)]
        for turn, action in enumerate(actions):
            if action == "ask":
                requests.append(client.begin_inline(0, 4, trigger=1 + turn % 2))
            elif action == "list":
                requests.append(client.request("textDocument/completion", at(0, 4)))
            elif action == "cancel":
                client.cancel(requests[turn % len(requests)])
            elif action == "change":
                client.change([{"range": range_((0, 4), (0, 4)), "text": "1"}], version=turn + 2)
            elif action == "reopen":
                client.open("x = ", version=turn + 2)
            elif action == "close":
                client.notify("textDocument/didClose", {"textDocument": {"uri": URI}})
            elif action == "model":
                client.notify("workspace/didChangeConfiguration", {"settings": {"model": f"m{turn}"}})
            else:
                filler.gate.set()
        filler.gate.set()
        answers = [client.response(request) for request in requests]
        refused = (CANCELLED, MODIFIED)
        assert all("result" in answer or answer["error"]["code"] in refused for answer in answers)
        client.shut_down()
        assert sorted(set(client.responses()) & set(requests)) == requests
        assert all(client.responses().count(request) == 1 for request in requests)


# what breaks the protocol


def check_refused(client: Client, body: bytes, code: int, request_id: object = None) -> None:
    client.send_raw(body)
    found = client.wait(lambda message: message.get("error", {}).get("code") == code and message["id"] == request_id)
    assert "\n" not in found["error"]["message"]


@pytest.mark.parametrize(
    ("body", "code", "request_id"),
    [
        (b"{", -32700, None),
        (b"\xff\xfe{}", -32700, None),
        (b"[" * 100_000, -32700, None),
        (b"[]", -32600, None),
        (b"3", -32600, None),
        (b'{"id": 1, "method": "shutdown"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "shutdown"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": null, "method": "shutdown"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": 91, "method": 5}', -32601, 91),
        (b'{"jsonrpc": "2.0", "id": 92, "method": "no/such"}', -32601, 92),
        (b'{"jsonrpc": "2.0", "id": 96, "method": "textDocument/didClose"}', -32600, 96),
        (b'{"jsonrpc": "2.0", "id": 97, "method": "initialized", "params": {}}', -32600, 97),
        (b'{"jsonrpc": "2.0", "id": 93, "method": "textDocument/inlineCompletion"}', -32602, 93),
        (b'{"jsonrpc": "2.0", "id": 94, "method": "textDocument/inlineCompletion", "params": [1]}', -32602, 94),
        (b'{"jsonrpc": "2.0", "id": 95, "method": "initialize", "params": {"capabilities": {}}}', -32600, 95),
    ],
)
def test_malformed_messages_are_refused_and_the_server_lives_on(
    client: Client, body: bytes, code: int, request_id: object
) -> None:
    client.initialize()
    check_refused(client, body, code, request_id)
    client.open("x = ")
    assert len(client.inline(0, 4)) == 1


def test_malformed_notifications_and_responses_are_left_out(client: Client) -> None:
    client.initialize()
    client.notify("textDocument/didOpen", {"textDocument": 5})
    client.notify("textDocument/didChange", {})
    client.notify("no/such", {"a": 1})
    client.notify("$/cancelRequest", {})
    client.send({"id": "never-asked", "result": 1})
    client.send({"id": "never-asked", "error": {"code": 1, "message": "x"}})
    client.open("x = ")
    assert len(client.inline(0, 4)) == 1


def test_requests_before_initialize_and_after_shutdown_are_refused(client: Client) -> None:
    client.open("x = ")
    early = client.begin_inline(0, 4)
    assert client.response(early)["error"]["code"] == -32002
    client.initialize()
    assert client.ask("shutdown") is None
    assert client.response(client.begin_inline(0, 4))["error"]["code"] == -32600


def test_shutdown_answers_what_was_pending() -> None:
    filler = Gated(opened=False)
    with served(filler) as client:
        client.initialize()
        client.open("x = ")
        pending = client.begin_inline(0, 4)
        filler.wait_until(lambda: len(filler.begun) == 1)
        assert client.ask("shutdown") is None
        answer = client.response(pending)
        assert answer.get("result") == [] or answer["error"]["code"] == CANCELLED


# settings


def test_wrong_settings_are_named_to_the_person_and_the_rest_holds(filler: Gated, client: Client) -> None:
    client.initialize(options={"stpes": 3, "seed": 5, "alternatives": 0})
    message = client.notification("window/showMessage")["message"]
    assert "unknown setting 'stpes'; did you mean 'steps'?" in message and "setting 'alternatives'" in message
    client.open("x = ")
    client.inline(0, 4)
    assert filler.begun[0][2].seed == 5
    client.notify("workspace/didChangeConfiguration", {"settings": {"midfill": {"min_confidence": "high"}}})
    client.notification("window/showMessage", has="min_confidence")
    client.notify("workspace/didChangeConfiguration", {"settings": {"midfill": {"min_confidence": 0.3, "steps": 7}}})
    client.inline(0, 4)
    assert (filler.begun[1][2].min_confidence, filler.begun[1][2].steps) == (0.3, 7)


def test_a_client_that_only_says_that_settings_changed_changes_nothing(filler: Gated, client: Client) -> None:
    client.initialize(options={"seed": 5})
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.open("x = ")
    client.inline(0, 4)
    assert filler.begun[0][2].seed == 5


# textDocument/completion


def complete(client: Client, line: int, character: int) -> dict:
    return client.ask("textDocument/completion", at(line, character))


def test_the_ordinary_list_holds_one_item_when_asked_for() -> None:
    with served(Gated("return a\n    # done")) as client:
        assert client.initialize(options={"completion": True})["completionProvider"] == {}
        client.open("def f(a):\n    ret")
        answer = complete(client, 1, 7)
        assert answer["isIncomplete"] is True
        (item,) = answer["items"]
        assert item["textEdit"] == {"range": range_((1, 7), (1, 7)), "newText": "return a\n    # done"}
        assert item["label"] == "return a" and item["filterText"] == "retreturn a"


def test_the_ordinary_list_is_off_unless_asked_for_and_can_be_switched_later(client: Client) -> None:
    client.initialize()
    client.open("x = ")
    request = client.request("textDocument/completion", at(0, 4))
    assert client.response(request)["error"]["code"] == -32601
    client.notify("workspace/didChangeConfiguration", {"settings": {"completion": True}})
    asked = client.notification("client/registerCapability")
    assert asked["registrations"][0]["method"] == "textDocument/completion"
    assert len(complete(client, 0, 4)["items"]) == 1
    client.notify("workspace/didChangeConfiguration", {"settings": {"completion": False}})
    assert complete(client, 0, 4)["items"] == []


def test_both_kinds_of_request_for_one_document_are_served() -> None:
    filler = Gated(opened=False)
    with served(filler) as client:
        client.initialize(options={"completion": True})
        client.open("x = ")
        requests = [client.begin_inline(0, 4), client.request("textDocument/completion", at(0, 4))]
        filler.gate.set()
        ghost, listed = (client.response(request)["result"] for request in requests)
        assert len(ghost) == 1 and len(listed["items"]) == 1


def test_ten_requests_while_typing_get_ten_answers_and_the_newest_wins() -> None:  # case 10
    filler = Gated("filled", opened=False)
    with served(filler) as client:
        client.initialize()
        client.open("")
        requests = []
        for number, letter in enumerate("total = su"):
            client.change([{"range": range_((0, number), (0, number)), "text": letter}], version=number + 2)
            requests.append(client.begin_inline(0, number + 1, trigger=2))
            time.sleep(0.02)
        filler.gate.set()
        answers = [client.response(request) for request in requests]
        assert [answer.get("error", {}).get("code") for answer in answers] == [MODIFIED] * 9 + [None]
        assert [item["insertText"] for item in answers[-1]["result"]] == ["filled"]
        client.shut_down()
        assert all(client.responses().count(request) == 1 for request in requests)
        assert filler.ended.count("done") == 1


def test_params_that_do_not_fit_are_refused_with_the_place_and_without_the_text() -> None:
    with served(Gated()) as client:
        client.initialize()
        client.open("secret = 1\n")
        params = client.inline_params(0, 1)
        error = client.response(client.request(INLINE, {**params, "position": {"line": "secret", "character": 0}}))[
            "error"
        ]
        assert (
            error["code"] == -32602 and "params.position.line" in error["message"] and "secret" not in error["message"]
        )
        del params["context"]
        error = client.response(client.request(INLINE, params))["error"]
        assert "required field missing at params.context" in error["message"]
