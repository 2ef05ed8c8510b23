"""Who is served next: by rank, then by turns; what runs ahead of time stops for whoever asks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from engine.errors import Cancelled
from engine.filler import CancelToken
from lsp_server.schedule import Rank, Scheduler
from lsp_server.worker import Worker


class Log:
    """Jobs that write down their names; the first one holds the model's thread until the gate opens."""

    def __init__(self) -> None:
        self.gate, self.begun = threading.Event(), threading.Event()
        self.names: list[str] = []

    def hold(self, token: CancelToken) -> Callable[[], str]:
        def job() -> str:
            self.begun.set()
            while not self.gate.wait(0.002):
                token.check()
            return "held"

        return job

    def note(self, name: str) -> Callable[[], str]:
        def job() -> str:
            self.names.append(name)
            return name

        return job


def run(test: Callable) -> None:
    async def whole() -> None:
        worker, log = Worker(), Log()
        try:
            await asyncio.wait_for(test(Scheduler(worker), log), 30)
        finally:
            log.gate.set()
            worker.stop(5)

    asyncio.run(whole())


async def queue(scheduler: Scheduler, log: Log, *jobs: tuple[str, Rank, str]) -> None:
    """Holds the thread, queues jobs of (document, rank, name), lets go and waits for all."""
    held = CancelToken()
    first = asyncio.create_task(scheduler.run("held", Rank.ASKED, held, log.hold(held)))
    await asyncio.to_thread(log.begun.wait)
    tasks = []
    for document, rank, name in jobs:
        tasks.append(asyncio.create_task(scheduler.run(document, rank, CancelToken(), log.note(name))))
        await asyncio.sleep(0)
    log.gate.set()
    assert await asyncio.gather(*tasks) == [name for _, _, name in jobs]
    assert await first == "held"


def test_who_asked_goes_before_who_typed_and_ahead_comes_last() -> None:
    async def test(scheduler: Scheduler, log: Log) -> None:
        await queue(scheduler, log, ("a", Rank.AHEAD, "ahead"), ("a", Rank.TYPED, "typed"), ("b", Rank.ASKED, "asked"))
        assert log.names == ["asked", "typed", "ahead"]

    run(test)


def test_documents_take_turns() -> None:
    async def test(scheduler: Scheduler, log: Log) -> None:
        typed = Rank.TYPED
        await queue(scheduler, log, ("a", typed, "a1"), ("a", typed, "a2"), ("a", typed, "a3"), ("b", typed, "b1"))
        assert log.names == ["a1", "b1", "a2", "a3"]

    run(test)


def test_what_runs_ahead_stops_for_a_real_request() -> None:
    async def test(scheduler: Scheduler, log: Log) -> None:
        token = CancelToken()
        ahead = asyncio.create_task(scheduler.run("a", Rank.AHEAD, token, log.hold(token)))
        await asyncio.to_thread(log.begun.wait)
        scheduler.stop_ahead()
        assert await scheduler.run("b", Rank.TYPED, CancelToken(), log.note("typed")) == "typed"
        with pytest.raises(Cancelled):
            await ahead

    run(test)


def test_a_job_cancelled_before_it_begins_never_runs_and_others_do() -> None:
    async def test(scheduler: Scheduler, log: Log) -> None:
        held, dropped = CancelToken(), CancelToken()
        first = asyncio.create_task(scheduler.run("held", Rank.ASKED, held, log.hold(held)))
        await asyncio.to_thread(log.begun.wait)
        second = asyncio.create_task(scheduler.run("a", Rank.TYPED, dropped, log.note("dropped")))
        third = asyncio.create_task(scheduler.run("b", Rank.TYPED, CancelToken(), log.note("third")))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.sleep(0)
        log.gate.set()
        assert await third == "third" and await first == "held"
        assert log.names == ["third"] and second.cancelled()

    run(test)


def test_an_error_reaches_who_waits_and_the_next_job_runs() -> None:
    async def test(scheduler: Scheduler, log: Log) -> None:
        def fails() -> None:
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            await scheduler.run("a", Rank.ASKED, CancelToken(), fails)
        assert await scheduler.run("a", Rank.ASKED, CancelToken(), log.note("next")) == "next"
        assert not scheduler.busy

    run(test)
