"""One statement to be disproved: its negation is proved, and judged like every theorem.

What finds a counterexample for `prove` (`lean/refute`) comes first. Then the negation is searched for a
proof.
"""

from __future__ import annotations

import time
from dataclasses import replace

from burnqed.core.errors import RequestTimeout
from burnqed.core.types import Theorem
from burnqed.evaluation.doubt import guess
from burnqed.evaluation.prove import Attempt, Proof, Prover, doubt_seconds, failed, prove, started
from burnqed.lean.judge import judge_proof
from burnqed.lean.negation import negated
from burnqed.lean.refute import Refutation, refute
from burnqed.search.events import Doing, EventSink, ignore
from burnqed.search.script import Script


async def disprove(prover: Prover, theorem: Theorem, seed: int, events: EventSink = ignore) -> Attempt:
    """Attempt the negation. The attempt's theorem is that, or the given one if it has no negation."""
    try:
        async with started(prover, theorem, events) as session:
            negation = await negated(session, theorem)
            events(Doing(theorem.name, "looking for a refutation"))
            found = await refute(session, theorem, doubt_seconds(prover.budget), guess)
        if found is not None:
            attempt = await _judged(prover, negation, found, events)
            if attempt is not None:
                return attempt
    except Exception as error:
        return failed(theorem, error)
    finally:
        events(Doing(theorem.name, "done"))
    return await prove(replace(prover, refutes=True), negation, seed, events)


async def _judged(
    prover: Prover, negation: Theorem, found: Refutation, events: EventSink
) -> Attempt | None:
    """The attempt, if the judge accepts what refutes the statement as a proof of its negation."""
    events(Doing(negation.name, "judging the proof"))
    begun = time.monotonic()
    try:
        verdict = await judge_proof(prover.judges, negation.statement, [found.tactic])
    except RequestTimeout:  # a search may find a proof that is checked sooner
        return None
    finally:
        events(Doing(negation.name, "done"))
    if not verdict.accepted:
        return None
    proof = Proof((found.tactic,), Script(found.tactic), verdict)
    seconds = time.monotonic() - begun
    return Attempt(negation, "proved", proof=proof, judge_seconds=seconds, refutation=found)
