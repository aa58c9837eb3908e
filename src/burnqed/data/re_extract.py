"""The verdict "re-extract" carried out: steps replayed on this Lean, and its own states written.

    OUT/proofs.jsonl   a line for each theorem: its steps as they are here, or why there are none
    OUT/steps.jsonl    the new set, in the order of the old one
    OUT/report.json    counts, and what was dropped, by reason

A theorem is there with all of its steps or not at all.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from burnqed.core.errors import InputError
from burnqed.core.files import publish
from burnqed.core.types import Theorem
from burnqed.data.drift import Sorter
from burnqed.data.ledger import Ledger, open_ledger
from burnqed.data.sampled_proofs import Census, Key, one_by_one
from burnqed.data.steps import Step
from burnqed.data.validation import Proof, name_of, startable, validate
from burnqed.lean.pool import Pool

PROOFS, STEPS, REPORT = "proofs.jsonl", "steps.jsonl", "report.json"
_EXAMPLES = 5
DRIFT = "pretty-printer drift"


async def re_extract(
    out: Path,
    read: Callable[[], Iterable[Step]],
    found: Census,
    stated: Mapping[str, Theorem],
    pool: Pool,
    sorter: Sorter,
    warn: Callable[[str], None],
    on_proof: Callable[[Mapping[str, Any]], None],
    stop: asyncio.Event,
) -> dict[str, Any] | None:
    """Replay what is not replayed yet, write the new set and give its report; None if stopped.

    `read` gives the steps, the same ones each time; `found` is what they come to.
    """

    def proofs() -> Iterator[Proof]:
        for key, steps in one_by_one(read(), found.whole):
            yield startable(key, "", steps, stated)

    with open_ledger(out / PROOFS, warn) as ledger:
        await validate(pool, proofs(), sorter, ledger, on_proof, stop, keep_steps=True)
        if stop.is_set():
            return None
        told = _report(ledger, found)
        publish(out / STEPS, _lines(ledger, found.whole))
    publish(out / REPORT, json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    return told


def _lines(ledger: Ledger, keys: Iterable[Key]) -> Iterator[str]:
    for key in keys:
        for step in ledger.row(name_of(key)).get("fresh", ()):
            yield json.dumps(step, ensure_ascii=False) + "\n"


def _report(ledger: Ledger, found: Census) -> dict[str, Any]:
    steps: Counter[str] = Counter()
    theorems: Counter[str] = Counter(found.left_out.values())
    reasons: dict[str, list[dict[str, Any]]] = {}
    errors: list[dict[str, str]] = []
    again = differs = 0
    for key, number in found.whole.items():
        row = ledger.row(name_of(key))
        steps["in"] += number
        if row["outcome"] == "replays":
            again += 1
            differs += not row["equal"]
            steps["out"] += len(row["fresh"])
            continue
        reason = str(row.get("category") or row.get("why"))
        if row["outcome"] == "error":
            reason = "Lean failed"
            errors.append({"theorem": row["theorem"], "why": row["why"]})
        theorems[reason] += 1
        shown = ("theorem", "step", "tactic", "detail", "error", "why")
        reasons.setdefault(reason, []).append({k: row[k] for k in shown if k in row})
    return {
        "format": 1,
        "theorems": {
            "in": len(found.whole) + len(found.left_out),
            "dropped": dict(sorted(theorems.items())),
            "out": again,
            "printed_otherwise": differs,
        },
        "steps": {"in": steps["in"], "out": steps["out"]},
        "reasons": {reason: some[:_EXAMPLES] for reason, some in sorted(reasons.items())},
        "errors": errors,
    }


def refuse_nothing(told: Mapping[str, Any], what: str) -> None:
    """An empty set is nobody's wish."""
    if not told["steps"]["out"]:
        dropped = ", ".join(f"{why} {n}" for why, n in told["theorems"]["dropped"].items())
        raise InputError(
            f"nothing of {what} replays on this Lean: {dropped}",
            hint="trace its sources with this Lean, or migrate whole proofs",
        )
