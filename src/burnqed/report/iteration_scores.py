"""The held-out results of all iterations: cards, tables, and theorems that are new or lost."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from burnqed.evaluation.compare import Pairing, count, p_text
from burnqed.evaluation.results import BudgetResult, IterationResult
from burnqed.iteration.history import History
from burnqed.report.markup import (
    code,
    join,
    made,
    more,
    names,
    paragraph,
    part,
    subtitle,
    table,
    with_below,
)
from burnqed.report.sections import ERRORS, card, cards, error_list
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
    "Gained and lost are within the largest budget that both have. p is that of McNemar’s exact test, "
    "each at the 5% level: of twenty tests of equal runs, one may show a difference by chance."
)
_FIRST = (
    "New theorems were not proved by any earlier evaluation, within any budget, with or without the "
    "value model. Lost theorems were proved by the previous evaluation and not by this one, without "
    "the value model and within the largest budget that both have."
)


def headline(history: History) -> Markup:
    """The first and the latest result on each set."""
    found = [_card(name, entries(history, name)) for name in sets(history)]
    return cards(found) if found else paragraph("muted", "Nothing has been evaluated yet.")


def _card(name: str, found: Sequence[Entry]) -> Markup:
    first, last = found[0], found[-1]
    before, after = first.evaluated.without, last.evaluated.without
    change = against(before, after) if last is not first else None
    best = after.at(change.budget) if change else after.largest
    began = f"{before.at(change.budget).solved:,}" if change else ""
    lines = [f"{last.label}: {_rate(best)}"]
    if change:
        lines = [f"{first.label}: {_rate(before.at(change.budget))}", *lines]
        lines.append(_pairing_text(change.pairing))
    given = at(last.evaluated.given, best.budget)
    if given is not None and last.evaluated.given is not None:
        tested = paired(after, last.evaluated.given, best.budget)
        rate = f"with the value model {given.solved:,} of {given.total:,}, {percent(given.rate)}"
        lines.append(f"{rate}: {_pairing_text(tested)}")
    return card(name, best, lines, began=began)


def _rate(b: BudgetResult) -> str:
    return f"{percent(b.rate)}, 95% interval {interval(b.interval)}"


def _pairing_text(it: Pairing) -> str:
    left_out = f", {len(it.undecided):,} left out because of errors" if it.undecided else ""
    return f"{len(it.gained):,} gained, {len(it.lost):,} lost, {p_text(it.p_value)}{left_out}"


# ------------------------------------------------------------------------------------ tables


def score_tables(history: History) -> Markup:
    parts: list[Markup] = []
    for name in sets(history):
        found = entries(history, name)
        parts.append(subtitle(name))
        if not same_theorems(found):
            parts.append(paragraph("warning", _APART))
        parts.append(_score_table(found))
    return part("scores", "By iteration", *parts, note=_TESTS) if parts else Markup()


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
    return made(
        "iterations.html", "score", solved=out_of(b.solved, b.total), rate=percent(b.rate),
        interval=interval(b.interval), errors=count(errors, "error") if errors else "",
    )  # fmt: skip


def _tested(before: IterationResult | None, after: IterationResult) -> str:
    change = against(before, after) if before is not None else None
    if change is None:
        return NOTHING
    it = change.pairing
    left_out = f"; {len(it.undecided):,} left out" if it.undecided else ""
    return with_below(
        f"{len(it.gained):,} gained, {len(it.lost):,} lost", f"{p_text(it.p_value)}{left_out}"
    )


# ---------------------------------------------------------------------------------- theorems


def new_and_lost(history: History) -> Markup:
    """The theorems that an iteration was the first to prove, with proofs, and those it lost."""
    parts: list[Markup] = []
    for name in sets(history):
        found = entries(history, name)
        if len(found) < 2:
            continue
        parts.append(subtitle(name))
        steps = zip(found, first_proofs(found), strict=True)
        before: Entry | None = None
        for entry, firsts in steps:
            parts.append(_begun(entry, firsts) if before is None else _step(before, entry, firsts))
            before = entry
    return part("new", "Newly proved", *parts, note=_FIRST) if parts else Markup()


def _begun(entry: Entry, firsts: Sequence[First]) -> Markup:
    return step(entry.place, entry.label, f" began with {count(len(firsts), 'theorem')}")


def step(place: int, label: str, text: str) -> Markup:
    return made("iterations.html", "step", label=coloured(place, label), text=text)


def _step(before: Entry, entry: Entry, firsts: Sequence[First]) -> Markup:
    change = against(before.evaluated.without, entry.evaluated.without)
    lost = change.pairing.lost if change else ()
    undecided = change.pairing.undecided if change else ()
    text = f": {len(firsts):,} new, {len(lost):,} lost"
    if undecided:
        text += f", {len(undecided):,} not compared because of errors"
    parts = [step(entry.place, entry.label, text)]
    if firsts:
        each = [(_proof_name(first), first.theorem.proof) for first in firsts]
        parts.append(more("new, with proofs", made("iterations.html", "proofs", each=each)))
    if lost:
        parts.append(more("lost", name_list(lost)))
    if undecided:
        parts.append(more("not compared", name_list(undecided)))
    return join(parts)


def _proof_name(first: First) -> Markup:
    tags = [("value", "only with the value model")] if first.only_given else []
    if first.before == "error":
        tags.append(("error", "an error before"))
    return made("iterations.html", "proof_name", name=first.theorem.name, tags=tags)


def name_list(theorems: Sequence[str]) -> Markup:
    return names(code(name) for name in sorted(theorems, key=natural))


def held_out_errors(history: History) -> Markup:
    """Every error of every evaluation, or nothing."""
    lists = []
    for name in sets(history):
        for entry in entries(history, name):
            for arm, (which, result) in enumerate(entry.arms):
                title = subtitle(f"{name}, {entry.label}{f', {which}' if arm else ''}")
                lists.append(error_list(title, result, code))
    if not any(lists):
        return Markup()
    number = sum(bool(part) for part in lists)
    shown = more(f"{count(number, 'evaluation')} with errors", *lists, opened=number == 1)
    return part("errors", "Errors", shown, note=ERRORS)
