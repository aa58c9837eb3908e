"""`burn-qed attribute`: which part of a value model helped."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from burnqed.cli import stopping, tables
from burnqed.cli.commands import train_joint, train_value
from burnqed.cli.options import JsonOption, OutOption, ResumeOption
from burnqed.cli.watch import Watch
from burnqed.core.files import publish
from burnqed.evaluation.attribution import ARMS, Attribution
from burnqed.evaluation.compare import count, score_text
from burnqed.iteration.arms import attribute, read_settings

PAGE = "report.html"
_HEADS = ("from", "to", "is", "nodes", "points", "gained", "lost", "errors", "exact McNemar")


def attribute_command(
    theorems: Annotated[
        list[str],
        typer.Argument(
            metavar="SET...",
            help="Benchmarks (`burn-qed data benchmarks` lists them) or INDEX.json files.",
        ),
    ],
    model: Annotated[
        str, typer.Option("--model", metavar="DIR", help="The policy of iteration 0, as trained.")
    ],
    data: Annotated[
        list[Path],
        typer.Option(
            "--data", metavar="PAIRS", help="JSONL of pairs, or a run, for the joint training."
        ),
    ],
    runs: Annotated[
        list[Path],
        typer.Option("--runs", metavar="RUN", help="A run of search or negatives, for siblings."),
    ],
    out: OutOption,
    value: Annotated[
        Path | None,
        typer.Option(
            "--value", metavar="DIR", help="The head of A, if `train value` has trained it on --model."
        ),
    ] = None,
    joint: Annotated[
        Path | None,
        typer.Option(
            "--joint", metavar="DIR", help="Policy and head of C, if `train joint` has trained them."
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", metavar="TOML", help="Settings, in sections [run], [value], [joint] and [eval]."
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Instead of the file's, as joint.training.steps=500."
        ),
    ] = None,
    resume: ResumeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say which part of a value model helped: better embeddings, live gradients, or none of it.

    Three arms are compared at equal nodes. A: the policy of iteration 0 and a head trained on its
    embeddings. B: the policy that a joint training makes of it (iteration 1), and a head trained on its
    embeddings. C: the same policy, and the head that was trained jointly with it. So A to B is what
    the embeddings do, B to C what the live gradients do, and A to C both. Either policy is also
    evaluated without a head: from A to B the policy changes, too, and this shows how much that is.

    What is missing is trained: DIR/value-0 (A), DIR/joint (C) and DIR/value-1 (B), as `train value` and
    `train joint` do. A joint training that crosses a red line ends early; what it kept is evaluated,
    and the report says so. Then DIR/eval/SET has the evaluations, with a value model whatever its
    verdict.

    DIR/attribution.json and DIR/report.html have rates, the difference of each two arms with its
    interval, McNemar's exact test, the verdicts of the heads, and a recommendation by a stated rule:
    arms are taken by what they cost (A, C, B), and one is recommended if it proves more than its own
    policy without a head and more than the arm recommended so far (p below 0.05, all sets together, at
    the largest budget). Where no head helps, it says what the measurements show of the causes.

    [run] has seed, workers, toolchain and device. [value] has val_share, policy_val_share and the
    tables [value.training] and [value.encoder]. [joint] has [joint.training]. [eval] has policy (mix or
    local), budgets, candidates and [eval.settings]. The tables take the settings of `train value`,
    `train joint` and `eval`.

    Ctrl-C saves. --resume goes on, also after a crash; nothing that is done is done again.

    Examples:

        burn-qed attribute core-300 --model models/iter0 --data pairs.jsonl --runs runs/teacher
        --runs runs/beside --set joint.training.steps=3000 --out runs/attribution

        burn-qed attribute core-300 qed-core --model models/iter0 --value values/iter0
        --joint models/joint --data pairs.jsonl --runs runs/beside --out runs/attribution

    Exit codes: 0 reported (whatever is recommended), 1 there is not enough to learn from, 2 bad input,
    3 a package, memory, the loss or Lean failed, 130 or 143 stopped by a signal.
    """
    settings = read_settings(config, changes or ())
    with Watch(_said, shown=not as_json) as watch:
        found = attribute(
            theorems, model, data, runs, out, config=settings, value=value, joint=joint,
            resume=resume, watcher=watch,
        )  # fmt: skip
    if found is None:
        raise stopping.stopped(watch.signal)
    from burnqed.report.attribution import attribution_page

    publish(out / PAGE, attribution_page(found))
    if as_json:
        typer.echo(
            json.dumps({**dataclasses.asdict(found), "page": str(out / PAGE)}, ensure_ascii=False)
        )
        return
    _print(found)
    typer.echo(out / PAGE)


def _said(told: Any) -> str:
    """How either training stands."""
    joint = hasattr(told, "tactic_loss") or hasattr(told, "memory")
    return train_joint.said(told) if joint else train_value.said(told)


def _print(found: Attribution) -> None:
    from burnqed.report.attribution import effect_rows

    screen = tables.console()
    for name, arms in found.scores.items():
        heads = [count(budget, "node") for budget in found.budgets]
        table = tables.folding("arm", "", *heads, title=f"solved of {name}")
        for arm, words in ARMS.items():
            table.add_row(arm, words, *map(score_text, arms[arm].values()))
        screen.print(table)
    for on in dict.fromkeys(one.on for one in found.effects):
        table = tables.folding(*_HEADS, title=f"steps, {on}")
        for one in found.effects:
            for row in effect_rows(one) if one.on == on else ():
                table.add_row(*map(Text, row))
        screen.print(table)
    joint = found.measured["joint"]
    if (why := train_joint.WHY.get(str(joint["stopped"]))) is not None:
        tables.warn(
            f"the joint training was ended at step {joint['steps']}: {why}; step {joint['best_step']} "
            "is what was evaluated"
        )
    told = found.recommendation
    for line in (f"recommended: {told.arm or 'no head'}, {told.advice}", *told.reasons, *told.causes):
        screen.print(Text(line))
