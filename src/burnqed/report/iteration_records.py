"""A run's searches, gates, cost and origin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from burnqed.evaluation.compare import count
from burnqed.iteration.history import History, Iteration, SearchCount, StageCost
from burnqed.report.iteration_models import fact_text, flat
from burnqed.report.iteration_scores import name_list, step
from burnqed.report.markup import badge, code, facts, made, more, part, table, with_below
from burnqed.report.standing import entries, sets
from burnqed.report.wording import NOTHING, percent, run_colour, span


def searches(history: History) -> Markup:
    """The searches for training proofs, and the new proofs."""
    searched = [one for one in history.iterations if one.searches or one.newly_proved]
    if not searched:
        return Markup()
    head = ["search", "theorems", "proved", "rate", "exhausted", "errors", "nodes", "tactics", "Lean"]
    rows = [_search_row(s) for one in searched for s in one.searches]
    parts = [table(head, rows)] if rows else []
    known = 0
    for place, one in enumerate(history.iterations):
        if not (one.searches or one.newly_proved):
            continue
        new = len(one.newly_proved)
        known += new
        share = f" ({percent(known / history.train_theorems)})" if history.train_theorems else ""
        text = f": {new:,} newly proved, {known:,} of {count(history.train_theorems, 'theorem')} in all"
        parts.append(step(place, one.label, text + share))
        if new:
            parts.append(more(count(new, "name"), name_list(one.newly_proved)))
    return part("training", "Training theorems", *parts)


def _search_row(s: SearchCount) -> list[str]:
    to_go = s.theorems - s.proved - s.exhausted - s.errors
    ended = s.theorems - to_go
    left = f"{to_go:,} to go" if to_go > 0 else ""
    return [
        s.stage, with_below(f"{s.theorems:,}", left), f"{s.proved:,}",
        percent(s.proved / ended) if ended > 0 else NOTHING, f"{s.exhausted:,}",
        badge("error", f"{s.errors:,}") if s.errors else "0", f"{s.nodes:,}", f"{s.tactics:,}",
        span(s.lean_seconds),
    ]  # fmt: skip


# ------------------------------------------------------------------------------------- gates


def gates(history: History) -> Markup:
    each = [(one.label, gate) for one in history.iterations for gate in one.gates]
    shown = made("iterations.html", "gates", each=each)
    return part("gates", "Gates", shown) if each else Markup()


# -------------------------------------------------------------------------------------- cost


def cost(history: History) -> Markup:
    """The wall-clock time of all runs of each stage."""
    spent = [(place, one) for place, one in enumerate(history.iterations) if one.stages]
    evaluations = _evaluation_cost(history)
    if not spent and not evaluations:
        return Markup()
    parts: list[Markup] = []
    if spent:
        kinds = _by_kind(stage for _, one in spent for stage in one.stages)
        parts += [_cost_chart(spent, list(kinds)), _cost_table(spent, kinds), _stage_table(spent)]
    return part("cost", "Cost", *parts, evaluations)


def kind_of(stage: str) -> str:
    """The kind of a stage, the first word of its name: `eval-core-300` is an `eval`."""
    return stage.partition("-")[0]


def _by_kind(stages: Iterable[StageCost]) -> dict[str, float]:
    kinds: dict[str, float] = {}
    for stage in stages:
        kinds[kind_of(stage.name)] = kinds.get(kind_of(stage.name), 0.0) + stage.seconds
    return kinds


def _total(stages: Sequence[StageCost]) -> float:
    return sum(stage.seconds for stage in stages)


def _cost_chart(spent: Sequence[tuple[int, Iteration]], kinds: Sequence[str]) -> Markup:
    """A bar for each iteration, a colour for each kind of stage."""
    longest = max(_total(one.stages) for _, one in spent)
    if not longest:
        return Markup()
    bars = []
    for _, one in spent:
        pieces = [
            (f"{100 * seconds / longest:.3f}", run_colour(k), f"{kind}: {span(seconds)}")
            for k, kind in enumerate(kinds)
            if (seconds := _by_kind(one.stages).get(kind, 0.0))
        ]
        bars.append((one.label, pieces))
    legend = [(run_colour(k), kind) for k, kind in enumerate(kinds)]
    return made("iterations.html", "costs", bars=bars, kinds=legend)


def _cost_table(spent: Sequence[tuple[int, Iteration]], kinds: Mapping[str, float]) -> Markup:
    rows = []
    for _, one in spent:
        by_kind = _by_kind(one.stages)
        each = [span(by_kind[kind]) if kind in by_kind else NOTHING for kind in kinds]
        rows.append([one.label, *each, _bold(span(_total(one.stages)))])
    if len(spent) > 1:
        whole = sum(kinds.values())
        rows.append(["in all", *map(span, kinds.values()), _bold(span(whole))])
    return table(["iteration", *kinds, "in all"], rows)


def _bold(text: str) -> Markup:
    return made("parts.html", "bold", text=text)


def _stage_table(spent: Sequence[tuple[int, Iteration]]) -> Markup:
    rows = [
        [stage.name, badge("pass", "done") if stage.done else badge("warn", "not done"),
         f"{stage.runs:,}", span(stage.seconds), code(stage.command)]
        for _, one in spent for stage in one.stages
    ]  # fmt: skip
    head = ["stage", "state", "runs", "time", "command"]
    return more(f"{count(len(rows), 'stage')} with commands", table(head, rows, left=(0, 1, 4)))


def _evaluation_cost(history: History) -> Markup:
    rows = []
    for name in sets(history):
        for entry in entries(history, name):
            for which, result in entry.arms:
                c = result.cost
                secs = [span(s) for s in (c.search_secs, c.lean_secs, c.judge_secs)]
                figures = [f"{c.nodes:,}", f"{c.steps:,}", *secs, f"{c.clock_stops:,}"]
                rows.append([f"{name}, {entry.label}", which, *figures])
    if not rows:
        return Markup()
    head = ["evaluation", "value model", "nodes", "tactics", "search", "Lean", "judge", "clock stops"]
    return more(f"Cost of {count(len(rows), 'evaluation')}", table(head, rows, left=(0, 1)))


# ------------------------------------------------------------------------------------ origin


def provenance(history: History) -> Markup:
    """The manifest: settings and versions, by its parts."""
    plain = {key: v for key, v in history.manifest.items() if not isinstance(v, Mapping) or not v}
    parts = {key: v for key, v in history.manifest.items() if key not in plain}
    tables = [_facts(plain)] if plain else []
    tables += [more(key, _facts(flat(value)), opened=len(value) <= 12) for key, value in parts.items()]
    return part("origin", "Provenance", *tables) if tables else Markup()


def _facts(known: Mapping[str, Any]) -> Markup:
    return facts(["", ""], [[key, code(fact_text(value))] for key, value in known.items()])
