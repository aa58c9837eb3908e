"""`burn-qed run`, `iterate`, `baseline`, `lean-start` and `smoke`: expert iteration."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from burnqed.cli import compose, iteration_tables, sets, tables
from burnqed.cli.run_view import RunView
from burnqed.cli.stopping import Stopping
from burnqed.core.errors import InputError
from burnqed.core.runs import MANIFEST
from burnqed.iteration import rounds
from burnqed.iteration.config import Config, read_config
from burnqed.iteration.directory import freeze, locked, read_done, read_run
from burnqed.iteration.gates import value_answer
from burnqed.iteration.history import BASELINE, History
from burnqed.iteration.stages import Stage, stages
from burnqed.iteration.summary import to_json

RunOption = Annotated[
    Path, typer.Option("--out", metavar="RUN", help="The run's directory; one that is there goes on.")
]
ConfigOption = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="TOML|NAME",
        help="A .toml file, or from-nothing, lean-start or smoke. A run that is there has its own.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Instead of the file's, as search.sample=200."),
]
# What another machine may do otherwise: it decides how long a run takes, not what comes of it.
_OF_THE_MACHINE = frozenset({("run", "workers"), ("run", "device")})
_GATE = 1  # exit code: the run goes no further, and not because it is done

Job = Callable[[rounds.Work], Any]


def run_command(
    out: RunOption,
    iterations: Annotated[
        int, typer.Option(min=0, help="Iterations after the baseline; more may follow later.")
    ] = 5,
    config: ConfigOption = None,
    settings: SetOption = None,
    as_json: compose.JsonOption = False,
) -> None:
    """Run expert iteration: the baseline, then round after round of training, search and evaluation.

    Each iteration trains the policy on what was proved so far, exports it, trains a value model (from
    iteration 1 on), searches the training theorems that are still unproved, and evaluates on held-out
    theorems, with the value model and without. From nothing, iteration 0 begins with a teacher: the
    portfolio, or a ranker that is not trained yet. Every stage is a burn-qed command that could be
    typed by hand in RUN; `burn-qed status RUN` lists them.

    RUN gets manifest.json (what was asked for: it is frozen), theorems/, trajectories/,
    checkpoints/{llm,ebm}/iter_N, models/llm/iter_N, eval_results/, logs/, stages/ (a record for each
    stage that is done) and summary.json. `burn-qed report RUN` draws it.

    Ctrl-C saves. The same command goes on where the run was stopped or killed, on another machine as
    well; nothing that is done is done again. It ends by itself when a gate says stop, or when
    iterations no longer prove more (`[stop]` in the configuration).

    Examples:

        burn-qed run --config from-nothing --iterations 3 --out runs/first

        burn-qed run --config mine.toml --set search.sample=2000 --out runs/mine

        burn-qed run --iterations 6 --out runs/first

    Exit codes: 0 all iterations are done, or nothing more is gained; 1 a gate said stop; 2 bad input;
    3 a stage failed (its log is named); 130 or 143 stopped by a signal.
    """
    _work(out, config, settings, as_json, lambda work: rounds.run(work, iterations))


def iterate_command(
    number: Annotated[int, typer.Argument(metavar="N", min=0, help="Which iteration.")],
    out: RunOption,
    as_json: compose.JsonOption = False,
) -> None:
    """Do one iteration of a run, or what is left of it, whatever gates and plateaus say.

    The baseline and the iterations before it have to be done.

    Example:

        burn-qed iterate 3 --out runs/first

    Exit codes: as of `burn-qed run`.
    """
    _work(out, None, None, as_json, lambda work: rounds.iterate(work, number))


def baseline_command(
    out: RunOption,
    config: ConfigOption = None,
    settings: SetOption = None,
    as_json: compose.JsonOption = False,
) -> None:
    """Begin a run with what is there before any training: theorem sets, and the untrained policy.

    The untrained policy is the base model; where that is random, or a ranker, the portfolio.

    Example:

        burn-qed baseline --config from-nothing --out runs/first

    Exit codes: as of `burn-qed run`.
    """
    _work(out, config, settings, as_json, lambda work: rounds.iterate(work, BASELINE))


def lean_start_command(
    out: RunOption,
    iterations: Annotated[int, typer.Option(min=2, help="Iterations; the last one answers.")] = 2,
    settings: SetOption = None,
    as_json: compose.JsonOption = False,
) -> None:
    """Run the whole loop on 500 theorems, for one answer: does the value model help, and by how much?

    It is `burn-qed run --config lean-start` with a nano model, and ends in the answer: better, no
    better, or undecided.

    Exit codes: as of `burn-qed run`. An answer is exit code 0, whatever it is: it is a result.
    """
    _work(out, "lean-start", settings, as_json, lambda work: rounds.run(work, iterations), value_answer)


def smoke_command(
    out: RunOption,
    settings: SetOption = None,
    as_json: compose.JsonOption = False,
) -> None:
    """Run the whole loop in minutes: real Lean, a nano model, two iterations, everything small.

    It shows that a machine can do all of it. What it proves says nothing.

    Exit codes: as of `burn-qed run`.
    """
    _work(out, "smoke", settings, as_json, lambda work: rounds.run(work, 2))


# ------------------------------------------------------------------------------------- working


def _work(
    out: Path,
    config: str | None,
    settings: list[str] | None,
    as_json: bool,
    job: Job,
    answer: Callable[[History], str] | None = None,
) -> None:
    """Begin or open the run, do the job, and say what there is now, and what it answers."""
    sets.check_out(out)
    wanted = None if config is None else read_config(config, settings or ())
    if wanted is None and not (out / MANIFEST).exists():
        raise InputError(
            f"{out} holds no run", hint="begin one with --config from-nothing, or a .toml file"
        )
    if wanted is None and settings:
        raise InputError(
            f"{out} holds a run already, and its settings are frozen",
            hint="leave out --set, or begin another run with --out",
        )
    with locked(out, tables.warn) as lock:
        asked = _open(out, wanted)
        planned = partial(_planned, out, asked)
        with Stopping() as stopping, RunView(planned) as view:
            stopped = job(rounds.Work(out, asked, lock, view, lambda: stopping.signal))
        history = rounds.history(out, asked)
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


def _planned(out: Path, config: Config, number: int) -> list[tuple[Stage, str]]:
    done = read_done(out)
    return [(stage, done.get(stage.key, "")) for stage in stages(config, number, done)]


def _open(out: Path, wanted: Config | None) -> Config:
    """The configuration of the run: frozen when it begins, and not to be changed since."""
    if not (out / MANIFEST).exists():
        assert wanted is not None
        freeze(out, rounds.manifest(wanted, _toolchain(wanted)))
        return wanted
    config, manifest = read_run(out)
    if wanted is not None:
        _refuse_changes(out, manifest, rounds.manifest(wanted, manifest["toolchain"]))
        config = wanted  # the same, with files where they are now
    _compare(manifest, rounds.manifest(config, _toolchain(config)))
    return config


def _toolchain(config: Config) -> str:
    found, _ = compose.lean(config.run.toolchain, None, ("Init",))
    return found.label


def _refuse_changes(out: Path, frozen: dict[str, Any], wanted: dict[str, Any]) -> None:
    before, now = _by_content(frozen), _by_content(wanted)
    changed = [
        f"{section}.{key} was {before[section].get(key)!r}, now {value!r}"
        for section, own in now.items()
        for key, value in own.items()
        if before[section].get(key) != value and (section, key) not in _OF_THE_MACHINE
    ]
    if changed:
        raise InputError(
            f"the run in {out} is another one: {', '.join(changed)}",
            hint="leave out --config and --set, or begin another run with --out",
        )


def _by_content(manifest: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The configuration with checksums for files: what a file is does not depend on where it lies."""
    known: dict[str, str] = manifest["checksums"]

    def content(value: Any) -> Any:
        if isinstance(value, list):
            return [content(one) for one in value]
        return known.get(value, value) if isinstance(value, str) else value

    return {
        section: {key: content(value) for key, value in own.items()}
        for section, own in manifest["config"].items()
    }


def _compare(before: dict[str, Any], now: dict[str, Any]) -> None:
    """What may not change under a run's feet, and what may, but is to be known."""
    for name, checksum in now["checksums"].items():
        if not checksum:
            raise InputError(
                f"{name} is not on this machine, and the run needs it",
                hint="put it there, or name its new place with --config; it has to be the same file",
            )
        if checksum not in before["checksums"].values():
            raise InputError(
                f"{name} is not what it was when the run began",
                hint="put the old one back, or begin another run",
            )
    if before["toolchain"] != now["toolchain"]:
        raise InputError(
            f"the run was begun with {before['toolchain']}, and here is {now['toolchain']}",
            hint="proofs of two Leans do not mix: install that one, or begin another run",
        )
    for package, old in before["versions"].items():
        if now["versions"].get(package) != old:
            tables.warn(
                f"{package} was {old} when the run began, and is {now['versions'].get(package)}"
            )
