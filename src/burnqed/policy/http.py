"""JSON requests to a model server: tried again while there is hope, never longer than allowed."""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from burnqed.core.errors import InputError, ServerError, SetupError

try:
    import httpx
except ImportError as error:
    raise SetupError(
        "a model server is spoken to with httpx, which is not installed",
        hint="pip install 'burn-qed[models]'",
    ) from error

_PASSING = {429, 500, 502, 503, 504}  # answers that may be another in a moment
_UNFIT = {400, 413, 422}  # answers that may be about one prompt among many
_LOOPBACK = ("all://localhost", "all://127.0.0.1", "all://[::1]")
_QUOTED = 300  # characters of what a server said, in a message
_ABSENT = "is the server running and well, and the URL right? its log says more"
_LOST = (
    "see in the server's log what became of it, and start it again if it is gone; "
    "what was finished is saved, --resume goes on"
)


class Refused(InputError):
    """The server does not take what this request contains; another one it may take."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long to wait for a server, in seconds, and how often to try.

    A server that generates sends nothing until it is done, so `silence` must be longer than the longest
    batch takes. `whole` is for all attempts together and the waits between them: a server that takes
    connections and never answers is given up after it, 5 minutes unless told otherwise.
    """

    connect: float = 10.0
    silence: float = 120.0
    whole: float = 300.0
    attempts: int = 5
    first_wait: float = 0.5  # twice as long after each attempt
    longest_wait: float = 30.0  # also when the server asks for more

    def __post_init__(self) -> None:
        if min(self.connect, self.silence, self.whole) <= 0 or self.attempts < 1:
            raise InputError("time limits of a model server are above 0, and it is tried at least once")
        if min(self.first_wait, self.longest_wait) < 0:
            raise InputError("the wait between two attempts is not below 0")


class _Passing(Exception):
    """An attempt failed in a way that another one may not; `wait` is what the server asked for."""

    def __init__(self, what: str, wait: float | None = None) -> None:
        super().__init__(what)
        self.wait = wait


class JsonClient:
    """Requests to one server. `key` is a bearer token; `sleep`, `clock` and `chance` are for tests."""

    def __init__(
        self,
        url: str,
        limits: Limits,
        *,
        key: str | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        path_of(url)
        self.url = url.rstrip("/")
        self._limits = limits
        self._well = False  # whether it has passed a check
        self._sleep, self._clock, self._chance = sleep, clock, chance
        self._client = httpx.AsyncClient(
            limits=httpx.Limits(max_connections=None),
            headers={"Authorization": f"Bearer {key}"} if key else {},
            mounts=dict.fromkeys(_LOOPBACK),  # no proxy stands between this machine and itself
        )

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The answer's JSON."""
        return await self._request("POST", path, json.dumps(body).encode())

    async def get(self, path: str) -> Any:
        """The answer's JSON."""
        return await self._request("GET", path, None)

    async def answers(self, path: str, seconds: float) -> bool:
        """Whether anything comes back in time, be it that the server has no such page."""
        try:
            async with asyncio.timeout(seconds):
                response = await self._client.get(self.url + path, timeout=seconds)
        except (TimeoutError, httpx.HTTPError):
            return False
        return response.status_code < 500

    @contextmanager
    def hurried(self) -> Iterator[None]:
        """Shorter limits, for questions at the start that a server which is well answers at once.

        If this ends without an error, the server was there: should it fail later, it was lost.
        """
        usual = self._limits
        self._limits = replace(
            usual,
            silence=min(usual.silence, 60.0),
            whole=min(usual.whole, 120.0),
            attempts=min(usual.attempts, 3),
        )
        try:
            yield
            self._well = True
        finally:
            self._limits = usual

    async def close(self) -> None:
        await self._client.aclose()

    async def _request(self, method: str, path: str, body: bytes | None) -> Any:
        url, limits = self.url + path, self._limits
        end = self._clock() + limits.whole
        failures: list[str] = []
        for attempt in range(limits.attempts):
            try:
                return await self._once(method, url, body, end - self._clock())
            except _Passing as failure:
                failures.append(str(failure))
                # Between half and the whole of it: clients that failed together do not return together.
                wait = limits.first_wait * 2**attempt * (1 + self._chance()) / 2
                wait = min(max(wait, failure.wait or 0.0), limits.longest_wait)
            if attempt + 1 == limits.attempts or self._clock() + wait >= end:
                break
            await self._sleep(wait)
        raise ServerError(
            f"{url} gave no answer in {len(failures)} attempts: {_counted(failures)}",
            hint=_LOST if self._well else _ABSENT,
        )

    async def _once(self, method: str, url: str, body: bytes | None, left: float) -> Any:
        limits = self._limits
        headers = {"Content-Type": "application/json"} if body is not None else {}
        timeout = httpx.Timeout(limits.silence, connect=limits.connect, pool=None)
        try:
            async with asyncio.timeout(max(left, 0.0)):
                response = await self._client.request(
                    method, url, content=body, headers=headers, timeout=timeout
                )
        except TimeoutError as error:
            raise _Passing(f"the time for it, {limits.whole:g} s, was over") from error
        except httpx.ConnectTimeout as error:
            raise _Passing(f"no connection within {limits.connect:g} s") from error
        except (httpx.ReadTimeout, httpx.WriteTimeout) as error:
            raise _Passing(f"not a byte moved for {limits.silence:g} s") from error
        except httpx.ConnectError as error:
            raise _Passing(f"no connection: {error}") from error
        except httpx.RequestError as error:
            raise _Passing(f"the answer broke off: {error or type(error).__name__}") from error
        if response.is_success:
            return _content(response)
        raise _refusal(url, response)


def path_of(url: str) -> str:
    """The path in a server's URL, which may be empty. Raises if no request could be sent to the URL."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        httpx.URL(url)
    except (ValueError, httpx.InvalidURL) as error:
        what = f"{url!r} is not a URL of a server: {error}"
        raise InputError(what, hint="such as http://127.0.0.1:8000") from error
    if not usable:
        raise InputError(f"{url!r} is not a URL of a server", hint="such as http://127.0.0.1:8000")
    return parts.path


def key_from(variable: str) -> str | None:
    """The API key in an environment variable. What is wrong with one is told without showing it."""
    key = os.environ.get(variable)
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise InputError(
            f"the API key in {variable} has a space, a line break or a letter outside ASCII",
            hint=f"set {variable} to the key alone, or unset it if the server wants none",
        )
    return key


def _content(response: httpx.Response) -> Any:
    try:
        return json.loads(response.content)
    except ValueError as error:  # it may have been cut off by whatever stands between
        raise _Passing(f"the answer is not JSON: {_quoted(response.text)}") from error


def _refusal(url: str, response: httpx.Response) -> Exception:
    status, said = response.status_code, _message(response)
    if status in _PASSING:
        return _Passing(f"{status} {said}", _retry_after(response))
    if status in (401, 403):
        return InputError(f"{url} refuses the key: {status} {said}", hint="set the server's API key")
    if response.is_redirect:
        place = response.headers.get("Location", "")
        return InputError(f"{url} is not there: {status}, moved to {place}", hint="give that URL")
    if response.is_client_error:
        return (Refused if status in _UNFIT else InputError)(
            f"{url} refuses the request: {status} {said}",
            hint="are the URL, the model's name and the number of tokens what this server takes?",
        )
    return ServerError(f"{url} failed: {status} {said}", hint="its log says more")


def _message(response: httpx.Response) -> str:
    """What the server says about it, in whichever field servers say it."""
    try:
        content = json.loads(response.content)
    except ValueError:
        return _quoted(response.text) or response.reason_phrase
    for key in ("error", "detail", "message"):
        while isinstance(content, dict) and key in content:
            content = content[key]
    return _quoted(content if isinstance(content, str) else json.dumps(content))


def _quoted(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _QUOTED else text[:_QUOTED] + "…"


def _retry_after(response: httpx.Response) -> float | None:
    """Seconds, or a date; None where nothing that can be read was said."""
    said = response.headers.get("Retry-After", "")
    try:
        return float(said)
    except ValueError:
        pass
    try:
        date = parsedate_to_datetime(said)
    except ValueError:
        return None
    return (date - datetime.now(UTC if date.tzinfo else None)).total_seconds()


def _counted(failures: list[str]) -> str:
    """Each failure once, in their order, with how often it came."""
    times = {what: failures.count(what) for what in failures}
    return "; ".join(what if count == 1 else f"{count} × {what}" for what, count in times.items())
