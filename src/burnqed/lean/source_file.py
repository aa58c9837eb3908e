"""Lean source from outside, as text: read here and nowhere else.

A file is anybody's, so it is looked at before it is read. Only a regular file counts (a pipe would
never end, a device would fill the memory), and only up to a size. What is judged is what stands in it:
its bytes are UTF-8, and its lines end as Lean reads them. A carriage return alone is a line end to some
programs and not to Lean, so that people and Lean would see different texts.
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
    """The text of a file that the user named, line ends as they are. Raises `InputError`."""
    try:
        return decoded(read_regular(path))
    except OSError as error:
        hint = "name a Lean file in it" if isinstance(error, IsADirectoryError) else ""
        raise InputError(f"cannot read {path}: {error.strerror}", hint=hint) from error
    except InputError as error:
        raise InputError(f"cannot read {path}: it {error.message}", hint=error.hint) from error


def read_standard_input() -> str:
    """The same of standard input."""
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InputError(f"cannot read standard input: {_TOO_LONG}")
    try:
        return decoded(data)
    except InputError as error:
        raise InputError(f"cannot read standard input: it {error.message}", hint=error.hint) from error


def read_regular(path: Path) -> bytes:
    """The bytes of a regular file of bounded size. Raises `OSError`."""
    _check(path, path.stat())  # before it is opened: that alone can do something to a device
    # Should a pipe have taken its place, opening must not wait for who writes into it.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        _check(path, os.fstat(file.fileno()))
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:  # it grew, or it is one of those whose size is not known
        raise OSError(errno.EFBIG, _TOO_LONG, str(path))
    return data


def _check(path: Path, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    if found.st_size > MAX_BYTES:
        raise OSError(errno.EFBIG, _TOO_LONG, str(path))


def decoded(data: bytes) -> str:
    """Bytes as text, without the mark that some editors begin a file with. Raises `InputError`."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text, from byte {error.start} on") from error
    alone = _LONE_RETURN.search(text)
    if alone:
        line = text.count("\n", 0, alone.start()) + 1
        raise InputError(
            f"has a carriage return in line {line} that ends no line",
            hint="save it with line ends \\n or \\r\\n",
        )
    return text
