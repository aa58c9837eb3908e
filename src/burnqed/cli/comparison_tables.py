"""Two or more results side by side, as tables."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from burnqed.cli import tables
from burnqed.evaluation import compare


def print_comparison(found: compare.Comparison) -> None:
    screen = tables.console()
    for part in _parts_to_print(found):
        screen.print(part)


def _parts_to_print(found: compare.Comparison) -> Iterator[Table | Text]:
    yield _scores(found)
    yield from (Text(note) for note in compare.notes(found))
    for pair in found.pairs:
        yield _tests(pair)
        yield _changes(pair)
    yield _newly_solved(found)
    yield _differences(found)


def _scores(found: compare.Comparison) -> Table:
    benchmarks = {row.benchmark for row in found.rows}
    title = f"solved of {min(benchmarks)}" if len(benchmarks) == 1 else "solved"
    heads = ("result", "attempts", *map(_nodes, found.budgets), "cumulative")
    table = tables.folding(*heads, title=title)
    for row in found.rows:
        label = row.label if len(benchmarks) == 1 else f"{row.label} on {row.benchmark}"
        scores = map(compare.score_text, (*row.budgets.values(), row.cumulative))
        table.add_row(Text(label), str(row.attempts), *scores)
    table.add_section()
    delta = (*found.delta.budgets.values(), found.delta.cumulative)
    label = f"{found.rows[-1].label} minus {found.rows[0].label}"
    table.add_row(Text(label), "", *map(compare.change_text, delta))
    return table


def _tests(pair: compare.Pair) -> Table:
    titles = ("gained", "lost", "both", "neither", "errors", "exact McNemar", "verdict")
    table = tables.folding("within", *titles, title=f"{pair.label} against {pair.against}")
    styles = {"better": "green", "worse": "red"}
    for budget, it in pair.budgets.items():
        counts = (len(it.gained), len(it.lost), it.both, it.neither, len(it.undecided))
        verdict = Text(it.verdict, style=styles.get(it.verdict, ""))
        table.add_row(_nodes(budget), *map(str, counts), compare.p_text(it.p_value), verdict)
    return table


def _changes(pair: compare.Pair) -> Table | Text:
    """A line for each theorem that changed, with a column for each budget."""
    changes = {
        budget: {
            **dict.fromkeys(it.gained, Text("gained", style="green")),
            **dict.fromkeys(it.lost, Text("lost", style="red")),
            **dict.fromkeys(it.undecided, Text("error", style="yellow")),
        }
        for budget, it in pair.budgets.items()
    }
    names = sorted(set().union(*changes.values()))
    if not names:
        return Text("no theorem was gained or lost")
    table = tables.folding("theorem", *map(_nodes, pair.budgets), title="what changed")
    for name in names:
        table.add_row(Text(name), *(words.get(name, "") for words in changes.values()))
    return table


def _nodes(budget: int) -> str:
    return compare.count(budget, "node")


def _newly_solved(found: compare.Comparison) -> Table | Text:
    title = f"newly solved since {found.rows[0].label}"
    if not any(found.newly_solved.values()):
        return Text(f"{title}: none")
    table = tables.folding("theorem", "first by", title=title)
    for label, names in found.newly_solved.items():
        for name in names:
            table.add_row(Text(name), Text(label))
    return table


def _differences(found: compare.Comparison) -> Table | Text:
    if not found.differences:
        return Text("settings that differ: none")
    labels = [row.label for row in found.rows]
    table = tables.folding("setting", *labels, title="settings that differ")
    for key, values in found.differences.items():
        table.add_row(Text(key), *(Text(compare.value_text(value)) for value in values))
    return table
