"""The list of all theorems: what became of each in each run, and the proofs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from burnqed.evaluation.results import Labelled, TheoremResult
from burnqed.report.markup import Markup, badge, code, element, join
from burnqed.report.wording import natural, run_name, seconds


@dataclass(frozen=True, slots=True)
class Row:
    """A theorem in every run; None where a run's benchmark does not have it."""

    name: str
    group: str
    found: tuple[TheoremResult | None, ...]

    @property
    def there(self) -> list[TheoremResult]:
        return [t for t in self.found if t is not None]

    @property
    def outcomes(self) -> set[str]:
        """What a reader may filter by."""
        differ = {"differ"} if len({t.proved for t in self.there}) > 1 else set()
        return differ | {t.outcome for t in self.there}


def rows_of(labelled: Labelled) -> list[Row]:
    """By group, then by name, as people count."""
    found = [{t.name: t for t in result.largest.per_theorem} for _, result in labelled]
    rows = []
    for name in dict.fromkeys(name for theorems in found for name in theorems):
        each = tuple(theorems.get(name) for theorems in found)
        rows.append(Row(name, next(t.group for t in each if t is not None), each))
    return sorted(rows, key=lambda row: (natural(row.group), natural(row.name)))


def anchors(rows: Sequence[Row]) -> dict[str, str]:
    """A place on the page for each theorem; names themselves are no names for places."""
    return {row.name: f"t{i}" for i, row in enumerate(rows)}


def theorem_list(labelled: Labelled, rows: Sequence[Row]) -> Markup:
    attempts = max(result.attempts for _, result in labelled)
    several = " several" if len(labelled) > 1 else ""
    grouped = " grouped" if any(row.group for row in rows) else ""
    tried = " tried" if attempts > 1 else ""
    places = anchors(rows)
    items = [_item(labelled, row, places[row.name], attempts) for row in rows]
    return element(
        "section",
        element("h2", "Theorems", id="theorems"),
        element("p", _ATTEMPTS, class_="muted") if attempts > 1 else "",
        _controls(labelled, rows),
        _head(labelled, attempts),
        element("ol", *items),
        class_=f"theorems{several}{grouped}{tried}",
    )


_ATTEMPTS = (
    "Nodes and seconds are of the attempt that took the fewest nodes to a proof; where there is none, "
    "of the one that spent the most."
)


def _controls(labelled: Labelled, rows: Sequence[Row]) -> Markup:
    """Hidden until the script is there that makes them work."""
    outcomes = {"": "all outcomes", "proved": "proved", "exhausted": "exhausted", "error": "error"}
    if len(labelled) > 1:
        outcomes["differ"] = "runs differ"
    order = {"": "by part and name", "name": "by name", "nodes": "most nodes", "seconds": "longest"}
    groups = {"": "all parts"} | {row.group: row.group for row in rows if row.group}
    search = (
        '<input type="search" name="text" placeholder="Search names and proofs" aria-label="Search">'
    )
    return element(
        "form",
        Markup(search),
        _choice("outcome", "Outcome", outcomes),
        _choice("group", "Part", groups) if len(groups) > 1 else "",
        _choice("order", "Order", order),
        element("output", f"{len(rows):,} theorems"),
        hidden=True,
    )


def _choice(name: str, label: str, options: Mapping[str, str]) -> Markup:
    listed = [element("option", text, value=value) for value, text in options.items()]
    return element("select", *listed, name=name, aria_label=label)


def _head(labelled: Labelled, attempts: int) -> Markup:
    tried = [element("span", "attempts", class_="n")] if attempts > 1 else []
    figures = [element("span", text, class_="n") for text in ("budget", "nodes", "seconds")]
    label = [element("span", "run")] if len(labelled) > 1 else []
    line = element("span", *label, element("span", "outcome"), *tried, *figures, class_="run")
    group = element("span", "part", class_="group")
    return element(
        "div",
        element("span", "theorem"),
        group,
        element("span", line, class_="runs"),
        class_="row head",
    )


def _item(labelled: Labelled, row: Row, place: str, attempts: int) -> Markup:
    rules = dict.fromkeys(t.leak_rule for t in row.there if t.leak_rule)
    tags = [element("span", f"leak rule: {rule}", class_="tag") for rule in rules]
    lines = [_line(labelled, run, t, attempts) for run, t in enumerate(row.found) if t is not None]
    content = [
        element("span", code(row.name), *tags, class_="name"),
        element("span", row.group, class_="group"),
        element("span", *lines, class_="runs"),
    ]
    told = _told(labelled, row)
    if told:
        shown = element("details", element("summary", *content, class_="row"), told)
    else:
        shown = element("div", *content, class_="row")
    return element(
        "li",
        shown,
        id=place,
        data_outcomes=" ".join(sorted(row.outcomes)),
        data_group=row.group,
        data_nodes=str(max(t.nodes_used for t in row.there)),
        data_seconds=f"{max(t.time_secs for t in row.there):.3f}",
    )


def _line(labelled: Labelled, run: int, t: TheoremResult, attempts: int) -> Markup:
    label = [element("span", run_name(labelled, run), class_="who")] if len(labelled) > 1 else []
    why = element("small", t.reason) if t.reason else ""
    outcome = element("span", badge(t.outcome, t.outcome), why, class_="outcome")
    of = f"{t.successes}/{labelled[run][1].attempts}"
    tried = [element("span", of, class_="n attempts")] if attempts > 1 else []
    at_proof = "" if t.budget_at_proof is None else f"{t.budget_at_proof:,}"
    return element(
        "span", *label, outcome, *tried, element("span", at_proof, class_="n budget"),
        element("span", f"{t.nodes_used:,}", class_="n nodes"),
        element("span", seconds(t.time_secs), class_="n seconds"), class_="run",
    )  # fmt: skip


def _told(labelled: Labelled, row: Row) -> Markup:
    """Proofs and error texts; one that several runs share is told once."""
    texts: dict[tuple[str, str], list[int]] = {}
    for run, t in enumerate(row.found):
        if t is not None and (t.proof if t.proved else t.detail):
            texts.setdefault((t.outcome, t.proof if t.proved else t.detail), []).append(run)
    parts = []
    for (outcome, text), runs in texts.items():
        who = [element("p", *(run_name(labelled, run) for run in runs), class_="whose")]
        parts += [*(who if len(labelled) > 1 else []), element("pre", text, class_=outcome)]
    return join(parts)
