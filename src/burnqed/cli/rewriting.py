"""Rewriting a user's file: checked before the work, and never over what somebody else wrote."""

from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path

from burnqed.core.errors import InfrastructureError, InputError
from burnqed.core.files import publish
from burnqed.core.storage import remedy

_INSTEAD = "leave out --write to print the result"


def check_rewritable(path: Path) -> bytes:
    """Return the file's content. Refuse it before the work if it could not be rewritten."""
    path = path.resolve()
    # Root may write anywhere, and a rename needs no right to the file: so respect the read-only mark.
    marked = not path.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH)
    if marked or not os.access(path, os.W_OK):
        raise InputError(f"cannot rewrite {path}: it is read-only", hint=f"chmod u+w, or {_INSTEAD}")
    probe = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        content = path.read_bytes()
        probe.write_bytes(content)  # the disk has room for a second copy
        probe.unlink()
        return content
    except OSError as error:
        probe.unlink(missing_ok=True)
        raise InputError(
            f"cannot rewrite {path}: {error.strerror or error}", hint=remedy(error, probe, _INSTEAD)
        ) from error


def rewrite(path: Path, before: bytes, after: str) -> None:
    """Replace the file's content `before`, which it must still have, by `after`."""
    path = path.resolve()
    try:
        found = path.read_bytes()
    except OSError as error:
        raise InfrastructureError(f"cannot rewrite {path}: {error.strerror or error}") from error
    if found != before:
        raise InputError(
            f"{path} changed during the search and is left alone",
            hint="take the proofs from standard output, or run again",
        )
    mark = codecs.BOM_UTF8 if before.startswith(codecs.BOM_UTF8) else b""
    publish(path, mark + after.encode())
