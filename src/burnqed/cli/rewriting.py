"""Rewriting a user's file: looked at before the work, and never over what somebody else wrote."""

from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path

from burnqed.core.errors import InfrastructureError, InputError
from burnqed.core.runs import publish
from burnqed.core.storage import remedy

_INSTEAD = "leave out --write, and the result is printed"


def check_rewritable(path: Path) -> bytes:
    """Refuse a file that could not be rewritten, before anything is spent on what to write.

    The result is what is in it now.
    """
    path = path.resolve()
    # Root may write to it, and a rename asks for no right to the file: what is marked stays as it is.
    marked = not path.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH)
    if marked or not os.access(path, os.W_OK):
        raise InputError(f"cannot rewrite {path}: it is read-only", hint=f"chmod u+w, or {_INSTEAD}")
    probe = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        content = path.read_bytes()
        probe.write_bytes(content)  # there is room for as much again, too
        probe.unlink()
        return content
    except OSError as error:
        probe.unlink(missing_ok=True)
        raise InputError(
            f"cannot rewrite {path}: {error.strerror or error}", hint=remedy(error, probe, _INSTEAD)
        ) from error


def rewrite(path: Path, before: bytes, after: str) -> None:
    """Put a text in the place of what was there, and must still be."""
    path = path.resolve()
    try:
        found = path.read_bytes()
    except OSError as error:
        raise InfrastructureError(f"cannot rewrite {path}: {error.strerror or error}") from error
    if found != before:
        raise InputError(
            f"{path} was changed while proofs were searched: it is left as it is now",
            hint="take the proofs from standard output, or run again",
        )
    mark = codecs.BOM_UTF8 if before.startswith(codecs.BOM_UTF8) else b""
    publish(path, mark + after.encode())
