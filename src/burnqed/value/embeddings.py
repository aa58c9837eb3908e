"""A cache of embeddings: a directory for each encoder, to which files are only added.

A file appears whole or not at all, and saving writes only what is new. Each encoder has its own
directory, so that embeddings of different encoders cannot be mixed up.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from burnqed.core.errors import CorruptError, InfrastructureError
from burnqed.core.files import publish
from burnqed.core.watching import Watcher
from burnqed.value.encoder import Embeddings, EncoderName, checked

SAVE_EVERY = 20_000  # states
_BATCH = 256  # states that are encoded between two checks whether to stop
_NAME = "encoder.json"


class Encoder(Protocol):
    """Computes embeddings, in this process or on a server."""

    @property
    def name(self) -> EncoderName: ...

    def encode(self, states: Sequence[str]) -> Embeddings: ...


class EmbeddingCache:
    """The embeddings of one encoder, by their states' text."""

    def __init__(self, directory: Path, name: EncoderName) -> None:
        self.name = name
        self.directory = directory / name.key
        self._rows: dict[bytes, np.ndarray] = {}
        self._new: list[bytes] = []
        self._parts = 0
        self._open()

    def __len__(self) -> int:
        return len(self._rows)

    def missing(self, states: Iterable[str]) -> list[str]:
        """The states without an embedding, each once, in order."""
        return [state for state in dict.fromkeys(states) if _key(state) not in self._rows]

    def get(self, states: Sequence[str]) -> Embeddings:
        """A row for each state. Raises if one is missing."""
        try:
            rows = [self._rows[_key(state)] for state in states]
        except KeyError:
            lost = len(self.missing(states))
            raise InfrastructureError(
                f"{lost} states have no embedding in {self.directory}", hint="burn-qed embed makes them"
            ) from None
        return np.stack(rows) if rows else np.empty((0, self.name.width), dtype=np.float32)

    def add(self, states: Sequence[str], rows: Embeddings) -> None:
        """Keep embeddings for the next save."""
        checked(rows, self.name.width)
        for state, row in zip(states, rows, strict=True):
            key = _key(state)
            if key not in self._rows:
                self._new.append(key)
                self._rows[key] = row

    @property
    def unsaved(self) -> int:
        return len(self._new)

    def save(self) -> None:
        """Write what was added as one new file, if anything was."""
        if not self._new:
            return
        rows = np.stack([self._rows[key] for key in self._new]).astype(np.float32)
        values = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), self.name.width)
        table = pa.table({"state": pa.array(self._new, pa.binary(32)), "embedding": values})
        data = io.BytesIO()
        pq.write_table(table, data, compression="zstd", write_page_checksum=True)
        publish(self.directory / f"part-{self._parts:06d}.parquet", data.getvalue())
        self._parts += 1
        self._new = []

    def _open(self) -> None:
        path = self.directory / _NAME
        if not path.exists():
            publish(path, json.dumps(asdict(self.name), indent=2) + "\n")
        else:
            try:
                known = json.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                raise CorruptError(
                    f"cannot read {path}: {error}",
                    hint=f"remove {self.directory}: it will be made again",
                ) from error
            if known != asdict(self.name):
                raise CorruptError(f"{path} is of another encoder", hint=f"remove {self.directory}")
        for part in sorted(self.directory.glob("part-*.parquet")):
            self._read(part)

    def _read(self, part: Path) -> None:
        try:
            table = pq.read_table(part, page_checksum_verification=True)
            keys = table.column("state").to_pylist()
            values = table.column("embedding").combine_chunks().flatten().to_numpy()
            rows = checked(values.reshape(len(keys), -1), self.name.width)
        except (OSError, ValueError, KeyError, pa.ArrowException, InfrastructureError) as error:
            raise CorruptError(
                f"{part} is damaged: {error}", hint="remove it: its states will be embedded again"
            ) from error
        self._rows.update(zip(keys, rows, strict=True))
        self._parts = max(self._parts, int(part.stem.removeprefix("part-")) + 1)


def embed(
    states: Iterable[str],
    encoder: Encoder,
    cache: EmbeddingCache,
    on_done: Callable[[int], None] = lambda _count: None,
    stop: Callable[[], bool] = lambda: False,
) -> bool:
    """Compute the missing embeddings of these states. False if it was stopped.

    They are saved every `SAVE_EVERY` states and at the end, even after an error.
    """
    if encoder.name != cache.name:
        raise ValueError("the cache is of another encoder")
    todo = sorted(cache.missing(states), key=len)  # batches of similar lengths are cheaper
    try:
        for begin in range(0, len(todo), _BATCH):
            if stop():
                return False
            batch = todo[begin : begin + _BATCH]
            cache.add(batch, encoder.encode(batch))
            on_done(len(batch))
            if cache.unsaved >= SAVE_EVERY:
                cache.save()
    finally:
        cache.save()
    return True


def embed_watched(
    states: Sequence[str], encoder: Encoder, cache: EmbeddingCache, watcher: Watcher
) -> bool:
    """`embed`, shown to a watcher, who may stop it."""
    with watcher.counted("embedding", len(cache.missing(states))) as one:

        def some(count: int) -> None:
            for _ in range(count):
                one()

        return embed(states, encoder, cache, some, watcher.stop)


def _key(state: str) -> bytes:
    return hashlib.sha256(state.encode()).digest()
