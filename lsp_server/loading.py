"""The model, loaded in the background: `initialize` never waits for it, requests do."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from engine.errors import MidfillError, ModelUnavailable
from engine.filler import Filler
from lsp_server.logs import log_failure
from lsp_server.settings import Settings
from lsp_server.worker import Worker

Progress = Callable[[float, str], None]
LoadFiller = Callable[[Settings, Progress], Filler]


@dataclass
class LoadEvents:
    """What the loader tells the outside, each in the event loop's thread."""

    begun: Callable[[str], None]
    advanced: Progress
    loaded: Callable[[str], None]
    failed: Callable[[str], None]


def load_filler(settings: Settings, progress: Progress, trusted: str | None = None) -> Filler:
    """Loads what the settings name. Runs in the worker's thread, where alone the engine may import torch.

    trusted: the one model whose own code may be run. Said on the command line alone: settings can come from a repository.
    """
    from engine.infill import load_filler as load

    return load(
        settings.model,
        device=settings.device,
        precision=settings.precision,
        threads=settings.threads,
        progress=progress,
        trust_remote_code=trusted is not None and settings.model == trusted,
    )


class ModelLoader:
    """Holds the filler in force and loads another when the settings name one.

    A load that has begun cannot be stopped; when a newer one is asked for, its outcome is dropped. A request that is
    cancelled while it waits never cancels the load.
    """

    def __init__(self, worker: Worker, events: LoadEvents, load: LoadFiller = load_filler) -> None:
        self._worker = worker
        self._events = events
        self._load = load
        self._wanted: tuple | None = None
        self._settings: Settings | None = None
        self._task: asyncio.Task[Filler | MidfillError] | None = None

    def want(self, settings: Settings) -> None:
        """Loads what the settings name, unless that is loaded or being loaded already. One that failed is retried."""
        choice = settings.model_choice()
        if self._task is not None and choice == self._wanted and not self._failed:
            return
        self._wanted, self._settings = choice, settings
        self._task = None  # lets the old filler go before the new one takes memory
        self._task = asyncio.get_running_loop().create_task(self._run(settings))

    def let_go(self) -> None:
        """Forgets the loaded filler, so that its memory can be given back; the next request loads it again."""
        if self._task is not None and self._task.done():
            self._task = None

    async def filler(self) -> Filler:
        """Waits for the newest load. Raises `MidfillError` if that failed."""
        while True:
            task = self._task
            if task is None and self._settings is not None:
                self.want(self._settings)
                continue
            if task is None:
                raise ModelUnavailable("a completion was asked for before the client said `initialized`")
            outcome = await asyncio.shield(task)
            if task is not self._task:
                continue
            if isinstance(outcome, MidfillError):
                raise outcome
            return outcome

    @property
    def _failed(self) -> bool:
        task = self._task
        return task is not None and task.done() and not task.cancelled() and isinstance(task.result(), MidfillError)

    async def _run(self, settings: Settings) -> Filler | MidfillError:
        loop = asyncio.get_running_loop()
        this = asyncio.current_task()

        def progress(share: float, message: str) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has closed: the server is on its way out
                loop.call_soon_threadsafe(advanced, share, message)

        def advanced(share: float, message: str) -> None:
            if this is self._task and this is not None and not this.done():
                self._events.advanced(share, message)

        self._events.begun(settings.model)
        outcome: Filler | MidfillError
        try:
            outcome = await self._worker.submit(self._load, settings, progress)
        except MidfillError as error:
            outcome = error
        except Exception as error:
            log_failure("loading the model", error)
            why = f"{type(error).__name__}: {error}"
            outcome = ModelUnavailable(f"the model {settings.model!r} cannot be loaded: {why}")
        if this is self._task:
            if isinstance(outcome, MidfillError):
                self._events.failed(str(outcome))
            else:
                self._events.loaded(outcome.name)
        return outcome
