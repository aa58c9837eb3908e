"""What is learnt from: read or refused, distinct, and never what is validated on."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from burnqed.core.errors import InputError
from burnqed.data.splits import split_of
from burnqed.training.pairs import Pair, Source, choose, read_source
from burnqed.training.plans import Mixture
from burnqed.trajectories.store import iter_rows, read_records
from tests.training.samples import pairs, write_jsonl, write_run


def silent(problem: str) -> None:
    raise AssertionError(problem)


def source(given: list[Pair]) -> Source:
    return Source(Path("made"), tuple(given))


def test_a_tag_is_read_and_counts(tmp_path: Path) -> None:
    """Sets without one keep the checksum that they had."""
    row = {"state": "⊢ a", "tactic": "simp", "theorem": "t", "depth": 0}
    files = {}
    for name, more in (("plain", {}), ("core", {"dialect": "core"})):
        path = tmp_path / f"{name}.jsonl"
        path.write_text(json.dumps({**row, **more}) + "\n", encoding="utf-8")
        files[name] = read_source(path, lambda _: None)
    assert [files[name].pairs[0].dialect for name in ("plain", "core")] == ["", "core"]
    assert files["plain"].checksum != files["core"].checksum
    told = json.dumps(["⊢ a", "simp", "t", 0, False]).encode()
    assert files["plain"].checksum == hashlib.sha256(told).hexdigest()


def test_pairs_are_read_from_a_file(tmp_path: Path) -> None:
    given = pairs(7)
    path = write_jsonl(tmp_path / "pairs.jsonl", given)
    read = read_source(path, silent)
    assert list(read.pairs) == given
    assert read.checksum == source(given).checksum
    assert read.checksum != source(given[::-1]).checksum


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"state": "⊢ p", "theorem": "t", "depth": 0}, "lacks `tactic`"),
        ({"state": "⊢ p", "tactic": " ", "theorem": "t", "depth": 0}, "`tactic` is empty"),
        (
            {"state": 3, "tactic": "rfl", "theorem": "t", "depth": 0},
            "`state` is number",
        ),
        ({"state": "⊢ p", "tactic": "rfl", "theorem": "t", "depth": "0"}, "`depth` is text"),
        ({"state": "⊢ p", "tactic": "rfl", "theorem": "t", "depth": True}, "`depth` is bool"),
        ([1], "is not a JSON object"),
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        (
            r'{"state": "⊢ \ud800", "tactic": "rfl", "theorem": "t", "depth": 0}',
            "`state` is not valid Unicode",
        ),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, row: object, said: str) -> None:
    path = write_jsonl(tmp_path / "pairs.jsonl", pairs(2))
    with path.open("a", encoding="utf-8") as file:
        file.write(row if isinstance(row, str) else json.dumps(row))
    with pytest.raises(InputError, match=f"pairs.jsonl, line 3.*{said}"):
        read_source(path, silent)


def test_a_mark_of_the_byte_order_is_no_part_of_the_data(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "pairs.jsonl", pairs(2))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert list(read_source(path, silent).pairs) == pairs(2)


def test_nothing_to_learn_from_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(InputError, match="nothing to learn from"):
        read_source(tmp_path / "empty.jsonl", silent)
    with pytest.raises(InputError, match="cannot read"):
        read_source(tmp_path / "nowhere.jsonl", silent)
    with pytest.raises(InputError, match="has no trajectories"):
        read_source(tmp_path, silent)


def test_of_trajectories_only_steps_of_accepted_proofs_count(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", range(6))
    read = read_source(run, silent).pairs
    proved = {r.theorem for r in read_records(run / "trajectories") if r.outcome == "proved"}
    assert proved == {"theorem_0", "theorem_3"}
    expected = [
        Pair(row.state, row.tactic, row.theorem, row.depth, found=True)
        for row in iter_rows(run / "trajectories")
        if row.on_proof_path and row.theorem in proved
    ]
    assert list(read) == expected
    assert len(expected) == 6
    assert read_source(run / "trajectories", silent, found=True).pairs == read


def test_rows_of_a_file_are_found_if_that_is_what_they_are(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "pairs.jsonl", pairs(5))
    read = read_source(path, silent, found=True)
    assert list(read.pairs) == [replace(pair, found=True) for pair in pairs(5)]
    assert read.checksum != read_source(path, silent).checksum
    assert set(choose([source(pairs(9))], [read], [], Mixture(val_share=0)).repeats) == {10, 1}


def test_no_theorem_and_no_pair_is_on_both_sides() -> None:
    given = pairs(400, theorems=100)
    # Another theorem with the very same step: on the other side for some of them.
    doubled = [replace(pair, theorem=f"Other.{pair.theorem}") for pair in given]
    chosen = choose([source([*given, *doubled])], [], [], Mixture(val_share=0.2))
    assert not {p.theorem for p in chosen.train} & {p.theorem for p in chosen.val}
    assert not {p.key for p in chosen.train} & {p.key for p in chosen.val}
    assert len(chosen.train) + len(chosen.val) == 400
    assert chosen.duplicates == 400
    assert 40 < len(chosen.val) < 250
    assert chosen.withheld == 0


def test_the_share_is_taken_of_any_split() -> None:
    """What is trained on is often the train split of a set, which the same hash made."""
    given = [p for p in pairs(600, theorems=300) if split_of(p.theorem) == "train"]
    chosen = choose([source(given)], [], [], Mixture(val_share=0.1))
    assert 0.03 < len(chosen.val) / len(given) < 0.25
    more = choose([source(given)], [source(pairs(20, theorems=20))], [], Mixture(val_share=0.1))
    aside = {p.theorem for p in chosen.val}
    assert not aside & {p.theorem for p in more.train}


def test_a_given_validation_set_is_kept_out_of_training() -> None:
    given, val = pairs(100, theorems=20), pairs(100, theorems=20)[:3]
    chosen = choose([source(given)], [], [source(val)], Mixture())
    assert list(chosen.val) == val
    assert not {p.theorem for p in val} & {p.theorem for p in chosen.train}
    assert chosen.withheld == 15
    assert len(chosen.train) == 85
    with pytest.raises(InputError, match="nothing is left"):
        choose([source(val)], [], [source(val)], Mixture())


def test_what_was_found_counts_more_beside_a_sample() -> None:
    given = pairs(200)
    found = [replace(pair, found=True) for pair in given[:6]]
    mixture = Mixture(extra_weight=7, base_sample=50, val_share=0.0)
    chosen = choose([source(given)], [source(found)], [], mixture)
    assert list(chosen.train[:6]) == found
    assert chosen.repeats == (7,) * 6 + (1,) * 50
    assert not any(pair.found for pair in chosen.train[6:])
    assert chosen == choose([source(given)], [source(found)], [], mixture)
    other = choose([source(given)], [source(found)], [], replace(mixture, seed=1))
    assert other.train[6:] != chosen.train[6:]
    # Without extra data nothing is left out.
    assert len(choose([source(given)], [], [], mixture).train) == 200


def test_too_few_theorems_to_validate_on_are_refused() -> None:
    with pytest.raises(InputError, match="too few") as caught:
        choose([source(pairs(10, theorems=1))], [], [], Mixture())
    assert "--val-share" in caught.value.hint
