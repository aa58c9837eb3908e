"""Does data still say what this Lean says? Proofs are drawn, replayed and compared; a rule decides.

    use         at least 80% replay, and print as recorded
    re-extract  at least 80% replay, and too many of them print otherwise
    re-trace    fewer replay

What has no statement to start from is counted apart, and so are Lean's own failures: neither says
anything about the data.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from burnqed.core.errors import LeanError, StatementError
from burnqed.core.tasks import until_stopped
from burnqed.core.types import Theorem
from burnqed.data.drift import CATEGORIES, Failure, Sorter
from burnqed.data.first_state import NoStatement, statement_of
from burnqed.data.index import TheoremIndex
from burnqed.data.ledger import Ledger
from burnqed.data.replay import Replayed, replay
from burnqed.data.sampled_proofs import Key, Sample, collected
from burnqed.data.sources import written
from burnqed.data.sources.open import Opened
from burnqed.data.steps import Step
from burnqed.lean.judge import judge_proof
from burnqed.lean.pool import Pool
from burnqed.lean.session import open_session

ENOUGH = 0.8
_EXAMPLES = 5
Outcome = Literal["replays", "fails", "no statement", "error"]
Verdict = Literal["use", "re-extract", "re-trace", "none"]


@dataclass(frozen=True, slots=True)
class Proof:
    """A drawn proof. Without a `theorem` it cannot be started, and `why` says why."""

    key: str
    stratum: str
    steps: Sequence[Step]
    theorem: Theorem | None
    why: str = ""


def name_of(key: Key) -> str:
    """What a theorem of a source is filed under."""
    return "\t".join(key)


def startable(key: Key, stratum: str, steps: Sequence[Step], stated: Mapping[str, Theorem]) -> Proof:
    """With the statement that is known of it, or with what its first state says."""
    name = name_of(key)
    theorem = stated.get(key[1])
    if theorem is not None:
        return Proof(name, stratum, steps, theorem)
    try:
        return Proof(name, stratum, steps, Theorem(key[1], statement_of(steps[0].state)))
    except NoStatement as error:
        return Proof(name, stratum, steps, None, str(error))


def drawn(steps: Iterable[Step], sample: Sample, stated: Mapping[str, Theorem]) -> list[Proof]:
    """The proofs of a sample, ready to be replayed."""
    found = collected(steps, sample.chosen)
    return [startable(key, sample.chosen[key], proof, stated) for key, proof in found.items()]


def stated_in(
    source: Opened, warn: Callable[[str], None]
) -> tuple[dict[str, Theorem], tuple[str, ...]]:
    """The statements that a source has itself, by name, and the modules that it needs."""
    if source.info is written.TRACE:
        return written.traced_theorems(source.parts, warn)
    # What others publish is about Mathlib, all of it.
    return {}, ("Mathlib",) if source.is_published else ()


def stated_by(index: TheoremIndex) -> dict[str, Theorem]:
    return {entry.theorem.name: entry.theorem for entry in index.entries}


async def validate(
    pool: Pool,
    proofs: Iterable[Proof],
    sorter: Sorter,
    ledger: Ledger,
    on_proof: Callable[[Mapping[str, Any]], None],
    stop: asyncio.Event,
    judges: Pool | None = None,
    *,
    keep_steps: bool = False,
) -> None:
    """Replay the proofs that are not in the ledger yet, as many at once as the pool has workers.

    With `judges`, one that replays is judged as well, and does not count as replaying if it is refused.
    What Lean failed on before is tried again. When `stop` is set, those in flight are dropped. With
    `keep_steps` the row of a proof that replays has its steps as they are here, as `fresh`.
    """
    todo = iter(proofs)

    async def work() -> None:
        for proof in todo:
            if proof.key in ledger and ledger.row(proof.key)["outcome"] != "error":
                on_proof(ledger.row(proof.key))
                continue
            row = await _validated(pool, proof, sorter, judges, keep_steps)
            ledger.add(proof.key, row)
            on_proof(row)

    await until_stopped([work() for _ in range(pool.size)], stop)


async def _validated(
    pool: Pool, proof: Proof, sorter: Sorter, judges: Pool | None, keep_steps: bool
) -> dict[str, Any]:
    about: dict[str, Any] = {
        "theorem": proof.steps[0].theorem, "source": proof.steps[0].source, "stratum": proof.stratum,
        "steps": len(proof.steps),
    }  # fmt: skip
    if proof.theorem is None:
        return {**about, "outcome": "no statement", "why": proof.why}
    try:
        async with open_session(pool) as session:
            found = await replay(session, proof.theorem, proof.steps, sorter)
        if judges is not None and found.replays:
            tactics = [step.tactic for step in proof.steps]
            verdict = await judge_proof(judges, proof.theorem.statement, tactics)
            about["judged"] = verdict.reason or "accepted"
            if not verdict.accepted:
                refused = Failure("other", f"the judge refuses it: {verdict.reason}")
                found = Replayed(False, False, refused)
    except (LeanError, StatementError) as error:
        return {**about, "outcome": "error", "why": error.message}
    kept = {"fresh": [step.row for step in found.steps]} if keep_steps and found.replays else {}
    return {**about, "outcome": "replays" if found.replays else "fails", **_told(found), **kept}


def _told(found: Replayed) -> dict[str, Any]:
    told = asdict(found)
    failure = told.pop("failure")
    del told["replays"], told["steps"]
    named = {"category": failure["category"], "detail": failure["detail"]} if failure else {}
    return {"equal": found.equal, **named, **{k: v for k, v in told.items() if v not in ("", -1)}}


# --------------------------------------------------------------------------------------- the report


def verdict(tried: int, replaying: int, equal: int) -> Verdict:
    """By the rule at the top; of nothing there is none."""
    if not tried:
        return "none"
    if replaying < ENOUGH * tried:
        return "re-trace"
    return "use" if equal >= ENOUGH * tried else "re-extract"


def report(sample: Sample, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Of all rows together, by stratum, and by what went wrong."""
    tried = [row for row in rows if row["outcome"] in ("replays", "fails")]
    counts = _counts(tried)
    wrong = [row for row in tried if row.get("category")]
    return {
        "format": 1,
        "verdict": verdict(counts["tried"], counts["replay"], counts["equal"]),
        **counts,
        "judged": dict(Counter(row["judged"] for row in tried if "judged" in row)),
        "replay_rate": _rate(counts["replay"], counts["tried"]),
        "equal_rate": _rate(counts["equal"], counts["tried"]),
        "no_statement": dict(Counter(row["why"] for row in rows if row["outcome"] == "no statement")),
        "errors": [
            {"theorem": row["theorem"], "why": row["why"]} for row in rows if row["outcome"] == "error"
        ],
        "strata": {
            name: {
                "there": there,
                "drawn": sum(stratum == name for stratum in sample.chosen.values()),
                **_counts([row for row in tried if row["stratum"] == name]),
            }
            for name, there in sample.there.items()
        },
        "not_drawn": dict(sample.left_out),
        "categories": {
            category: {
                "theorems": sum(row["category"] == category for row in wrong),
                "examples": [_example(row) for row in wrong if row["category"] == category][:_EXAMPLES],
            }
            for category in CATEGORIES
        },
    }


def _counts(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    return {
        "tried": len(rows),
        "replay": sum(row["outcome"] == "replays" for row in rows),
        "equal": sum(bool(row["equal"]) for row in rows),
    }


def _rate(some: int, every: int) -> float | None:
    return round(some / every, 4) if every else None


def _example(row: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("theorem", "step", "tactic", "detail", "error", "recorded", "here")
    return {key: row[key] for key in kept if key in row}
