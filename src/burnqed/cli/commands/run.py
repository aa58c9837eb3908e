"""`burn-qed run`, `iterate`, `baseline`, `lean-start` and `smoke`: expert iteration."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from burnqed.cli import iteration_tables, tables
from burnqed.cli.options import JsonOption
from burnqed.cli.run_view import RunView
from burnqed.core.stopping import Stopping
from burnqed.iteration import rounds
from burnqed.iteration.gates import value_answer
from burnqed.iteration.history import BASELINE, History
from burnqed.iteration.opening import Job, Planned, go_on
from burnqed.iteration.summary import to_json

RunOption = Annotated[
    Path, typer.Option("--out", metavar="RUN", help="The run's directory; one that is there goes on.")
]
ConfigOption = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="TOML|NAME",
        help="A .toml file, or from-nothing, lean-start, heart or smoke. A run that is there has one.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Instead of the file's, as search.sample=200."),
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="WHERE",
        help="Where to search and evaluate this time, instead of the configuration's [cluster] "
        "address: local, ray, HOST:PORT or ray://HOST:PORT.",
    ),
]
_GATE = 1  # exit code: the run goes no further, and not because it is done


def run_command(
    out: RunOption,
    iterations: Annotated[
        int, typer.Option(min=0, help="Iterations after the baseline; more may follow later.")
    ] = 5,
    config: ConfigOption = None,
    settings: SetOption = None,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run expert iteration: the baseline, then round after round of training, search and evaluation.

    Each iteration trains the policy on what was proved so far, exports it, trains a value model (from
    iteration 1 on), measures the policy's embeddings, searches the training theorems that are still
    unproved, and evaluates on held-out theorems, with the value model and without. With `[joint]` in
    the configuration policy and value model are trained together, as in `--config heart`.

    From nothing, iteration 0 begins with a teacher: the portfolio, or a ranker that is not trained yet.
    Every stage is a burn-qed command that could be typed by hand in RUN; `burn-qed status RUN` lists
    them.

    RUN gets manifest.json (what was asked for: it is frozen), theorems/, trajectories/,
    checkpoints/{llm,ebm,joint}/iter_N, models/llm/iter_N, embeddings/, eval_results/, logs/, stages/
    (a record for each stage that is done) and summary.json. `burn-qed report RUN` draws it.

    With --cluster, or `[cluster]` in the configuration, the nodes of a Ray cluster search and evaluate.
    Results are those of one machine, and a run may go on with another cluster, or with none.

    Ctrl-C saves. The same command goes on where the run was stopped or killed, on another machine as
    well; nothing that is done is done again. It ends by itself when a gate says stop, or when
    iterations no longer prove more (`[stop]` in the configuration).

    Examples:

        burn-qed run --config from-nothing --iterations 3 --out runs/first

        burn-qed run --config heart --set policy.base=models/pretrained --out runs/heart

        burn-qed run --config mine.toml --set search.sample=2000 --out runs/mine

        burn-qed run --iterations 6 --out runs/first

        burn-qed run --config from-nothing --cluster ray --out runs/on-all-nodes

    Exit codes: 0 all iterations are done, or nothing more is gained; 1 a gate said stop; 2 bad input;
    3 a stage failed (its log is named); 130 or 143 stopped by a signal.
    """
    _work(out, config, settings, cluster, as_json, lambda work: rounds.run(work, iterations))


def iterate_command(
    number: Annotated[int, typer.Argument(metavar="N", min=0, help="Which iteration.")],
    out: RunOption,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Do one iteration of a run, or what is left of it, whatever gates and plateaus say.

    The baseline and the iterations before it have to be done.

    Example:

        burn-qed iterate 3 --out runs/first

    Exit codes: as of `burn-qed run`.
    """
    _work(out, None, None, cluster, as_json, lambda work: rounds.iterate(work, number))


def baseline_command(
    out: RunOption,
    config: ConfigOption = None,
    settings: SetOption = None,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Begin a run with what is there before any training: theorem sets, and the untrained policy.

    The untrained policy is the base model; where that is random, or a ranker, the portfolio.

    Example:

        burn-qed baseline --config from-nothing --out runs/first

    Exit codes: as of `burn-qed run`.
    """
    _work(out, config, settings, cluster, as_json, lambda work: rounds.iterate(work, BASELINE))


def lean_start_command(
    out: RunOption,
    iterations: Annotated[int, typer.Option(min=2, help="Iterations; the last one answers.")] = 2,
    settings: SetOption = None,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run the whole loop on 500 theorems, for one answer: does the value model help, and by how much?

    It is `burn-qed run --config lean-start` with a nano model, and ends in the answer: better, no
    better, or undecided.

    Exit codes: as of `burn-qed run`. An answer is exit code 0, whatever it is: it is a result.
    """

    def job(work: rounds.Work) -> signal.Signals | None:
        return rounds.run(work, iterations)

    _work(out, "lean-start", settings, cluster, as_json, job, value_answer)


def smoke_command(
    out: RunOption,
    settings: SetOption = None,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run the whole loop in minutes: real Lean, a nano model, three iterations, everything small.

    It shows that a machine can do all of it. What it proves says nothing.

    Exit codes: as of `burn-qed run`.
    """
    _work(out, "smoke", settings, cluster, as_json, lambda work: rounds.run(work, 3))


# ------------------------------------------------------------------------------------- working


def _work(
    out: Path,
    config: str | None,
    settings: list[str] | None,
    cluster: str | None,
    as_json: bool,
    job: Job,
    answer: Callable[[History], str] | None = None,
) -> None:
    """Begin or open the run, do the job, and say what there is now, and what it answers."""
    stopping = Stopping()

    @contextmanager
    def watching(planned: Planned) -> Iterator[RunView]:
        with stopping, RunView(planned) as view:
            yield view

    history, stopped = go_on(
        out, config, settings or (), tables.warn, job, watching, lambda: stopping.signal, cluster
    )
    answered = {} if stopped or answer is None else {"answer": answer(history)}
    if as_json:
        typer.echo(json.dumps({**to_json(history), **answered}, ensure_ascii=False))
    else:
        iteration_tables.print_history(history)
        for text in answered.values():
            typer.echo(text)
    if stopped is not None:
        typer.echo("stopped; the same command goes on", err=True)
        raise typer.Exit(128 + stopped)
    if history.ended:
        typer.echo(history.ended, err=True)
    raise typer.Exit(_GATE if history.ended.startswith("gate") else 0)
