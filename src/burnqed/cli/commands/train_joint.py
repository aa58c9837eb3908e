"""`burn-qed train joint`: a policy and its value model, through one backbone."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import typer

from burnqed.cli import stopping, tables
from burnqed.cli.options import JsonOption, ResumeOption, TrainingOption, configured
from burnqed.cli.watch import Watch
from burnqed.prover.training import train_joint
from burnqed.training.settings import JointTraining

if TYPE_CHECKING:  # they load torch
    from burnqed.training.joint_loop import StepMetrics
    from burnqed.training.trial import Trial

_BAD_END = 3
WHY = {
    "temperature": "the temperature of the head went to its bound",
    "collapse": "positives and negatives came closer together than --least-distance",
    "tactics": "the held-out loss of tactics rose above --most-loss",
}


@configured(JointTraining)
def joint_command(
    out: TrainingOption,
    config: JointTraining,
    resume: ResumeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train a policy and its value model together: one forward pass, two losses.

    Pairs (--data) teach tactics, as in `train policy`. Groups of siblings (--runs) teach the energy of
    a state, as in `train value`. Here both losses go through the same adapter, so the hidden states
    learn to tell states apart. A share of the theorems, by their names, is in neither stream: half of
    these choose the best step, the other half judge it.

    Before the first step the largest batch is tried: its memory, and the gradient's norm of either
    loss, are printed and logged. While it trains, positives and negatives are compared every
    --eval-every steps (the distance of their means, a linear probe), and the temperature every 50. It
    ends early, and keeps the best checkpoint, when that distance is below --least-distance, the
    held-out loss of tactics is above --most-loss after --loss-after steps, or the temperature reaches
    a bound. `--scale` says what these figures are measured in.

    DIR gets manifest.json, log.jsonl, curve.png and .svg, checkpoint/ (both models and the optimiser,
    to go on from), best/policy and best/value, and at the end result.json. Give DIR as --model and as
    --value: the head works with this policy's hidden states and with no others.

    Ctrl-C saves; --resume goes on, also after a crash, with the same result.

    Examples:

        burn-qed train joint --data runs/first --runs runs/first --runs runs/negatives
        --base models/nano --lr 1e-4 --head-lr 1e-3 --steps 1000 --out models/joint

        burn-qed eval qed-core --model models/joint --value models/joint --ablate --out runs/joint

    Exit codes: 0 trained (whatever the verdict), 1 there is not enough to learn from, 2 the data or an
    option is wrong, 3 a package, memory, the loss failed, or it was ended early, 130 or 143 stopped by
    a signal.
    """
    with Watch(said, shown=not as_json) as watch:
        result = train_joint(config, out, watch, resume=resume)
    if result is None:
        raise stopping.stopped(watch.signal)
    tables.print_value_trained(result, out, as_json)
    if (why := WHY.get(result["stopped"])) is not None:
        tables.warn(
            f"it was ended at step {result['steps']}: {why}; step {result['best_step']} is kept"
        )
        raise typer.Exit(_BAD_END)


def said(told: StepMetrics | Trial) -> str:
    if "memory" in told.__slots__:
        return _tried(cast("Trial", told))
    now = cast("StepMetrics", told)
    apart = "" if now.distance is None else f", distance {now.distance:.2f}"
    losses = f"loss {now.tactic_loss:.3f} (tactics) {now.contrast_loss:.3f} (siblings)"
    return f"{losses}{apart}, temperature {now.temperature:.2f}"


def _tried(trial: Trial) -> str:
    norms = f"{trial.tactic_norm:.3g} (tactics) {trial.contrast_norm:.3g} (siblings)"
    return (
        f"largest batch: {trial.tokens} tokens of {trial.pairs} pairs and {trial.states} states, "
        f"{trial.memory / 2**30:.1f} GiB; gradients {norms}; {trial.hours:.1f} h at most"
    )
