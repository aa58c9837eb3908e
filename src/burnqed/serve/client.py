"""Asks a prover that runs: `burn-qed serve prove`, on this machine or another.

"Proved" then is the verdict of the server's judge (`doubt` refuses answers that contradict themselves).
Whatever is not an answer of a prover is an error that names the server.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from burnqed.core import errors
from burnqed.core.errors import BurnQedError, Busy, InfrastructureError, InputError, ServerError
from burnqed.core.guard import TOKEN
from burnqed.prover.task import Task
from burnqed.serve.answers import Health, ProveAnswer, Refusal
from burnqed.serve.doubt import doubt
from burnqed.serve.events import Answered, JobEvent, Unanswered
from burnqed.serve.requests import ProofRequest, ProveRequest

T = TypeVar("T")

_CONNECT = 10.0  # seconds
_SILENCE = 60.0  # a stream says every 10 s that it is still there
_CANCEL = 15.0  # a job that is cancelled is answered once its Lean is free
_PART = 2**20  # bytes of an answer that is no stream
_LINE = 64 * 2**20  # bytes of one event
_STREAM = 2**30  # bytes of all events
_JOB = re.compile(r".*(/jobs/[A-Za-z0-9_-]+)")
_ABSENT = "is `burn-qed serve prove` running there, and the address right?"
_NOT_ONE = "give the address that `burn-qed serve prove` printed when it started"
_LOST = "nothing is known of the text; look at the server's log, and prove again"


class Client:
    """Requests to one server, past any proxy. `token` is sent only with a text or an id of a job."""

    def __init__(self, url: str, token: str | None) -> None:
        self.url = url.rstrip("/")
        self._parts = _parts_of(url)
        self._token = token

    def health(self) -> Health:
        """What serves there, and what may be asked for. Raises if it is not a prover, or not ready."""
        with self._asked("GET", "/health", open=True) as response:
            if response.status not in (200, 503):
                raise self._no_prover(f"it answers {response.status} {response.reason}")
            health = self._read(response, Health)
        if health.status != "ok":
            doing = "starting" if health.status == "loading" else "stopping"
            raise ServerError(f"{self.url}: the server is {doing}", hint="try again in a few seconds")
        return health

    def prove(self, task: Task, asked: ProofRequest, say: Callable[[JobEvent], None]) -> ProveAnswer:
        """The outcome of a task whose text is asked about. `say` is told each event as it comes.

        Ctrl-C cancels the job at the server; the `KeyboardInterrupt` then says what became of it.
        """
        request = ProveRequest(**msgspec.structs.asdict(asked), mode="stream")
        with self._asked("POST", "/prove", msgspec.json.encode(request)) as response:
            if response.status != 200:
                raise self._refused(response)
            job = _JOB.fullmatch(response.getheader("Location") or "")
            try:
                for event in self._events(response):
                    say(event)
                    match event:
                        case Answered(answer=answer):
                            return self._believed(task, answer)
                        case Unanswered(refusal=refusal):
                            raise self._without_outcome(refusal)
            except KeyboardInterrupt:
                raise KeyboardInterrupt(self._cancel(job)) from None
        raise self._gone("its stream ended without an outcome")

    # -------------------------------------------------------------------------------- inside

    @contextmanager
    def _asked(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        open: bool = False,
        silence: float = _SILENCE,
    ) -> Iterator[HTTPResponse]:
        """A response whose head has come. What is not read when this ends is not wanted."""
        scheme, host, port, base = self._parts
        kind = HTTPSConnection if scheme == "https" else HTTPConnection
        headers = {} if body is None else {"Content-Type": "application/json"}
        if self._token is not None and not open:
            headers["Authorization"] = f"Bearer {self._token}"
        with closing(kind(host, port, timeout=_CONNECT)) as connection:
            try:
                connection.connect()
            except ssl.SSLError as error:
                raise ServerError(f"{self.url}: no safe connection: {error}", hint=_NOT_ONE) from error
            except (OSError, ValueError) as error:  # a name of a host may be no name at all
                raise ServerError(f"{self.url}: nobody answers: {error}", hint=_ABSENT) from error
            connection.sock.settimeout(silence)
            try:
                # A server that refuses a body may answer before it has read it.
                with suppress(BrokenPipeError, ConnectionResetError):
                    connection.request(method, base + path, body, headers)
                response = connection.getresponse()
            except (OSError, HTTPException) as error:
                raise self._gone(_said(error)) from error
            with closing(response):
                yield response

    def _events(self, response: HTTPResponse) -> Iterator[JobEvent]:
        if (response.getheader("Content-Type") or "").partition(";")[0] != "text/event-stream":
            raise self._no_prover("its answer to a proof is not a stream of events")
        left = _STREAM
        while True:
            try:
                line = response.readline(_LINE)
            except (OSError, HTTPException) as error:
                raise self._gone(_said(error)) from error
            if not line:
                return
            left -= len(line)
            if left < 0:
                raise ServerError(
                    f"{self.url}: its events have more than {_STREAM:,} bytes", hint=_LOST
                )
            if line.startswith(b"data:"):
                yield self._decoded(line.removeprefix(b"data:"), JobEvent)

    def _cancel(self, job: re.Match[str] | None) -> str:
        """What became of a job that nobody waits for any more, in words."""
        path = job[1] if job else "/jobs/-"
        with suppress(BurnQedError), self._asked("DELETE", path, silence=_CANCEL) as response:
            if job and response.status in (200, 404):  # 404: it had ended
                return f"the search at {self.url} is cancelled"
        return f"{self.url} did not confirm that the search is cancelled; it stops without a client"

    def _believed(self, task: Task, answer: ProveAnswer) -> ProveAnswer:
        doubted = doubt(task, answer)
        if doubted:
            raise ServerError(
                f"{self.url}: its answer contradicts itself: {doubted}",
                hint="nothing of it is used; ask another server, or prove without --server",
            )
        return answer

    # ------------------------------------------------------------------------------- refusals

    def _refused(self, response: HTTPResponse) -> BurnQedError:
        """What is wrong, by the status and what the server says about it."""
        status, again = response.status, response.getheader("Retry-After") or ""
        if 300 <= status < 400:
            place = response.getheader("Location") or "elsewhere"
            return InputError(f"{self.url}: the server is at {place:.300}", hint="give that address")
        try:
            refusal = self._read(response, Refusal)
        except ServerError:  # a proxy's words, and not a prover's
            refusal = Refusal(error=f"{status} {response.reason}", kind="")
        if status == 401:
            said = f"does not take the token in {TOKEN}" if self._token else "wants a token"
            return InputError(f"{self.url} {said}", hint=f"export {TOKEN}=…, the one of the server")
        if status == 413:
            return InputError(
                f"{self.url}: the text is too large: {refusal.error}",
                hint="send less at once, or raise the server's --text-bytes",
            )
        if status == 429:
            seconds = int(again) if again.isascii() and again.isdecimal() else 1
            when = f"ask again in {again} s" if again else "ask again later"
            return Busy(f"{self.url} has no room: {refusal.error}", hint=when, seconds=seconds)
        if status in (400, 403, 404, 405):
            hint = refusal.hint or "is the server as new as this burn-qed, and the address right?"
            return InputError(f"{self.url}: {refusal.error}", hint=hint)
        return self._without_outcome(refusal, f"ask again in {again} s" if again else "")

    def _without_outcome(self, refusal: Refusal, hint: str = "") -> BurnQedError:
        """The error of the server as ours: of the input, or of the machinery."""
        kind = getattr(errors, refusal.kind, None)
        ours = isinstance(kind, type) and issubclass(kind, InputError)
        return (InputError if ours else ServerError)(
            f"{self.url}: {refusal.error}", hint=refusal.hint or hint or ("" if ours else _LOST)
        )

    def _gone(self, why: str) -> InfrastructureError:
        return ServerError(f"{self.url} went away in the middle: {why}", hint=_LOST)

    def _no_prover(self, why: str) -> InfrastructureError:
        return ServerError(f"{self.url} is not a prover of this burn-qed: {why}", hint=_NOT_ONE)

    def _read(self, response: HTTPResponse, kind: type[T]) -> T:
        try:
            content = response.read(_PART)
        except (OSError, HTTPException) as error:
            raise self._gone(_said(error)) from error
        read: T = self._decoded(content, kind)
        return read

    def _decoded(self, content: bytes, kind: Any) -> Any:
        try:
            return msgspec.json.decode(content, type=kind)
        except (ValueError, RecursionError) as error:  # msgspec's errors and UTF-8's are both
            raise self._no_prover(f"{error}") from error


def _parts_of(url: str) -> tuple[str, str, int, str]:
    """Scheme, host, port and path of a server. Raises `InputError` if no request could go there."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
        more = parts.query or parts.fragment or parts.username is not None
        plain = url.isascii() and url.isprintable() and " " not in url
        if host and port != 0 and parts.scheme in ("http", "https") and plain and not more:
            # Without a port, `http.client` would look for one in an IPv6 address.
            port = port or (443 if parts.scheme == "https" else 80)
            return parts.scheme, host, port, parts.path.rstrip("/")
    except ValueError:
        pass
    raise InputError(
        f"--server {url!r:.300} is not an address of a server",
        hint=f"such as http://127.0.0.1:8200; a token is in {TOKEN}, not in the address",
    )


def _said(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"it said nothing for {_SILENCE:g} s"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
