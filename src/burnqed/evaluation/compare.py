"""Compares evaluations: which proves more, and is the difference more than chance?

Results have labels and stay in the given order, oldest first. Runs on the same theorems are compared
theorem by theorem, which shows much smaller differences than two rates with their intervals.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from burnqed.core.errors import InputError
from burnqed.core.statistics import mcnemar
from burnqed.evaluation.metrics import wilson
from burnqed.evaluation.results import BenchmarkId, IterationResult, Labelled
from burnqed.trajectories.schema import TheoremOutcome

LEVEL = 0.05  # of significance
SMALLEST_P = 0.0001  # smaller values are not printed exactly

Outcomes = Mapping[str, TheoremOutcome]
Verdict = Literal["better", "worse", "no difference shown"]


@dataclass(frozen=True, slots=True)
class Score:
    """How much one run solved of its own whole set."""

    solved: int
    total: int
    rate: float
    interval: tuple[float, float]  # Wilson's, 95%
    errors: int


@dataclass(frozen=True, slots=True)
class Row:
    """One result, as a line of a comparison.

    `budgets` has a score for each number of nodes that all results share. `cumulative` counts what is
    proved within any of them.
    """

    label: str
    benchmark: str
    attempts: int
    budgets: dict[int, Score]
    cumulative: Score


@dataclass(frozen=True, slots=True)
class Change:
    theorems: int | None  # None if the sets differ, because their counts are not comparable
    points: float  # percentage points


@dataclass(frozen=True, slots=True)
class Delta:
    """The last result minus the first."""

    budgets: dict[int, Change]
    cumulative: Change


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two runs within a budget, theorem by theorem.

    If either had an error, nothing is known about that theorem: it is `undecided`, neither gained nor
    lost, and left out of the test.
    """

    gained: tuple[str, ...]
    lost: tuple[str, ...]
    both: int
    neither: int
    undecided: tuple[str, ...]
    p_value: float  # exact McNemar
    verdict: Verdict

    @property
    def tested(self) -> int:
        return len(self.gained) + len(self.lost) + self.both + self.neither


@dataclass(frozen=True, slots=True)
class Pair:
    """A result against an earlier one. Gained are theorems that only the later one proved."""

    label: str
    against: str
    budgets: dict[int, Pairing]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The whole comparison. `common` is how many theorems the results share: only those are paired."""

    budgets: tuple[int, ...]
    same_theorems: bool
    common: int
    rows: tuple[Row, ...]
    delta: Delta
    pairs: tuple[Pair, ...]
    newly_solved: dict[str, tuple[str, ...]]  # by the first result to do so, except the oldest
    differences: dict[str, tuple[Any, ...]]  # settings that differ, in the order of the rows

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), ensure_ascii=False)


def compare(labelled: Labelled, *, allow_different: bool = False) -> Comparison:
    """Compare two or more results with different labels.

    With `allow_different` the benchmarks may differ. Theorems are then paired by name.
    """
    if len(labelled) < 2:
        raise InputError("there is only one result to compare", hint="name two or more evaluations")
    if len({label for label, _ in labelled}) < len(labelled):
        raise ValueError("two results have the same label")
    same = len({result.benchmark.checksum for _, result in labelled}) == 1
    if not (same or allow_different):
        raise InputError(
            f"these are not the same theorems: {_benchmarks(labelled)}",
            hint="--allow-different compares the theorems that they share",
        )
    budgets = _common_budgets(labelled)
    overall = {label: _overall(result, budgets) for label, result in labelled}
    names = _common_names(labelled, budgets, same)
    rows = tuple(_row(label, result, budgets, overall[label]) for label, result in labelled)
    matches = list(pairwise(labelled))
    if len(labelled) > 2:
        matches.append((labelled[0], labelled[-1]))
    return Comparison(
        budgets=budgets,
        same_theorems=same,
        common=len(names),
        rows=rows,
        delta=_delta(rows[0], rows[-1], same),
        pairs=tuple(_pair(before, after, budgets, names) for before, after in matches),
        newly_solved=_newly_solved(overall, names),
        differences=_differences([result for _, result in labelled]),
    )


# ------------------------------------------------------------------------- what is compared


def _benchmarks(labelled: Labelled) -> str:
    def described(it: BenchmarkId) -> str:
        rules = f", leak rule {' and '.join(it.leak_rules)}" if it.leak_rules else ""
        return f"{it.name} ({it.theorems} theorems, checksum {it.checksum[:12]}{rules})"

    return "; ".join(f"{label} is on {described(result.benchmark)}" for label, result in labelled)


def _common_budgets(labelled: Labelled) -> tuple[int, ...]:
    common = set.intersection(*(set(result.budgets) for _, result in labelled))
    if not common:
        each = "; ".join(f"{label} has {', '.join(map(str, r.budgets))}" for label, r in labelled)
        raise InputError(
            f"the results have no budget in common: {each}",
            hint="evaluate one of them again with the other's --budgets",
        )
    return tuple(sorted(common))


def _common_names(labelled: Labelled, budgets: Sequence[int], same: bool) -> list[str]:
    sets = [set(_outcomes(result, budget)) for _, result in labelled for budget in budgets]
    common = set.intersection(*sets)
    if same and set.union(*sets) != common:
        raise InputError(
            "the results have the same checksum, but not the same theorems",
            hint="somebody changed one of the files: evaluate again",
        )
    if not common:
        raise InputError(f"the results have no theorem in common: {_benchmarks(labelled)}")
    return sorted(common)


def _outcomes(result: IterationResult, budget: int) -> Outcomes:
    return {theorem.name: theorem.outcome for theorem in result.at(budget).per_theorem}


def _overall(result: IterationResult, budgets: Sequence[int]) -> Outcomes:
    """The best outcome over the budgets, except that an error outweighs an exhausted budget."""
    order: tuple[TheoremOutcome, ...] = ("proved", "error", "exhausted")
    best: dict[str, TheoremOutcome] = {}
    for budget in budgets:
        for name, outcome in _outcomes(result, budget).items():
            best[name] = min(outcome, best.get(name, outcome), key=order.index)
    return best


# ---------------------------------------------------------------------------------- rows


def _row(label: str, result: IterationResult, budgets: Sequence[int], overall: Outcomes) -> Row:
    scores = {
        b.budget: Score(b.solved, b.total, b.rate, b.interval, sum(b.errors.values()))
        for b in map(result.at, budgets)
    }
    ends = list(overall.values())
    solved, total = ends.count("proved"), len(ends)
    cumulative = Score(solved, total, solved / total, wilson(solved, total), ends.count("error"))
    return Row(label, result.benchmark.name, result.attempts, scores, cumulative)


def _delta(first: Row, last: Row, same: bool) -> Delta:
    def change(before: Score, after: Score) -> Change:
        theorems = after.solved - before.solved if same else None
        return Change(theorems, 100 * (after.rate - before.rate))

    return Delta(
        {budget: change(score, last.budgets[budget]) for budget, score in first.budgets.items()},
        change(first.cumulative, last.cumulative),
    )


def _newly_solved(overall: Mapping[str, Outcomes], names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    (_, first), *later = overall.items()
    new: dict[str, tuple[str, ...]] = {}
    known = {name for name in names if first[name] == "proved"}
    for label, outcomes in later:
        new[label] = tuple(name for name in names if outcomes[name] == "proved" and name not in known)
        known.update(new[label])
    return new


def _differences(results: Sequence[IterationResult]) -> dict[str, tuple[Any, ...]]:
    settings = [
        {
            "attempts": r.attempts, "llm_path": r.llm_path, "ebm_path": r.ebm_path, **r.settings,
            "leak_rules": r.benchmark.leak_rules, "revision": r.benchmark.revision,
        }
        for r in results
    ]  # fmt: skip
    keys = dict.fromkeys(key for one in settings for key in one)
    # Through JSON, because a result read from a file has lists where a fresh one has tuples.
    values = {key: json.loads(json.dumps([one.get(key) for one in settings])) for key in keys}
    return {key: tuple(these) for key, these in values.items() if any(v != these[0] for v in these)}


# --------------------------------------------------------------------------------- pairs


def _pair(
    before: tuple[str, IterationResult],
    after: tuple[str, IterationResult],
    budgets: Sequence[int],
    names: Sequence[str],
) -> Pair:
    pairings = {b: pairing(_outcomes(before[1], b), _outcomes(after[1], b), names) for b in budgets}
    return Pair(after[0], before[0], pairings)


def pairing(before: Outcomes, after: Outcomes, names: Sequence[str]) -> Pairing:
    """Two runs' outcomes of these theorems, paired and tested."""
    ends = {name: (before[name], after[name]) for name in names}
    kinds = list(ends.values())
    gained = tuple(name for name, end in ends.items() if end == ("exhausted", "proved"))
    lost = tuple(name for name, end in ends.items() if end == ("proved", "exhausted"))
    p = mcnemar(len(gained), len(lost))
    verdict: Verdict = "no difference shown"
    if p < LEVEL:
        verdict = "better" if len(gained) > len(lost) else "worse"
    return Pairing(
        gained=gained,
        lost=lost,
        both=kinds.count(("proved", "proved")),
        neither=kinds.count(("exhausted", "exhausted")),
        undecided=tuple(name for name, end in ends.items() if "error" in end),
        p_value=p,
        verdict=verdict,
    )


# --------------------------------------------------------------------------------- words


def score_text(score: Score) -> str:
    low, high = score.interval
    text = f"{score.solved}/{score.total} {score.rate:.1%} ({100 * low:.1f} to {100 * high:.1f})"
    return text + (f", {count(score.errors, 'error')}" if score.errors else "")


def change_text(change: Change) -> str:
    points = f"{change.points:+z.1f} points"
    return points if change.theorems is None else f"{change.theorems:+d}, {points}"


def p_text(p: float) -> str:
    """Never 0, and with enough digits to be on the right side of the level."""
    if p < SMALLEST_P:
        return f"p < {SMALLEST_P}"
    shown = (f"{p:.{digits}g}" for digits in range(2, 18))
    return "p = " + next(text for text in shown if (float(text) < LEVEL) == (p < LEVEL))


def sentence(pair: Pair, budget: int) -> str:
    it = pair.budgets[budget]
    left_out = f"; {len(it.undecided)} left out because of errors" if it.undecided else ""
    return (
        f"{pair.label} against {pair.against} at {count(budget, 'node')}: {len(it.gained)} gained, "
        f"{len(it.lost)} lost, {p_text(it.p_value)} (exact McNemar, {count(it.tested, 'pair')}"
        f"{left_out}): {it.verdict}"
    )


def notes(comparison: Comparison) -> list[str]:
    """What a reader must know to interpret the figures."""
    found = ["In brackets: the 95% interval of the rate, in percent (Wilson's)."]
    if not comparison.same_theorems:
        sets = ", ".join(f"{row.label} has {row.cumulative.total}" for row in comparison.rows)
        found.append(
            f"The sets differ: {count(comparison.common, 'theorem')} in common by name, {sets}. Rates "
            "are of each run's own whole set. Theorems are paired by name; their statements are not "
            "compared."
        )
    tests = len(comparison.pairs) * len(comparison.budgets)
    if tests > 1:
        found.append(
            f"{tests} tests, each at the {LEVEL:.0%} level: of twenty tests of equal runs, one may "
            "show a difference by chance."
        )
    return found


def value_text(value: Any) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


# ------------------------------------------------------------------------------ Markdown

# Characters with a meaning in Markdown or HTML, and underscores that are not inside a word.
_SPECIAL = re.compile(r"[\\`*\[\]|~]|<(?=[a-zA-Z/!?])|&(?=#?\w+;)|(?<![^\W_])_|_(?![^\W_])")


def markdown(comparison: Comparison) -> str:
    """The comparison as GitHub Markdown."""
    return "\n".join(_markdown(comparison))


def _markdown(c: Comparison) -> Iterator[str]:
    first, last = c.rows[0].label, c.rows[-1].label
    titles = [*(count(budget, "node") for budget in c.budgets), "cumulative"]
    rows = [
        [row.label, row.benchmark, str(row.attempts)]
        + [score_text(score) for score in (*row.budgets.values(), row.cumulative)]
        for row in c.rows
    ]
    changes = [change_text(change) for change in (*c.delta.budgets.values(), c.delta.cumulative)]
    rows.append([f"{last} minus {first}", "", "", *changes])
    yield from _table(["result", "benchmark", "attempts", *titles], rows)
    for note in notes(c):
        yield from (escaped(note), "")
    yield from ("## Pairs", "")
    for pair in c.pairs:
        for budget, it in pair.budgets.items():
            yield f"- {escaped(sentence(pair, budget))}"
            lists = {"gained": it.gained, "lost": it.lost, "left out": it.undecided}
            for what, names in lists.items():
                if names:
                    yield f"  - {what}: {', '.join(map(escaped, names))}"
    yield from ("", f"## Newly solved since {escaped(first)}", "")
    for label, names in c.newly_solved.items():
        yield f"- {escaped(label)}: {', '.join(map(escaped, names)) or 'none'}"
    yield from ("", "## Settings that differ", "")
    if c.differences:
        yield from _table(
            ["setting", *(row.label for row in c.rows)],
            [[key, *map(value_text, values)] for key, values in c.differences.items()],
        )
    else:
        yield from ("none", "")


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for line in (titles, *rows):
        yield f"| {' | '.join(map(escaped, line))} |"
        if line is titles:
            yield "|" + " --- |" * len(titles)
    yield ""


def escaped(text: str) -> str:
    """Text that Markdown shows literally, even in a table."""
    return _SPECIAL.sub(lambda found: "\\" + found[0], " ".join(text.split()))
