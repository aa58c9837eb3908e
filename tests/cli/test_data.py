"""`burn-qed data`: indexes from everywhere, benchmarks by name, statements verified."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from burnqed.data.index import read_index, statement_sha
from burnqed.lean.process import LaunchSpec
from burnqed.trajectories.store import open_writer
from tests.cli.in_process import Done, burn_qed
from tests.trajectories.samples import record

BURN_QED = str(Path(sys.executable).with_name("burn-qed"))

SOURCE = """namespace Shop

def price (n : Nat) : Nat := 3 * n

theorem price_zero : price 0 = 0 := rfl

@[simp] theorem price_add (a b : Nat) : price (a + b) = price a + price b := by
  unfold price; omega

theorem price_small (n : Nat) : price n < 10 := by sorry
"""


def data(*arguments: str | Path, code: int, cwd: Path | None = None) -> Done:
    return burn_qed("data", *arguments, code=code, cwd=cwd)


def theorems(path: Path) -> dict[str, dict[str, Any]]:
    content = json.loads(path.read_text(encoding="utf-8"))
    return {entry["name"]: entry for entry in content["theorems"]}


# ------------------------------------------------------------------------------------- index


@pytest.mark.lean
def test_lean_files_become_a_set_that_can_be_verified(tmp_path: Path, lean_launch: LaunchSpec) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "Shop.lean").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "src" / "Latin.lean").write_bytes("-- ü".encode("latin-1"))
    told = data("index", "--lean", "src", "--out", "shop.json", code=2, cwd=tmp_path)
    assert "Latin.lean" in told.stderr
    found = theorems(tmp_path / "shop.json")
    named = {"Shop.price_zero", "Shop.price_add", "Shop.price_small"}
    assert set(found) == {"src/Latin.lean", *named}
    assert "unfold" not in found["Shop.price_add"]["statement"], "its proof is not given away"
    verified = data("verify", tmp_path / "shop.json", "--json", code=1)
    verdicts = {t["name"]: t["verdict"] for t in json.loads(verified.stdout)["theorems"]}
    assert verdicts == {
        "Shop.price_zero": "fine", "Shop.price_add": "fine", "Shop.price_small": "trivially false",
        "src/Latin.lean": "does not elaborate",
    }  # fmt: skip
    # The index of a part of it still has the text that its contexts are the beginning of.
    data(
        "index", "--theorems", "shop.json", "--sample", "4", "--out", "part.json", code=0, cwd=tmp_path
    )
    again = json.loads(data("verify", tmp_path / "part.json", "--json", code=1).stdout)
    assert {t["name"]: t["verdict"] for t in again["theorems"]} == verdicts


@pytest.mark.lean
def test_library_theorems_have_a_module_a_rule_and_a_size(
    tmp_path: Path, lean_launch: LaunchSpec
) -> None:
    wanted = ("--module", "Init.Data.Option", "--leak-rule", "self", "--sample", "20")
    data("index", *wanted, "--seed", "3", "--out", tmp_path / "a.json", code=0)
    data("index", *wanted, "--seed", "3", "--out", tmp_path / "b.json", code=0)
    data("index", *wanted, "--seed", "4", "--out", tmp_path / "c.json", code=0)
    first = theorems(tmp_path / "a.json")
    assert first == theorems(tmp_path / "b.json")
    assert set(first) != set(theorems(tmp_path / "c.json"))
    for name, entry in first.items():
        assert entry["constant"] == name
        assert entry["module"].startswith("Init.Data.Option")
        assert entry["leak_rule"] == "self"
        assert entry["difficulty"] > 1
        assert entry["split"] in ("train", "val", "test")


def test_leandojo_and_json_lines(tmp_path: Path) -> None:
    theorem = {"full_name": "Nat.add_comm", "file_path": "Mathlib/X.lean", "traced_tactics": []}
    (tmp_path / "dojo.json").write_text(json.dumps([theorem]), encoding="utf-8")
    data("index", "--leandojo", tmp_path / "dojo.json", "--out", tmp_path / "d.json", code=0)
    assert theorems(tmp_path / "d.json")["Nat.add_comm"]["constant"] == "Nat.add_comm"
    line = {"name": "a", "header": "import Mathlib\n", "formal_statement": "theorem a : 1 = 1 := by"}
    (tmp_path / "lines.jsonl").write_text(json.dumps(line), encoding="utf-8")
    data("index", "--jsonl", tmp_path / "lines.jsonl", "--out", tmp_path / "l.json", code=0)
    assert json.loads((tmp_path / "l.json").read_text(encoding="utf-8"))["imports"] == ["Mathlib"]


def test_a_split_is_taken_and_the_shares_are_the_users(tmp_path: Path) -> None:
    everything = tmp_path / "all.json"
    data("index", "--theorems", "qed-core", "--splits", "60/20/20", "--out", everything, code=0)
    data("index", "--theorems", everything, "--split", "test", "--out", tmp_path / "test.json", code=0)
    expected = {name for name, entry in theorems(everything).items() if entry["split"] == "test"}
    assert set(theorems(tmp_path / "test.json")) == expected
    assert 15 < len(expected) < 50


def test_theorems_of_another_set_are_left_out(tmp_path: Path) -> None:
    part, rest = tmp_path / "part.json", tmp_path / "rest.json"
    data("index", "--theorems", "qed-core", "--sample", "40", "--out", part, code=0)
    data("index", "--theorems", "qed-core", "--without", part, "--out", rest, code=0)
    assert len(theorems(rest)) == 110
    assert not set(theorems(rest)) & set(theorems(part))


def test_at_most_so_many_are_all_where_there_are_fewer(tmp_path: Path) -> None:
    """One that could not be read was told when it was; a set that has it is as good as any other."""
    some, every = tmp_path / "some.json", tmp_path / "every.json"
    data("index", "--theorems", "qed-core", "--at-most", "40", "--out", some, code=0)
    assert len(theorems(some)) == 40
    content = json.loads(some.read_text())
    content["theorems"].append({"name": "unread", "error": "cannot read Some/File.lean"})
    some.write_text(json.dumps(content))
    data("index", "--theorems", some, "--at-most", "50", "--out", every, code=0)
    assert len(theorems(every)) == 41


def test_what_a_run_has_proved_is_left_out(tmp_path: Path) -> None:
    everything, run = tmp_path / "all.json", tmp_path / "run"
    data("index", "--theorems", "qed-core", "--sample", "6", "--out", everything, code=0)
    known = read_index(everything).theorems
    with open_writer(run / "trajectories") as writer:
        for number, theorem in enumerate(known):  # of four, 0 and 3 are proved; of those one otherwise
            sha = "another" if number == 3 else statement_sha(theorem.statement)
            writer.add(replace(record(number % 4, 8), theorem=theorem.name, statement_sha=sha), [])
    given = ("index", "--theorems", everything, "--unproved", run, "--out", tmp_path / "left.json")
    told = data(*given, code=0).stdout
    assert "4 of 6 theorems" in told
    assert "left out: proved 2" in told
    assert list(theorems(tmp_path / "left.json")) == [known[i].name for i in (1, 2, 3, 5)]
    (tmp_path / "left.json").unlink()
    done = tmp_path / "done"
    with open_writer(done / "trajectories") as writer:
        for theorem in known:
            sha = statement_sha(theorem.statement)
            writer.add(replace(record(0, 8), theorem=theorem.name, statement_sha=sha), [])
    refused = data(*given, "--unproved", done, code=1)
    assert "--unproved leaves no theorem: 6 proved" in refused.stderr
    assert "nothing more to prove" in refused.stderr
    assert not (tmp_path / "left.json").exists()
    assert "has no trajectories" in data(*given, "--unproved", tmp_path, code=2).stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--theorems", "qed-core", "--without", "qed-core"], "--without leaves no theorem"),
        (["--theorems", "qed-core", "--without", "absent.json"], "absent.json"),
        ([], "give one source"),
        (["--theorems", "qed-core", "--module", "Init"], "give one source"),
        (["--theorems", "qed-core", "--splits", "90/10"], "no shares: 90/10"),
        (["--theorems", "qed-core", "--sample", "151"], "a sample of 151 from 150 theorems"),
        (["--theorems", "qed-core", "--sample", "2", "--at-most", "3"], "two wishes"),
        (["--theorems", "qed-core", "--leak-rule", "no"], "unknown leak rule no"),
        (["--jsonl", "absent.jsonl"], "cannot read absent.jsonl"),
        (["--leandojo", "absent.json"], "cannot read absent.json"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, arguments: list[str], told: str) -> None:
    assert told in data("index", "--out", "x.json", *arguments, code=2, cwd=tmp_path).stderr
    assert not (tmp_path / "x.json").exists()


# -------------------------------------------------------------------------------- benchmarks


def test_benchmarks_say_what_pins_them() -> None:
    listed = json.loads(data("benchmarks", "--json", code=0).stdout)
    by_name = {entry["name"]: entry for entry in listed}
    assert {"qed-core", "minif2f-test", "minif2f-v2s-test", "proofnet-valid"} <= set(by_name)
    assert by_name["qed-core"]["here"]
    assert all(entry["pin"] and entry["licence"] for entry in listed)


def test_a_benchmark_that_is_not_here_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BURN_QED_CACHE", str(tmp_path))
    told = data("index", "--theorems", "minif2f-test", "--out", tmp_path / "x.json", code=2).stderr
    assert "burn-qed data fetch minif2f-test" in told
    assert "no benchmark minif" in data("fetch", "minif", code=2).stderr


@pytest.mark.lean
def test_the_benchmark_of_our_own_is_fine(tmp_path: Path, lean_launch: LaunchSpec) -> None:
    sample = tmp_path / "sample.json"
    data("index", "--theorems", "qed-core", "--sample", "10", "--seed", "5", "--out", sample, code=0)
    command = [BURN_QED, "data", "verify", str(sample)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done
    assert "fine 10" in done.stdout
