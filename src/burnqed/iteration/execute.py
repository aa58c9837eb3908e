"""A specification carried out by the functions that are behind the commands, watched by a log."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from burnqed.cluster.named import cluster_named
from burnqed.core.config import from_json
from burnqed.core.errors import BurnQedError, NotEnough
from burnqed.data.benchmarks import BENCHMARKS
from burnqed.iteration import specs
from burnqed.iteration.outcome import Done, Failed, Outcome, Skipped, Stopped, failure
from burnqed.iteration.specs import Spec, Stage
from burnqed.iteration.watching import Log
from burnqed.prover import evaluating, training
from burnqed.prover.embeddings import SameEncoder, look_at
from burnqed.prover.exporting import export
from burnqed.prover.indexing import bring, index
from burnqed.prover.negatives import negatives
from burnqed.prover.pairs import pairs
from burnqed.prover.searching import search

_INTERRUPTED = 130


def perform(file: Path, *, resume: bool) -> tuple[Outcome, int]:
    """Carry out the stage in a file: what came of it, and the exit code that says so."""
    try:
        stage: Stage = from_json(Stage, file.read_bytes())
        outcome = execute(stage.spec, Log(), resume=resume)
    except KeyboardInterrupt:
        outcome = Stopped()
    except Exception as error:
        if not isinstance(error, BurnQedError):
            traceback.print_exc()
        outcome = failure(error)
        if isinstance(error, NotEnough) and stage.optional:
            outcome = Skipped(why=outcome.why)
    match outcome:
        case Failed():
            print(f"error: {outcome.why}", file=sys.stderr)
            return outcome, outcome.exit_code
        case Stopped():
            return outcome, _INTERRUPTED
        case _:
            return outcome, 0


def execute(spec: Spec, log: Log, *, resume: bool) -> Outcome:
    """Do what a command would do, and say how it ended."""
    match spec:
        case specs.Fetch():
            bring(BENCHMARKS[spec.name], spec.config)
            return Done()
        case specs.Index():
            written = index(spec.config, spec.out, log.warn)
            print(f"{written.theorems} of {written.total} theorems in {spec.out}")
            return _done({"unreadable": written.unreadable})
        case specs.Pairs():
            report = pairs(spec.runs, spec.out, spec.config, log.warn)
            print(f"{report['pairs']} pairs in {spec.out}")
            return Done()
        case specs.Export():
            export(spec.source, spec.out, spec.config)
            return Done()
        case specs.Search():
            where = cluster_named(spec.cluster)
            given = (spec.theorems, spec.out, spec.config, log)
            found = search(*given, resume=resume, cluster=where)
            print(found.summary.to_json(lines=False))
            damaged = {"damaged": len(found.summary.damage)}
            return _done({**found.summary.errors, **damaged}) if found.whole else Stopped()
        case specs.Negatives():
            where = cluster_named(spec.cluster)
            near = (spec.runs, spec.theorems, spec.out, spec.config, log)
            looked = negatives(*near, resume=resume, cluster=where)
            print(json.dumps(looked.statistics))
            return _done(looked.errors) if looked.whole else Stopped()
        case specs.Evaluate():
            where = cluster_named(spec.cluster)
            measured = evaluating.evaluate(
                spec.theorems, spec.out, spec.config, log, resume=resume, cluster=where
            )
            return Stopped() if isinstance(measured, evaluating.Stopped) else _done(measured.errors)
        case specs.Look():
            log.listen()
            return _looked(spec, log)
        case specs.TrainPolicy() | specs.TrainRanker() | specs.TrainValue() | specs.TrainJoint():
            log.listen()
            return _trained(_train(spec, log, resume))


def _looked(spec: specs.Look, log: Log) -> Outcome:
    models = [(name, name) for name in (spec.model, spec.against) if name is not None]
    given = (spec.config, spec.out, log, spec.embeddings)
    try:
        look = look_at(spec.runs, models, *given)
    except SameEncoder as error:  # a training that changed nothing: there is one encoder to measure
        log.warn(error.message)
        look = look_at(spec.runs, models[1:], *given)
    if look is None:
        return Stopped()
    print(json.dumps(look.figures))
    return Done()


def _train(
    spec: specs.TrainPolicy | specs.TrainRanker | specs.TrainValue | specs.TrainJoint,
    log: Log,
    resume: bool,
) -> Mapping[str, Any] | None:
    match spec:
        case specs.TrainPolicy():
            return training.train_policy(spec.config, spec.out, log, resume=resume)
        case specs.TrainRanker():
            return training.train_ranker(spec.config, spec.out, spec.lean, log)
        case specs.TrainValue():
            given = (spec.config, spec.out, spec.encoding, log)
            return training.train_value(*given, resume=resume)
        case specs.TrainJoint():
            return training.train_joint(spec.config, spec.out, log, resume=resume)


def _trained(result: Mapping[str, Any] | None) -> Outcome:
    if result is None:
        return Stopped()
    print(json.dumps(result))
    # A value model whose temperature went to its bound, or a red line: what was best before is kept.
    ended = str(result.get("stopped"))
    return _done({ended: int(ended in ("temperature", "collapse", "tactics"))})


def _done(errors: Mapping[str, int]) -> Done:
    return Done(errors={kind: count for kind, count in errors.items() if count})
