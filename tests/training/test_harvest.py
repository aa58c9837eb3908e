"""What several searches proved, as one training set: nothing twice, nothing held out, few easy ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from burnqed.core.errors import InputError
from burnqed.data.index import TheoremIndex, parse_index, statement_sha
from burnqed.training.harvest import Harvest, Rules, harvest, write_harvest
from burnqed.training.pairs import read_source
from burnqed.trajectories.schema import Origin, PathStep
from burnqed.trajectories.store import open_writer
from tests.trajectories.samples import record, rows

ALL = Rules(easy_share=1)
Proofs = Mapping[str, list[str]]  # theorem to tactics


def silent(problem: str) -> None:
    raise AssertionError(problem)


def run(
    directory: Path,
    proofs: Proofs,
    *,
    origin: Origin = "search",
    goals: Mapping[str, str] | None = None,
) -> Path:
    """A run that proved theorems by these tactics, after it had found a proof of four steps."""
    with open_writer(directory / "trajectories") as writer:
        for name, tactics in proofs.items():
            goal = (goals or {}).get(name, f"⊢ {name}")
            states = [goal, *(f"{goal} after {tactics[:i]}" for i in range(1, len(tactics)))]
            path = [PathStep(s, t, i) for i, (s, t) in enumerate(zip(states, tactics, strict=True))]
            steps = [replace(row, theorem=name, origin=origin) for row in rows(0, 32)]
            sha = hashlib.sha256(name.encode()).hexdigest()[:16]
            found = replace(record(0, 32), theorem=name, statement_sha=sha, path=tuple(path))
            writer.add(found, steps)
        writer.add(record(1, 8), rows(1, 8))  # not proved
    return directory


def gathered(*runs: Path, without: tuple[TheoremIndex, ...] = (), rules: Rules = ALL) -> Harvest:
    return harvest(runs, without, rules, silent)


def theorems(found: Harvest) -> dict[str, list[str]]:
    kept: dict[str, list[str]] = {}
    for step in found.steps:
        kept.setdefault(step.theorem, []).append(step.tactic)
    return kept


def held(*entries: Mapping[str, str]) -> tuple[TheoremIndex]:
    return (parse_index("held", "held", {"theorems": list(entries)}),)


def test_of_each_theorem_the_shortest_proof_of_the_earliest_run(tmp_path: Path) -> None:
    first = run(tmp_path / "a", {"t": ["intro n", "omega"], "u": ["rfl"], "v": ["cases h", "rfl"]})
    second = run(tmp_path / "b", {"t": ["omega"], "u": ["simp"], "w": ["intro x", "exact x"]})
    found = gathered(first, second)
    assert theorems(found) == {
        "t": ["omega"], "u": ["rfl"], "v": ["cases h", "rfl"], "w": ["intro x", "exact x"],
    }  # fmt: skip
    assert [one["taken"] for one in found.report["runs"]] == [2, 2]
    assert [one["searched"] for one in found.report["runs"]] == [4, 4]
    assert theorems(gathered(second, first))["u"] == ["simp"]
    told = found.report
    assert (told["theorems"]["proved"], told["theorems"]["shortened"], told["needless_steps"]) == (
        4,
        4,
        10,
    )
    assert (told["pairs"], told["pairs_by_depth"]) == (6, {"0": 4, "1": 2})
    assert told["tactics"]["rfl"] == 2


def test_what_shares_only_its_name_is_another_theorem(tmp_path: Path) -> None:
    first = run(tmp_path / "a", {"t": ["rfl"]})
    second = run(tmp_path / "b", {"t": ["intro n", "omega"]}, goals={"t": "⊢ ∀ n : Nat, n = n"})
    assert len(gathered(first, second).steps) == 3


def test_a_pair_comes_once(tmp_path: Path) -> None:
    goals = dict.fromkeys(("easy", "long", "same"), "⊢ same")
    proofs = {"easy": ["intro n"], "long": ["intro n", "omega"], "same": ["intro n", "omega"]}
    found = gathered(run(tmp_path, proofs, goals=goals))
    assert theorems(found) == {"long": ["intro n", "omega"]}, "the easy one adds nothing to it"
    assert found.report["duplicate_pairs"] == 3
    assert found.report["theorems"]["nothing_new"] == 2


def test_theorems_to_be_tested_on_are_kept_out(tmp_path: Path) -> None:
    by_name, by_constant = {"name": "n", "statement": "1 = 1"}, {"name": "x", "constant": "Lib.c"}
    stated = {"name": "s", "statement": "∀ (k : Nat), k + 0 = k"}
    written = {"name": "other", "statement": "theorem other : 2 = 2"}
    proofs = {name: ["simp", "rfl"] for name in ("n", "Lib.c", "m", "w", "free")}
    directory = run(tmp_path, proofs, goals={"m": "n : ℕ\n⊢ n + 0 = n"})
    sets = held(by_name, by_constant, stated, written)
    found = gathered(directory, without=sets)
    assert set(theorems(found)) == {"w", "free"}
    told = found.report["theorems"]
    assert (told["held_out_by_name"], told["held_out_by_statement"]) == (2, 1)
    assert found.report["settings"]["without"] == [{"set": "held", "checksum": sets[0].checksum}]
    with pytest.raises(InputError, match="all 5 proved theorems are in a set"):
        gathered(directory, without=held(*({"name": name, "statement": "1 = 1"} for name in proofs)))


def test_a_statement_written_alike_is_known_without_its_goal(tmp_path: Path) -> None:
    (index,) = held({"name": "other", "statement": "theorem other : 2 = 2"})
    with open_writer(tmp_path / "trajectories") as writer:
        sha = statement_sha(index.theorems[0].statement)
        writer.add(replace(record(0, 16), theorem="w", statement_sha=sha), rows(0, 16))
        writer.add(record(3, 16), rows(3, 16))
    assert set(theorems(gathered(tmp_path, without=(index,)))) == {"theorem_3"}


@pytest.mark.parametrize(("share", "easy"), [(0.0, 0), (0.2, 2), (0.5, 8), (0.6, 12), (1.0, 30)])
def test_easy_ones_are_a_share_at_most(tmp_path: Path, share: float, easy: int) -> None:
    proofs = {f"easy{i}": ["rfl"] for i in range(30)}
    proofs |= {f"hard{i}": ["intro n", "omega"] for i in range(8)}
    directory = run(tmp_path, proofs)
    found = gathered(directory, rules=Rules(share))
    told = found.report["theorems"]
    assert (told["kept"], told["kept_easy"], told["easy_left_out"]) == (8 + easy, easy, 30 - easy)
    assert easy <= share * told["kept"]
    assert theorems(found) == theorems(gathered(directory, rules=Rules(share)))


def test_more_data_moves_few_of_the_easy_ones(tmp_path: Path) -> None:
    def kept(easy: int, hard: int, seed: int = 0) -> set[str]:
        proofs = {f"easy{i}": ["rfl"] for i in range(easy)}
        proofs |= {f"hard{i}": ["intro n", "omega"] for i in range(hard)}
        directory = (
            run(tmp_path / f"{easy} {hard}", proofs) if not seed else tmp_path / f"{easy} {hard}"
        )
        found = theorems(gathered(directory, rules=Rules(seed=seed)))
        return {name for name in found if name.startswith("easy")}

    few = kept(40, 10)
    assert len(few) == 10
    assert few < kept(40, 20), "with more room, those and others"
    assert len(few & kept(44, 10)) >= 7, "new ones take the places of some"
    assert few != kept(40, 10, seed=1)


def test_what_negatives_found_is_no_proof_of_a_search(tmp_path: Path) -> None:
    beside = run(tmp_path / "beside", {"t": ["rfl"]}, origin="probe")
    with pytest.raises(InputError, match="nothing was proved by a search"):
        gathered(beside)
    noise = run(tmp_path / "noise", {"t": ["simp"]}, origin="noise")
    found = gathered(beside, noise)
    assert theorems(found) == {"t": ["simp"]}
    assert [one["proved_beside"] for one in found.report["runs"]] == [1, 0]


def test_an_evaluation_has_the_proofs_of_all_its_attempts(tmp_path: Path) -> None:
    run(tmp_path / "attempt-1", {"t": ["intro n", "rfl"]})
    run(tmp_path / "attempt-2", {"t": ["rfl"], "u": ["simp"]})
    assert theorems(gathered(tmp_path)) == {"t": ["rfl"], "u": ["simp"]}


def test_nothing_but_easy_ones(tmp_path: Path) -> None:
    directory = run(tmp_path, {"t": ["rfl"], "u": ["simp"]})
    with pytest.raises(InputError, match="2 theorems have proofs of one step") as refusal:
        gathered(directory, rules=Rules())
    assert "--easy-share 1" in refusal.value.hint


def test_the_files_are_what_training_reads(tmp_path: Path) -> None:
    found = gathered(run(tmp_path / "run", {"t": [" intro n\n", "omega"], "é": ["rfl"]}))
    out = tmp_path / "deep" / "pairs.jsonl"
    given = write_harvest(out, found)
    beside = tmp_path / "deep" / "pairs.json"
    read = read_source(out, silent, found=True).pairs
    assert [(p.theorem, p.state, p.tactic, p.depth) for p in read] == [
        (s.theorem, s.state, s.tactic, s.depth) for s in found.steps
    ]
    told = json.loads(beside.read_text(encoding="utf-8"))
    assert told == given
    assert told.pop("sha256") == hashlib.sha256(out.read_bytes()).hexdigest()
    assert told == found.report
    before = out.read_bytes(), beside.read_bytes()
    write_harvest(out, gathered(tmp_path / "run"))
    assert (out.read_bytes(), beside.read_bytes()) == before
    with pytest.raises(InputError, match="not a name for JSON lines"):
        write_harvest(tmp_path / "pairs.json", found)
