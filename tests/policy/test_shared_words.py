"""Words of a library from the cache are those that would be counted, whatever became of the file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from burnqed.policy.ranked import shared_words as kept
from burnqed.policy.ranked.library import Library
from burnqed.policy.ranked.retrieval import Shared
from burnqed.policy.ranked.shared_words import shared_words
from tests.policy.test_ranked import EMPTY, LIBRARY


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BURN_QED_CACHE", str(tmp_path))
    return tmp_path / "library"


def same(one: Shared, other: Shared) -> bool:
    words = Counter(one.words)
    return (
        one.rarity == other.rarity
        and one.gains(words).tolist() == other.gains(words).tolist()
        and one.lemmas.rows.tolist() == other.lemmas.rows.tolist()
        and one.lemmas.weights.tolist() == other.lemmas.weights.tolist()
        and one.lemmas.starts.tolist() == other.lemmas.starts.tolist()
    )


def test_the_second_time_they_are_read(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert same(shared_words(LIBRARY), Shared.of(LIBRARY))
    (file,) = cache.iterdir()
    counted = Shared.of(LIBRARY)
    monkeypatch.setattr(Shared, "of", lambda library: pytest.fail("counted again"))
    assert same(shared_words(LIBRARY), counted)
    assert [*cache.iterdir()] == [file]


@pytest.mark.parametrize("damage", [b"", b"nothing", None])
def test_a_damaged_file_is_made_again(cache: Path, damage: bytes | None) -> None:
    shared_words(LIBRARY)
    (file,) = cache.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:-40] if damage is None else damage)
    assert same(shared_words(LIBRARY), Shared.of(LIBRARY))
    assert file.read_bytes() == whole


def test_each_library_and_each_way_to_count_has_its_own(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared_words(LIBRARY)
    other = Library(LIBRARY.names, LIBRARY.modules, LIBRARY.statements[::-1], LIBRARY.imports)
    assert same(shared_words(other), Shared.of(other))
    assert len([*cache.iterdir()]) == 2
    edited = tmp_path / "words.py"
    edited.write_text("# counts otherwise")
    monkeypatch.setattr(kept, "_COUNTED_BY", (str(edited),))
    shared_words(LIBRARY)
    assert len([*cache.iterdir()]) == 3


def test_a_cache_that_cannot_be_written_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "library").write_text("a file, where a folder should be")
    monkeypatch.setenv("BURN_QED_CACHE", str(tmp_path))
    assert same(shared_words(LIBRARY), Shared.of(LIBRARY))


def test_a_library_of_nothing(cache: Path) -> None:
    assert shared_words(EMPTY).size == shared_words(EMPTY).size == 0
