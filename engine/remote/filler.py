"""A filler whose model is on a server: `vllm://HOST:PORT/NAME` (`vllm+https://` for TLS)."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from engine.completion import Candidate, complete
from engine.context.window import cut_window
from engine.errors import BadInput, ModelUnavailable
from engine.filler import CancelToken, Completion, Draft, FillSettings, Timing
from engine.hole import Hole
from engine.remote import SCHEMES
from engine.remote.client import Client
from engine.remote.prompts import answer, fill_in_the_middle, instruction, template_of
from engine.syntax import tree_of
from engine.text import Document

KEY = "MIDFILL_API_KEY"
CHARACTERS_A_TOKEN = 3.5  # of code, about: only the server has the tokenizer
ENOUGH_LINES = 60  # of an answer


class RemoteFiller:
    """A `Filler` (see `engine.filler`). What it reads of the document goes to the server, and nowhere else."""

    def __init__(self, client: Client, model: str) -> None:
        self.name, self._client, self._model, self._template = model, client, model, template_of(model)

    @classmethod
    def connect(cls, address: str) -> RemoteFiller:
        """Raises `BadInput` for an address that is none, `ModelUnavailable` where the server is away or has no such model."""
        parts = urlsplit(address)
        name = parts.path.strip("/")
        try:
            good = bool(parts.hostname) and bool(name) and not parts.username and parts.port != 0
        except ValueError:  # a port that is none
            good = False
        if not good:
            raise BadInput(
                f"{re.sub('//.*@', '//', address)!r} is no address: it is vllm://HOST:PORT/NAME (the key: {KEY})"
            )
        client = Client(f"{SCHEMES[parts.scheme]}://{parts.netloc}", os.environ.get(KEY))
        known = client.models()
        if name not in known:
            raise ModelUnavailable(f"{client.address} has no model {name!r}, but {', '.join(known[:5]) or 'none'}")
        return cls(client, name)

    def count_tokens(self, text: str) -> int:
        return int(len(text) / CHARACTERS_A_TOKEN) + 1 if text else 0

    def fill(
        self, document: Document, hole: Hole, settings: FillSettings, cancel: CancelToken
    ) -> Iterator[Draft | Completion]:
        """A draft a piece that comes. Raises `Cancelled`, and `ModelUnavailable` where the server is away."""
        begun = time.perf_counter()
        tree = tree_of(document)
        window = cut_window(document, hole, settings.context)
        prefix = window.prefix + window.remnant
        pieces, step = "", 0
        path, body = self._request(prefix, window.suffix, settings.slots or hole.slots, settings)
        for piece in self._client.stream(path, body, cancel):
            pieces += piece
            step += 1
            yield Draft(step, 0, pieces)
            if pieces.count("\n") > ENOUGH_LINES:
                break
        written = time.perf_counter()
        text = pieces if self._template else answer(pieces)
        found = complete(document, hole, [Candidate(text, 1.0)], tree)
        timing = Timing(0.0, 1000 * (written - begun), 1000 * (time.perf_counter() - written))
        yield Completion(
            found.text if found else "",
            hole.start,
            hole.end,
            confidence=found.confidence if found else 0.0,
            steps=step,
            tokens=self.count_tokens(text),
            ms=timing,
            why="" if found else "no completion that fits was found",
        )

    def _request(self, prefix: str, suffix: str, slots: int, settings: FillSettings) -> tuple[str, dict[str, Any]]:
        """Path and body."""
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": max(16, slots),
            "temperature": 0,
            "seed": settings.seed,
        }
        if self._template is None:
            message = {"role": "user", "content": instruction(prefix, suffix)}
            return "/v1/chat/completions", body | {"messages": [message]}
        prompt = fill_in_the_middle(self._template, prefix, suffix)
        return "/v1/completions", body | {"prompt": prompt, "stop": list(self._template.stop)[:4]}
