"""The log of a training: a line of JSON for each step and each evaluation, only ever appended to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from burnqed.core.errors import InfrastructureError
from burnqed.core.files import publish
from burnqed.core.storage import remedy

LOG = "log.jsonl"

Entry = Mapping[str, Any]  # `kind` is "train" or "eval"; `step` counts from 1, 0 is before the first


def append(path: Path, entries: Iterable[Entry]) -> None:
    """Add lines. What a killed process leaves of one is cut off when the training is resumed."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(entry) + "\n" for entry in entries)
    except OSError as error:
        raise InfrastructureError(
            f"cannot write {path}: {error.strerror or error}",
            hint=remedy(error, path, "move the training elsewhere; --resume goes on"),
        ) from error


def read_log(path: Path) -> list[dict[str, Any]]:
    """The whole lines, in order."""
    if not path.exists():
        return []
    entries = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and isinstance(entry.get("step"), int):
            entries.append(entry)
    return entries


def cut(path: Path, step: int) -> None:
    """Take off what was written after a step: a training that goes on from there writes it again."""
    kept = [entry for entry in read_log(path) if entry["step"] <= step]
    publish(path, "".join(json.dumps(entry) + "\n" for entry in kept))
