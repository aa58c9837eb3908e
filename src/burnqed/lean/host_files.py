"""Paths in requests of Pantograph's protocol, read and written on Lean's behalf.

Lean itself sees no file of the host. A client may still name one (`fileName`, `invocations`,
`filename`), as PyPantograph does: its text goes into the request, and output comes back in the reply
and is written here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from burnqed.lean.source_file import decoded, read_regular
from burnqed.lean.statement import split_header

Reply = dict[str, Any]
Finish = Callable[[Reply], Reply]
COMMANDS_WITH_PATHS = ("frontend.process", "env.catalog")


def split_line(line: str) -> tuple[str, Any] | None:
    """Parse `cmd {json}` or `{"cmd": …, "payload": …}`; None if it is neither."""
    command, _, payload = line.strip().partition(" ")
    try:
        if line.lstrip().startswith("{"):
            whole = json.loads(line)
            return str(whole["cmd"]), whole.get("payload", {})
        return command, json.loads(payload or "{}")
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def imports_wanted(line: str, reply: Reply) -> tuple[str, ...]:
    """The imports of a file's header, if this Lean answered that it has not loaded them.

    Lean cannot load modules after its start, so such a file needs another process.
    """
    if reply.get("error") != "io":
        return ()
    parsed = split_line(line)
    if parsed is None or parsed[0] != "frontend.process" or not isinstance(parsed[1], dict):
        return ()
    payload = parsed[1]
    if not payload.get("readHeader"):
        return ()
    return ("Init", *split_header(str(payload.get("file", ""))).imports)


def stays(line: str) -> bool:
    """Whether a file's declarations stay for later requests."""
    parsed = split_line(line)
    return parsed is not None and isinstance(parsed[1], dict) and bool(parsed[1].get("inheritEnv"))


def resolve(line: str) -> tuple[str, Finish]:
    """The request for Lean, and what to do with its reply. Raises `OSError`, `InputError`."""
    parsed = split_line(line) if any(name in line for name in COMMANDS_WITH_PATHS) else None
    if parsed is None or not isinstance(parsed[1], dict):
        return line, _as_it_is
    command, payload = parsed
    if command == "frontend.process":
        return _frontend(payload)
    if command == "env.catalog" and payload.get("filename"):
        return _catalog(payload)
    return line, _as_it_is


def _as_it_is(reply: Reply) -> Reply:
    return reply


def _line(command: str, payload: dict[str, Any]) -> str:
    return f"{command} {json.dumps(payload, ensure_ascii=False)}"


def _frontend(payload: dict[str, Any]) -> tuple[str, Finish]:
    name = payload.pop("fileName", None)
    if name is not None and payload.get("file") is None:
        payload["file"] = decoded(read_regular(Path(name)))
    target = payload.get("invocations")
    if not isinstance(target, str):
        return _line("frontend.process", payload), _as_it_is
    payload["invocations"] = True

    def finish(reply: Reply) -> Reply:
        units = reply.get("units")
        if units is not None:
            taken = [{"invocations": unit.pop("invocations", [])} for unit in units]
            Path(target).write_text(json.dumps({"units": taken}, ensure_ascii=False), "utf-8")
        return reply

    return _line("frontend.process", payload), finish


def _catalog(payload: dict[str, Any]) -> tuple[str, Finish]:
    target = Path(payload.pop("filename"))

    def finish(reply: Reply) -> Reply:
        symbols = reply.pop("symbols", None)
        if symbols is not None:
            target.write_text("".join(f"{symbol}\n" for symbol in symbols), encoding="utf-8")
        return reply

    return _line("env.catalog", payload), finish
