"""How runs, numbers and dates are written on the page, and in which order names stand."""

from __future__ import annotations

import re
from datetime import datetime

from burnqed.evaluation.results import Labelled
from burnqed.report.drawing import look
from burnqed.report.markup import Markup, element, join

NOTHING = "–"


def run_colour(run: int) -> str:
    """The n-th run's colour in CSS: that of its curve, or what the dark page has for it."""
    colour, _ = look(run)
    return f"var(--c{colour[1:]}, {colour})"


def swatch(run: int) -> Markup:
    return element("i", class_="swatch", style=f"background:{run_colour(run)}")


def run_name(labelled: Labelled, run: int) -> Markup:
    """A run's label; beside others it has the colour of its curve."""
    return element("span", swatch(run) if len(labelled) > 1 else "", labelled[run][0], class_="label")


def natural(text: str) -> list[tuple[int, str]]:
    """A key to sort by: `level 2` before `level 10`."""
    return [
        (len(digits), digits) if (digits := part.lstrip("0")).isdecimal() else (-1, part)
        for part in re.split(r"([0-9]+)", text)
    ]


def out_of(solved: int, total: int) -> Markup:
    return join([f"{solved:,}", element("small", f"/{total:,}")])


def percent(rate: float) -> str:
    return f"{rate:.1%}"


def interval(bounds: tuple[float, float]) -> str:
    low, high = bounds
    return f"{100 * low:.1f}–{high:.1%}"


def seconds(value: float) -> str:
    return f"{value:,.2f}" if value < 10 else f"{value:,.1f}"


def date(timestamp: str) -> str:
    """A timestamp for people; as it is where it is none."""
    try:
        return f"{datetime.fromisoformat(timestamp):%Y-%m-%d %H:%M %Z}".strip()
    except ValueError:
        return timestamp
