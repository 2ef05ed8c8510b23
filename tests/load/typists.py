"""`make load`: typists in many documents at once. Prints latency and memory; fails where an answer is wrong.

    python -m tests.load.typists [--seconds 60] [--embedded]

20 documents, 5 typists at 12 characters a second; each character is an edit and an automatic request, and every other
request before it is cancelled, as editors do.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time

from tests.load.client import LoadClient, resident_mb
from tests.load.serving import serving

DOCUMENTS, TYPISTS, SPEED = 20, 5, 12.0  # characters a second
TYPED = "total = compute(first, second)\n"
_ALLOWED = (None, -32800, -32801)


class Typist:
    """Types the same line over and over, in one document after another."""

    def __init__(self, client: LoadClient, uris: list[str]) -> None:
        self.client, self.uris = client, uris
        self.versions = dict.fromkeys(uris, 1)
        self.ends = dict.fromkeys(uris, (0, 0))
        self.typed = 0
        self.last: int | None = None

    def type(self) -> None:
        uri = self.uris[self.typed // len(TYPED) % len(self.uris)]
        letter = TYPED[self.typed % len(TYPED)]
        line, column = self.ends[uri]
        self.versions[uri] += 1
        self.client.type(uri, line, column, letter, self.versions[uri])
        self.ends[uri] = (line + 1, 0) if letter == "\n" else (line, column + 1)
        if self.last is not None and self.typed % 2:
            self.client.cancel(self.last)
        self.last = self.client.ask_inline(uri, *self.ends[uri])
        self.typed += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--embedded", action="store_true", help="with the embedded model in place of a script")
    options = parser.parse_args()
    with serving(options.embedded) as client:
        problems = run(client, options.seconds)
    for problem in problems:
        print(f"FAILED: {problem}")
    return 1 if problems else 0


def run(client: LoadClient, seconds: float) -> list[str]:
    """Types for so long, prints the figures, and returns what was wrong."""
    uris = [f"file:///load/{number}.py" for number in range(DOCUMENTS)]
    for uri in uris:
        client.open("def f(value):\n    return value\n", uri=uri)
    _warm_up(client)
    typists = [Typist(client, uris[number::TYPISTS]) for number in range(TYPISTS)]
    begun = time.monotonic()
    warm, peak, memory = 0.0, 0.0, []
    due = begun
    while (now := time.monotonic()) < begun + seconds:
        for typist in typists:
            typist.type()
        if len(memory) < int(now - begun):
            memory.append(resident_mb(client))
            peak = max(peak, memory[-1])
            if now - begun > seconds / 4 and not warm:
                warm = memory[-1]
        due += 1 / SPEED
        time.sleep(max(0.0, due - time.monotonic()))
    client.settle(600)  # each document's last request is filled; a model on a busy machine takes seconds for each
    end = resident_mb(client)
    return _report(client, warm or end, max(peak, end), end)


def _warm_up(client: LoadClient) -> None:
    """A few fills one after another: what a model takes on its first runs is no growth."""
    uri = "file:///load/warm.py"
    client.open("def first(value):\n    return \n\n\ndef second(value):\n    \n", uri=uri)
    for line, column in ((1, 11), (5, 4), (2, 0), (0, 10), (6, 0)):
        client.ask_inline(uri, line, column)
        client.settle(300)
    client.log.answers.clear()


def _report(client: LoadClient, warm: float, peak: float, end: float) -> list[str]:
    answers = list(client.log.answers.values())
    done = [answer for answer in answers if answer.error is None and answer.answered is not None]
    times = sorted((answer.answered - answer.sent) * 1000 for answer in done if answer.answered is not None)
    cancelled = sum(answer.error == -32800 for answer in answers)
    modified = sum(answer.error == -32801 for answer in answers)
    print(f"requests   {len(answers)}: {len(done)} filled, {cancelled} cancelled, {modified} outdated")
    if times:
        print(f"latency    p50 {statistics.median(times):.1f} ms, p95 {times[int(len(times) * 0.95)]:.1f} ms")
    print(f"memory     warm {warm:.0f} MB, peak {peak:.0f} MB, end {end:.0f} MB ({end / warm - 1:+.1%})")
    problems = []
    if wrong := [answer for answer in answers if answer.count != 1]:
        problems.append(f"{len(wrong)} requests were not answered exactly once")
    if wrong := [answer.error for answer in answers if answer.error not in _ALLOWED]:
        problems.append(f"unexpected errors: {sorted(set(map(str, wrong)))}")
    if late := _late(answers):
        problems.append(f"{late} requests were filled after a newer one of their document was answered")
    if end > warm * 1.1:
        problems.append(f"memory grew by more than 10 %: from {warm:.0f} to {end:.0f} MB")
    return problems


def _late(answers: list) -> int:
    """How many older requests got a completion after a newer one of the same document had got its own."""
    late = 0
    newest: dict[str, int] = {}
    for answer in sorted(answers, key=lambda answer: answer.place):
        if answer.error is None and answer.order < newest.get(answer.uri, 0):
            late += 1
        if answer.error is None:
            newest[answer.uri] = max(newest.get(answer.uri, 0), answer.order)
    return late


if __name__ == "__main__":
    sys.exit(main())
