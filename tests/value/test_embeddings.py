"""Computed once, saved as it goes, and never another encoder's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from burnqed.core.errors import CorruptError, InfrastructureError
from burnqed.value import embeddings as module
from burnqed.value.embeddings import EmbeddingCache, embed
from burnqed.value.encoder import Embeddings, EncoderName

NAME = EncoderName("weights", "colons 96", "mean", "float32", 4)


class Counting:
    """An encoder that counts letters, and what it was asked."""

    name = NAME

    def __init__(self, breaks_after: int | None = None) -> None:
        self.asked: list[str] = []
        self.breaks_after = breaks_after

    def encode(self, states: Sequence[str]) -> Embeddings:
        if self.breaks_after is not None and len(self.asked) >= self.breaks_after:
            raise InfrastructureError("gone")
        self.asked += states
        return np.array([[1, len(s), s.count("a"), s.count("b")] for s in states], np.float32)


STATES = ["a" * (i % 13) + "b" * (i // 13) for i in range(200)]


def test_each_state_is_computed_once(tmp_path: Path) -> None:
    encoder = Counting()
    assert embed([*STATES, *STATES], encoder, EmbeddingCache(tmp_path, NAME))
    assert sorted(encoder.asked) == sorted(set(STATES))
    again = EmbeddingCache(tmp_path, NAME)
    assert len(again) == len(set(STATES))
    assert again.missing(STATES) == []
    assert (again.get(STATES) == Counting().encode(STATES)).all()
    more = Counting()
    assert embed([*STATES, "ab" * 30], more, again)
    assert more.asked == ["ab" * 30]


def test_what_was_computed_before_trouble_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BATCH", 16)
    with pytest.raises(InfrastructureError, match="gone"):
        embed(STATES, Counting(breaks_after=48), EmbeddingCache(tmp_path, NAME))
    rest = Counting()
    assert embed(STATES, rest, EmbeddingCache(tmp_path, NAME))
    assert len(rest.asked) == len(set(STATES)) - 48


def test_it_can_be_stopped_and_says_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BATCH", 16)
    done: list[int] = []
    cache = EmbeddingCache(tmp_path, NAME)
    assert not embed(STATES, Counting(), cache, done.append, stop=lambda: len(done) == 3)
    assert done == [16, 16, 16]
    assert len(EmbeddingCache(tmp_path, NAME)) == 48


def test_a_save_writes_what_is_new_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BATCH", 16)
    monkeypatch.setattr(module, "SAVE_EVERY", 32)
    cache = EmbeddingCache(tmp_path, NAME)
    embed(STATES, Counting(), cache)
    parts = sorted(cache.directory.glob("part-*.parquet"))
    assert len(parts) == -(-len(set(STATES)) // 32)
    before = [part.stat().st_mtime_ns for part in parts]
    embed([*STATES, "new"], Counting(), cache)
    assert [part.stat().st_mtime_ns for part in parts] == before
    cache.save()
    assert len(list(cache.directory.glob("part-*.parquet"))) == len(parts) + 1


@pytest.mark.parametrize(
    "other", [replace(NAME, dtype="bfloat16"), replace(NAME, pooling="last"), replace(NAME, model="w2")]
)
def test_another_encoder_has_a_directory_of_its_own(tmp_path: Path, other: EncoderName) -> None:
    embed(STATES, Counting(), EmbeddingCache(tmp_path, NAME))
    assert len(EmbeddingCache(tmp_path, other)) == 0
    with pytest.raises(ValueError, match="another encoder"):
        embed(STATES, Counting(), EmbeddingCache(tmp_path, other))


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path, NAME)
    embed(STATES, Counting(), cache)
    part = next(cache.directory.glob("part-*.parquet"))
    part.write_bytes(part.read_bytes()[:-20])
    with pytest.raises(CorruptError, match=r"part-000000.parquet is damaged"):
        EmbeddingCache(tmp_path, NAME)


def test_a_flipped_bit_never_makes_another_embedding(tmp_path: Path) -> None:
    """It is refused, or some states have none and are embedded again."""
    cache = EmbeddingCache(tmp_path, NAME)
    embed(STATES, Counting(), cache)
    part = next(cache.directory.glob("part-*.parquet"))
    data = part.read_bytes()
    for place in range(0, len(data), 29):
        damaged = bytearray(data)
        damaged[place] ^= 1 << place % 8
        part.write_bytes(damaged)
        try:
            read = EmbeddingCache(tmp_path, NAME)
        except CorruptError:
            continue
        there = [state for state in STATES if not read.missing([state])]
        assert (read.get(there) == Counting().encode(there)).all(), place


def test_zero_embeddings_are_never_kept(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path, NAME)
    with pytest.raises(InfrastructureError, match="zero"):
        cache.add(["a"], np.zeros((1, 4), np.float32))
    assert len(cache) == cache.unsaved == 0


def test_a_state_that_was_not_embedded_is_no_zero(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match="2 states have no embedding"):
        EmbeddingCache(tmp_path, NAME).get(["a", "b", "a"])
