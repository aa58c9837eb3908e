"""Sources that were fetched: their files in the cache, and what is known of them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from burnqed.core.cache import cache_root
from burnqed.core.errors import CorruptError, InputError
from burnqed.core.files import publish
from burnqed.data.sources.declared import SourceInfo
from burnqed.data.sources.files import Part

_RECORD = "source.json"


@dataclass(frozen=True, slots=True)
class Record:
    """What was fetched: which revision, how many rows, and each file with its size and checksum."""

    name: str
    revision: str
    pinned: bool
    rows: int
    files: dict[str, int]
    sha256: dict[str, str]


def folder_of(info: SourceInfo) -> Path:
    return cache_root() / "sources" / info.name


def is_stored(info: SourceInfo) -> bool:
    try:
        return (folder_of(info) / _RECORD).is_file()
    except OSError:
        return False


def keep(info: SourceInfo, record: Record) -> None:
    publish(folder_of(info) / _RECORD, json.dumps(asdict(record), indent=1) + "\n")


def stored(info: SourceInfo) -> tuple[Record, tuple[Part, ...]]:
    """What is here of a source, if it is still what was fetched."""
    again = f"burn-qed data fetch {info.name} --again"
    path = folder_of(info) / _RECORD
    try:
        record = Record(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise InputError(
            f"{info.name} is not on this machine yet",
            hint=f"burn-qed data fetch {info.name}, or give what you have as {info.name}=PATH",
        ) from None
    except (OSError, ValueError, TypeError) as error:
        raise CorruptError(f"cannot read {path}: {error}", hint=again) from error
    for name, size in record.files.items():
        try:
            found = (folder_of(info) / name).stat().st_size
        except OSError as error:
            raise CorruptError(
                f"{name} of {info.name} is gone: {error.strerror}", hint=again
            ) from error
        if found != size:
            raise CorruptError(f"{name} of {info.name} has {found} bytes, not {size}", hint=again)
    return record, tuple(Part(folder_of(info) / name) for name in record.files)
