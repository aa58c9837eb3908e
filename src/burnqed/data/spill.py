"""Records that find each other by a key, with no more of them in memory than one part of many.

They are written to files by their key, so that all with the same key are in the same one; then one file
after the other is read. Memory holds one of the parts, however many records there are.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

PARTS = 64


def key_of(*texts: str) -> int:
    """64 bits that stand for the texts. Of a million, two are mistaken once in 40 million times."""
    encoded = [text.encode() for text in texts]
    told = b"".join([b"%d\0%b" % (len(text), text) for text in encoded])
    return int.from_bytes(hashlib.blake2b(told, digest_size=8).digest(), "little")


class Spill:
    """Records of integers; `form` says their sizes as `struct` does, the first one is the key."""

    def __init__(self, directory: Path, form: str) -> None:
        directory.mkdir()
        self._record = struct.Struct(f"<{form}")
        self._paths = [directory / f"{number:02}" for number in range(PARTS)]
        self._open = ExitStack()
        self._files = [self._open.enter_context(path.open("wb")) for path in self._paths]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def add(self, key: int, *values: int) -> None:
        self._files[key % PARTS].write(self._record.pack(key, *values))

    def parts(self) -> Iterator[list[tuple[Any, ...]]]:
        """All records, those of one key in one part, in the order in which they came. Once."""
        self._open.close()
        for path in self._paths:
            yield list(self._record.iter_unpack(path.read_bytes()))
            path.unlink()
