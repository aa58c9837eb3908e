"""The training set of what several searches proved: judged proofs, the shortest of each theorem.

Theorems to be tested on never get in. Most of what is proved first is proved in one step, and a model
that is shown mostly that learns little else: such theorems may only be a share of those that are kept.
Which of them is a matter of their names' hashes, so that a run's next harvest keeps them.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnqed.core.errors import CorruptError, InputError, NotEnough
from burnqed.core.files import publish, publish_json
from burnqed.data.index import TheoremIndex
from burnqed.data.spill import key_of
from burnqed.data.steps import Step
from burnqed.training.held import HeldOut
from burnqed.trajectories.proofs import JudgedProof, read_proofs
from burnqed.trajectories.schema import Origin
from burnqed.trajectories.store import every_trajectories, read_records

FORMAT = 1
_SEARCHED: frozenset[Origin] = frozenset({"search", "noise"})
_HEADS = 20  # of tactics, in the report
_HEAD = re.compile(r"[^\s(\[{⟨<;·|]+")

OnProblem = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Rules:
    """What is kept of what was proved."""

    easy_share: float = 0.5  # of the theorems, those whose proofs have one step, at most
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Harvest:
    """The steps that are kept, theorem by theorem, and what became of the others."""

    steps: tuple[Step, ...]
    report: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Taken:
    """The one proof of a theorem that is kept.

    `run` is the place of the run that found it, among those that were named.
    """

    proof: JudgedProof
    run: int

    @property
    def name(self) -> str:
        return self.proof.record.theorem

    @property
    def goal(self) -> str:
        return self.proof.path[0].state

    @property
    def easy(self) -> bool:
        return len(self.proof.path) == 1


def harvest(
    runs: Sequence[Path], without: Sequence[TheoremIndex], rules: Rules, on_problem: OnProblem
) -> Harvest:
    """The pairs of all runs' proofs. The same runs in the same order give the same."""
    problems: list[str] = []

    def tell(problem: str) -> None:
        problems.append(problem)
        on_problem(problem)

    told, best = _read(runs, tell)
    if not best and problems:  # who knows what was in them
        raise CorruptError(f"no proof can be read: {problems[0]}", hint="restore the run from a copy")
    if not best:
        raise NotEnough(
            f"nothing was proved by a search in {', '.join(map(str, runs))}",
            hint="`burn-qed summary RUN` says what became of its theorems",
        )
    keep_out = HeldOut(without)
    whys = {taken.name: keep_out.why(taken.proof.record, taken.goal) for taken in best}
    held = {name: why for name, why in whys.items() if why is not None}
    free = [taken for taken in best if taken.name not in held]
    kept, duplicates, easy = _kept(free, rules)
    if not kept:
        _refuse_nothing(len(best), len(held), sum(taken.easy for taken in free), rules)
    for taken, _ in kept:
        told[taken.run]["taken"] += 1
    steps = tuple(step for _, own in kept for step in own)
    theorems = {
        "proved": len(best),
        "held_out_by_name": sum(why == "name" for why in held.values()),
        "held_out_by_statement": sum(why == "statement" for why in held.values()),
        "nothing_new": len(free) - len(kept) - easy,
        "easy_left_out": easy,
        "kept": len(kept),
        "kept_easy": sum(taken.easy for taken, _ in kept),
        "shortened": sum(len(t.proof.path) < t.proof.found_steps for t, _ in kept),
    }
    report = {
        "format": FORMAT,
        "settings": {
            "easy_share": rules.easy_share,
            "seed": rules.seed,
            "without": [{"set": index.name, "checksum": index.checksum} for index in without],
        },
        "runs": told,
        "theorems": theorems,
        "needless_steps": sum(max(t.proof.found_steps - len(t.proof.path), 0) for t, _ in kept),
        "duplicate_pairs": duplicates,
        "pairs": len(steps),
        "pairs_by_depth": _counted(sorted(Counter(step.depth for step in steps).items())),
        "tactics": _counted(Counter(map(_head, steps)).most_common(_HEADS)),
    }
    return Harvest(steps, report)


def write_harvest(out: Path, found: Harvest) -> dict[str, Any]:
    """The pairs as JSON lines, and then the report beside them, as it is given back."""
    beside = report_path(out)
    text = "".join(f"{step.pair()}\n" for step in found.steps)
    data = text.encode("utf-8", "replace")
    publish(out, data)
    report = {**found.report, "sha256": hashlib.sha256(data).hexdigest()}
    publish_json(beside, report)
    return report


def report_path(out: Path) -> Path:
    """PAIRS.json of PAIRS.jsonl."""
    if out.suffix != ".jsonl":
        raise InputError(f"{out} is not a name for JSON lines", hint="give one that ends in .jsonl")
    return out.with_suffix(".json")


# ------------------------------------------------------------------------------------- choosing


def _read(runs: Sequence[Path], on_problem: OnProblem) -> tuple[list[dict[str, Any]], list[_Taken]]:
    """What is said of each run, and of each theorem its shortest proof, by name.

    Two theorems that share a name and begin with different goals are two.
    """
    told: list[dict[str, Any]] = []
    best: dict[tuple[str, str], _Taken] = {}
    for number, run in enumerate(runs):
        directories = every_trajectories(run)
        proofs = [proof for one in directories for proof in read_proofs(one, on_problem)]
        found = [_Taken(proof, number) for proof in proofs if proof.origins <= _SEARCHED]
        for taken in found:
            key = taken.name, taken.goal
            if key not in best or len(taken.proof.path) < len(best[key].proof.path):
                best[key] = taken
        told.append(
            {
                "run": str(run),
                "searched": sum(len(read_records(one, lambda _told: None)) for one in directories),
                "proved": len(found),
                "proved_beside": len(proofs) - len(found),
                "taken": 0,
            }
        )
    return told, [best[key] for key in sorted(best)]


def _kept(free: Sequence[_Taken], rules: Rules) -> tuple[list[tuple[_Taken, list[Step]]], int, int]:
    """Theorems with the steps that no other has, how many steps others had, and easy ones left out.

    The easy ones come last: what a longer proof says already need not be said by one of them.
    """
    seen: set[tuple[str, str]] = set()
    kept: list[tuple[_Taken, list[Step]]] = []
    duplicates = 0
    for taken in (taken for taken in free if not taken.easy):
        steps = _new_steps(taken, seen)
        duplicates += len(taken.proof.path) - len(steps)
        if steps:
            kept.append((taken, steps))
    room = _room(len(kept), rules.easy_share)
    left_out = 0
    drawn = sorted(
        (taken for taken in free if taken.easy),
        key=lambda taken: (key_of(f"easy {rules.seed}", taken.name), taken.name, taken.goal),
    )
    for taken in drawn:
        steps = _new_steps(taken, seen) if room is None or room > 0 else []
        if steps:
            kept.append((taken, steps))
            room = None if room is None else room - 1
        elif (taken.proof.path[0].state, taken.proof.path[0].tactic.strip()) in seen:
            duplicates += 1
        else:
            left_out += 1
    kept.sort(key=lambda pair: (pair[0].name, pair[0].goal))
    return kept, duplicates, left_out


def _room(others: int, share: float) -> int | None:
    """How many easy ones may stand beside the others to be no more than a share; None: any number."""
    return None if share >= 1 else int(share * others / (1 - share) + 1e-9)


def _new_steps(taken: _Taken, seen: set[tuple[str, str]]) -> list[Step]:
    """The steps that nobody took at their states; `seen` grows."""
    steps = []
    for one in taken.proof.path:
        tactic = one.tactic.strip()
        if (one.state, tactic) not in seen:
            seen.add((one.state, tactic))
            steps.append(Step("", taken.name, one.state, tactic, one.depth))
    return steps


def _refuse_nothing(proved: int, held: int, easy: int, rules: Rules) -> None:
    if held == proved:
        raise NotEnough(f"all {proved} proved theorems are in a set of --without")
    raise NotEnough(
        f"nothing is left: {easy} theorems have proofs of one step and none a longer one, and "
        f"--easy-share {rules.easy_share:g} is the share of such",
        hint="--easy-share 1 keeps them all; a longer search finds longer proofs",
    )


def _head(step: Step) -> str:
    found = _HEAD.search(step.tactic)
    return found[0] if found else step.tactic[:1]


def _counted(counts: Iterable[tuple[object, int]]) -> Mapping[str, int]:
    return {str(key): count for key, count in counts}
