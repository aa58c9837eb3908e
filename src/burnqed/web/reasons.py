"""Why two searches part, in sentences. *Here* is the one that is looked at, *there* the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from burnqed.lean.highlight import Piece
from burnqed.trajectories.schema import StepRow
from burnqed.web.sides import Choice, Side

Sentence = list[Piece]  # pieces of the kind "code" are tactics
Try = tuple[str, int]  # a tactic, and how often it was tried before in the same visit

_LONGEST = 80  # characters of a tactic in a sentence
_CLOSE = 1e-9  # log-probabilities nearer to each other are the same


# --------------------------------------------------------------------------------- another tactic


def another_outcome(mine: StepRow, yours: StepRow) -> list[Sentence]:
    """The same tactic led elsewhere."""
    if mine.outcome == yours.outcome and len(mine.children) == len(yours.children):
        became = "led to other goals here than there"
    else:
        became = f"{_became(mine)} here; there it {_became(yours)}"
    return [said(_code(mine.tactic), f" {became}.")]


def another_order(
    first: Try,
    second: Try,
    here: Mapping[Try, tuple[int, StepRow]],
    there: Mapping[Try, tuple[int, StepRow]],
) -> list[Sentence]:
    """Both searches tried both tactics."""
    before = f" was {_tried(first)} before "
    why = [said(_code(first[0]), before, _code(second[0]), " here, and after it there.")]
    a, b, c, d = (side[one][1].logprob for side in (here, there) for one in (first, second))
    if abs(a - b) < _CLOSE and abs(c - d) < _CLOSE:
        told = "Both are equally likely, here and there: the order among such is the policy's own."
    else:
        told = f"Their log-probabilities are {a:.3f} and {b:.3f} here, {c:.3f} and {d:.3f} there."
    return [*why, said(told)]


def missing(one: Try, others: Sequence[StepRow], where: str, absent: str) -> list[Sentence]:
    """Only one of the searches tried a tactic. `others` are what the other one tried."""
    told = said(_code(one[0]), f" was {_tried(one)} {where}, and not {absent}.")
    closed = next((row.tactic for row in others if row.outcome == "closed"), None)
    if closed is None:
        return [told]
    why = " closed the state, and what would have come after it was not tried."
    return [told, said(f"{absent.capitalize()} ", _code(closed), why)]


def _tried(one: Try) -> str:
    return "tried again" if one[1] else "tried"


def _became(row: StepRow) -> str:
    match row.outcome:
        case "closed":
            return "closed the state"
        case "advanced":
            return (
                "led to one state" if len(row.children) == 1 else f"led to {len(row.children)} states"
            )
        case "rejected":
            return "was rejected"
        case "timeout":
            return "timed out"
    return "was not tried" if row.error.startswith("not tried") else "killed Lean"


# ---------------------------------------------------------------------------------- another state


def out_of_turn(node: int, where: str, side: Side, alike: int) -> list[Sentence]:
    """What was expanded for another reason than its score."""
    if any(node == before for before, _ in side.expansions[:alike]):
        return [said(f"State {node} {where} was visited before, and more of its tactics came now.")]
    if side.row(node).parent is None:
        return [said(f"State {node} {where} begins another search of the same record.")]
    return []


def later(node: int | None, where: str, side: Side) -> list[Sentence]:
    """When the other search came to a state."""
    if node is None:
        return []
    when = side.when(node)
    later = "was never expanded" if when is None else f"came later, as number {when}"
    return [said(f"{where.capitalize()} state {node} {later}.")]


def weighed(mine: Choice, yours: Choice, here: Side, there: Side, alike: int) -> list[Sentence]:
    """The scores of what each search expanded: the open state with the best one comes next."""
    (a, d), (b, c) = mine.scores, yours.scores
    if a is None or b is None or c is None or d is None:
        return [said("The records do not hold all scores that would say why.")]
    # Of equal scores the older state comes first.
    ours = (-a, mine.here or 0) <= (-b, yours.here or 0)
    theirs = (-c, yours.there or 0) <= (-d, mine.there or 0)
    if not (ours and theirs):
        return [said("The scores of the end do not say why: they may have been others before.")]
    told = f"The better score comes first: {a:.3f} against {b:.3f} here, {c:.3f} against {d:.3f} there."
    return [said(told), *_causes(mine, yours, here, there, alike)]


def _causes(mine: Choice, yours: Choice, here: Side, there: Side, alike: int) -> list[Sentence]:
    """Why the scores differ: energies, log-probabilities, or how both are weighed."""
    told = []
    for choice in (mine, yours):
        energy, other = choice.energies
        if (energy is None) != (other is None):
            where, without = ("here", "there") if other is None else ("there", "here")
            told = [said(f"A value model weighed the states {where}, and none did {without}.")]
        elif energy is not None and other is not None and abs(energy - other) > _CLOSE:
            told.append(
                said(f"State {choice.here} has energy {energy:.3f} here and {other:.3f} there.")
            )
    steps = (
        (node, row, same)
        for (node, tried), (_, others) in zip(here.expansions[:alike], there.expansions, strict=False)
        for row, same in zip(tried, others, strict=True)
        if abs(row.logprob - same.logprob) > _CLOSE
    )
    if step := next(steps, None):
        node, row, same = step
        figures = f"log-probability {row.logprob:.3f} here and {same.logprob:.3f} there."
        told.append(said(_code(row.tactic), f" at state {node} has {figures}"))
    return told or [
        said("Energies and log-probabilities are the same: settings weigh them differently.")
    ]


# -------------------------------------------------------------------------------------- the end


def ended(side: Side) -> str:
    record = side.record
    match record.outcome:
        case "proved":
            return "the judge accepted a proof"
        case "exhausted":
            return f"it found no proof ({record.reason})"
    return f"it ended with an error ({record.reason})"


def said(*parts: str | Piece) -> Sentence:
    return [("", part) if isinstance(part, str) else part for part in parts]


def _code(tactic: str) -> Piece:
    line = " ".join(tactic.split())
    return ("code", line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…")
