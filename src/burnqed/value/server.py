"""An encoder behind HTTP. Requests that wait are encoded together.

    GET  /health   200 once an embedding was computed; 503 before that, and while it ends
    GET  /info     the encoder's name, field by field, and our version
    POST /encode   {"text": [STATE, …]}: {"embeddings": [[…], …], "encoder": KEY},
                   with "shape": "array" only [[…], …]

`text` may be one string, and may be called `texts` or `input`. What cannot be answered is
`{"error": …}` and a status that says whose fault it is; an embedding that says nothing is never sent.
"""

from __future__ import annotations

import json
import queue
import socket
import socketserver
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler
from importlib.metadata import version
from sys import exception
from typing import Any, Self
from urllib.parse import urlsplit

from burnqed.core.errors import BurnQedError, InputError
from burnqed.value.embeddings import Encoder
from burnqed.value.encoder import Embeddings, checked

MOST_BYTES = 64 * 2**20  # of a request
MOST_TEXTS = 4096  # in a request
MOST_WAITING = 65_536  # texts; more are refused until some are done
_PASS = 1024  # texts from which on no more requests are gathered
_SILENCE = 60.0  # seconds that a client may take to send or to read a part
_LOOK = 0.1  # seconds between two looks whether to end
_LOADING, _BUSY = 5, 1  # seconds after which a client should ask again
_DIGITS = 12  # of a length that are read: no longer one is meant
_PROBE = "⊢ True"
_KEYS = ("text", "texts", "input")


class Unanswered(Exception):
    """A request that gets no embeddings: its status, what is told, and when to ask again."""

    def __init__(self, status: int, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after = status, message, retry_after


@dataclass(frozen=True, slots=True)
class _Job:
    texts: Sequence[str]
    rows: Future[Embeddings] = field(default_factory=Future)


class Passes:
    """One thread that encodes, since a model is for one; all requests that wait are one pass."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._waiting = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="encode", daemon=True)
        self._thread.start()

    def encode(self, texts: Sequence[str]) -> Embeddings:
        """A row for each text; waits for its turn. Raises what the encoder raised."""
        with self._lock:
            if self._waiting and self._waiting + len(texts) > MOST_WAITING:
                raise Unanswered(503, f"{self._waiting} texts are waiting already", _BUSY)
            self._waiting += len(texts)
        try:
            job = _Job(texts)
            self._jobs.put(job)
            return job.rows.result()
        finally:
            with self._lock:
                self._waiting -= len(texts)

    def close(self) -> None:
        """End the thread, after what was put before."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while jobs := self._gathered():
            self._pass(jobs)

    def _gathered(self) -> list[_Job]:
        """All that waits, one at least, which may have to come first; none at the end."""
        jobs: list[_Job] = []
        while sum(len(job.texts) for job in jobs) < _PASS:
            try:
                job = self._jobs.get(block=not jobs)
            except queue.Empty:
                break
            if job is None:
                if jobs:
                    self._jobs.put(None)  # once more, for the next time
                break
            jobs.append(job)
        return jobs

    def _pass(self, jobs: Sequence[_Job]) -> None:
        texts = [text for job in jobs for text in job.texts]
        try:
            rows = checked(self.encoder.encode(texts), self.encoder.name.width)
            if len(rows) != len(texts):
                raise RuntimeError(f"{len(rows)} embeddings were made of {len(texts)} texts")
        except Exception as error:  # of any kind, since it comes from a model: the thread must go on
            if len(jobs) == 1:
                jobs[0].rows.set_exception(error)
                return
            for job in jobs:  # what one of them has must not become of the others
                self._pass([job])
            return
        begin = 0
        for job in jobs:
            job.rows.set_result(rows[begin : begin + len(job.texts)])
            begin += len(job.texts)


class EncodeServer:
    """It listens from the start, so that a port that is taken is known before a model is loaded."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self._passes: Passes | None = None
        self.ending = False
        self._answering = 0
        self._changed = threading.Condition()
        try:
            self._http = _Http(host, port, self)
        except (OSError, OverflowError) as error:
            raise InputError(
                f"cannot listen on {host}, port {port}: {error}",
                hint="give another --port (0: any that is free), and a --host of this machine",
            ) from error
        self._thread = threading.Thread(
            target=self._http.serve_forever, args=(_LOOK,), name="serve", daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        host, port = self._http.server_address[:2]
        return f"http://[{host!s}]:{port}" if ":" in str(host) else f"http://{host!s}:{port}"

    def use(self, encoder: Encoder) -> None:
        """Answer with this encoder, from its first embedding on. Raises if it makes none."""
        passes = Passes(encoder)
        try:
            passes.encode([_PROBE])
        except BaseException:
            passes.close()
            raise
        self._passes = passes

    def close(self) -> None:
        """Take no more requests, and answer those that were taken."""
        self.ending = True
        self._http.shutdown()
        self._thread.join()
        with self._changed:
            self._changed.wait_for(lambda: self._answering == 0)
        self._http.server_close()
        if self._passes is not None:
            self._passes.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def answering(self) -> Iterator[Passes]:
        """While a request is answered, the server does not end."""
        with self._changed:
            passes = self.ready()
            self._answering += 1
        try:
            yield passes
        finally:
            with self._changed:
                self._answering -= 1
                self._changed.notify_all()

    def ready(self) -> Passes:
        if self.ending:
            raise Unanswered(503, "ending", _LOADING)
        if self._passes is None:
            raise Unanswered(503, "loading", _LOADING)
        return self._passes


class _Http(socketserver.ThreadingTCPServer):
    """A thread for each connection; none of them keeps the process alive."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, service: EncodeServer) -> None:
        self.service = service
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(exception(), ConnectionError):  # a client may go away
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """One connection, and the requests that come over it."""

    server: _Http
    protocol_version = "HTTP/1.1"
    timeout = _SILENCE
    disable_nagle_algorithm = True  # or a short answer waits for an acknowledgement

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        try:
            if path not in ("/health", "/info"):
                raise Unanswered(404, f"there is no GET {path}: GET /health, GET /info, POST /encode")
            name = self.server.service.ready().encoder.name
        except Unanswered as why:
            key = "status" if path == "/health" else "error"
            self._say(why.status, {key: why.message}, why.retry_after)
            return
        about = {"status": "ok"} if path == "/health" else asdict(name)
        self._say(200, {**about, "version": version("burn-qed")} if path == "/info" else about)

    def do_POST(self) -> None:
        path = urlsplit(self.path).path
        try:
            body = self._body()
            if path != "/encode":
                raise Unanswered(404, f"there is no POST {path}: POST /encode is what there is")
            with self.server.service.answering() as passes:
                self._say(200, _answer(passes, body))
        except Unanswered as why:
            self._say(why.status, {"error": why.message}, why.retry_after)

    def _body(self) -> bytes:
        said = self.headers.get("Content-Length", "")
        if not (said.isascii() and said.isdigit()):
            self.close_connection = True  # where the next request begins nobody knows
            raise Unanswered(411, "a request has to say its Content-Length")
        length = int(said[:_DIGITS])
        if length > MOST_BYTES:
            self.close_connection = True
            while length > 0 and (part := self.rfile.read(min(length, 2**20))):
                length -= len(part)  # or the client, still sending, would not see the answer
            raise Unanswered(413, f"a request has {MOST_BYTES} bytes at most")
        body = self.rfile.read(length)
        if len(body) < length:
            raise ConnectionAbortedError("the client went away")
        return body

    def _say(self, status: int, content: Any, retry_after: int | None = None) -> None:
        body = json.dumps(content, allow_nan=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if retry_after is not None:
            self.send_header("Retry-After", str(retry_after))
        if self.close_connection or self.server.service.ending:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a search asks thousands of times."""


def _answer(passes: Passes, body: bytes) -> Any:
    """What a request is answered with. Its numbers are the embeddings' own, to the last bit."""
    texts, shape = _asked(body)
    try:
        rows = passes.encode(texts).tolist()
    except Unanswered:
        raise
    except BurnQedError as error:
        hint = f" ({error.hint})" if error.hint else ""
        raise Unanswered(500, error.message + hint) from error
    except Exception as error:  # torch's own, such as a GPU without memory
        raise Unanswered(500, f"{type(error).__name__}: {error}") from error
    return rows if shape == "array" else {"embeddings": rows, "encoder": passes.encoder.name.key}


def _asked(body: bytes) -> tuple[list[str], str]:
    """The texts of a request, and the shape that its answer should have."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Unanswered(400, f"the request is no JSON: {error}") from error
    if not isinstance(content, Mapping):
        raise Unanswered(400, 'the request is no object: {"text": ["…"]} would be one')
    found = [key for key in _KEYS if key in content]
    if len(found) != 1:
        raise Unanswered(400, 'the request needs "text": a string, or a list of strings')
    given = content[found[0]]
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise Unanswered(400, f'"{found[0]}" is a string, or a list of strings')
    if len(texts) > MOST_TEXTS:
        raise Unanswered(413, f"{len(texts)} texts came; a request has {MOST_TEXTS} at most")
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        raise Unanswered(400, f"a text has half of a character: {error.reason}") from error
    shape = content.get("shape", "object")
    if shape not in ("object", "array"):
        raise Unanswered(400, '"shape" is "object" or "array"')
    return texts, shape
