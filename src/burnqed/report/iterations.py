"""The report of a run of expert iteration, finished or not, as one HTML file."""

from __future__ import annotations

from markupsafe import Markup

from burnqed.evaluation.compare import count
from burnqed.iteration.history import BASELINE, History, Iteration
from burnqed.report import iteration_embeddings, iteration_models, iteration_records, iteration_scores
from burnqed.report.document import contents, document, figure, plots
from burnqed.report.iteration_plots import BY_ITERATION, BY_NODES, svg_iteration_plots
from burnqed.report.markup import header, join
from burnqed.report.standing import entries, file_names, sets
from burnqed.report.wording import date, span

_CAPTIONS = {
    BY_ITERATION: "rate by iteration, for each budget; bands are 95% intervals.",
    BY_NODES: "rate against nodes, without the value model; dots are the budgets.",
}


def iteration_page(history: History) -> str:
    """The page of a run. `save_iteration_plots` writes its plots as files."""
    body = join(
        [
            iteration_scores.headline(history),
            _plots(history),
            iteration_scores.score_tables(history),
            iteration_models.value_models(history),
            iteration_embeddings.embeddings(history),
            iteration_models.policies(history),
            iteration_scores.new_and_lost(history),
            iteration_records.searches(history),
            iteration_scores.held_out_errors(history),
            iteration_records.gates(history),
            iteration_records.cost(history),
            iteration_records.provenance(history),
        ]
    )
    return document(history.name, join([_header(history), contents(body), body]))


def _header(history: History) -> Markup:
    turns = [one for one in history.iterations if one.number != BASELINE]
    dates = sorted(
        result.timestamp
        for name in sets(history)
        for entry in entries(history, name)
        for _, result in entry.arms
    )
    spent = sum(stage.seconds for one in history.iterations for stage in one.stages)
    about = [count(len(turns), "iteration"), f"{count(history.train_theorems, 'theorem')} to train on"]
    if spent:
        about.append(span(spent))
    if dates:
        about.append(f"last evaluated {date(dates[-1])}")
    return header(history.name, about, _state(history), history.damage)


def _state(history: History) -> tuple[str, str, str]:
    """The state of the run: a badge's kind and text, and what follows it."""
    if history.ended:
        kind = "stop" if history.ended.startswith("gate") else "none"
        return kind, "ended", history.ended
    if not history.iterations:
        return "warn", "not begun", "nothing has been done yet"
    if history.finished:
        return "pass", "finished", history.extent
    last = history.iterations[-1]
    return "warn", "not ended", _doing(last)


def _doing(one: Iteration) -> str:
    begun = [stage.name for stage in one.stages if not stage.done]
    done = sum(stage.done for stage in one.stages)
    ended = f", {count(done, 'stage')} done" if done else ""
    under_way = f", {', '.join(begun)} begun" if begun else ""
    return f"at {one.label}{ended}{under_way}"


def _plots(history: History) -> Markup:
    names = file_names(sets(history))
    if not names:
        return Markup()
    drawn = svg_iteration_plots(history)
    return plots(
        figure(drawn[f"{kind}_{slug}"], f"{kind}_{slug}", f"{name}: {caption}")
        for name, slug in names.items()
        for kind, caption in _CAPTIONS.items()
    )
