"""The parts of a report's page, each made from the results alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from markupsafe import Markup

from burnqed.evaluation.compare import count, p_text, pairing, value_text
from burnqed.evaluation.metrics import wilson
from burnqed.evaluation.results import BudgetResult, IterationResult, Labelled, TheoremResult
from burnqed.report.markup import code, facts, made, paragraph, part, subtitle, table, with_below
from burnqed.report.wording import (
    NOTHING,
    date,
    interval,
    natural,
    out_of,
    percent,
    run_colour,
    run_name,
    seconds,
)


def headline(labelled: Labelled) -> Markup:
    """The main result of each run, with its uncertainty."""
    return cards(_card(labelled, run) for run in range(len(labelled)))


def _card(labelled: Labelled, run: int) -> Markup:
    result = labelled[run][1]
    attempts = "" if result.attempts == 1 else f", best of {result.attempts} attempts"
    best = result.largest
    rate = f"{percent(best.rate)}, 95% interval {interval(best.interval)}"
    return card(run_name(labelled, run), best, [rate], more=attempts)


def cards(each: Iterable[Markup]) -> Markup:
    return made("sections.html", "cards", cards=list(each))


def card(
    title: str, best: BudgetResult, lines: Sequence[str], *, began: str = "", more: str = ""
) -> Markup:
    """A result at a glance. `began` is the first result."""
    exhausted, errors = sum(best.exhausted.values()), sum(best.errors.values())
    key = [
        ("proved", best.solved, f"{best.solved:,} proved"),
        ("exhausted", exhausted, f"{exhausted:,} exhausted"),
        ("error", errors, count(errors, "error")),
    ]
    return made(
        "sections.html", "card", title=title, began=began, solved=f"{best.solved:,}",
        total=f"{best.total:,}", lines=lines, within=f"within {count(best.budget, 'node')}{more}",
        key=[(kind, number and _width(number, best.total), text) for kind, number, text in key],
    )  # fmt: skip


def _width(number: int, total: int) -> str:
    return f"{100 * number / total:.3f}"


def budgets(labelled: Labelled) -> Markup:
    """A table over the budgets for each run."""
    tables = (
        one
        for run, (_, result) in enumerate(labelled)
        for one in (_subtitle(labelled, run), _budget_table(result))
    )
    return part("budgets", "By budget", *tables)


def _subtitle(labelled: Labelled, run: int) -> Markup:
    return subtitle(run_name(labelled, run)) if len(labelled) > 1 else Markup()


def _budget_table(result: IterationResult) -> Markup:
    ks = sorted({k for b in result.budget_results for k in b.pass_at}) if result.attempts > 1 else []
    head = ["budget", "proved", "rate", "95% interval", *(f"pass@{k}" for k in ks)]
    head += ["exhausted", "errors", "mean nodes", "mean s", "median s"]
    rows = [_budget_row(b, ks) for b in result.budget_results]
    solved, total = len(result.cumulative), result.largest.total
    if solved != result.largest.solved:
        # A larger budget, searched separately, may miss what a smaller one found.
        share = [percent(solved / total), interval(wilson(solved, total))]
        rows.append(["any", out_of(solved, total), *share, *[""] * (len(head) - 4)])
    return table(head, rows)


def _budget_row(b: BudgetResult, ks: Sequence[int]) -> list[str]:
    passed = [percent(b.pass_at[k]) if k in b.pass_at else NOTHING for k in ks]
    return [
        count(b.budget, "node"), out_of(b.solved, b.total), percent(b.rate),
        interval(b.interval), *passed, _counts(b.exhausted), _counts(b.errors),
        f"{b.avg_nodes:,.1f}", seconds(b.avg_time_secs), seconds(b.median_time_secs),
    ]  # fmt: skip


def _counts(counts: Mapping[str, int]) -> Markup:
    """The sum, with its parts below it."""
    said = ", ".join(f"{kind} {number:,}" for kind, number in counts.items() if number)
    return with_below(f"{sum(counts.values()):,}", said)


def groups(labelled: Labelled) -> Markup:
    """Each part of the benchmark at the largest budget; nothing if it has no parts."""
    named = {t.group for _, result in labelled for t in result.largest.per_theorem}
    if not any(named):
        return Markup()
    several = len(labelled) > 1
    head = ["part", *(["run"] if several else []), "", "proved", "rate", "95% interval"]
    rows = []
    for group in sorted(named, key=natural):
        for run, (_, result) in enumerate(labelled):
            theorems = [t for t in result.largest.per_theorem if t.group == group]
            who = [run_name(labelled, run)] if several else []
            rows.append(["" if run else group or NOTHING, *who, *_group_cells(run, theorems)])
    left = range(3 if several else 2)
    return part("parts", "By part", table(head, rows, left))


def _group_cells(run: int, theorems: Sequence[TheoremResult]) -> list[str]:
    solved, total = sum(t.proved for t in theorems), len(theorems)
    if not total:
        return [NOTHING] * 4
    bar = made("sections.html", "bar", width=_width(solved, total), colour=run_colour(run))
    return [bar, out_of(solved, total), percent(solved / total), interval(wilson(solved, total))]


Link = Callable[[str], Markup]


def differences(labelled: Labelled, link: Link) -> Markup:
    """The theorems that only some of the runs proved; nothing for a single run."""
    if len(labelled) == 1:
        return Markup()
    found = [{t.name: t for t in result.largest.per_theorem} for _, result in labelled]
    names = [name for name in found[0] if all(name in theorems for theorems in found)]
    patterns: dict[tuple[bool, ...], list[str]] = {}
    for name in sorted(names, key=natural):
        patterns.setdefault(tuple(theorems[name].proved for theorems in found), []).append(name)
    against = [_against_first(labelled, found, run) for run in range(1, len(labelled))]
    lists = [
        _pattern(labelled, found, proved, patterns[proved], link)
        for proved in sorted(patterns, reverse=True)
        if any(proved) and not all(proved)
    ]
    same = Markup("<p>They proved the same theorems.</p>")
    lines = made("sections.html", "against", lines=against)
    return part("differences", "Differences", lines, *(lists or [same]))


def _against_first(
    labelled: Labelled, found: Sequence[Mapping[str, TheoremResult]], run: int
) -> tuple[Markup, Markup, str]:
    before, after = ({name: t.outcome for name, t in found[k].items()} for k in (0, run))
    it = pairing(before, after, [name for name in before if name in after])
    left_out = f"; {len(it.undecided):,} left out because of errors" if it.undecided else ""
    said = (
        f": {len(it.gained):,} gained and {len(it.lost):,} lost of {count(it.tested, 'theorem')} "
        f"(McNemar’s exact test: {p_text(it.p_value)}{left_out})"
    )
    return run_name(labelled, run), run_name(labelled, 0), said


def _pattern(
    labelled: Labelled,
    found: Sequence[Mapping[str, TheoremResult]],
    proved: tuple[bool, ...],
    names: Sequence[str],
    link: Link,
) -> Markup:
    def runs(which: bool) -> list[Markup]:
        return [run_name(labelled, run) for run, yes in enumerate(proved) if yes is which]

    def failed(name: str) -> list[tuple[str, str]]:
        return [
            (labelled[run][0], run_colour(run))
            for run, theorems in enumerate(found)
            if theorems[name].outcome == "error"
        ]

    return made(
        "sections.html", "pattern", count=f"{len(names):,}", by=runs(True), not_by=runs(False),
        theorems=[(link(name), failed(name)) for name in names],
    )  # fmt: skip


ERRORS = (
    "After an error nothing is known about the theorem. It counts in every total, and never as proved."
)


def errors(labelled: Labelled, link: Link) -> Markup:
    """Every error with its text, by kind. An error does not mean that a theorem is unproved."""
    lists = [
        error_list(_subtitle(labelled, run), result, link) for run, (_, result) in enumerate(labelled)
    ]
    if not any(lists):
        return part("errors", "Errors", Markup("<p>None.</p>"))
    return part("errors", "Errors", *lists, note=ERRORS)


def error_list(title: Markup, result: IterationResult, link: Link) -> Markup:
    """A result's errors by kind, or nothing."""
    if not result.failed:
        return Markup()
    kinds: dict[str, list[tuple[Markup, str, str]]] = {}
    for budget, t in sorted(result.failed, key=lambda found: natural(found[1].name)):
        where = (
            "" if budget == result.largest.budget else f" with {count(budget, 'node')}, not with more"
        )
        kind = t.reason if t.outcome == "error" else "in some of the attempts"
        kinds.setdefault(kind, []).append((link(t.name), where, t.detail))
    return made("sections.html", "errors", title=title, kinds=sorted(kinds.items()))


def provenance(labelled: Labelled) -> Markup:
    """Settings, benchmark and cost of each run."""
    results = [result for _, result in labelled]
    head = ["", *(run_name(labelled, run) if len(labelled) > 1 else "" for run in range(len(labelled)))]
    stops = any(result.cost.clock_stops for result in results)
    clock = paragraph("muted", _CLOCK) if stops else Markup()
    sections = [
        part("cost", "Cost", _facts(head, results, _cost), clock),
        part("settings", "Settings", _facts(head, results, _settings)),
        part("origin", "Provenance", _facts(head, results, _origin)),
    ]
    return made("sections.html", "columns", sections=sections, several=len(labelled) > 1)


_CLOCK = (
    "Clock stops are tactics that the wall clock stopped before their own limit. On a faster or slower "
    "machine their results may differ, and so may those of theorems that depend on them."
)


def _facts(
    head: Sequence[str],
    results: Sequence[IterationResult],
    facts_of: Callable[[IterationResult], Mapping[str, str]],
) -> Markup:
    """A row for each fact, a column for each run. Rows with differences are marked."""
    each = [facts_of(result) for result in results]
    rows = []
    for name in dict.fromkeys(name for one in each for name in one):
        values = [one.get(name, NOTHING) for one in each]
        differ = made("parts.html", "mark", text=name) if len(set(values)) > 1 else name
        rows.append([differ, *values])
    return facts(head, rows)


def _cost(result: IterationResult) -> dict[str, str]:
    cost = result.cost
    return {
        "nodes": f"{cost.nodes:,}",
        "tactics run": f"{cost.steps:,}",
        "search": f"{cost.search_secs:,.1f} s",
        "Lean": f"{cost.lean_secs:,.1f} s",
        "judge": f"{cost.judge_secs:,.1f} s",
        "clock stops": f"{cost.clock_stops:,}",
    }


def _origin(result: IterationResult) -> dict[str, str]:
    benchmark = result.benchmark
    facts: dict[str, str] = {
        "date": date(result.timestamp),
        "iteration": str(result.iteration),
        "policy model": code(result.llm_path) if result.llm_path else NOTHING,
        "value model": code(result.ebm_path) if result.ebm_path else NOTHING,
        "benchmark": benchmark.name,
        "theorems": f"{benchmark.theorems:,}",
        "checksum": code(benchmark.checksum),
        "revision": code(benchmark.revision) if benchmark.revision else NOTHING,
        "leak rules": ", ".join(benchmark.leak_rules) or NOTHING,
        "attempts": str(result.attempts),
    }
    trained = result.training_metrics
    if trained is not None:
        facts |= {
            "training": f"{trained.training_steps:,} steps in {trained.training_time_secs:,.0f} s",
            "final loss": f"{trained.final_loss:.4g}",
            "final energy gap": f"{trained.final_energy_gap:.4g}",
            "final rank accuracy": percent(trained.final_rank_accuracy),
        }
    return facts


def _settings(result: IterationResult) -> dict[str, str]:
    return {name: code(value_text(value)) for name, value in result.settings.items()}
