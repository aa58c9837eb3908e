"""A Lean file with `sorry`s: each proved in its place, then the whole file judged."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from burnqed.core.errors import LeanError
from burnqed.core.types import FileHole, Theorem
from burnqed.evaluation.doubt import Refuted
from burnqed.evaluation.prove import Found, Prover, find
from burnqed.lean.holes import Hole, fill, find_holes, name_examples
from burnqed.lean.judge import judge_file
from burnqed.lean.refute import Refutation
from burnqed.lean.tokens import tokenize
from burnqed.lean.verdict import Verdict
from burnqed.search.events import Doing, EventSink, ignore
from burnqed.search.script import script_of, tactics_of

JUDGED = "the file"  # as events call it while its theorems are judged


@dataclass(frozen=True, slots=True)
class HoleResult:
    """The outcome of one `sorry`. `found` means that tactics close it. The file's verdicts decide
    whether the theorem around it is proved."""

    hole: Hole
    outcome: Literal["found", "exhausted", "false", "error", "skipped"]
    reason: str = ""
    tactics: tuple[str, ...] = ()
    nodes: int = 0
    seconds: float = 0.0
    verdict: Verdict | None = None  # on the declaration around it
    refutation: Refutation | None = None  # its hypotheses do not imply it


@dataclass(frozen=True, slots=True)
class FileResult:
    """`source` is the file with the proofs that were found, except those that the judge refused.

    `put_in` are these, by the index of their hole. `refused` are the judge's refusals of theorems
    without a hole.
    """

    holes: tuple[HoleResult, ...]
    source: str
    refused: tuple[Verdict, ...] = ()
    put_in: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    @property
    def fills(self) -> bool:
        """The judge accepts the theorems around these holes, and refuses no other. Some `sorry`s of
        other theorems may be left.
        """
        accepted = (
            h.outcome == "found" and h.verdict is not None and h.verdict.accepted for h in self.holes
        )
        return bool(self.holes) and all(accepted) and not self.refused

    @property
    def proved(self) -> bool:
        """Nothing is left open, and the judge accepts every theorem.

        The holes and the theorems around them come from a process that ran the file, so they are not
        trusted alone: the text must also contain no `sorry`, and no theorem may be refused.
        """
        return self.fills and not any(token.text == "sorry" for token in tokenize(self.source))


async def prove_file(
    prover: Prover, body: str, seed: int, events: EventSink = ignore, at: int | None = None
) -> FileResult:
    """Prove the `sorry`s of a file, given without its imports, or only the one at a character of it.

    Raises `StatementError`.
    """
    holes = await find_holes(prover.pool, body)
    wanted = [hole for hole in holes if at is None or hole.start <= at < hole.end]
    searches = [_attempt(prover, body, hole, seed, events) for hole in wanted]
    found = await asyncio.gather(*searches)
    results = tuple(result for result, _ in found)
    proofs = {r.hole.index: r.tactics for r in results if r.outcome == "found"}
    if proofs:
        events(Doing(JUDGED, "judging the proof"))
    verdicts, others = await _judge(prover, body, holes, proofs)
    if any(not v.accepted and _is_complete(v, verdicts, proofs) for v in verdicts.values()):
        # Shortening was only tested step by step. Perhaps the whole proof needs what was left out.
        longer = {i: tuple(tactics_of(script_of(f.searched.tree))) for i, f in _found(found)}
        if longer != proofs:
            proofs = longer
            verdicts, others = await _judge(prover, body, holes, longer)
    events(Doing(JUDGED, "done"))
    results = tuple(
        replace(r, tactics=proofs.get(r.hole.index, ()), verdict=verdicts.get(r.hole.index))
        for r in results
    )
    # Proofs that the judge refuses are not put in. Theorems with other open holes cannot be judged yet.
    refused = {i for i, v in verdicts.items() if not v.accepted and _is_complete(v, verdicts, proofs)}
    kept = {i: tactics for i, tactics in proofs.items() if i not in refused}
    return FileResult(results, fill(body, kept, holes), others, kept)


async def _attempt(
    prover: Prover, body: str, hole: Hole, seed: int, events: EventSink
) -> tuple[HoleResult, Found | None]:
    if hole.problem:
        return HoleResult(hole, "skipped", hole.problem), None
    name = hole.declaration or f"line {hole.line}"
    try:
        found = await find(prover, Theorem(name, FileHole(body, hole.index)), seed, events)
    except Refuted as refuted:
        said, spent = refuted.refutation, refuted.searched
        nodes, seconds = (spent.nodes, spent.seconds) if spent else (0, 0.0)
        return HoleResult(hole, "false", said.sentence, (), nodes, seconds, None, said), None
    except LeanError as error:
        return HoleResult(hole, "error", f"{type(error).__name__}: {error.message}"), None
    finally:
        events(Doing(name, "done"))
    searched = found.searched
    if found.script is None:
        outcome: Literal["exhausted", "error"] = "exhausted" if searched.conclusive else "error"
        reason = searched.limit or "" if searched.conclusive else "Lean was lost during the search"
        return HoleResult(hole, outcome, reason, (), searched.nodes, searched.seconds), found
    tactics = tuple(tactics_of(found.script))
    return HoleResult(hole, "found", "", tactics, searched.nodes, searched.seconds), found


def _found(
    found: Sequence[tuple[HoleResult, Found | None]],
) -> list[tuple[int, Found]]:
    return [(r.hole.index, f) for r, f in found if f is not None and r.outcome == "found"]


async def _judge(
    prover: Prover, body: str, holes: Sequence[Hole], proofs: Mapping[int, tuple[str, ...]]
) -> tuple[dict[int, Verdict], tuple[Verdict, ...]]:
    """The judge's verdicts on the declarations around holes, and its refusals of other theorems.

    Examples are named for this.
    """
    if not proofs:
        return {}, ()
    named, its_holes = body, list(holes)
    if any(hole.declaration is None for hole in holes):
        named = name_examples(body, holes)
        its_holes = await find_holes(prover.pool, named)
    # Lean accepts carriage returns at the ends of lines in files, but not in requests.
    filled, reference = (t.replace("\r\n", "\n") for t in (fill(named, proofs, its_holes), named))
    said = await judge_file(prover.judges, filled, reference)
    by_name = {verdict.theorem: verdict for verdict in said}
    around = {h.declaration for h in its_holes}
    others = tuple(v for v in said if not v.accepted and v.theorem not in around)
    return {h.index: by_name[h.declaration] for h in its_holes if h.declaration in by_name}, others


def _is_complete(
    verdict: Verdict, verdicts: Mapping[int, Verdict], proofs: Mapping[int, object]
) -> bool:
    """Whether tactics were found for every hole of the verdict's theorem."""
    return all(i in proofs for i, v in verdicts.items() if v.theorem == verdict.theorem)
