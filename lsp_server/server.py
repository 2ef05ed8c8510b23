"""The language server: what its parts are and how they are put together. Importing it imports no torch."""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from engine import memory
from engine.context.ignore import is_secret
from engine.text import Document
from lsp_server import parent
from lsp_server.ahead import Ahead
from lsp_server.client_log import ClientLog
from lsp_server.fills import Fills
from lsp_server.loading import LoadEvents, LoadFiller, ModelLoader, load_filler
from lsp_server.logs import log, log_failure
from lsp_server.offers import Offers
from lsp_server.progress import Progress
from lsp_server.protocol import MidfillProtocol
from lsp_server.schedule import Scheduler
from lsp_server.settings import Settings, SettingsLayers
from lsp_server.status import METHOD as STATUS
from lsp_server.status import Status
from lsp_server.surroundings import Surroundings
from lsp_server.worker import Worker
from lsp_server.workspace import OpenDocument, TextStore

BUSY_AFTER = 0.05  # seconds of work


class MidfillServer(LanguageServer):
    """One client's server: settings, open texts, the model's loader, and the pending fills."""

    protocol: MidfillProtocol

    def __init__(self, start: Settings, load: LoadFiller, on_client_death: Callable[[], None]) -> None:
        super().__init__("midfill", importlib.metadata.version("midfill"), protocol_cls=MidfillProtocol)
        self.layers = SettingsLayers(start)
        self.setting_problems: list[str] = []
        self.status = Status(self._send_status)
        self.worker = Worker()
        self.loader = ModelLoader(self.worker, self._load_events(), load)
        self.scheduler = Scheduler(self.worker, self._busy)
        self.fills = Fills(self.loader, self.scheduler, self._tell_refused)
        self.offers = Offers(start.cache_entries)
        self.ahead = Ahead()
        self.surroundings = Surroundings()
        self._on_client_death = on_client_death
        self._progress: Progress | None = None
        self._background: set[asyncio.Task] = set()
        self._refusals: set[str] = set()
        self._client_log: ClientLog | None = None
        self._busy_soon: asyncio.TimerHandle | None = None

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.layers.current

    @property
    def store(self) -> TextStore:
        """The open texts."""
        assert isinstance(self.workspace, TextStore), "set while initialize is handled"
        return self.workspace

    def use_roots(self) -> None:
        """Takes the workspace's folders, as the client has them now, for what context may be read from."""
        uris = [folder.uri for folder in self.store.folders.values()] or [self.store.root_uri or ""]
        paths = [to_fs_path(uri) for uri in uris if uri.startswith("file:")]
        self.surroundings.use_roots([Path(path) for path in paths if path])

    def offered(self, uri: str) -> OpenDocument | None:
        """The open document, if completions are wanted in its language."""
        opened = self.store.find(uri)
        if opened is None:
            log.warning("a request for a document that is not open gets an empty answer")
            return None
        if is_secret(PurePosixPath(opened.path or "").name):
            return None  # what a person keeps there is not for a model, and nothing of it belongs on a screen
        return opened if self.settings.language_on(opened.language_id or "") else None

    def is_current(self, uri: str, snapshot: Document) -> bool:
        """Whether the document still is what it was when `snapshot` was taken."""
        opened = self.store.find(uri)
        return opened is not None and opened.document is snapshot

    def keep_running(self, task: asyncio.Task) -> None:
        """Holds on to a task that nobody waits for: one that nothing refers to may vanish."""
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def apply_settings(self) -> None:
        """What follows from the settings in force: which model, how much is remembered, what the status is."""
        self.offers.resize(self.settings.cache_entries)
        self.loader.want(self.settings)
        self.status.switched(self.settings.off)

    def tell(self, message: str, kind: types.MessageType) -> None:
        """Shows a line to the person."""
        self.window_show_message(types.ShowMessageParams(type=kind, message=f"Midfill: {message}"))

    def tell_setting_problems(self) -> None:
        """Names the settings that were wrong, in one message."""
        if self.setting_problems:
            self.tell("; ".join(self.setting_problems), types.MessageType.Warning)
        self.setting_problems = []

    def watch_client(self, process_id: int | None) -> None:
        parent.watch(process_id, self._on_client_death)

    def _busy(self, busy: bool) -> None:
        """Told when work begins and when none is left. What is done at once, an answer from the cache, is no work to tell of."""
        if self._busy_soon is not None:
            self._busy_soon.cancel()
            self._busy_soon = None
        if busy:
            self._busy_soon = asyncio.get_running_loop().call_later(BUSY_AFTER, self.status.busy, True)
        else:
            self.status.busy(False)
            self._keep_memory()

    def _keep_memory(self) -> None:
        """Drops what can be had again, while nothing runs, where more memory is used than the person allows."""
        limit = self.settings.memory_limit
        if limit is None or memory.resident_mb() <= limit:
            return
        self.offers.clear()
        memory.give_back()
        if memory.resident_mb() > limit:
            log.warning("over the limit of %d MB: the model is let go until it is asked for again", limit)
            self.loader.let_go()
            self.status.let_go()
            memory.give_back()

    def _send_status(self, message: dict[str, object]) -> None:
        if self.protocol.initialized and self.settings.status and not self.protocol.shutting_down:
            self.protocol.notify(STATUS, message)

    def log_to_client(self) -> None:
        """From now on the client's log gets what ours gets."""
        self._client_log = ClientLog(self)
        log.addHandler(self._client_log)

    def close(self, timeout: float) -> bool:
        """Stops all work. False if the model's thread still runs after `timeout` seconds."""
        if self._client_log is not None:
            log.removeHandler(self._client_log)
        self.fills.stop_all()
        return self.worker.stop(timeout)

    def report_server_error(self, error: Exception, source: object) -> None:
        """In place of pygls' own, which shows the person the error's text."""
        log_failure("handling a message", error)

    def _tell_refused(self, why: str) -> None:
        """Tells why nothing is filled, once each: the same would come with every character typed."""
        if why not in self._refusals:
            self._refusals.add(why)
            log.error("%s", why)
            self.tell(why, types.MessageType.Error)

    def _load_events(self) -> LoadEvents:
        def begun(model: str) -> None:
            log.info("loading %s", json.dumps(model))
            self._refusals.clear()
            self.offers.clear()
            self.status.loading(model)
            ended("another model was asked for")
            self._progress = Progress(self, "Midfill: loading the model")
            self.keep_running(asyncio.get_running_loop().create_task(self._progress.show()))

        def advanced(share: float, message: str) -> None:
            if self._progress is not None:
                self._progress.report(share, message)
            self.status.advanced(share, message)

        def ended(message: str) -> None:
            if self._progress is not None:
                self._progress.end(message)
            self._progress = None

        def loaded(name: str) -> None:
            log.info("loaded %s", name)
            ended(f"{name} is ready")
            self.status.ready(name)

        def failed(why: str) -> None:
            ended("the model cannot be loaded")
            self.status.failed(why)
            self._tell_refused(why)

        return LoadEvents(begun, advanced, loaded, failed)


def build_server(
    settings: Settings | None = None,
    load: LoadFiller = load_filler,
    on_client_death: Callable[[], None] = lambda: None,
) -> MidfillServer:
    """A server for one client, with every feature registered.

    settings: what the command line asked for; the client's own go over it. load: how a model is loaded.
    on_client_death: called from a thread when the client's process is gone.
    """
    # they import this module
    from lsp_server.features import commands, configuration, documents, inline_completion, lifecycle

    server = MidfillServer(settings or Settings(), load, on_client_death)
    for feature in (lifecycle, documents, configuration, inline_completion, commands):
        feature.register(server)
    return server
