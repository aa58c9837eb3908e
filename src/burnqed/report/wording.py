"""The format of runs, numbers and dates on the page, and the order of names."""

from __future__ import annotations

import re
from datetime import datetime

from markupsafe import Markup

from burnqed.evaluation.results import Labelled
from burnqed.report.drawing import look
from burnqed.report.markup import made

NOTHING = "–"


def run_colour(run: int) -> str:
    """The n-th run's colour in CSS: that of its curve, or its equivalent on a dark page."""
    colour, _ = look(run)
    return f"var(--c{colour[1:]}, {colour})"


def coloured(run: int, label: str) -> Markup:
    """The name of the n-th curve, with its colour."""
    return made("parts.html", "label", text=label, colour=run_colour(run))


def run_name(labelled: Labelled, run: int) -> Markup:
    """A run's label, in the colour of its curve if there are several runs."""
    colour = run_colour(run) if len(labelled) > 1 else ""
    return made("parts.html", "label", text=labelled[run][0], colour=colour)


def natural(text: str) -> list[tuple[int, str]]:
    """A key to sort by: `level 2` before `level 10`."""
    return [
        (len(digits), digits) if (digits := part.lstrip("0")).isdecimal() else (-1, part)
        for part in re.split(r"([0-9]+)", text)
    ]


def out_of(solved: int, total: int) -> Markup:
    return made("parts.html", "out_of", solved=f"{solved:,}", total=f"{total:,}")


def figure(value: object, form: str = ",") -> str:
    """A number from a file, if the value is there and is a number."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return format(value, form) if is_number else NOTHING


def percent(rate: float) -> str:
    return f"{rate:.1%}"


def interval(bounds: tuple[float, float]) -> str:
    low, high = bounds
    return f"{100 * low:.1f}–{high:.1%}"


def seconds(value: float) -> str:
    return f"{value:,.2f}" if value < 10 else f"{value:,.1f}"


def span(secs: float) -> str:
    """A duration, in words that people use."""
    if secs < 60:
        return f"{secs:.1f} s"
    minutes, rest = divmod(round(secs), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes:02} min"


def date(timestamp: str) -> str:
    """A timestamp for people. Other text stays unchanged."""
    try:
        return f"{datetime.fromisoformat(timestamp):%Y-%m-%d %H:%M %Z}".strip()
    except ValueError:
        return timestamp
