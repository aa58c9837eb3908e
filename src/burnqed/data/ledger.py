"""Results that are kept one by one: JSON lines in the order in which they came, one for each key.

A line is on the disk before the next piece of work is begun. What a kill left of a line is taken off,
and its work is done again. Rows stay on the disk; memory has their places.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from burnqed.core.errors import InfrastructureError
from burnqed.core.files import sole_writer
from burnqed.core.storage import remedy


@contextlib.contextmanager
def open_ledger(path: Path, warn: Callable[[str], None]) -> Iterator[Ledger]:
    """The one writer of a ledger."""
    with sole_writer(path.with_name(f".{path.name}.lock"), path.parent), path.open("a+b") as file:
        yield Ledger(file, path, warn)


class Ledger:
    """Made by `open_ledger`. Of a key that was added twice, the last row counts."""

    def __init__(self, file: Any, path: Path, warn: Callable[[str], None]) -> None:
        self._file, self._path = file, path
        self._places: dict[str, int] = {}
        file.seek(0)
        at = 0
        for line in file:
            if line.endswith(b"\n"):
                key = _key(line)
                if key is None:
                    warn(f"{path} has a line that cannot be read; that piece of work is done again")
                else:
                    self._places[key] = at
                at += len(line)
        if at != file.tell():
            file.truncate(at)

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def __len__(self) -> int:
        return len(self._places)

    def row(self, key: str) -> dict[str, Any]:
        self._file.seek(self._places[key])
        return dict(json.loads(self._file.readline()))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Of each key its row, sorted by key: in which order they came is nobody's business."""
        for key in sorted(self._places):
            yield self.row(key)

    def add(self, key: str, row: Mapping[str, Any]) -> None:
        line = json.dumps({"key": key, **row}, ensure_ascii=False).encode() + b"\n"
        try:
            self._places[key] = self._file.seek(0, os.SEEK_END)
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise InfrastructureError(
                f"cannot write {self._path}: {error.strerror}",
                hint=remedy(error, self._path, "move it elsewhere; --resume goes on"),
            ) from error


def _key(line: bytes) -> str | None:
    try:
        return str(json.loads(line)["key"])
    except (ValueError, KeyError, TypeError):
        return None
