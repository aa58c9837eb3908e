"""Serves the page until it is told to stop."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Self

import uvicorn

from burnqed.core.guard import Guard
from burnqed.core.listening import is_local, listen, url_of
from burnqed.serve.patience import Patient
from burnqed.web.app import app_of
from burnqed.web.runs import find_runs


class WebServer:
    """It answers from the start, in a thread of its own, and takes the socket over.

    Without a socket it takes a free port of this machine.
    """

    def __init__(
        self, root: Path, listening: socket.socket | None = None, token: str | None = None
    ) -> None:
        self.runs = len(find_runs(root).runs)  # a folder that is not there is refused here
        self._socket = listening or listen("127.0.0.1", 0)
        self.url = url_of(self._socket)
        config = uvicorn.Config(
            app_of(root, Guard(is_local(self._socket), token)), http=Patient, ws="none", lifespan="off",
            log_config=None, access_log=False, log_level="critical", server_header=False,
            limit_concurrency=256,
        )  # fmt: skip
        self._http = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._http.run, args=([self._socket],), name="web", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Open streams end with it: it only reads, so nobody waits for anything."""
        self._http.should_exit = self._http.force_exit = True
        self._thread.join(timeout=5)
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
