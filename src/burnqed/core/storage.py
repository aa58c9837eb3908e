"""Fixes for errors of the disk, and the default permissions of files."""

from __future__ import annotations

import errno
import os
from pathlib import Path

_FULL = {errno.ENOSPC, errno.EDQUOT}
_FORBIDDEN = {errno.EACCES, errno.EPERM}
_NO_FOLDER = {errno.ENOTDIR, errno.EEXIST}


def remedy(error: OSError, path: Path, otherwise: str = "use --out elsewhere") -> str:
    """The fix for a file that cannot be written, by the system's error.

    `otherwise` says how to write it elsewhere.
    """
    place = _culprit(path)
    match error.errno:
        case errno.EROFS:
            return f"{place} is on a file system that is read-only: {otherwise}"
        case number if number in _FULL:
            return f"free some space at {place}, or {otherwise}"
        case number if number in _FORBIDDEN:
            return f"you may not write to {place}: change its permissions, or {otherwise}"
        case number if number in _NO_FOLDER:
            return f"{place} is not a folder: {otherwise}"
        case errno.EISDIR:
            return f"{path} is a folder: {otherwise}"
        case errno.EFBIG:
            return f"the file is too large (`ulimit -f` shows the limit): {otherwise}"
        case errno.ENAMETOOLONG:
            return "give it a shorter name"
        case errno.EMFILE | errno.ENFILE:
            return "too many files are open: raise `ulimit -n`"
        case _:
            return otherwise


def _culprit(path: Path) -> Path:
    """The path to blame: the file if it exists and is closed to us, else its nearest folder."""
    path = path.absolute()
    there = [place for place in (path, *path.parents) if os.path.lexists(place)]
    closed = there[0] == path and not path.is_dir() and not os.access(path, os.W_OK)
    return path if closed else next(place for place in there if place != path)


def open_to_all_as_usual(directory: Path) -> None:
    """Give the files of a directory the permissions that the user's umask gives to new files.

    Some libraries write through temporary files, which only their owner may read.
    """
    probe = directory / ".permissions"
    probe.touch()
    usual = probe.stat().st_mode & 0o777
    probe.unlink()
    for path in directory.rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.chmod(usual)
