"""Files and directories that are there whole, or not at all, or as they were before."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from burnqed.core.errors import BurnQedError, CorruptError, InfrastructureError, InputError
from burnqed.core.storage import remedy


def publish(path: Path, content: str | bytes | Iterable[str]) -> None:
    """Write a file so that it is there whole or not at all, also after a power cut."""
    parts = [content] if isinstance(content, str | bytes) else content
    if not path.name:
        raise InputError(f"cannot write {path}: it names no file")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("wb") as file:
                for part in parts:
                    file.write(part.encode() if isinstance(part, str) else part)
                file.flush()
                os.fsync(file.fileno())
            if path.is_file():
                shutil.copymode(path, temporary)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_names(path.parent)
    except OSError as error:
        raise InfrastructureError(
            f"cannot write {path}: {error.strerror or error}",
            hint=remedy(error, path),
        ) from error


def publish_json(path: Path, content: Any) -> None:
    """A value as JSON that people can read."""
    publish(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def read_object(path: Path, hint: str = "", absent: BurnQedError | None = None) -> dict[str, Any]:
    """The JSON object in a file; raises `absent`, if given, where there is no file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError("it is not a JSON object")
    except (OSError, ValueError, RecursionError) as error:
        if absent is not None and isinstance(error, FileNotFoundError):
            raise absent from None
        raise CorruptError(f"cannot read {path}: {error}", hint=hint) from error
    return content


def sync_names(directory: Path) -> None:
    """Put what files are called there on the disk: a rename alone may be lost with the power.

    Where the folder may be written to and not read, the system does it in its own time.
    """
    try:
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def sole_writer(lock: Path, out: Path) -> Iterator[None]:
    """Hold the lock of what one process alone writes to in `out`."""
    held = FileLock(lock, timeout=0)
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        held.acquire()
    except Timeout:
        raise InputError(
            f"{out} is being written by another burn-qed",
            hint="wait until it ends, or use another --out",
        ) from None
    except OSError as error:
        raise InputError(
            f"cannot write to {lock.parent}: {error.strerror}", hint=remedy(error, lock)
        ) from error
    try:
        yield
    finally:
        held.release()


# --------------------------------------------------------------------------------- directories


def publish_directory(target: Path, write: Callable[[Path], None]) -> None:
    """Fill a directory so that it is there whole, or not at all, or as it was before."""
    recover(target)
    fresh, old = _beside(target, "new"), _beside(target, "old")
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        try:
            write(fresh)
            _sync(fresh)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
        if target.exists():
            target.rename(old)
        fresh.rename(target)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        raise InfrastructureError(
            f"cannot write {target}: {error.strerror or error}",
            hint=f"{remedy(error, target)}; what was there before is kept",
        ) from error


def recover(target: Path) -> None:
    """Tidy up after a process that was killed while it put a directory in the place of another."""
    old = _beside(target, "old")
    if old.exists():
        if target.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.rename(target)


def _beside(target: Path, what: str) -> Path:
    return target.with_name(f".{target.name}.{what}")


def _sync(directory: Path) -> None:
    """Have the disk hold the files before their directory gets its name."""
    for path in directory.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
