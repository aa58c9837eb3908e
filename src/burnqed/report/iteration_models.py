"""The models of each iteration: how well the value model and the policy learned, and their effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from burnqed.evaluation.compare import count, p_text, value_text
from burnqed.iteration.gates import value_verdict
from burnqed.iteration.history import History, Iteration
from burnqed.report.markup import (
    badge,
    code,
    join,
    made,
    more,
    paragraph,
    part,
    subtitle,
    table,
    with_below,
)
from burnqed.report.standing import Entry, entries, paired, sets
from burnqed.report.wording import NOTHING, coloured, figure, natural, out_of, percent, span
from burnqed.value.calibration import verdict_of

_RANK = (
    "Rank-1 is how often the state on a proof’s path ranks first among its siblings, on theorems that "
    "were not trained on. The interval is that of the difference from log-probability alone, over "
    "theorems. The energy gap is how much lower the state’s energy is than that of its siblings."
)
_ABLATION = (
    "The policy, theorems and budgets are equal; only the order of exploring states differs. Theorems "
    "with an error in either evaluation are left out of the test."
)


def value_models(history: History) -> Markup:
    trained = [(place, one) for place, one in enumerate(history.iterations) if one.value]
    ablations = [_ablation(name, entries(history, name)) for name in sets(history)]
    if not trained and not any(ablations):
        return Markup()
    parts: list[Markup] = []
    if trained:
        parts += [_value_table(trained), _depth_table(trained), _in_words(trained)]
    if any(ablations):
        parts += [subtitle("With it and without"), paragraph("muted", _ABLATION)]
    return part("value", "Value model", *parts, *ablations, note=_RANK if trained else "")


def _calibration(value: Mapping[str, Any]) -> Mapping[str, Any]:
    found = value.get("calibration")
    return found if isinstance(found, Mapping) else {}


def _verdict(value: Mapping[str, Any], judged: Mapping[str, Any]) -> object:
    """The verdict, from its figures if known: older trainings called undecided "no better"."""
    figures = [judged.get(key) for key in ("low", "high", "theorems")]
    match figures:
        case [int() | float() as low, int() | float() as high, int() as theorems]:
            return verdict_of(low, high, theorems)
    return value.get("verdict", judged.get("verdict"))


def verdict_badge(verdict: object) -> Markup:
    if not isinstance(verdict, str) or not verdict:
        return Markup(NOTHING)
    return badge({"better": "pass", "no better": "warn"}.get(verdict, "none"), verdict)


def _value_table(trained: Sequence[tuple[int, Iteration]]) -> Markup:
    head = ["iteration", "verdict", "rank-1", "log-probability", "difference", "chance", "energy gap",
            "temperature", "tested on", "trained on", "time"]  # fmt: skip
    return table(head, [_value_row(place, one) for place, one in trained], left=(0, 1))


def _value_row(place: int, one: Iteration) -> list[str]:
    value = one.value or {}
    judged = _calibration(value)
    low, high = (figure(judged.get(key), "+.1%") for key in ("low", "high"))
    between = "" if NOTHING in (low, high) else f"{low} to {high}"
    seconds = value.get("seconds")
    return [
        coloured(place, one.label), verdict_badge(_verdict(value, judged)),
        figure(judged.get("rank1_energy", value.get("test_rank1")), ".1%"),
        figure(judged.get("rank1_logprob", value.get("test_logprob_rank1")), ".1%"),
        with_below(figure(judged.get("difference"), "+.1%"), between),
        figure(judged.get("chance", value.get("test_chance")), ".1%"),
        figure(value.get("test_energy_gap"), ".3g"), figure(value.get("temperature"), ".3g"),
        _groups(
            judged.get("groups", value.get("test_groups")),
            judged.get("theorems", value.get("test_theorems")),
        ),
        _groups(value.get("train_groups"), value.get("train_theorems")),
        span(seconds) if isinstance(seconds, int | float) else NOTHING,
    ]  # fmt: skip


def _groups(groups: object, theorems: object) -> str:
    if figure(groups) == NOTHING:
        return NOTHING
    return with_below(f"{figure(groups)} groups", f"{figure(theorems)} theorems")


def _depth_table(trained: Sequence[tuple[int, Iteration]]) -> Markup:
    rows = []
    for place, one in trained:
        value = one.value or {}
        depths, policy = (
            found if isinstance(found := value.get(key), Mapping) else {}
            for key in ("test_by_depth", "test_logprob_by_depth")
        )
        for i, depth in enumerate(sorted(depths, key=natural)):
            at_depth = depths[depth] if isinstance(depths[depth], Mapping) else {}
            deepest = "+" if depth == "4" else ""
            rows.append([
                "" if i else coloured(place, one.label), f"{depth}{deepest}",
                *(figure(at_depth.get(key), form) for key, form in _DEPTH.items()),
                figure(policy.get(depth), ".1%"),
            ])  # fmt: skip
    if not rows:
        return Markup()
    head = ["iteration", "depth", "groups", "rank-1", "chance", "energy gap", "pairs in order",
            "log-probability"]  # fmt: skip
    return more("By depth in the proof", table(head, rows))


_DEPTH = {"groups": ",", "rank1": ".1%", "chance": ".1%", "energy_gap": ".3g", "discrimination": ".1%"}


def _in_words(trained: Sequence[tuple[int, Iteration]]) -> Markup:
    texts = [(place, one, (one.value or {}).get("told")) for place, one in trained]
    lines = [
        made("iterations.html", "line", label=coloured(place, one.label), text=text)
        for place, one, text in texts
        if isinstance(text, str) and text
    ]
    return more("In words", *lines) if lines else Markup()


def _ablation(name: str, found: Sequence[Entry]) -> Markup:
    rows = []
    for entry in found:
        without, given = entry.evaluated.without, entry.evaluated.given
        if given is None:
            continue
        for i, budget in enumerate(b for b in without.budgets if b in given.budgets):
            it = paired(without, given, budget)
            before, after = without.at(budget), given.at(budget)
            rows.append([
                "" if i else coloured(entry.place, entry.label), f"{budget:,}",
                join([out_of(before.solved, before.total), " ", percent(before.rate)]),
                join([out_of(after.solved, after.total), " ", percent(after.rate)]),
                f"{len(it.gained):,}", f"{len(it.lost):,}", f"{len(it.undecided):,}",
                p_text(it.p_value), verdict_badge(value_verdict(it)),
            ])  # fmt: skip
    if not rows:
        return Markup()
    head = [
        "iteration",
        "nodes",
        "without",
        "with",
        "gained",
        "lost",
        "left out",
        "McNemar",
        "verdict",
    ]
    return made("iterations.html", "ablation", name=name, table=table(head, rows, left=(0, 8)))


# ------------------------------------------------------------------------------------ policy


def policies(history: History) -> Markup:
    trained = [(place, one) for place, one in enumerate(history.iterations) if one.policy or one.pairs]
    if not trained:
        return Markup()
    results = [one.policy or {} for _, one in trained]
    tops = sorted({k for r in results for k in r if k.startswith("val_top")}, key=natural)
    head = ["iteration", "examples", "steps", "loss", "held-out loss", "without a network",
            *(f"top-{top.removeprefix('val_top')}" for top in tops), "time", "base"]  # fmt: skip
    rows = [_policy_row(place, one, tops) for place, one in trained]
    shown = [table(head, rows, left=(0, len(head) - 1))] if any(results) else []
    return part("policy", "Policy training", *shown, _pairs_table(trained))


def _policy_row(place: int, one: Iteration, tops: Sequence[str]) -> list[str]:
    result = one.policy or {}
    seconds, base = result.get("seconds"), result.get("base")
    held_out = result.get("best_val_loss")
    return [
        coloured(place, one.label), figure(result.get("train_examples")), figure(result.get("steps")),
        figure(result.get("train_loss"), ".3f"),
        figure(result.get("val_loss") if held_out is None else held_out, ".3f"),
        figure(result.get("baseline_val_loss"), ".3f"),
        *(figure(result.get(top), ".1%") for top in tops),
        span(seconds) if isinstance(seconds, int | float) else NOTHING,
        code(base) if isinstance(base, str) and base else NOTHING,
    ]  # fmt: skip


def _pairs_table(trained: Sequence[tuple[int, Iteration]]) -> Markup:
    """The counts of the training sets, with a row for each figure."""
    made = [(place, one, flat(one.pairs)) for place, one in trained if one.pairs]
    if not made:
        return Markup()
    head = ["pairs", *(coloured(place, one.label) for place, one, _ in made)]
    rows = [
        [key, *(fact_text(facts[key]) if key in facts else NOTHING for _, _, facts in made)]
        for key in dict.fromkeys(key for _, _, facts in made for key in facts)
    ]
    title = f"What it was trained on: {count(len(rows), 'figure')} of each training set"
    return more(title, table(head, rows), opened=len(rows) <= 12)


def flat(facts: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Nested facts by their paths, such as `splits.train`."""
    found: dict[str, Any] = {}
    for key, value in facts.items():
        name = f"{before}{key}"
        found |= flat(value, f"{name}.") if isinstance(value, Mapping) and value else {name: value}
    return found


def fact_text(value: object) -> str:
    number = figure(value, ",.4g" if isinstance(value, float) else ",")
    return number if number != NOTHING else value_text(value)
