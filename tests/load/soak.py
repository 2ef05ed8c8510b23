"""`make soak`: thousands of requests in a row with a line of memory, very long files, and the fuzzer for five minutes.

python -m tests.load.soak [--requests 5000] [--embedded-requests 300] [--fuzz-seconds 300]
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time

from lsprotocol import types

from engine.syntax import tree_of
from engine.text import Encoding
from lsp_server.cli.share import library_text
from lsp_server.workspace import OpenDocument
from tests.load import fuzz
from tests.load.client import LoadClient, resident_mb
from tests.load.serving import serving

QUICK = {"default": "value + 1"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=5000, help="with a scripted model (default: 5000)")
    parser.add_argument("--embedded-requests", type=int, default=300, help="with the embedded model (default: 300)")
    parser.add_argument("--fuzz-seconds", type=float, default=300.0)
    options = parser.parse_args()
    problems: list[str] = []
    with serving(script=QUICK) as client:
        problems += requests(client, "scripted", options.requests)
        long_files(client)
    store_and_parse()
    if options.embedded_requests:
        # letters without a pattern are what a model finds hardest: without a limit a request takes its ten seconds
        with serving(embedded=True, settings={"time_limit": 2}) as client:
            problems += requests(client, "embedded", options.embedded_requests)
    with serving(script=QUICK) as client:
        problems += fuzz.run(client, options.fuzz_seconds, seed=0)
    for problem in problems:
        print(f"FAILED: {problem}")
    return 1 if problems else 0


def requests(client: LoadClient, name: str, count: int) -> list[str]:
    """One request after another, each after a typed character; prints memory at every tenth."""
    uri = "file:///soak.py"
    client.open("def f(first, second):\n    \n", uri=uri)
    memory: list[float] = []
    letters = random.Random(0)
    times: list[float] = []
    line, column = 1, 4
    for number in range(count):
        # letters without a pattern: one that a model can see would be offered, and typing it would cost no model run
        letter = "\n" if column > 40 else letters.choice("abcdefghijklmnopqrstuvwxyz")
        client.type(uri, line, column, letter, number + 2)
        line, column = (line + 1, 0) if letter == "\n" else (line, column + 1)
        asked = client.ask_inline(uri, line, column)
        client.settle(120)
        answer = client.log.answers.pop(asked)
        assert answer.answered is not None
        times.append((answer.answered - answer.sent) * 1000)
        if (number + 1) % max(1, count // 10) == 0:
            memory.append(resident_mb(client))
    print(
        f"{name:<10} {count} requests, p50 {statistics.median(times):.1f} ms; MB {' '.join(f'{m:.0f}' for m in memory)}"
    )
    grown = memory[-1] / memory[1] - 1 if len(memory) > 2 else 0.0
    return [f"{name}: memory grew by {grown:.0%} after the first fifth"] if grown > 0.1 else []


def long_files(client: LoadClient) -> None:
    """Edits and requests in a line of 5 MB, and in a file of 200,000 lines; prints milliseconds."""
    functions = "".join(f"def f{n}(a, b):\n    x = a + b * {n}\n    return x\n\n" for n in range(50_000))
    for name, text, line, column in (
        ("5 MB in a line", "x = '" + "y" * 5_000_000 + "'\n", 0, 2_500_000),
        ("200,000 lines", functions, 100_001, 4),
    ):
        uri = f"file:///{name.replace(' ', '-')}.py"
        begun = time.monotonic()
        client.open(text, uri=uri)
        first = client.ask_inline(uri, line, column)
        client.settle(300)
        opened = (time.monotonic() - begun) * 1000
        times = []
        for number in range(10):
            begun = time.monotonic()
            client.type(uri, line, column + number, "abcdefghij"[number], number + 2)
            client.ask_inline(uri, line, column + number + 1)
            client.settle(300)
            times.append((time.monotonic() - begun) * 1000)
        assert client.log.answers[first].count == 1
        print(
            f"{name:<15} opened and asked in {opened:.0f} ms, then edit and request {statistics.median(times):.0f} ms"
        )
        client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        client.log.answers.clear()


def store_and_parse(edits: int = 30) -> None:
    """What an edit in a file of 200,000 lines costs the store, and the parse that goes on from the one before."""
    text = library_text(200_000)
    opened = OpenDocument("file:///long.py", text, 1, "python", Encoding.UTF16)
    tree_of(opened.document)
    store, parse = [], []
    for number in range(edits):
        at = types.Position(100_000, 0)
        change = types.TextDocumentContentChangePartial(range=types.Range(at, at), text="abcdefghij"[number % 10])
        begun = time.perf_counter()
        opened.apply_change(change)
        stored = time.perf_counter()
        tree_of(opened.document)
        store.append((stored - begun) * 1000)
        parse.append((time.perf_counter() - begun) * 1000)
    print(
        f"{text.count(chr(10)):,} lines of the standard library: an edit {statistics.median(store):.2f} ms in the store, "
        f"{statistics.median(parse):.1f} ms with the parse"
    )


if __name__ == "__main__":
    sys.exit(main())
