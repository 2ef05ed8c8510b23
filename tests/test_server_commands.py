"""The commands, code actions, status and drafts of docs/protocol.md, as a client sees them."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator

import pytest

from engine.filler import CancelToken, Completion, Draft, DraftSlot, FillSettings
from engine.hole import Hole
from engine.text import Document
from tests.lsp_client import CANCELLED, MODIFIED, URI, Client, in_thread, range_
from tests.test_server import Gated, at, served


class Slots(Gated):
    """Shows two drafts with slots, then fills."""

    def fill(
        self, document: Document, hole: Hole, settings: FillSettings, cancel: CancelToken
    ) -> Iterator[Draft | Completion]:
        yield Draft(1, 0, "a·", (DraftSlot("a", 0.75, True), DraftSlot("·", 0.2, False)))
        yield Draft(2, 0, "ab", (DraftSlot("a", 0.75, True), DraftSlot("b", 0.95, True)))
        yield from super().fill(document, hole, settings, cancel)


def command(client: Client, name: str, **argument: object) -> dict:
    return client.ask("workspace/executeCommand", {"command": name, "arguments": [{"uri": URI, **argument}]})


@pytest.fixture
def filler() -> Gated:
    return Gated("return 1")


@pytest.fixture
def client(filler: Gated) -> Iterator[Client]:
    with served(filler) as connected:
        connected.initialize()
        yield connected


def replaced(text: str, edit: dict) -> str:
    """The text after a workspace edit of ASCII text, applied from the end."""
    (edits,) = edit["changes"].values()
    lines = text.split("\n")

    def offset(position: dict) -> int:
        return sum(len(line) + 1 for line in lines[: position["line"]]) + position["character"]

    for one in sorted(edits, key=lambda e: -offset(e["range"]["start"])):
        text = text[: offset(one["range"]["start"])] + one["newText"] + text[offset(one["range"]["end"]) :]
    return text


def test_all_marked_holes_are_one_edit(client: Client) -> None:
    text = "def f():\n    ...\n\ndef g():\n    pass\n\n# TODO: print it\n"
    client.open(text)
    answer = command(client, "midfill.fillHoles", apply=False)
    assert (answer["holes"], answer["filled"], answer["applied"]) == (3, 3, False)
    expected = text.replace("...", "return 1").replace("pass", "return 1").replace("print it", "print it\nreturn 1")
    assert replaced(text, answer["edit"]) == expected


def test_the_client_is_asked_to_apply_the_edit(client: Client) -> None:
    client.open("def f():\n    pass\n")
    request = client.request("workspace/executeCommand", {"command": "midfill.fillHoles", "arguments": [{"uri": URI}]})
    asked = client.wait(lambda message: message.get("method") == "workspace/applyEdit")
    (edit,) = asked["params"]["edit"]["changes"][URI]
    assert edit == {"range": range_((1, 4), (1, 8)), "newText": "return 1"}
    answer = client.response(request)["result"]
    assert answer["applied"] is False and answer["message"] == "the editor did not apply the edit"


def test_a_client_that_cannot_apply_edits_gets_the_edit_in_the_answer(filler: Gated) -> None:
    with served(filler) as client:
        client.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        client.notify("initialized", {})
        client.open("def f():\n    pass\n")
        answer = command(client, "midfill.fillHoles")
        assert replaced("def f():\n    pass\n", answer["edit"]) == "def f():\n    return 1\n"
        assert answer["applied"] is False and "did not say that it can apply edits" in answer["message"]
        assert not [m for m in client.messages if m.get("method") == "workspace/applyEdit"]


def test_filling_holes_shows_progress(client: Client) -> None:
    client.open("def f():\n    pass\n")
    request = client.request("workspace/executeCommand", {"command": "midfill.fillHoles", "arguments": [{"uri": URI}]})
    created = client.wait(lambda m: m.get("method") == "window/workDoneProgress/create")
    token = created["params"]["token"]

    def shown(kind: str) -> Callable[[dict], bool]:
        return lambda m: (
            m.get("method") == "$/progress" and m["params"]["token"] == token and m["params"]["value"]["kind"] == kind
        )

    client.wait(shown("begin"))
    client.response(request)
    client.wait(shown("end"))


@pytest.mark.parametrize(
    ("name", "argument", "why"),
    [
        ("midfill.fillHoles", {"ranges": []}, "one range or more"),
        ("midfill.fillHoles", {"ranges": [range_((0, 0), (0, 3)), range_((0, 2), (0, 4))]}, "must not overlap"),
        ("midfill.fillHoles", {"aply": False}, "unknown: 'aply'"),
        ("midfill.fillHoles", {"apply": "no"}, "apply must be true or false"),
        ("midfill.denoise", {"position": {"line": 0, "character": 0}, "token": 5}, "token must be a string"),
    ],
)
def test_a_wrong_argument_is_refused_and_the_line_says_why(client: Client, name: str, argument: dict, why: str) -> None:
    client.open("x = 1\ny = 2\n")
    params = {"command": name, "arguments": [{"uri": URI, **argument}]}
    error = client.response(client.request("workspace/executeCommand", params))["error"]
    assert error["code"] == -32602 and why in error["message"] and "\n" not in error["message"]


def test_a_file_that_holds_secrets_gets_no_completions(filler: Gated, client: Client) -> None:
    uri = "file:///project/.env"
    client.open("TOKEN=\n", uri=uri, language="plaintext")
    assert client.ask("textDocument/inlineCompletion", {**client.inline_params(0, 6, uri=uri)}) == []
    params = {"command": "midfill.fillHoles", "arguments": [{"uri": uri}]}
    assert "secrets" in client.response(client.request("workspace/executeCommand", params))["error"]["message"]
    assert filler.begun == []


def test_selected_ranges_are_filled_and_nothing_marked_is_said(client: Client) -> None:
    client.open("x = 1\ny = 2\n")
    assert command(client, "midfill.fillHoles")["message"] == "the document marks no hole"
    answer = command(client, "midfill.fillHoles", ranges=[range_((0, 4), (0, 5))], apply=False)
    assert answer["holes"] == 1


def test_a_selection_is_rewritten_from_what_stands_there(client: Client, filler: Gated) -> None:
    client.open("def f():\n    return 2\n")
    answer = command(client, "midfill.rewriteSelection", range=range_((1, 4), (1, 12)), apply=False)
    assert answer["filled"] == 1 and answer["edit"]["changes"][URI][0]["newText"] == "return 1"
    assert filler.begun[0][2].rewrite
    client.open("def f():\n    return 1\n", version=2)
    answer = command(client, "midfill.rewriteSelection", range=range_((1, 4), (1, 12)))
    assert answer["filled"] == 0 and "better than what stands there" in answer["message"]


def test_alternatives_are_distinct_and_carry_their_confidence() -> None:
    with served(Gated("a", others=("b", "a", "c"))) as client:
        client.initialize()
        client.open("x = ")
        items = command(client, "midfill.alternatives", position={"line": 0, "character": 4}, count=4)["items"]
        assert [item["text"] for item in items] == ["a", "b", "c"]
        assert items[0] == {"text": "a", "range": range_((0, 4), (0, 4)), "confidence": 0.9}


def test_denoising_is_shown_step_by_step() -> None:
    with served(Slots("ab")) as client:
        client.initialize()
        client.open("x = ")
        answer = command(client, "midfill.denoise", position={"line": 0, "character": 4}, token="t1")
        assert answer["text"] == "ab" and answer["range"] == range_((0, 4), (0, 4))
        drafts = [m["params"] for m in client.messages if m.get("method") == "midfill/draft"]
        assert [draft["text"] for draft in drafts] == ["a·", "ab"]
        assert all(draft["token"] == "t1" and draft["uri"] == URI for draft in drafts)
        assert drafts[0]["slots"][1] == {"text": "·", "confidence": 0.2, "decided": False}
        client.inline(0, 4)
        assert len([m for m in client.messages if m.get("method") == "midfill/draft"]) == 2  # off by default


def test_drafts_of_ghost_text_come_where_they_are_asked_for() -> None:
    with served(Slots("ab")) as client:
        client.initialize(options={"drafts": True})
        client.open("x = ")
        client.inline(0, 4)
        assert len([m for m in client.messages if m.get("method") == "midfill/draft"]) == 2


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("midfill.fillHoles", None),
        ("midfill.fillHoles", {"uri": 5}),
        ("midfill.fillHoles", {"uri": "file:///not/open.py"}),
        ("midfill.fillHoles", {"uri": URI, "ranges": 5}),
        ("midfill.fillHoles", {"uri": URI, "ranges": [5]}),
        ("midfill.rewriteSelection", {"uri": URI}),
        ("midfill.rewriteSelection", {"uri": URI, "range": range_((0, 1), (0, 1))}),
        ("midfill.alternatives", {"uri": URI}),
        ("midfill.alternatives", {"uri": URI, "position": {"line": 0, "character": 0}, "count": 99}),
        ("midfill.denoise", {"uri": URI, "position": {"line": -1, "character": 0}}),
        ("midfill.denoise", {"uri": URI, "position": {"line": True, "character": 0}}),
        ("midfill.accepted", {"uri": URI}),
    ],
)
def test_a_wrong_argument_is_refused_in_a_line(client: Client, name: str, argument: object) -> None:
    client.open("x = ")
    answer = client.response(client.request("workspace/executeCommand", {"command": name, "arguments": [argument]}))
    assert answer["error"]["code"] == -32602 and "\n" not in answer["error"]["message"]
    assert len(client.inline(0, 4)) == 1


def test_an_unknown_command_is_refused(client: Client) -> None:
    answer = client.response(client.request("workspace/executeCommand", {"command": "midfill.no", "arguments": []}))
    assert answer["error"]["code"] in (-32601, -32602)


def test_an_edit_meanwhile_stops_a_command_that_changes_text() -> None:
    filler = Gated("return 1", opened=False)
    with served(filler) as client:
        client.initialize()
        client.open("def f():\n    pass\n")
        params = {"command": "midfill.fillHoles", "arguments": [{"uri": URI}]}
        request = client.request("workspace/executeCommand", params)
        filler.wait_until(lambda: len(filler.begun) == 1)
        client.change([{"range": range_((0, 0), (0, 0)), "text": "#\n"}], version=2)
        answer = client.response(request)["result"]
        assert answer["applied"] is False and "changed" in answer["message"]
        second = client.request("workspace/executeCommand", params)
        filler.wait_until(lambda: len(filler.begun) == 2)
        client.cancel(second)
        assert client.response(second)["error"]["code"] == CANCELLED


def test_code_actions_offer_both_commands(client: Client) -> None:
    client.open("def f():\n    pass\n")
    params = {"textDocument": {"uri": URI}, "range": range_((1, 4), (1, 8)), "context": {"diagnostics": []}}
    actions = client.ask("textDocument/codeAction", params)
    assert [a["command"]["command"] for a in actions] == ["midfill.rewriteSelection", "midfill.fillHoles"]
    for only, count in ((["quickfix"], 0), (["refactor"], 2), (["refactor.rewrite"], 2), (["refactor.extract"], 0)):
        wanted = {**params, "context": {"diagnostics": [], "only": only}}
        assert len(client.ask("textDocument/codeAction", wanted)) == count
    caret = {**params, "range": range_((1, 4), (1, 4))}
    assert [a["command"]["command"] for a in client.ask("textDocument/codeAction", caret)] == ["midfill.fillHoles"]


def test_typing_what_is_shown_runs_no_model(client: Client, filler: Gated) -> None:
    client.open("def f():\n    \n")
    assert [item["insertText"] for item in client.inline(1, 4)] == ["return 1"]
    for number, letter in enumerate("ret"):
        client.change([{"range": range_((1, 4 + number), (1, 4 + number)), "text": letter}], version=2 + number)
        assert [item["insertText"] for item in client.inline(1, 5 + number, trigger=2)] == ["return 1"[number + 1 :]]
    client.change([{"range": range_((1, 5), (1, 7)), "text": ""}], version=9)
    assert [item["insertText"] for item in client.inline(1, 5, trigger=2)] == ["eturn 1"]
    assert len(filler.begun) == 1
    client.change([{"range": range_((1, 5), (1, 5)), "text": "x"}], version=10)
    client.inline(1, 6)
    assert len(filler.begun) == 2


def test_what_is_left_of_several_lines_stays_several_lines_and_closed_brackets_are_not_doubled() -> None:
    filler = Gated("print(a)\n    return a")
    with served(filler) as client:
        client.initialize()
        client.open("def f(a):\n    \n")
        client.inline(1, 4, trigger=2)
        client.change([{"range": range_((1, 4), (1, 4)), "text": "print"}], version=2)
        assert [item["insertText"] for item in client.inline(1, 9, trigger=2)] == ["(a)\n    return a"]
        # the editor closes the bracket that is typed
        client.change([{"range": range_((1, 9), (1, 9)), "text": "()"}], version=3)
        assert [item["insertText"] for item in client.inline(1, 10, trigger=2)] == ["a"]
        assert len(filler.begun) == 1


def test_the_next_completion_is_made_ahead_after_an_accept(client: Client, filler: Gated) -> None:
    client.open("def f():\n    \n")
    (item,) = client.inline(1, 4)
    client.change([{"range": item["range"], "text": item["insertText"]}], version=2)
    accepted = item["command"]
    assert accepted["arguments"] == [{"uri": URI, "position": {"line": 1, "character": 12}}]
    assert client.ask("workspace/executeCommand", {k: accepted[k] for k in ("command", "arguments")}) is None
    filler.wait_until(lambda: len(filler.begun) == 2)
    filler.wait_until(lambda: filler.ended == ["done", "done"])
    assert len(client.inline(1, 12, trigger=2)) == 1
    assert len(filler.begun) == 2


def test_ahead_of_time_is_switched_off_by_its_setting() -> None:
    filler = Gated("return 1")
    with served(filler) as client:
        client.initialize(options={"ahead": False})
        client.open("def f():\n    \n")
        (item,) = client.inline(1, 4)
        client.ask("workspace/executeCommand", {k: item["command"][k] for k in ("command", "arguments")})
        client.inline(0, 0)
        assert len(filler.begun) == 2


def test_a_real_request_stops_what_is_made_ahead() -> None:
    filler = Gated("return 1")
    with served(filler) as client:
        client.initialize()
        client.open("def f():\n    \n")
        client.open("x = ", uri="file:///other.py")
        (item,) = client.inline(1, 4)
        client.change([{"range": item["range"], "text": item["insertText"]}], version=2)
        filler.gate.clear()
        client.ask("workspace/executeCommand", {k: item["command"][k] for k in ("command", "arguments")})
        filler.wait_until(lambda: len(filler.begun) == 2)
        request = client.begin_inline(0, 4, uri="file:///other.py")
        filler.wait_until(lambda: filler.ended == ["done", "cancelled"])
        filler.gate.set()
        assert len(client.response(request)["result"]) == 1


def statuses(client: Client) -> list[str]:
    return [m["params"]["state"] for m in client.messages if m.get("method") == "midfill/status"]


def test_the_status_goes_from_loading_to_ready_to_busy_and_back(filler: Gated, client: Client) -> None:
    client.open("x = ")
    filler.gate.clear()
    asked = client.begin_inline(0, 4)
    client.wait(lambda m: m.get("method") == "midfill/status" and m["params"]["state"] == "busy")
    filler.gate.set()
    client.response(asked)
    client.wait(lambda m: m.get("method") == "midfill/status" and statuses(client)[-1:] == ["ready"])
    found = statuses(client)
    assert found[0] == "loading" and found[-3:] == ["ready", "busy", "ready"]
    sent = [m["params"] for m in client.messages if m.get("method") == "midfill/status"]
    assert all(a != b for a, b in itertools.pairwise(sent))
    for character in range(3):  # typed on: answered from what was offered, which is no work to tell of
        place = range_((0, 4 + character), (0, 4 + character))
        client.change([{"range": place, "text": "ret"[character]}], version=2 + character)
        client.inline(0, 5 + character)
    assert statuses(client) == found
    client.notify("workspace/didChangeConfiguration", {"settings": {"languages": {"*": False}}})
    client.wait(lambda m: m.get("method") == "midfill/status" and m["params"]["state"] == "off")


def test_a_model_that_cannot_be_loaded_is_an_error_with_its_reason() -> None:
    from engine.errors import ModelUnavailable

    def load(settings: object, progress: object) -> Gated:
        raise ModelUnavailable("no model 'x': name `embedded` or the folder of a model")

    with in_thread(load) as client:
        client.initialize()
        found = client.wait(lambda m: m.get("method") == "midfill/status" and m["params"]["state"] == "error")
        assert "no model 'x'" in found["params"]["message"]


def test_the_clients_log_gets_a_line_and_no_source_text(client: Client, filler: Gated) -> None:
    client.open("secret = ")
    filler.error = ValueError("secret = 1")
    client.inline(0, 9)
    found = client.notification("window/logMessage")
    assert found["type"] == 1 and "ValueError" in found["message"] and "\n" not in found["message"]
    assert not any(
        "secret" in m["params"]["message"] for m in client.messages if m.get("method") == "window/logMessage"
    )


def test_clients_that_want_no_status_get_none() -> None:
    with served(Gated()) as client:
        client.initialize(options={"status": False})
        client.open("x = ")
        client.inline(0, 4)
        assert statuses(client) == []


def test_over_the_memory_limit_the_model_is_let_go_and_loaded_again_when_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loads = []
    monkeypatch.setattr("engine.memory.resident_mb", lambda: 500.0)

    def load(settings: object, progress: object) -> Gated:
        loads.append(1)
        return Gated()

    with in_thread(load) as client:
        client.initialize(options={"memory_limit": 499})
        client.open("x = ")
        assert len(client.inline(0, 4)) == 1
        client.open("y = ", uri="file:///b.py")
        assert len(client.inline(0, 4, uri="file:///b.py")) == 1
        assert len(loads) >= 2


def test_a_request_waits_for_a_newer_one_as_long_as_the_setting_says() -> None:
    filler = Gated()
    with served(filler) as client:
        client.initialize(options={"debounce": 300})
        client.open("x = ")
        requests = [client.begin_inline(0, 4, trigger=2) for _ in range(5)]
        answers = [client.response(request) for request in requests]
        assert [a["error"]["code"] for a in answers[:4]] == [CANCELLED] * 4 and len(answers[4]["result"]) == 1
        assert len(filler.begun) == 1


def test_an_automatic_request_is_answered_with_nothing_after_its_time_and_one_by_hand_waits() -> None:
    filler = Gated(opened=False)
    with served(filler) as client:
        client.initialize(options={"time_limit": 100})
        client.open("x = ")
        assert client.inline(0, 4, trigger=2) == []
        asked = client.begin_inline(0, 4, trigger=1)
        time.sleep(0.3)
        filler.gate.set()
        assert len(client.response(asked)["result"]) == 1


def test_what_a_request_for_a_changed_document_is_answered(client: Client, filler: Gated) -> None:
    client.open("x = ")
    filler.gate.clear()
    request = client.request("textDocument/inlineCompletion", {**at(0, 4), "context": {"triggerKind": 2}})
    client.change([{"text": "y"}], version=2)
    assert client.response(request)["error"]["code"] == MODIFIED
