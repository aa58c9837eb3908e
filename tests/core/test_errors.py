"""The exception tree: drawn as it is, and fit to travel between machines."""

import inspect
import pickle
import re

import pytest

from burnqed.core import errors

CLASSES = [c for _, c in inspect.getmembers(errors, inspect.isclass)]


def test_the_drawing_names_every_class() -> None:
    drawn = re.findall(r"^[ │├└─]*([A-Z]\w+)", errors.__doc__ or "", re.MULTILINE)
    assert set(drawn) - {"A", "Every"} == {c.__name__ for c in CLASSES}


@pytest.mark.parametrize("kind", CLASSES, ids=lambda c: c.__name__)
def test_pickles_with_all_it_knows(kind: type[errors.BurnQedError]) -> None:
    error = kind("what", hint="do this")
    error.extra = 1  # type: ignore[attr-defined]
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == again.message == "what"
    assert again.__dict__ == error.__dict__


def test_exit_codes() -> None:
    assert errors.StatementError("x").exit_code == 2
    assert errors.NotEnough("x").exit_code == 1
    assert errors.LeanDied("x").exit_code == errors.PoolClosed("x").exit_code == 3


def test_signal_of_a_death() -> None:
    assert errors.LeanDied("x", returncode=-9).signal == 9
    assert errors.LeanDied("x", returncode=1).signal is None
