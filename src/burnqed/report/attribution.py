"""The report of an attribution, as one HTML file."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from burnqed.evaluation.attribution import ARMS, Attribution, Effect, points_text
from burnqed.evaluation.compare import count, p_text, score_text
from burnqed.report.document import contents, document
from burnqed.report.markup import facts, header, join, paragraph, part, subtitle, table
from burnqed.report.wording import NOTHING, figure

_INTERVALS = (
    "Points are the difference of rates, with its 95% interval (Agresti and Min’s, for pairs). Gained "
    "are theorems that only the second arm proved. The test is McNemar’s, exact."
)
_HEADS = "All searches use the heads, whatever their verdicts."


def attribution_page(found: Attribution) -> str:
    """The page."""
    body = join([_recommendation(found), _scores(found), _effects(found), _trainings(found)])
    about = [*found.scores, *(count(budget, "node") for budget in found.budgets)]
    return document("Attribution", join([header("Which part helped", about), contents(body), body]))


def _recommendation(found: Attribution) -> Markup:
    one = found.recommendation
    lines = [paragraph("", f"{one.arm or 'No head'}: {one.advice}.")]
    lines += [paragraph("", text) for text in one.reasons]
    lines += [paragraph("", f"Measured: {text}") for text in one.causes]
    return part("recommendation", "Recommendation", *lines, paragraph("muted", found.rule))


def _scores(found: Attribution) -> Markup:
    head = ["arm", "", *(count(budget, "node") for budget in found.budgets)]
    parts: list[Markup] = []
    for name, arms in found.scores.items():
        rows = [
            [arm, words, *(score_text(arms[arm][budget]) for budget in found.budgets)]
            for arm, words in ARMS.items()
        ]
        parts += [subtitle(name), table(head, rows, left=(0, 1))]
    return part("arms", "Arms", *parts, note=_HEADS)


def _effects(found: Attribution) -> Markup:
    head = ["from", "to", "is", "nodes", "points", "gained", "lost", "errors", "test"]
    parts: list[Markup] = []
    for on in dict.fromkeys(one.on for one in found.effects):
        rows = [row for one in found.effects if one.on == on for row in effect_rows(one)]
        parts += [subtitle(on), table(head, rows, left=(0, 1, 2))]
    return part("steps", "Steps", *parts, note=_INTERVALS)


def effect_rows(effect: Effect) -> Iterator[list[str]]:
    """A row for each budget."""
    for budget, one in effect.budgets.items():
        it = one.pairing
        yield [
            effect.before, effect.after, effect.what, f"{budget:,}", points_text(one),
            str(len(it.gained)), str(len(it.lost)), str(len(it.undecided)), p_text(it.p_value),
        ]  # fmt: skip


def _trainings(found: Attribution) -> Markup:
    names = dict.fromkeys(name for figures in found.measured.values() for name in figures)
    rows = [
        [name.replace("_", " "), *(_cell(figures.get(name)) for figures in found.measured.values())]
        for name in names
    ]
    heads = [arm if arm == "joint" else f"head of {arm}" for arm in found.measured]
    return part("trainings", "Trainings", facts(["", *heads], rows))


def _cell(value: object) -> str:
    if isinstance(value, str):
        return value
    return NOTHING if value is None else figure(value, ",.4g")
