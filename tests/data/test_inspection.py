"""What is planted is found: duplicates, contamination, overlaps, to the last one."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

from burnqed.data.contamination import held_out
from burnqed.data.distribution import distribution
from burnqed.data.index import read_index
from burnqed.data.inspection import Inspection
from burnqed.data.sources.open import open_source
from tests.data.published import NUMINA, published, write
from tests.data.rows import Plain, proof_of, row, write_index, write_rows


def inspected(work: Path, *inputs: str | Path, against: Path | None = None) -> dict[str, Any]:
    held = {"bench": held_out([read_index(against)])} if against else {}
    work.mkdir()
    with Inspection(work, held) as inspection:
        read = [inspection.read(open_source(str(one)), lambda _rows: None) for one in inputs]
        return inspection.report(read)


def test_every_planted_thing_is_found(tmp_path: Path) -> None:
    """Shuffled among 2,000 clean rows, so that equal ones are far apart."""
    clean = [one for i in range(500) for one in proof_of(f"clean{i}", 4)]
    twice = clean[:37]
    elsewhere = [{**one, "theorem": f"other.{one['theorem']}"} for one in clean[40:51]]  # pairs, 11
    cheats = [one for i in range(9) for one in (row(f"c{i}"), row(f"c{i}", 1, tactic="· sorry"))]
    by_name = [one for i in range(5) for one in proof_of(f"b{i}", 3)]
    by_statement = [row("renamed", 0, state="q : Nat\n⊢ q + 7 = 7 + q"), row("renamed", 1)]
    rows = [*clean, *twice, *elsewhere, *cheats, *by_name, *by_statement]
    random.Random(0).shuffle(rows)
    first = write_rows(tmp_path / "first.jsonl", [*rows, "{", '{"theorem": "x"}'])
    other = [*clean[100:123], row("clean0", 0, tactic="omega", state="⊢ new"), *proof_of("new", 30)]
    second = write_rows(tmp_path / "second.jsonl", other)
    index = write_index(
        tmp_path / "bench.json",
        {
            **{f"b{i}": f"{i} = {i}" for i in range(8)},
            "s": "theorem s (n : ℕ) : n + 7 = 7 + n := sorry",
        },
    )
    report = inspected(tmp_path / "work", first, second, against=index)

    assert [one["rows"] for one in report["inputs"]] == [len(rows) + 2, len(other)]
    assert report["inputs"][0]["malformed"]["rows"] == 2
    assert f"line {len(rows) + 1}" in report["inputs"][0]["malformed"]["first"][0]
    found = report["sources"]["first"]
    assert found["steps"] == len(rows)
    assert found["theorems"] == 500 + len({one["theorem"] for one in elsewhere}) + 9 + 5 + 1
    assert found["duplicates"]["row"] == 37
    assert found["duplicates"]["pair"] == 37 + 11
    assert found["duplicates"]["state"] == 37 + 11
    assert (found["cheats"]["tactics"], found["cheats"]["theorems"], found["cheats"]["rows"]) == (
        9,
        9,
        18,
    )
    assert found["contaminated"]["by_name"]["theorems"] == 5
    assert found["contaminated"]["by_name"]["rows"] == 15
    assert found["contaminated"]["by_statement"]["theorems"] == 1
    assert found["contaminated"]["by_statement"]["rows"] == 2
    assert found["contaminated"]["either"]["row_rate"] == round(17 / len(rows), 6)
    assert report["against"]["bench"]["by_name"] == [f"b{i}" for i in range(5)]
    assert report["against"]["bench"]["by_statement"] == {"s": "renamed"}
    assert report["overlaps"] == [
        {
            "first": "first", "second": "second", "pair": 23, "state": 23,
            "theorem": 1 + len({one["theorem"] for one in clean[100:123]}), "statement": 0, "proof": 0,
        }
    ]  # fmt: skip
    depth = report["sources"]["second"]["distributions"]["depth"]
    assert (depth["max"], depth["count"]) == (29, len(other))
    assert report["sources"]["second"]["distributions"]["proof_depth"]["p99"] == 29


def test_whole_proofs_are_counted_by_what_they_are(tmp_path: Path) -> None:
    def proof(name: str, text: str | None, context: str = "import Mathlib", **more: Any) -> Plain:
        statement = f"theorem {name} : {name} = 1 := by"
        return {"theorem": name, "statement": statement, "proof": text, "context": context, **more}

    given = [
        proof("a", "simp", ground_truth_type="complete"),
        proof("b", "", ground_truth_type="statement"),
        proof("c", None, "import Mathlib\nimport Aesop\nopen Nat", ground_truth_type="statement"),
        proof("d", "intro x\nsorry", "import MyLib.Basic", ground_truth_type=None),
        proof("e", "exact not_sorry", ""),
        proof("a", "simp", ground_truth_type="complete"),
        {"theorem": "f", "statement": "import Std\ntheorem f : True", "proof": "trivial"},
    ]
    other = [proof("a", "simp"), proof("b", "rfl")]
    report = inspected(
        tmp_path / "work",
        write_rows(tmp_path / "x.jsonl", given),
        write_rows(tmp_path / "y.jsonl", other),
    )
    found = report["sources"]["x"]
    assert (found["proofs"], found["steps"], found["theorems"]) == (7, 0, 6)
    assert found["empty_proofs"] == 2
    assert (found["cheats"]["proofs"], found["cheats"]["theorems"]) == (1, 1)
    assert found["duplicates"]["proof"] == 1
    assert found["ground_truth_types"] == {"complete": 2, "statement": 2, "None": 1}
    assert found["imports"] == {"Mathlib": 4, "Aesop": 1, "MyLib.Basic": 1, "Std": 1}
    assert found["non_mathlib_imports"] == {"Aesop": 1, "MyLib.Basic": 1, "Std": 1}
    assert found["proofs_without_imports"] == 1
    assert report["overlaps"][0]["proof"] == 1
    assert report["overlaps"][0]["statement"] == report["overlaps"][0]["theorem"] == 2
    schema = report["inputs"][0]["schema"]
    assert schema["ground_truth_type"] == {"types": {"str": 4, "null": 1}, "missing": 2}
    assert schema["proof"]["types"] == {"str": 6, "null": 1}


def test_published_sets_are_inspected_as_what_they_are(tmp_path: Path) -> None:
    numina = published(tmp_path / "n", "numinamath-lean")
    github = published(tmp_path / "g", "lean-github")
    report = inspected(tmp_path / "work", f"numinamath-lean={numina}", github, "qed-core")
    found = report["sources"]["numinamath-lean"]
    given = Counter(str(row["ground_truth_type"]) for row in NUMINA)
    assert found["ground_truth_types"] == dict(given)
    assert found["proofs"] == 2  # the first problem has a person's and a prover's
    assert found["empty_proofs"] == 3
    assert found["imports"]["Mathlib"] == 2
    assert report["inputs"][0]["rows"] == len(NUMINA)
    assert report["inputs"][0]["notes"]["no proof"] == 3
    assert set(report["inputs"][0]["schema"]) == set(NUMINA[0])
    assert report["sources"]["lean-github"]["steps"] == 4
    assert report["sources"]["qed-core"]["empty_proofs"] == 150


def test_what_cannot_be_read_of_a_published_set_costs_its_row(tmp_path: Path) -> None:
    rows = [NUMINA[0], {**NUMINA[1], "ground_truth_type": "guessed"}, NUMINA[3]]
    report = inspected(tmp_path / "work", write(tmp_path / "data.jsonl", rows))
    malformed = report["inputs"][0]["malformed"]
    assert malformed["rows"] == 1
    assert "line 2: `ground_truth_type` is 'guessed'" in malformed["first"][0]
    assert report["sources"]["numinamath-lean"]["proofs"] == 2


def test_percentiles_are_those_of_the_sorted_list() -> None:
    chance = random.Random(3)
    for size in (1, 2, 10, 137):
        values = sorted(chance.randrange(200) for _ in range(size))
        told = distribution(Counter(values))
        for share in (1, 10, 25, 50, 75, 90, 99):
            assert told[f"p{share}"] == values[max(0, -(-share * size // 100) - 1)]
        assert (told["min"], told["max"]) == (values[0], values[-1])
        for one in told["histogram"]:
            assert one["count"] == sum(one["from"] <= value <= one["to"] for value in values)
        assert sum(one["count"] for one in told["histogram"]) == size
    assert distribution(Counter()) == {"count": 0}
