"""`burn-qed train` as functions, with settings as keyword arguments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from burnqed.core.config import build, settings_of
from burnqed.core.errors import InfrastructureError
from burnqed.core.watching import Quiet, Watcher
from burnqed.prover import training
from burnqed.prover.config import EncoderConfig, LeanConfig
from burnqed.prover.loops import outside
from burnqed.training.settings import JointTraining, PolicyTraining, RankerTraining, ValueTraining

Paths = str | Path | Sequence[str | Path]
Result = dict[str, Any]


def train_policy(
    data: Paths,
    out: str | Path,
    *,
    resume: bool = False,
    watcher: Watcher | None = None,
    **settings: Any,
) -> Result:
    """Train a policy and return the content of result.json.

    The settings are those of `PolicyTraining`.
    """
    given = build(PolicyTraining, {**settings, "data": _paths(data)})
    seen = watcher or Quiet()
    return _whole(outside(lambda: training.train_policy(given, Path(out), seen, resume=resume)))


def train_ranker(
    data: Paths, out: str | Path, *, watcher: Watcher | None = None, **settings: Any
) -> Result:
    """Train a ranker and return the content of result.json.

    The settings are those of `RankerTraining`, and those of `LeanConfig` for the Lean of its library.
    """
    own, lean = _split(settings, LeanConfig)
    given, about = build(RankerTraining, {**own, "data": _paths(data)}), build(LeanConfig, lean)
    seen = watcher or Quiet()
    return _whole(outside(lambda: training.train_ranker(given, Path(out), about, seen)))


def train_value(
    data: Paths,
    model: str,
    out: str | Path,
    *,
    resume: bool = False,
    watcher: Watcher | None = None,
    **settings: Any,
) -> Result:
    """Train a value model and return the content of result.json.

    The settings are those of `ValueTraining`, and of `EncoderConfig` for how the model encodes states.
    """
    own, encoding = _split(settings, EncoderConfig)
    given = build(ValueTraining, {**own, "data": _paths(data), "model": model})
    about = build(EncoderConfig, encoding)
    seen = watcher or Quiet()
    return _whole(outside(lambda: training.train_value(given, Path(out), about, seen, resume=resume)))


def train_joint(
    data: Paths,
    runs: Paths,
    out: str | Path,
    *,
    resume: bool = False,
    watcher: Watcher | None = None,
    **settings: Any,
) -> Result:
    """Train a policy and its value model together, and return the content of result.json.

    `data` are pairs, and `runs` are searches with siblings. The settings are those of `JointTraining`.
    """
    given = build(JointTraining, {**settings, "data": _paths(data), "runs": _paths(runs)})
    seen = watcher or Quiet()
    return _whole(outside(lambda: training.train_joint(given, Path(out), seen, resume=resume)))


def _paths(given: Paths) -> list[Path]:
    return [Path(given)] if isinstance(given, str | Path) else [Path(one) for one in given]


def _split(settings: dict[str, Any], kind: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of the training itself, and those of another struct."""
    known = settings_of(kind)
    return (
        {name: value for name, value in settings.items() if name not in known},
        {name: value for name, value in settings.items() if name in known},
    )


def _whole(result: Result | None) -> Result:
    if result is None:
        raise InfrastructureError("the training was stopped", hint="resume=True continues it")
    return result
