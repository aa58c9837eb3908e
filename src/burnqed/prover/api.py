"""The public functions prove, check, evaluate and compare. They also work in a running event loop."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from burnqed.core.config import build, validated
from burnqed.core.errors import InfrastructureError, InputError, StatementError
from burnqed.core.watching import Quiet, Watcher
from burnqed.data.index import TheoremIndex, parse_index
from burnqed.evaluation.compare import Comparison
from burnqed.evaluation.compare import compare as compare_results
from burnqed.evaluation.results import IterationResult
from burnqed.prover import checking, evaluating
from burnqed.prover.checking import SECONDS, Checked
from burnqed.prover.config import Config, EvalConfig, LeanConfig
from burnqed.prover.leans import in_project
from burnqed.prover.loops import outside
from burnqed.prover.results import Result, refused
from burnqed.prover.task import Task, refuse_danger, task_of
from burnqed.prover.warm import Prover, configuration

Theorems = str | Path | Mapping[str, str] | TheoremIndex


def prove(statement: str | Path, config: Config | None = None, **settings: Any) -> Result:
    """Prove a proposition or a `theorem`, or fill all `sorry`s of a text or of the file at a `Path`.

    The settings are those of `Config`. A `Prover` proves many statements and starts Lean only once.
    """
    task, wanted = task_of(statement), configuration(config, settings)
    try:
        wanted = _for(task, wanted)
    except StatementError as error:
        return refused(task, error)
    with Prover(wanted) as prover:
        return prover.prove(task)


async def prove_async(statement: str | Path, config: Config | None = None, **settings: Any) -> Result:
    """Like `prove`, in the running event loop."""
    task, wanted = task_of(statement), configuration(config, settings)
    try:
        wanted = _for(task, wanted)
    except StatementError as error:
        return refused(task, error)
    async with Prover(wanted) as prover:
        return await prover.prove_async(task)


def _for(task: Task, config: Config) -> Config:
    """The settings with the text's imports, once these are known to be harmless."""
    refuse_danger(task, trust=config.trust)
    config = in_project(config, task.path)
    own = () if task.imports is None else ("Init", *task.imports)
    imports = tuple(dict.fromkeys([*config.imports, *own]))
    workers = config.workers if task.has_holes else 1
    return msgspec.structs.replace(config, imports=imports, workers=workers)


def check(
    text: str | Path, against: str | Path | None = None, seconds: float = SECONDS, **settings: Any
) -> Checked:
    """The judge's verdicts on the theorems of a text; a `Path` is a file.

    `against` is a trusted text of theorems that end in `sorry`. The text must prove exactly these. The
    settings are those of `LeanConfig`.
    """
    config = build(LeanConfig, settings)
    return outside(lambda: checking.check(text, against, config, seconds))


def evaluate(
    theorems: Theorems,
    out: Path | str | None = None,
    config: EvalConfig | None = None,
    *,
    resume: bool = False,
    watcher: Watcher | None = None,
    **settings: Any,
) -> IterationResult:
    """Evaluate a set of theorems: how many are proved within each budget.

    The set is a benchmark's name, an index file, or a mapping from names to statements. `out` keeps
    every search, and `resume` continues there. Without `out` nothing is kept. The settings are those
    of `EvalConfig`.
    """
    config = build(EvalConfig, settings) if config is None else validated(config)
    if config.ablate:
        raise InputError(
            "evaluate does not take ablate", hint="evaluate twice, and compare the results"
        )
    given = str(theorems) if isinstance(theorems, str | Path) else _index(theorems)

    def work(folder: Path) -> evaluating.Evaluated | evaluating.Ablated | evaluating.Stopped:
        seen = watcher or Quiet()
        return outside(lambda: evaluating.evaluate(given, folder, config, seen, resume=resume))

    if out is not None:
        done = work(Path(out))
    else:
        with tempfile.TemporaryDirectory(prefix="burn-qed-") as folder:
            done = work(Path(folder) / "run")
    if not isinstance(done, evaluating.Evaluated):
        raise InfrastructureError("the evaluation was stopped", hint="resume=True continues it")
    return done.result


def _index(given: Mapping[str, str] | TheoremIndex) -> TheoremIndex:
    if isinstance(given, TheoremIndex):
        return given
    if not given:
        raise InputError("there are no theorems to evaluate on", hint='{"name": "statement", …}')
    entries = [{"name": name, "statement": text} for name, text in given.items()]
    return parse_index("the theorems", "given", {"theorems": entries})


def compare(results: Mapping[str, IterationResult]) -> Comparison:
    """Compare two results: the theorems that only one of them proves, and an exact McNemar test."""
    return compare_results(list(results.items()))
