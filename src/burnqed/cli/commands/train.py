"""`burn-qed train`: weights from proofs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from burnqed.cli import stopping, tables
from burnqed.cli.commands.train_joint import joint_command
from burnqed.cli.commands.train_mixture import mixture_command
from burnqed.cli.commands.train_ranker import ranker_command
from burnqed.cli.commands.train_value import value_command
from burnqed.cli.options import JsonOption, ResumeOption, TrainingOption, configured
from burnqed.cli.watch import Watch, is_main
from burnqed.prover.training import train_policy
from burnqed.training.settings import PolicyTraining

if TYPE_CHECKING:
    from burnqed.training.sft import StepMetrics

app = typer.Typer(no_args_is_help=True, help="Train the models on what was proved.")
app.command("value")(value_command)
app.command("joint")(joint_command)
app.command("ranker")(ranker_command)
app.command("mixture")(mixture_command)


@app.callback()
def options() -> None:
    """Train the models on what was proved."""


@app.command("policy")
@configured(PolicyTraining)
def policy_command(
    out: TrainingOption,
    config: PolicyTraining,
    resume: ResumeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train a policy on pairs of a proof state and the tactic that a proof took there.

    Data is JSONL with rows {"state", "tactic", "theorem", "depth"}, or a run of `burn-qed search`, of
    which the steps of accepted proofs are taken; `burn-qed pairs` makes one file of several runs.
    Theorems that are validated on are not trained on.

    DIR gets manifest.json, log.jsonl, curve.png and .svg, checkpoint/ (to go on from), best/ (the
    model or adapter with the lowest validation loss, for `--model` and `burn-qed export`), and at the
    end result.json: the losses, that of a baseline without a network, and how often the model's
    likeliest tactics have the one that a held-out proof took.

    Ctrl-C saves; --resume goes on, also after a crash, with the same result.

    Examples:

        burn-qed train policy --data runs/first --base nano --batch 64 --accumulate 1 --out models/nano

        burn-qed train policy --data pairs.jsonl --base smollm2 --out models/small

        burn-qed train policy --data pairs.jsonl --extra-data found.jsonl --base models/iter0 --lr 1e-4
        --epochs 1 --out models/iter1

        accelerate launch --num_processes 8 $(which burn-qed) train policy --data pairs.jsonl
        --out models/7b

    Exit codes: 0 trained, 2 the data or an option is wrong, 3 a package, memory or the loss failed,
    130 or 143 stopped by a signal.
    """
    with Watch(_said, shown=not as_json and is_main()) as watch:
        result = train_policy(config, out, watch, resume=resume)
    if result is None:
        raise stopping.stopped(watch.signal)
    if is_main():
        tables.print_trained(result, out, as_json)


def _said(told: StepMetrics) -> str:
    val = "" if told.val_loss is None else f", val {told.val_loss:.3f}"
    of = "" if told.utilisation is None else f" ({told.utilisation:.0%} of the GPU)"
    return f"loss {told.loss:.3f}{val}, {told.tokens_per_second:,.0f} tokens/s{of}"
