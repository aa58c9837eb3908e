"""Runs to look at: trees that the real search grew on scripted goals, kept as a search keeps them."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from burnqed.core.types import Proposition, Rejected, TimedOut
from burnqed.data.index import statement_sha
from burnqed.evaluation.results import RESULT, TheoremResult, write_result
from burnqed.lean.fake import Script, Scripted
from burnqed.search.best_first import SearchResult
from burnqed.search.budget import Budget
from burnqed.trajectories.record import Provenance, path_of, rows_of
from burnqed.trajectories.schema import StepRow, TheoremRecord
from burnqed.trajectories.store import open_writer
from tests.evaluation.samples import result_of
from tests.search.problems import BySize, search

# Markup, a script, ANSI codes, an override of the reading direction, a null, half a character.
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>\x1b[31mred\u202egnp.evil\u200b&amp;"

# An AND step (`constructor`) whose goals are both provable, and ways that lead nowhere.
CONJUNCTION: Script = {
    "p ∧ q": {
        "constructor": ("p", "q"),
        "exact h": Rejected("unknown identifier 'h'", "tactic"),
        "left": Rejected("target is not an inductive datatype with two constructors", "tactic"),
        "decide": TimedOut(1.0, deterministic=True),
        "rw [and_comm]": ("q ∧ p",),
    },
    "q ∧ p": {"simp": Rejected("simp made no progress", "tactic")},
    "p": {"assumption": (), "intro h": Rejected("no binder to introduce", "tactic")},
    "q": {"simp [q_def]": ("True",), "omega": Rejected("omega could not prove the goal", "tactic")},
    "True": {"trivial": ()},
}
# Nothing works: every way ends.
HOPELESS: Script = {
    "False": {
        "simp": ("False'",),
        "exact absurd rfl": Rejected("type mismatch\n  rfl\nhas type ?a = ?a", "tactic"),
    },
    "False'": {"assumption": Rejected("assumption failed", "tactic")},
}
STRANGE: Script = {
    f"⊤ {HOSTILE}": {HOSTILE: ("True",), "simp": Rejected(HOSTILE, "tactic")},
    "True": {"trivial": ()},
}


@dataclass(frozen=True, slots=True)
class Tried:
    """A theorem and the search for it. `judged`: whether the judge accepted what was found."""

    name: str
    root: str
    script: Script
    judged: bool = True
    nodes: int = 1000
    guided: bool = False  # by a value model


THEOREMS = (
    Tried("And.both", "p ∧ q", CONJUNCTION),
    Tried("Not.provable", "False", HOPELESS, guided=True),
    Tried("refused_by_judge", "p ∧ q", CONJUNCTION, judged=False),
    Tried(f"strange {HOSTILE}", f"⊤ {HOSTILE}", STRANGE),
)


def forest(states: int, seed: int = 0) -> Script:
    """A script of so many goals: a chain with bushes, of which some tactics need two goals."""
    chance = random.Random(seed)
    script: dict[str, dict[str, Scripted]] = {}
    for number in range(states):
        after = [f"a{n} + b = c{n}" for n in range(number * 2 + 1, number * 2 + 3) if n < states]
        tactics: dict[str, Scripted] = {
            f"exact lemma_{number}_{k}": Rejected(f"unknown identifier 'lemma_{number}_{k}'", "tactic")
            for k in range(4)
        }
        if len(after) == 2 and chance.random() < 0.3:
            tactics[f"refine ⟨?_, ?_⟩ -- {number}"] = tuple(after)
        else:
            for goal in after:
                tactics[f"rw [← lemma_{number}, {goal.split()[0]}]"] = (goal,)
        script[f"a{number} + b = c{number}"] = tactics
    return script


def searched(tried: Tried) -> SearchResult:
    budget = Budget(nodes=tried.nodes, depth=10_000, candidates=100)
    # In a thread of its own: that of a test with a browser has a loop that runs.
    with ThreadPoolExecutor(1) as thread:
        value = BySize() if tried.guided else None
        work = search(tried.script, tried.root, budget=budget, value=value)
        found, _ = thread.submit(asyncio.run, work).result()
    return found


def rows_and_record(tried: Tried, run: str) -> tuple[TheoremRecord, list[StepRow]]:
    found = searched(tried)
    tree = found.tree
    proved = tree.proved and tried.judged
    rows = rows_of(tree, tried.name, proved, Provenance(run))
    outcome, reason = ("proved", "") if proved else ("exhausted", found.limit or "candidates")
    if tree.proved and not proved:
        outcome, reason = "error", "refused"
    record = TheoremRecord(
        theorem=tried.name,
        outcome=outcome,  # type: ignore[arg-type]
        reason=reason,
        detail="the judge refused the proof" if outcome == "error" else "",
        nodes=found.nodes,
        steps=len(rows),
        expansions=found.nodes,
        candidates_min=1,
        candidates_max=5,
        candidates_total=len(rows),
        seconds=found.seconds,
        lean_seconds=found.seconds / 2,
        judge_seconds=0.25,
        proof=f"theorem t : {tried.root} := by\n  constructor -- both\n  · assumption"
        if proved
        else "",
        proof_steps=len(tree.proof_edges()) if proved else 0,
        axioms=("propext",) if proved else None,
        axioms_seen=("propext",) if proved else (),
        leak_rule=None,
        seed=7,
        statement_sha=statement_sha(Proposition(tried.root)),
        path=path_of(tree) if proved else (),
    )
    return record, rows


def manifest(path: Path, command: str, **more: Any) -> None:
    path.mkdir(parents=True, exist_ok=True)
    content = {"command": command, "theorems": "made-up", "nodes": 100, "policy": {"kind": "portfolio"}}
    (path / "manifest.json").write_text(json.dumps(content | more), encoding="utf-8")


def write_attempt(directory: Path, theorems: Sequence[Tried]) -> None:
    with open_writer(directory / "trajectories") as writer:
        for tried in theorems:
            writer.add(*rows_and_record(tried, directory.name))


def write_search(
    path: Path, theorems: Sequence[Tried] = THEOREMS, *, done: bool = True, name: str = "made-up"
) -> Path:
    manifest(path, "search", theorems=name)
    write_attempt(path, theorems)
    if done:
        (path / "summary.json").write_text("{}")
    return path


def write_eval(
    path: Path,
    outcomes: Mapping[str, tuple[str, int]],
    groups: Sequence[str] = (),
    name: str = "made-up",
) -> Path:
    """An evaluation: `And.both` has a tree in each of two attempts, the others only a result."""
    manifest(path, "eval", theorems=name, theorems_checksum="5" * 64)
    for attempt in (1, 2):
        write_attempt(path / f"attempt-{attempt}", THEOREMS[:attempt])
    result = result_of(outcomes, attempts=2)  # type: ignore[arg-type]

    def grouped(number: int, one: TheoremResult) -> TheoremResult:
        return replace(one, group=groups[number % len(groups)] if groups else "")

    budgets = tuple(
        replace(b, per_theorem=tuple(grouped(n, t) for n, t in enumerate(b.per_theorem)))
        for b in result.budget_results
    )
    write_result(path / RESULT, replace(result, budget_results=budgets))
    return path


OUTCOMES = {
    "And.both": ("proved", 3), "Not.provable": ("exhausted", 100), "other": ("error", 5),
    "t10": ("proved", 30), "t9": ("exhausted", 100),
}  # fmt: skip


# What the run `evals/ranker` is compared with.
BEFORE = OUTCOMES | {"other": ("proved", 5), "t10": ("exhausted", 100), "t9": ("proved", 3)}


def write_all(root: Path) -> Path:
    """A search, an evaluation of two attempts, and a search that is not finished."""
    write_search(root / "first")
    write_eval(root / "evals" / "ranker", OUTCOMES, ("level 1", "level 2"))
    write_search(root / "begun", THEOREMS[:1], done=False)
    return root
