"""`burn-qed data build`: one recipe from sources to a training set; trouble is named, work goes on."""

from __future__ import annotations

import gzip
import json
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from burnqed.training.pairs import read_source
from tests.cli.in_process import Done, burn_qed
from tests.data.rows import Plain, proof_of, read_rows, write_index, write_rows

AND = "p q : Prop\nh : And p q\n⊢ q ∧ p"
LEFT, RIGHT = (
    f"case {tag}\np q : Prop\nh : And p q\n⊢ {goal}" for tag, goal in (("left", "q"), ("right", "p"))
)
LEAN = """def two := 2
theorem A.both (p q : Prop) (h : p ∧ q) : q ∧ p := by
  obtain ⟨hp, hq⟩ := h
  constructor
  · exact hq
  · exact hp
theorem A.held (n : Nat) : n + two = two + n := by
  unfold two
  omega
theorem A.term : two = 2 := rfl
"""


def old(theorem: str) -> list[Plain]:
    """A proof as another Lean printed it."""
    return [
        {"theorem": theorem, "depth": 0, "state": AND, "tactic": "constructor",
         "after": f"{LEFT}\n\n{RIGHT}"},
        {"theorem": theorem, "depth": 1, "state": LEFT, "tactic": "exact h.2",
         "premises": ["And.right"]},
        {"theorem": theorem, "depth": 2, "state": RIGHT, "tactic": "exact h.1"},
    ]  # fmt: skip


def build(recipe: Path, out: Path, code: int = 0) -> Done:
    return burn_qed("data", "build", recipe, "--out", out, "--json", code=code)


def recipe(folder: Path, text: str) -> Path:
    (folder / "r.toml").write_text(text, encoding="utf-8")
    return folder / "r.toml"


# ---------------------------------------------------------------------------------- with Lean


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Lean files, whole proofs and steps with a recipe for them."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "A.lean").write_text(LEAN, encoding="utf-8")
    (tmp_path / "src" / "Bad.lean").write_text("theorem bad : 1 = 2 := by rfl\n", encoding="utf-8")
    steps = "by\n  constructor\n  · omega\n  · have h3 := Nat.le_trans h h2\n    omega"
    said = "theorem w (a b c : Nat) (h : a ≤ b) (h2 : b ≤ c) : a ≤ c ∧ a ≤ c + 1"
    whole: list[Plain] = [
        {"theorem": "w", "statement": said, "proof": steps},
        {"theorem": "gone", "statement": "theorem gone : 1 = 1", "proof": "by exact Eq.nothing"},
        {"theorem": "A.held", "statement": "theorem x : 1 = 1", "proof": "by rfl"},
        {"theorem": "y", "statement": "theorem y (k : Nat) : k * 3 = 3 * k", "proof": "by omega"},
    ]
    write_rows(tmp_path / "whole.jsonl", whole)
    write_rows(tmp_path / "open.jsonl", [{**whole[0], "theorem": "z", "proof": "by sorry"}])
    write_rows(tmp_path / "old.jsonl", [row for i in range(3) for row in old(f"o{i}")])
    write_index(tmp_path / "held.json", {"A.held": "∀ n : Nat, n = n", "z": "∀ k : Nat, k * 3 = 3 * k"})
    recipe(
        tmp_path,
        """
        [lean]
        workers = 1
        [prepare]
        without = ["held.json"]
        pool_depth = 2
        keep_trivial = 1.0
        [sources.own]
        input = "src"
        [sources.whole]
        input = "whole.jsonl"
        [sources.open]
        input = "open.jsonl"
        [sources.old]
        input = "old.jsonl"
        validate = 5
        """,
    )
    return tmp_path


@pytest.mark.lean
@pytest.mark.soak
def test_one_command_goes_from_sources_to_a_training_set(sources: Path) -> None:
    out = sources / "out"
    report = json.loads(build(sources / "r.toml", out).stdout)
    told = {
        f"{name}: {one['step']}": (one["in"], one["out"], one["dropped"])
        for name, some in report["sources"].items()
        for one in some
    }
    assert told == {
        "own: read": (2, 1, {"does not elaborate": 1}),
        "own: trace": (3, 2, {"proved by a term": 1}),
        "whole: compile": (
            4, 1, {"held out by name": 1, "held out by statement": 1, "lemma rename": 1},
        ),
        "whole: trace": (1, 1, {}),
        "open: compile": (1, 0, {"leaves something open": 1}),
        "open: trace": (0, 0, {}),
        "old: validate": (3, 3, {}),
        "old: re-extract": (3, 3, {}),
    }  # fmt: skip
    assert report["prepare"]["rows"]["dropped"]["without_name"] == 2  # the steps of A.held
    # Three theorems of one proof are one to learn from; what is held out is nowhere.
    pairs = read_source(out / "data" / "tactic_pairs" / "train.jsonl", lambda _problem: None).pairs
    assert {pair.theorem for pair in pairs} <= {"A.both", "w", "o0", "o1", "o2"}
    pool = read_rows(out / "data" / "contrastive_pool.jsonl")
    assert {row["theorem"] for row in pool} == {"A.both", "w", "o0", "o1", "o2"}
    assert {row["source"] for row in pool} == {"own", "whole", "old"}
    assert "And p q" not in json.dumps(pool), "states are as this Lean prints them"
    assert [row["premises"] for row in pool if "premises" in row] == [["And.right"]] * 3
    stated = json.loads((out / "theorems.json").read_text(encoding="utf-8"))
    assert [entry["name"] for entry in stated["theorems"]] == ["A.both", "w", "o0", "o1", "o2"]
    assert report["theorems"] == {"in": 5, "out": 5, "dropped": {}}
    assert str(sources) not in (out / "report.json").read_text(encoding="utf-8")


@pytest.mark.lean
def test_a_second_run_goes_on_where_a_kill_left_the_first(sources: Path) -> None:
    text = "[lean]\nworkers = 1\n[build]\ntheorems = false\n[prepare]\npool_depth = 2\n"
    text += "[sources.old]\ninput = 'old.jsonl'\nre_extract = 'always'\n"
    recipe(sources, text)
    out = sources / "out"
    report = json.loads(build(sources / "r.toml", out).stdout)
    assert [one["step"] for one in report["sources"]["old"]] == ["re-extract"]
    # As a kill leaves it: a line of work half written, what comes behind it not there.
    again = sources / "again"
    shutil.copytree(out, again)
    (again / "report.json").unlink()
    shutil.rmtree(again / "data")
    (again / ".data.preparing" / ".work").mkdir(parents=True)
    extracted = again / "sources" / "old" / "extracted"
    ledger = (extracted / "proofs.jsonl").read_bytes()
    lines = ledger.splitlines(keepends=True)
    (extracted / "proofs.jsonl").write_bytes(lines[0] + lines[1][:50])
    (extracted / "report.json").unlink()
    (extracted / "steps.jsonl").unlink()
    build(sources / "r.toml", again)
    assert (extracted / "proofs.jsonl").read_bytes() == ledger
    assert same(out, again)
    assert json.loads(build(sources / "r.toml", again).stdout)["sources"] == report["sources"]
    # Another recipe is another training set.
    text = (sources / "r.toml").read_text(encoding="utf-8").replace("pool_depth = 2", "pool_depth = 3")
    refused = build(recipe(sources, text), again, code=2).stderr
    assert "has other settings: recipe.prepare.pool_depth was 2, now 3" in refused


def same(first: Path, second: Path) -> bool:
    """Whether what two builds made is the same, to the byte."""
    made = [p for p in first.rglob("*") if p.is_file() and "sources" not in p.relative_to(first).parts]
    named = [p.relative_to(first) for p in made if p.name != "report.json" or p.parent == first]
    return len(named) >= 5 and all(
        (first / name).read_bytes() == (second / name).read_bytes() for name in named
    )


@pytest.mark.lean
@pytest.mark.soak
def test_killed_in_the_middle_it_goes_on_and_does_nothing_twice(tmp_path: Path) -> None:
    slow = "exact (fun (n : Nat) => Nat.add_comm a b) (2 ^ 5)"
    state = "a b : Nat\n⊢ a + b = b + a"
    rows = [
        {"theorem": f"t{i}", "depth": 0, "state": state, "tactic": f"{slow.replace('5', str(i))}"}
        for i in range(60)
    ]
    write_rows(tmp_path / "rows.jsonl", rows)
    text = '[lean]\nworkers = 1\n[sources.s]\ninput = "rows.jsonl"\nre_extract = "always"\n'
    path = recipe(tmp_path, text)
    whole, out = tmp_path / "whole", tmp_path / "out"
    build(path, whole)
    ledger = out / "sources" / "s" / "extracted" / "proofs.jsonl"
    code = "from burnqed.cli.main import main; main()"
    asked = [sys.executable, "-c", code, "data", "build", str(path), "--out", str(out)]
    for lines in (5, 25):
        process = subprocess.Popen(asked, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and process.poll() is None:
                if ledger.exists() and ledger.read_bytes().count(b"\n") >= lines:
                    break
                time.sleep(0.01)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait(30)
    assert 5 <= len(ledger.read_bytes().splitlines()) < 60
    build(path, out)
    assert same(whole, out)
    found = Counter(row["key"] for row in read_rows(ledger))
    assert len(found) == 60
    assert set(found.values()) == {1}


LIBRARY = """module
prelude
import Init.Core

theorem Nat.le_of_lt_succ {m n : Nat} : m < succ n → m ≤ n := by
  intro h
  exact le_of_succ_le_succ h
theorem Nat.nowhere (n : Nat) : n = n := by rfl
"""


@pytest.mark.lean
def test_files_of_the_library_are_proved_again_and_judged(tmp_path: Path) -> None:
    (tmp_path / "Nat.lean").write_text(LIBRARY, encoding="utf-8")
    text = """[trace]
judge = true
[prepare]
keep_trivial = 1.0
splits = "100/0/0"
[sources.mine]
library = true
input = "Nat.lean"
"""
    told = json.loads(build(recipe(tmp_path, text), tmp_path / "out").stdout)
    traced = told["sources"]["mine"][-1]
    assert (traced["in"], traced["out"], traced["steps"]) == (2, 1, 3)
    assert traced["dropped"] == {"is not in this Lean's library": 1}
    rows = read_rows(tmp_path / "out/data/tactic_pairs/train.jsonl")
    tactics = ["intro m n", "intro h", "exact Nat.le_of_succ_le_succ h"]
    assert [row["tactic"] for row in rows] == tactics
    assert rows[2]["premises"] == ["Nat.le_of_succ_le_succ"]


@pytest.mark.lean
def test_rows_that_cannot_be_read_are_counted_and_the_rest_is_built(tmp_path: Path) -> None:
    rows = [r for i in range(40) for r in proof_of(f"t{i}", 4)]
    write_rows(tmp_path / "rows.jsonl", [*rows, '{"theorem": "half'])
    text = "[build]\ntheorems = false\n[sources.s]\ninput = 'rows.jsonl'"
    done = build(recipe(tmp_path, text), tmp_path / "out", code=2)
    report = json.loads(done.stdout)
    assert report["malformed"] == [{"source": "s", "rows": 1}]
    assert report["prepare"]["rows"]["out"] == 160
    assert "1 rows of s cannot be read" in done.stderr


# ------------------------------------------------------------------------------- without Lean


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "has no sources"),
        ("[sources]\nx = 1", "sources.x is not a section"),
        ("[sources.x]\ninputs = 'a'", "did you mean input?"),
        ("[sources.x]\nvalidate = -1", "validate must be a whole number, 0 or more"),
        ("[sources.x]\nre_extract = 'maybe'", "re_extract must be one of never, due, always"),
        ("[sources.'a/b']", "a name is letters"),
        ("[sources.x]\n[prepares]", "did you mean prepare?"),
        ("[sources.x]\n[prepare]\nkeep_trivial = 2", "keep_trivial must be a number, 0 to 1"),
        ("[sources.x]\n[prepare]\nsplits = '1/2'", "no shares: 1/2"),
        ("[sources.x]\n[prepare]\nprompt = 'mine'", "no prompt format mine"),
        ("[sources.x]\n[prepare]\nwithout = ['nothing']", "there is no set nothing"),
        ("[sources.x]\ninput = 'no/where.jsonl'", "there is no no/where.jsonl"),
        ("[sources.x]\n[lean]\noptions = ['--import', 'Std']", "unknown setting options"),
        ("[sources.x", "is not TOML"),
    ],
)
def test_a_recipe_is_checked_before_anything_is_begun(tmp_path: Path, text: str, told: str) -> None:
    done = build(recipe(tmp_path, text), tmp_path / "out", code=2)
    assert told in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_damaged_file_is_named_before_anything_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", [r for i in range(400) for r in proof_of(f"t{i}", 4)])
    packed = gzip.compress(rows.read_bytes())
    (tmp_path / "cut.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    path = recipe(
        tmp_path, "[sources.fine]\ninput = 'rows.jsonl'\n[sources.cut]\ninput = 'cut.jsonl.gz'"
    )
    done = build(path, tmp_path / "out", code=2)
    assert "cut.jsonl.gz is a broken archive" in done.stderr
    assert not (tmp_path / "out").exists()
    # What was fetched, and is no longer what was fetched.
    monkeypatch.setenv("BURN_QED_CACHE", str(tmp_path / "cache"))
    steps = [
        {"url": "u", "commit": "c", "file_path": "f", "full_name": f"t{i}", "start": "1", "end": "2",
         "tactic": "simp", "state_before": f"⊢ {i} = {i}", "state_after": "no goals"}
        for i in range(9)
    ]  # fmt: skip
    write_rows(tmp_path / "lg.jsonl", steps)
    burn_qed("data", "fetch", "lean-github", "--from", tmp_path / "lg.jsonl")
    (kept,) = (tmp_path / "cache").rglob("lg.jsonl")
    kept.write_text(kept.read_text(encoding="utf-8").replace("⊢ 3", "⊢ 4"), encoding="utf-8")
    done = build(recipe(tmp_path, "[sources.lean-github]"), tmp_path / "out", code=3)
    assert "is not what was fetched: its SHA-256 differs" in done.stderr
    assert "burn-qed data fetch lean-github --again" in done.stderr


def test_a_set_without_proofs_is_no_source(tmp_path: Path) -> None:
    write_index(tmp_path / "set.json", {"t": "1 = 1"})
    done = build(recipe(tmp_path, "[sources.s]\ninput = 'set.json'"), tmp_path / "out", code=2)
    assert "has no proofs to learn from" in done.stderr
