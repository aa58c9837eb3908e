"""Reads Lean source from outside. This is the only place that does.

Files are untrusted, so they are checked before reading: a file must be regular (a pipe would never end,
a device would fill the memory) and not too large. It must be UTF-8 with Lean's line ends. A lone
carriage return is a line end for some programs and not for Lean, so people and Lean would see different
texts.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from pathlib import Path

from burnqed.core.errors import InputError

MAX_BYTES = 1_000_000  # twice the longest file of Mathlib
_LONE_RETURN = re.compile("\r(?!\n)")
_TOO_LONG = f"it is longer than {MAX_BYTES // 1_000_000} MB"


def read_source(path: Path) -> str:
    """The text of a file, with its line ends. Raises `InputError`."""
    try:
        return decoded(read_regular(path))
    except OSError as error:
        hint = "name a Lean file in it" if isinstance(error, IsADirectoryError) else ""
        raise InputError(f"cannot read {path}: {error.strerror}", hint=hint) from error
    except InputError as error:
        raise InputError(f"cannot read {path}: it {error.message}", hint=error.hint) from error


def read_standard_input() -> str:
    """The text of standard input. Raises `InputError`."""
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InputError(f"cannot read standard input: {_TOO_LONG}")
    try:
        return decoded(data)
    except InputError as error:
        raise InputError(f"cannot read standard input: it {error.message}", hint=error.hint) from error


def read_regular(path: Path) -> bytes:
    """The bytes of a regular file of bounded size. Raises `OSError`."""
    _check(path, path.stat())  # before opening, which may affect a device
    # If a pipe has taken its place, opening must not wait for its writer.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        _check(path, os.fstat(file.fileno()))
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:  # it grew, or its size was not known
        raise OSError(errno.EFBIG, _TOO_LONG, str(path))
    return data


def _check(path: Path, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    if found.st_size > MAX_BYTES:
        raise OSError(errno.EFBIG, _TOO_LONG, str(path))


def decoded(data: bytes) -> str:
    """Bytes as text, without a byte order mark. Raises `InputError`."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text, from byte {error.start} on") from error
    alone = _LONE_RETURN.search(text)
    if alone:
        line = text.count("\n", 0, alone.start()) + 1
        raise InputError(
            f"has a lone carriage return in line {line}",
            hint="save it with line ends \\n or \\r\\n",
        )
    return text
