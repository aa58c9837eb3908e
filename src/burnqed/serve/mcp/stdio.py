"""The tools over stdin and stdout, for the client that started this process: a message on each line.

The lines are read here and not by the SDK: its reader has no bound on a line, holds up the end of the
process until stdin ends, and drops a line that is no message without an answer.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import anyio
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)

from burnqed.serve.bodies import most_bytes
from burnqed.serve.config import ServeConfig
from burnqed.serve.mcp.tools import Tools, opened_meanwhile
from burnqed.serve.server import until

_AT_ONCE = 64 * 1024  # bytes


async def serve(config: ServeConfig, wire: Wire, stopping: asyncio.Event) -> None:
    """Serve until the client closes its end, or `stopping` is set.

    An engine that does not open is told to whoever calls a tool, and raised at the end.
    """
    async with opened_meanwhile(config) as opened:
        server = Tools(opened).server()
        await until(stopping, speak(server, wire, most_bytes(config.text_bytes)))
        if opened.done():
            opened.result()


async def speak(server: Server[Any], wire: Wire, most: int) -> None:
    """A conversation, until the client closes its end."""
    to_server, heard = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    said, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    answers = said.clone()

    async def listen() -> None:
        async with to_server, answers:
            async for line in _lines(wire, most):
                try:
                    await to_server.send(SessionMessage(_message(line, most)))
                except _Malformed as why:
                    await answers.send(SessionMessage(why.answer))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_write, wire, from_server)
        tasks.start_soon(listen)
        await server.run(heard, said, server.create_initialization_options())


class _Malformed(Exception):
    """A line that is no message. `answer` tells the client."""

    def __init__(self, code: int, why: str, id: str | int | None = None) -> None:
        super().__init__(why)
        self.answer = JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=code, message=why))


def _message(line: bytes | None, most: int) -> JSONRPCMessage:
    """Raises `_Malformed`, with the id of a request where it has one."""
    if line is None:
        raise _Malformed(INVALID_REQUEST, f"a message has at most {most} bytes")
    try:
        given = msgspec.json.decode(line)
    except (ValueError, RecursionError) as error:
        raise _Malformed(PARSE_ERROR, f"this is not JSON: {error}") from error
    id = given.get("id") if isinstance(given, dict) else None
    has_id = isinstance(id, str | int) and not isinstance(id, bool)
    try:
        message: JSONRPCMessage = jsonrpc_message_adapter.validate_python(given, by_name=False)
    except ValueError as error:
        why = "this is not a message of JSON-RPC 2.0"
        raise _Malformed(INVALID_REQUEST, why, id if has_id else None) from error
    if isinstance(message, JSONRPCNotification) and "id" in given:
        raise _Malformed(INVALID_REQUEST, "the id of a request is a string or an integer")
    return message


async def _lines(wire: Wire, most: int) -> AsyncIterator[bytes | None]:
    """Lines that are not empty; None for one that is too long."""
    held, too_long = bytearray(), False
    async for part in wire.parts():
        *ends, rest = part.split(b"\n")
        for end in ends:
            held += end
            if too_long or len(held) > most:
                yield None
            elif held.strip():
                yield bytes(held)
            held.clear()
            too_long = False
        held += rest
        if len(held) > most:
            held.clear()
            too_long = True


async def _write(wire: Wire, said: MemoryObjectReceiveStream[SessionMessage]) -> None:
    try:
        async with said:
            async for one in said:
                line = one.message.model_dump_json(by_alias=True, exclude_unset=True)
                await wire.send(line.encode() + b"\n")
    finally:
        wire.close()


class Wire:
    """Two file descriptors, read and written by threads that may be left behind at the end.

    So a client that neither writes nor reads holds up nothing but itself. Any kind of file will do.
    """

    def __init__(self, source: int, sink: int) -> None:
        self._source, self._sink = source, sink
        self._loop = asyncio.get_running_loop()
        self._came: asyncio.Queue[bytes] = asyncio.Queue(1)
        self._leaves: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]] | None]
        self._leaves = queue.SimpleQueue()
        for work in (self._read, self._write):
            threading.Thread(target=work, daemon=True).start()

    async def parts(self) -> AsyncIterator[bytes]:
        while part := await self._came.get():
            yield part

    async def send(self, line: bytes) -> None:
        """Returns once it is written, or the client is gone."""
        written = self._loop.create_future()
        self._leaves.put((line, written))
        await written

    def close(self) -> None:
        """No more is sent."""
        self._leaves.put(None)

    def _read(self) -> None:
        part = b"-"
        while part:
            try:
                part = os.read(self._source, _AT_ONCE)
            except OSError:
                part = b""
            try:
                asyncio.run_coroutine_threadsafe(self._came.put(part), self._loop).result()
            except (RuntimeError, asyncio.CancelledError):  # the loop is closed
                return

    def _write(self) -> None:
        while leaving := self._leaves.get():
            line, written = leaving
            with suppress(OSError):  # nobody reads any more; the end of stdin says so as well
                while line:
                    line = line[os.write(self._sink, line) :]
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(_set, written)


def _set(written: asyncio.Future[None]) -> None:
    if not written.done():
        written.set_result(None)


@contextmanager
def claimed() -> Iterator[tuple[int, int]]:
    """This process's stdin and stdout, which nothing else then reads or writes.

    Whatever else prints does so on stderr, children included.
    """
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    try:
        yield source, sink
    finally:
        os.dup2(source, 0)
        os.dup2(sink, 1)
