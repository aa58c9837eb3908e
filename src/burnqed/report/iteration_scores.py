"""What iterations prove of the held-out sets: cards, tables, and which theorems are new or lost."""

from __future__ import annotations

from collections.abc import Sequence

from burnqed.evaluation.compare import Pairing, count, p_text
from burnqed.evaluation.results import BudgetResult, IterationResult
from burnqed.iteration.history import History
from burnqed.report.markup import Markup, badge, code, element, join, more, table
from burnqed.report.sections import ERRORS, error_list, stack
from burnqed.report.standing import (
    Entry,
    First,
    against,
    at,
    budgets,
    entries,
    first_proofs,
    paired,
    same_theorems,
    sets,
)
from burnqed.report.wording import NOTHING, coloured, interval, natural, out_of, percent

_APART = "The theorems of this set are not the same in all iterations (their checksums differ)."
_TESTS = (
    "Gained and lost are within the largest budget that both have. p is McNemar’s exact test, each at "
    "the 5% level by itself: of twenty tests of equal runs, one may show a difference by chance."
)
_FIRST = (
    "New is what no earlier evaluation proved, within any budget, with the value model or without. "
    "Lost is what the evaluation before proved and this one did not, both without the value model and "
    "within the largest budget that both have."
)


def headline(history: History) -> Markup:
    """From where each set began to where it is now."""
    cards = [_card(name, entries(history, name)) for name in sets(history)]
    if not cards:
        return element("p", "Nothing has been evaluated yet.", class_="muted")
    return element("div", *cards, class_="cards")


def _card(name: str, found: Sequence[Entry]) -> Markup:
    first, last = found[0], found[-1]
    before, after = first.evaluated.without, last.evaluated.without
    change = against(before, after) if last is not first else None
    best = after.at(change.budget) if change else after.largest
    exhausted, errors = sum(best.exhausted.values()), sum(best.errors.values())
    parts = [("proved", best.solved), ("exhausted", exhausted), ("error", errors)]
    said = [f"{best.solved:,} proved", f"{exhausted:,} exhausted", count(errors, "error")]
    came = [f"{before.at(change.budget).solved:,}", element("span", "→", class_="to")] if change else []
    lines = [f"{last.label}: {_rate(best)}"]
    if change:
        lines = [f"{first.label}: {_rate(before.at(change.budget))}", *lines]
        lines.append(_pairing_text(change.pairing))
    given = at(last.evaluated.given, best.budget)
    if given is not None and last.evaluated.given is not None:
        tested = paired(after, last.evaluated.given, best.budget)
        told = f"with the value model {given.solved:,} of {given.total:,}, {percent(given.rate)}"
        lines.append(f"{told}: {_pairing_text(tested)}")
    return element(
        "section",
        element("h2", name),
        element(
            "p", *came, element("b", f"{best.solved:,}"), f" of {best.total:,} proved", class_="figure"
        ),
        *(element("p", line, class_="rate") for line in lines),
        stack(parts, best.total) if best.total else "",
        element("p", *(badge(k, text) for (k, _), text in zip(parts, said, strict=True)), class_="key"),
        element("p", f"within {count(best.budget, 'node')}", class_="muted"),
        class_="card",
    )


def _rate(b: BudgetResult) -> str:
    return f"{percent(b.rate)}, 95% interval {interval(b.interval)}"


def _pairing_text(it: Pairing) -> str:
    left_out = f", {len(it.undecided):,} left out because of errors" if it.undecided else ""
    return f"{len(it.gained):,} gained, {len(it.lost):,} lost, {p_text(it.p_value)}{left_out}"


# ------------------------------------------------------------------------------------ tables


def score_tables(history: History) -> Markup:
    names = sets(history)
    if not names:
        return Markup()
    parts = [element("h2", "By iteration", id="scores"), element("p", _TESTS, class_="muted")]
    for name in names:
        found = entries(history, name)
        parts.append(element("h3", name))
        if not same_theorems(found):
            parts.append(element("p", _APART, class_="warning"))
        parts.append(_score_table(found))
    return join(parts)


def _score_table(found: Sequence[Entry]) -> Markup:
    columns = budgets(found)
    first = found[0]
    head = ["iteration", "value model", *(count(b, "node") for b in columns)]
    rows = []
    for i, entry in enumerate(found):
        for arm, (_, result) in enumerate(entry.arms):
            before = found[i - 1].arms[arm:] if i else []
            rows.append([
                "" if arm else coloured(entry.place, entry.label), "with" if arm else "without",
                *(_cell(at(result, budget)) for budget in columns),
                _tested(first.evaluated.without if i else None, result),
                _tested(before[0][1] if before else None, result),
            ])  # fmt: skip
    return table([*head, f"against {first.label}", "against the one before"], rows, left=(0, 1))


def _cell(b: BudgetResult | None) -> str:
    if b is None:
        return NOTHING
    errors = sum(b.errors.values())
    return join([
        out_of(b.solved, b.total), " ", element("b", percent(b.rate)),
        element("small", interval(b.interval), class_="below"),
        element("small", count(errors, "error"), class_="below failed") if errors else "",
    ])  # fmt: skip


def _tested(before: IterationResult | None, after: IterationResult) -> str:
    change = against(before, after) if before is not None else None
    if change is None:
        return NOTHING
    it = change.pairing
    left_out = f"; {len(it.undecided):,} left out" if it.undecided else ""
    return join([
        f"{len(it.gained):,} gained, {len(it.lost):,} lost",
        element("small", f"{p_text(it.p_value)}{left_out}", class_="below"),
    ])  # fmt: skip


# ---------------------------------------------------------------------------------- theorems


def new_and_lost(history: History) -> Markup:
    """The theorems that an iteration was the first to prove, with the proofs, and those it lost."""
    parts: list[Markup] = []
    for name in sets(history):
        found = entries(history, name)
        if len(found) < 2:
            continue
        parts.append(element("h3", name))
        steps = zip(found, first_proofs(found), strict=True)
        before: Entry | None = None
        for entry, firsts in steps:
            parts.append(_begun(entry, firsts) if before is None else _step(before, entry, firsts))
            before = entry
    if not parts:
        return Markup()
    note = element("p", _FIRST, class_="muted")
    return join([element("h2", "Newly proved", id="new"), note, *parts])


def _begun(entry: Entry, firsts: Sequence[First]) -> Markup:
    return element(
        "p",
        coloured(entry.place, entry.label),
        f" began with {count(len(firsts), 'theorem')}",
        class_="step",
    )


def _step(before: Entry, entry: Entry, firsts: Sequence[First]) -> Markup:
    change = against(before.evaluated.without, entry.evaluated.without)
    lost = change.pairing.lost if change else ()
    undecided = change.pairing.undecided if change else ()
    told = f": {len(firsts):,} new, {len(lost):,} lost"
    if undecided:
        told += f", {len(undecided):,} not compared because of errors"
    parts = [element("p", coloured(entry.place, entry.label), told, class_="step")]
    if firsts:
        items = element("ul", *map(_proof, firsts), class_="proofs")
        parts.append(more("new, with proofs", items))
    if lost:
        parts.append(more("lost", name_list(lost)))
    if undecided:
        parts.append(more("not compared", name_list(undecided)))
    return join(parts)


def _proof(first: First) -> Markup:
    tags = [badge("value", "only with the value model")] if first.only_given else []
    if first.before == "error":
        tags.append(badge("error", "an error before"))
    name = [code(first.theorem.name), *tags]
    if not first.theorem.proof:
        return element("li", element("span", *name))
    return element("li", more(join(name), element("pre", first.theorem.proof, class_="proved")))


def name_list(names: Sequence[str]) -> Markup:
    ordered = sorted(names, key=natural)
    return element("ul", *(element("li", code(name)) for name in ordered), class_="names")


def held_out_errors(history: History) -> Markup:
    """Every error of every evaluation; nothing where there is none."""
    told = []
    for name in sets(history):
        for entry in entries(history, name):
            for arm, (which, result) in enumerate(entry.arms):
                title = element("h3", f"{name}, {entry.label}{f', {which}' if arm else ''}")
                told.append(error_list(title, result, code))
    if not any(told):
        return Markup()
    number = sum(bool(part) for part in told)
    shown = more(f"{count(number, 'evaluation')} with errors", *told, opened=number == 1)
    note = element("p", ERRORS, class_="muted")
    return join([element("h2", "Errors", id="errors"), note, shown])
