"""Rows and records to write: the same for the same number, so that a reader knows what to expect."""

from __future__ import annotations

import random
from pathlib import Path

from burnqed.search.tree import Result
from burnqed.trajectories.schema import StepRow, TheoremRecord
from burnqed.trajectories.store import open_writer

OUTCOMES: tuple[Result, ...] = ("closed", "advanced", "rejected", "timeout", "lost")


def rows(number: int, count: int) -> list[StepRow]:
    """The steps of theorem `number`: eight candidates a node, as a search makes them."""
    chance = random.Random(number)
    states = [
        f"h : a = {chance.random()}\n⊢ " + "x + " * chance.randrange(20) + "0 = b" for _ in range(count)
    ]
    return [
        StepRow(
            run="test",
            theorem=name(number),
            node=index // 8,
            parent=index // 64 if index >= 8 else None,
            children=tuple(range(index, index + index % 3)),
            depth=index // 8,
            state=states[index // 8],
            root_goal=f"⊢ goal {number}",
            tactic=f"simp [lemma_{chance.randrange(10**6)}]",
            logprob=-chance.random(),
            energy=None if index % 2 else chance.gauss(0, 1),
            score=chance.random(),
            outcome=OUTCOMES[index % 5],
            error="tactic: it failed" if index % 5 == 2 else "",
            label="unknown",
            on_proof_path=index % 8 == 0,
            remaining_steps=None if index % 8 else index,
            origin="search",
            temperature=1.0,
            iteration=0,
            seconds=index / 10,
            lean_seconds=None if index % 5 == 4 else index / 100,
            heartbeats=None if index % 5 == 4 else index,
            child_energies=None if index % 2 else tuple(float(-n) for n in range(index % 3)),
            child_scores=tuple(n / 2 for n in range(index % 3)),
            spent=index // 8 + 1,
        )
        for index in range(count)
    ]


def name(number: int) -> str:
    return f"theorem_{number}"


def record(number: int, steps: int) -> TheoremRecord:
    return TheoremRecord(
        theorem=name(number),
        outcome="proved" if number % 3 == 0 else "exhausted",
        reason="" if number % 3 == 0 else "nodes",
        detail="",
        nodes=steps // 8,
        steps=steps,
        expansions=steps // 8,
        candidates_min=2,
        candidates_max=8,
        candidates_total=steps,
        seconds=2.0,
        lean_seconds=1.5,
        judge_seconds=0.5,
        proof="by simp" if number % 3 == 0 else "",
        proof_steps=1 if number % 3 == 0 else 0,
        axioms=(("propext",), (), None)[number % 3],
        axioms_seen=("propext",) if number % 3 == 0 else (),
        leak_rule=None,
        seed=number,
        statement_sha=f"{number:064x}",
    )


def steps_of(number: int) -> int:
    """Some theorems have no row, some a few, some many."""
    return (number * 97) % 400


def write(directory: Path, numbers: range) -> Path:
    """One part with these theorems."""
    with open_writer(directory) as writer:
        for number in numbers:
            writer.add(record(number, steps_of(number)), rows(number, steps_of(number)))
        path = writer.save()
    assert path is not None
    return path
