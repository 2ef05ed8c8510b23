"""Malformed messages, unknown methods, wrong types, bad addresses and edits, thrown at a live server.

    python -m tests.load.fuzz [--seconds 300] [--seed 0]

After each burst the server must answer an ordinary request: no crash, no hang, no traceback on the wire, one answer a request.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from typing import Any

from tests.load.client import LoadClient
from tests.load.serving import serving

URI = "file:///fuzz.py"
METHODS = (
    "textDocument/didOpen",
    "textDocument/didChange",
    "textDocument/didClose",
    "textDocument/inlineCompletion",
    "textDocument/completion",
    "textDocument/codeAction",
    "workspace/executeCommand",
    "workspace/didChangeConfiguration",
    "workspace/didChangeWorkspaceFolders",
    "$/cancelRequest",
    "$/setTrace",
    "$/progress",
    "initialize",
    "initialized",
    "midfill/status",
    "no/such/method",
    "",
)
COMMANDS = (
    "midfill.fillHoles",
    "midfill.rewriteSelection",
    "midfill.alternatives",
    "midfill.denoise",
    "midfill.accepted",
    "x",
)
TEXTS = ("", "a", "\r", "\n", "\r\n", "\ud800", "\udc00", "😀", "\f", "\u2028", "\u0085", "\0", "x" * 3000, "é\u0301")
URIS = (URI, "", "file:///%", "untitled:x", "not a uri", "file://\0", "http://x/../..", "file:///" + "y" * 2000)


class Fuzzer:
    """Draws messages: whole ones with a part spoiled, and some that are no messages at all."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)

    def value(self, depth: int = 0) -> Any:
        """Any JSON value, deep ones rarely."""
        kinds = 6 if depth > 2 else 9
        kind = self.draw.randrange(kinds)
        simple = (None, self.draw.random() < 0.5, self.number(), self.draw.choice(TEXTS), 1.5, self.draw.choice(URIS))
        if kind < 6:
            return simple[kind]
        if kind == 6:
            return [self.value(depth + 1) for _ in range(self.draw.randrange(4))]
        if kind == 7:
            return self.position()
        return {self.draw.choice(("uri", "text", "range", "position", "start", "x")): self.value(depth + 1)}

    def number(self) -> int:
        return self.draw.choice((0, 1, 2, 3, 7, 80, -1, 2**31 - 1, 2**31, 2**53, -(2**63)))

    def position(self) -> dict:
        return {"line": abs(self.number()) % 9, "character": self.draw.choice((0, 1, 2, 5, 2**31 - 1))}

    def range(self) -> dict:
        return {"start": self.position(), "end": self.position()}

    def params(self, method: str) -> Any:
        document = {"uri": self.draw.choice(URIS) if self.draw.random() < 0.2 else URI, "version": self.number()}
        whole: dict[str, Any] = {"textDocument": document, "position": self.position(), "range": self.range()}
        if method.endswith("didOpen"):
            whole = {
                "textDocument": {
                    **document,
                    "languageId": self.draw.choice(("python", "go", "", "\0")),
                    "text": self.text(),
                }
            }
        elif method.endswith("didChange"):
            changes = [{"range": self.range(), "text": self.text()} for _ in range(self.draw.randrange(4))]
            if self.draw.random() < 0.2:
                changes.append({"text": self.text()})
            whole = {"textDocument": document, "contentChanges": changes}
        elif method.endswith("executeCommand"):
            argument = {**document, "range": self.range(), "position": self.position(), "apply": False}
            whole = {"command": self.draw.choice(COMMANDS), "arguments": [argument]}
        elif method.endswith("didChangeConfiguration"):
            whole = {"settings": {"alternatives": self.number(), self.draw.choice(TEXTS): self.value()}}
        elif method.endswith(("inlineCompletion", "codeAction")):
            selected = {"range": self.range(), "text": self.text()}
            whole["context"] = {"triggerKind": self.draw.choice((1, 2)), "diagnostics": []}
            if self.draw.random() < 0.3:
                whole["context"]["selectedCompletionInfo"] = selected
        elif method == "$/cancelRequest":
            whole = {"id": self.draw.randrange(2000)}
        return self.spoiled(whole) if self.draw.random() < 0.4 else whole

    def text(self) -> str:
        return "".join(self.draw.choice(TEXTS[:-2]) for _ in range(self.draw.randrange(5)))

    def spoiled(self, value: Any) -> Any:
        """The value with one part, at some depth, put for another."""
        if isinstance(value, dict) and value and self.draw.random() < 0.8:
            key = self.draw.choice(sorted(value))
            if self.draw.random() < 0.15:
                return {k: v for k, v in value.items() if k != key}
            return {**value, key: self.spoiled(value[key])}
        if isinstance(value, list) and value and self.draw.random() < 0.8:
            place = self.draw.randrange(len(value))
            return [*value[:place], self.spoiled(value[place]), *value[place + 1 :]]
        return self.value()


def throw(client: LoadClient, fuzzer: Fuzzer, count: int) -> list[int]:
    """Throws so many messages; the ids of those that were requests and must be answered."""
    asked = []
    for _ in range(count):
        method = fuzzer.draw.choice(METHODS)
        kind = fuzzer.draw.random()
        if kind < 0.08:
            client.send_raw(
                fuzzer.draw.choice((b"{", b"null", b"[]", b'"x"', b"\xff", b"[" * 5000, b'{"jsonrpc":"1.0"}'))
            )
        elif kind < 0.12:
            client.send({"id": fuzzer.value(), "result": fuzzer.value()})
        elif kind < 0.55:
            client._next_id += 1
            from tests.load.client import Answer

            client.log.answers[client._next_id] = Answer(URI, time.monotonic(), client._next_id)
            client.send({"id": client._next_id, "method": method, "params": fuzzer.params(method)})
            asked.append(client._next_id)
        else:
            client.notify(method, fuzzer.params(method))
    return asked


def run(client: LoadClient, seconds: float, seed: int) -> list[str]:
    """Fuzzes for so long and returns what was wrong."""
    fuzzer = Fuzzer(seed)
    end = time.monotonic() + seconds
    thrown = bursts = 0
    while time.monotonic() < end:
        throw(client, fuzzer, 40)
        thrown, bursts = thrown + 40, bursts + 1
        client.notify("workspace/didChangeConfiguration", {"settings": {}})
        client.open("x = \n", uri="file:///steady.py", version=bursts)
        steady = client.ask_inline("file:///steady.py", 0, 4)
        try:
            client.settle(30)
        except AssertionError as broken:
            return [f"after {thrown} messages (seed {seed}): {broken}"]
        answer = client.log.answers[steady]
        if answer.error is not None or answer.items != 1:
            return [f"after {thrown} messages (seed {seed}): an ordinary request got {answer}"]
        client.messages.clear()
        client.log.answers.clear()
    print(f"fuzz       {thrown} messages in {bursts} bursts, seed {seed}: every request was answered once")
    return [f"{client.log.tracebacks} tracebacks went to the client"] if client.log.tracebacks else []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with serving(script={"default": "1"}) as client:
        problems = run(client, options.seconds, options.seed)
    for problem in problems:
        print(f"FAILED: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
