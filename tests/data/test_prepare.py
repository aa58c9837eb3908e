"""From rows to training pairs: every rule with exact numbers, each file whole or not there."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from burnqed.core.errors import InputError
from burnqed.data.contamination import Held, held_out
from burnqed.data.index import read_index
from burnqed.data.prepare import RULES, Rules
from burnqed.data.prepared import earlier_report, prepare_into, settings_of
from burnqed.data.sources.open import open_source
from burnqed.data.splits import SPLITS, split_of
from tests.data.rows import Plain, proof_of, read_rows, row, write_index, write_rows

ALL = Rules(shares=(100.0, 0.0, 0.0), keep_trivial=1.0)


def all_fit(pairs: Sequence[tuple[str, str]]) -> Sequence[str]:
    return [""] * len(pairs)


def prepared(
    out: Path, *inputs: str | Path, rules: Rules = ALL, held: Held | None = None, unfit: Any = all_fit
) -> dict[str, Any]:
    found = [open_source(str(one)) for one in inputs]
    settings = settings_of(found, rules, {}, lambda: None)
    report = prepare_into(
        out, found, rules, held or Held(), unfit, settings, lambda _stage, _rows: None
    )
    assert report == json.loads((out / "report.json").read_text(encoding="utf-8"))
    rows = report["rows"]
    assert rows["in"] == rows["out"] + sum(rows["dropped"].values())
    assert rows["out"] == sum(rows[split] for split in SPLITS)
    for one in report["sources"].values():
        assert one["in"] == one["out"] + sum(one["dropped"].values())
    for name, file in report["files"].items():
        assert len(read_rows(out / name)) == file["rows"]
    return report


def dropped(report: dict[str, Any]) -> dict[str, int]:
    return {rule: count for rule, count in report["rows"]["dropped"].items() if count}


def train(out: Path) -> list[Plain]:
    return read_rows(out / "tactic_pairs" / "train.jsonl")


def test_rows_come_out_as_they_went_in(tmp_path: Path) -> None:
    given = [*proof_of("a", 3), *proof_of("b", 2)]
    path = write_rows(tmp_path / "x.jsonl", given)
    report = prepared(tmp_path / "out", path)
    assert train(tmp_path / "out") == given
    assert list(train(tmp_path / "out")[0]) == ["state", "tactic", "theorem", "depth"]
    assert dropped(report) == {}
    assert report["theorems"] == {"in": 2, "dropped": {}, "left": 2}


def test_premises_stay_with_their_step(tmp_path: Path) -> None:
    """In pairs and in the pool; a row without any looks as it did before there were premises."""
    rows = [row("a", depth, premises=["Nat.add_comm", 'odd "name"'][: depth % 3]) for depth in range(5)]
    prepared(tmp_path / "out", write_rows(tmp_path / "x.jsonl", rows))
    expected = [{k: v for k, v in one.items() if v != []} for one in rows]
    assert train(tmp_path / "out") == expected
    pool = read_rows(tmp_path / "out" / "contrastive_pool.jsonl")
    assert pool == [{**one, "source": "x"} for one in expected]
    again = prepared(tmp_path / "again", tmp_path / "out" / "tactic_pairs" / "train.jsonl")
    assert again["files"]["tactic_pairs/train.jsonl"] == {
        "rows": 5,
        "sha256": json.loads((tmp_path / "out" / "report.json").read_text())["files"][
            "tactic_pairs/train.jsonl"
        ]["sha256"],
    }


def test_tactics_of_mathlibs_are_marked_left_out_or_told_apart(tmp_path: Path) -> None:
    tactics = {"a": ("intro x", "linarith"), "b": ("intro y", "omega"), "c": ("simp <;> ring", "skip")}
    given = [row(name, at, tactic=t) for name, two in tactics.items() for at, t in enumerate(two)]
    marked = {("a", 1): ["linarith"], ("c", 0): ["ring"]}
    path = write_rows(tmp_path / "x.jsonl", given)
    report = prepared(tmp_path / "all", path)
    assert [(one["theorem"], one["depth"], one.get("mathlib")) for one in train(tmp_path / "all")] == [
        (name, at, marked.get((name, at))) for name in tactics for at in (0, 1)
    ]
    said = {"rows": 2, "tactics": {"linarith": 1, "ring": 1}}
    assert report["sources"]["x"]["mathlib"] == said
    core = replace(ALL, dialect="core", pool_depth=1)
    report = prepared(tmp_path / "core", path, rules=core)
    assert dropped(report) == {"mathlib": 2}
    assert [one["tactic"] for one in train(tmp_path / "core")] == [
        "intro x",
        "intro y",
        "omega",
        "skip",
    ]
    assert report["pool"] == {"theorems": 1, "rows": 2}, "a proof with a step missing is not whole"
    prepared(tmp_path / "both", path, rules=replace(ALL, dialect="both"))
    assert [one["dialect"] for one in train(tmp_path / "both")] == [
        *["mathlib"] * 2, *["core"] * 2, *["mathlib"] * 2,
    ]  # fmt: skip


def test_a_theorem_with_a_cheat_goes_whole_wherever_its_rows_are(tmp_path: Path) -> None:
    given = [
        row("bad", 0), *proof_of("good", 2),
        row("bad", 1, tactic="constructor <;> (first | simp | sorry)"),
        row("fine", 0, tactic="exact sorry_free"), row("bad", 2),
    ]  # fmt: skip
    first = write_rows(tmp_path / "x.jsonl", given)
    second = write_rows(tmp_path / "y.jsonl", [row("bad", 0, tactic="omega")])
    report = prepared(tmp_path / "out", first, second)
    assert dropped(report) == {"cheat": 3}
    assert report["theorems"] == {"in": 4, "dropped": {"cheat": 1}, "left": 3}
    # The other source's theorem of that name has nothing to do with it.
    names = [(one["theorem"], one["tactic"]) for one in train(tmp_path / "out")]
    assert [name for name, _ in names] == ["good", "good", "fine", "bad"]
    assert names[-1] == ("bad", "omega")


def test_held_out_theorems_never_go_in(tmp_path: Path) -> None:
    index = write_index(tmp_path / "i.json", {"b1": "∀ n : Nat, n ≤ n + 1", "b2": "1 + 1 = 2"})
    given = [
        *proof_of("b1", 2),
        row("renamed", 0, state="k : Nat\n⊢ k ≤ k + 1"), row("renamed", 1),
        row("lemma_of_it", 1, state="k : Nat\n⊢ k ≤ k + 1"),  # on the way, not what is proved
        *proof_of("other", 2),
    ]  # fmt: skip
    path = write_rows(tmp_path / "x.jsonl", given)
    report = prepared(tmp_path / "out", path, held=held_out([read_index(index)]))
    assert dropped(report) == {"without_name": 2, "without_statement": 2}
    assert {one["theorem"] for one in train(tmp_path / "out")} == {"lemma_of_it", "other"}


def test_what_is_too_long_goes_by_the_row(tmp_path: Path) -> None:
    given = [
        row("a", 0, state="⊢ " + "x" * 4094), row("a", 1, state="⊢ " + "x" * 4093),
        row("a", 2, tactic="long"), row("b", 0, state="long"), row("b", 1, tactic="```"),
    ]  # fmt: skip

    def unfit(pairs: Sequence[tuple[str, str]]) -> Sequence[str]:
        assert all(len(state) < 4096 for state, _ in pairs)  # what is dropped already is not tokenised
        known = {"long": "tactic_tokens", "```": "ends_tactic"}
        return ["prompt_tokens" if s == "long" else known.get(t, "") for s, t in pairs]

    report = prepared(tmp_path / "out", write_rows(tmp_path / "x.jsonl", given), unfit=unfit)
    assert dropped(report) == {
        "state_chars": 1, "prompt_tokens": 1, "tactic_tokens": 1, "ends_tactic": 1,
    }  # fmt: skip
    assert [one["depth"] for one in train(tmp_path / "out")] == [1]


def test_each_pair_once_and_the_first_source_keeps_it(tmp_path: Path) -> None:
    shared = [row(f"t{i}", state=f"⊢ shared {i}", tactic="exact h") for i in range(5)]
    first = write_rows(tmp_path / "x.jsonl", [*shared[:3], shared[0], *proof_of("a", 2)])
    again = [{**one, "theorem": f"other.{one['theorem']}"} for one in shared]
    second = write_rows(tmp_path / "y.jsonl", [*again, again[4], {**shared[1], "depth": 7}])
    report = prepared(tmp_path / "out", f"one={first}", f"two={second}")
    assert dropped(report) == {"duplicate": 2, "overlap": 4}
    assert report["overlaps"] == [{"first": "one", "later": "two", "pairs": 4}]
    assert report["sources"]["one"]["out"] == 5
    assert report["sources"]["two"]["out"] == 2
    other = prepared(tmp_path / "turned", f"two={second}", f"one={first}")
    assert other["sources"]["two"]["out"] == 5
    assert other["rows"]["out"] == report["rows"]["out"] == 7


def test_a_pair_of_a_dropped_theorem_may_come_again(tmp_path: Path) -> None:
    pair = {"state": "⊢ p", "tactic": "exact h"}
    given = [row("bad", 0, **pair), row("bad", 1, tactic="sorry"), row("good", 0, **pair)]
    report = prepared(tmp_path / "out", write_rows(tmp_path / "x.jsonl", given))
    assert dropped(report) == {"cheat": 2}
    assert [one["theorem"] for one in train(tmp_path / "out")] == ["good"]


def test_bare_automation_is_thinned_by_seed_and_pair_alone(tmp_path: Path) -> None:
    given = [row(f"t{i}", tactic="simp") for i in range(400)]
    rest = [row(f"u{i}", tactic="simp [h]") for i in range(50)]
    path = write_rows(tmp_path / "x.jsonl", [*given, *rest])
    turned = write_rows(tmp_path / "y.jsonl", [*rest, *given[::-1]])
    rules = Rules(shares=(100.0, 0.0, 0.0), keep_trivial=0.25)

    def kept(name: str, source: Path, rules: Rules) -> set[str]:
        prepared(tmp_path / name, source, rules=rules)
        return {one["theorem"] for one in train(tmp_path / name)}

    first = kept("a", path, rules)
    assert {f"u{i}" for i in range(50)} < first
    assert 60 < len(first) - 50 < 145
    assert kept("b", turned, rules) == first
    assert kept("c", path, Rules(1, rules.shares, keep_trivial=0.25)) != first
    assert kept("d", path, Rules(0, rules.shares, keep_trivial=0.5)) > first
    assert len(kept("e", path, Rules(0, rules.shares, keep_trivial=0.0))) == 50


def test_theorems_are_split_by_name_whatever_their_source(tmp_path: Path) -> None:
    first = write_rows(tmp_path / "x.jsonl", [r for i in range(150) for r in proof_of(f"t{i}", 2)])
    second = [row(f"t{i}", 0, tactic=f"apply other{i}") for i in range(150)]
    out = tmp_path / "out"
    prepared(out, first, write_rows(tmp_path / "y.jsonl", second), rules=Rules(shares=(60, 20, 20)))
    for split in SPLITS:
        names = {one["theorem"] for one in read_rows(out / "tactic_pairs" / f"{split}.jsonl")}
        assert names == {f"t{i}" for i in range(150) if split_of(f"t{i}", (60, 20, 20)) == split}
    prepared(tmp_path / "two", first, rules=Rules(shares=(80, 20, 0)))
    assert sorted(p.name for p in (tmp_path / "two" / "tactic_pairs").iterdir()) == [
        "train.jsonl", "val.jsonl",
    ]  # fmt: skip


def test_the_pool_has_whole_deep_proofs_and_none_to_be_tested_on(tmp_path: Path) -> None:
    rules = Rules(shares=(60, 20, 20), keep_trivial=0.0)
    trained = [f"t{i}" for i in range(200) if split_of(f"t{i}", rules.shares) == "train"]
    tested = next(f"t{i}" for i in range(200) if split_of(f"t{i}", rules.shares) == "test")
    deep, shallow, cut, long, cheat = trained[:5]
    given = [
        *proof_of(deep, 3), row(deep, 3, tactic="simp", after="no goals"), row(deep, 3, tactic="simp"),
        *proof_of(shallow, 3), *proof_of(tested, 5), *proof_of(cut, 5)[1:],
        *proof_of(long, 4), row(long, 4, state="y" * 5000),
        *proof_of(cheat, 4), row(cheat, 4, tactic="sorry"),
    ]  # fmt: skip
    first = write_rows(tmp_path / "x.jsonl", given)
    same = [*proof_of(deep, 3), row(deep, 3, tactic="simp")]
    second = write_rows(tmp_path / "y.jsonl", [*same, *proof_of(shallow, 6)])
    out = tmp_path / "out"
    report = prepared(out, first, second, rules=rules)
    pool = read_rows(out / "contrastive_pool.jsonl")
    assert [(one["source"], one["theorem"], one["depth"]) for one in pool] == [
        *(("x", deep, depth) for depth in range(4)), *(("y", shallow, depth) for depth in range(6)),
    ]  # fmt: skip
    assert pool[3]["after"] == "no goals"
    assert report["pool"] == {"theorems": 2, "rows": 10}


@pytest.mark.parametrize("seed", range(4))
def test_it_is_what_one_would_do_in_memory(tmp_path: Path, seed: int) -> None:
    """Against the rules written down plainly, on rows in which everything happens often."""
    chance = random.Random(seed)
    shares = (70.0, 20.0, 10.0)
    given: list[list[Plain]] = [
        [
            row(
                f"t{chance.randrange(60)}", chance.randrange(5), state=f"⊢ p {chance.randrange(90)}",
                tactic=chance.choice(["exact h", "apply f", "apply g"] * 15 + ["sorry"]),
            )
            for _ in range(1500)
        ]
        for _ in range(3)
    ]  # fmt: skip
    paths = [write_rows(tmp_path / f"s{i}.jsonl", rows) for i, rows in enumerate(given)]
    out = tmp_path / "out"
    prepared(out, *paths, rules=Rules(seed, shares, keep_trivial=1.0))
    every = [(source, one) for source, rows in enumerate(given) for one in rows]
    bad = {(source, one["theorem"]) for source, one in every if one["tactic"] == "sorry"}
    clean = [(source, one) for source, one in every if (source, one["theorem"]) not in bad]
    kept: dict[tuple[str, str], Plain] = {}
    for _, one in clean:
        kept.setdefault((one["state"], one["tactic"]), one)
    for split in SPLITS:
        wanted = [one for one in kept.values() if split_of(one["theorem"], shares) == split]
        assert read_rows(out / "tactic_pairs" / f"{split}.jsonl") == wanted
    depths: dict[tuple[int, str], set[int]] = {}
    for source, one in clean:
        depths.setdefault((source, one["theorem"]), set()).add(one["depth"])
    pool = {
        (f"s{source}", theorem)
        for (source, theorem), found in depths.items()
        if max(found) >= 3 and len(found) == max(found) + 1 and split_of(theorem, shares) != "test"
    }
    found_pool = {(r["source"], r["theorem"]) for r in read_rows(out / "contrastive_pool.jsonl")}
    assert found_pool == pool != set()


def test_the_same_twice_is_the_same_to_the_byte(tmp_path: Path) -> None:
    given = [r for i in range(300) for r in [*proof_of(f"t{i}", 4), row(f"t{i}", 4, tactic="rfl")]]
    path = write_rows(tmp_path / "x.jsonl", given)
    for name in ("a", "b"):
        prepared(tmp_path / name, path, rules=Rules())
    files = sorted(p.relative_to(tmp_path / "a") for p in (tmp_path / "a").rglob("*") if p.is_file())
    assert [str(file) for file in files] == [
        "contrastive_pool.jsonl", "report.json", "tactic_pairs/test.jsonl", "tactic_pairs/train.jsonl",
        "tactic_pairs/val.jsonl",
    ]  # fmt: skip
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_bad_rows_are_counted_and_the_first_ten_told(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", [row("a"), *["{"] * 12, row("b")])
    report = prepared(tmp_path / "out", path)
    assert report["rows"]["in"] == 14
    assert dropped(report) == {"malformed": 12}
    told = report["malformed"][0]
    assert (told["rows"], len(told["first"])) == (12, 10)
    assert told["first"][0].startswith(f"{path}, line 2 is not JSON")


def test_nothing_is_there_until_all_of_it_is(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", [r for i in range(900) for r in proof_of(f"t{i}", 4)])
    out = tmp_path / "out"
    found = [open_source(str(path))]
    settings = settings_of(found, ALL, {}, lambda: None)
    for stage in ("reading", "writing"):

        def stop(now: str, _rows: int, stage: str = stage) -> None:
            if now == stage:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            prepare_into(out, found, ALL, Held(), all_fit, settings, stop)
        assert os.listdir(tmp_path) == ["x.jsonl"]  # noqa: PTH208
    left = tmp_path / ".out.preparing"  # by a process that was killed
    (left / "tactic_pairs").mkdir(parents=True)
    (left / "tactic_pairs" / "train.jsonl").write_text("half a ro")
    assert prepared(out, path)["rows"]["out"] == 3600
    assert not left.exists()


def test_what_is_there_is_not_done_again_nor_written_over(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", proof_of("a", 4))
    out = tmp_path / "out"
    found = [open_source(str(path))]
    settings = settings_of(found, ALL, {"prompt": "deepseek"}, lambda: None)
    assert earlier_report(out, settings) is None
    out.mkdir()
    assert earlier_report(out, settings) is None
    report = prepare_into(out, found, ALL, Held(), all_fit, settings, lambda _stage, _rows: None)
    assert earlier_report(out, settings) == report
    with pytest.raises(InputError, match="prepared otherwise: seed was 0, now 1"):
        earlier_report(out, settings | {"seed": 1})
    (tmp_path / "elsewhere").mkdir()
    moved = [open_source(str(write_rows(tmp_path / "elsewhere" / "x.jsonl", proof_of("a", 4))))]
    assert earlier_report(out, settings_of(moved, ALL, {"prompt": "deepseek"}, lambda: None)) == report
    write_rows(path, proof_of("a", 5))
    changed = settings_of(found, ALL, {"prompt": "deepseek"}, lambda: None)
    with pytest.raises(InputError, match="other inputs"):
        earlier_report(out, changed)
    (out / "report.json").unlink()
    with pytest.raises(InputError, match="holds no prepared data"):
        earlier_report(out, settings)


def test_nothing_left_is_an_error_that_says_why(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", [row("a", tactic="sorry"), row("a", 1), "{"])
    with pytest.raises(InputError, match="of 3 rows, malformed 1, cheat 2 dropped") as caught:
        prepared(tmp_path / "out", path)
    assert "line 3" in caught.value.message
    assert not (tmp_path / "out").exists()


def test_every_rule_is_named_once() -> None:
    assert len(set(RULES)) == len(RULES)
