"""`burn-qed train value`: a head that says how provable a state looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from burnqed.cli import stopping, tables
from burnqed.cli.options import JsonOption, ResumeOption, TrainingOption, configured
from burnqed.cli.watch import Watch
from burnqed.prover.config import EncoderConfig
from burnqed.prover.training import train_value
from burnqed.training.settings import ValueTraining

if TYPE_CHECKING:  # it loads torch
    from burnqed.training.ebm import StepMetrics

_BAD_END = 3


@configured(EncoderConfig, "encoding")
@configured(ValueTraining)
def value_command(
    out: TrainingOption,
    config: ValueTraining,
    encoding: EncoderConfig,
    resume: ResumeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train a value model: the energy of a state, low where a proof is near.

    It learns from groups of siblings: states that steps led to from one state, of which one is on the
    path of a judged proof and the others were explored and given up. What was not explored to the end
    is not evidence. The states are shown to --model, and a small head is trained on its hidden states;
    the model itself stays as it is, and the head is refused for any other (weights, prompt, pooling or
    precision). A share of the theorems, by their names, is not trained on: these choose the best step.

    All theorems judge. They are divided, by their names, into --folds parts, and for each part a head
    of its own is trained on the others. That takes so many more trainings of a head; states are
    encoded once. The head that is kept is none of these: it is trained first, on all parts. With
    --folds 1 it is the only one: half of the theorems that are set aside choose, the other half judge.

    DIR gets manifest.json, log.jsonl, curve.png and .svg, embeddings/, checkpoint/ (to go on from),
    best/ (the head with the best validation rank, and calibration.json: how it compares with
    log-probability, and how to add the two), folds/ (the same of the heads that are only there to be
    judged), and at the end result.json with all figures: rank-1 is how
    often the positive has the lowest energy of its group, beside what chance and log-probability get.

    It ends after --epochs, or when validation has not got better for --patience evaluations. It also
    ends when the temperature reaches a bound, which says that energies are off their scale: then the
    exit code is 3, and what was best before is kept.

    Ctrl-C saves; --resume goes on, also after a crash, with the same result.

    Examples:

        burn-qed train value --data runs/first --data runs/negatives --model models/nano
        --out values/first

        burn-qed train value --data runs/second --model models/nano --resume-from values/first
        --out values/second

        burn-qed train value --data runs/first --model models/nano --layer 8 --pooling last
        --out values/layer8

    The verdict is better, no better or undecided: that the model is right about siblings more often
    than log-probability is shown, the contrary is shown, or neither. A search goes by a model whose
    verdict is better.

    Exit codes: 0 trained (whatever the verdict), 1 there is not enough to learn from, 2 the data
    or an option is wrong, 3 a package, memory, the loss or the temperature failed, 130 or 143 stopped
    by a signal.
    """
    with Watch(said, shown=not as_json) as watch:
        result = train_value(config, out, encoding, watch, resume=resume)
    if result is None:
        raise stopping.stopped(watch.signal)
    tables.print_value_trained(result, out, as_json)
    if result["stopped"] == "temperature":
        tables.warn(
            f"the temperature went to its bound ({result['temperature']:.3g}) and training was ended; "
            "try a lower --lr, or look at the embeddings"
        )
        raise typer.Exit(_BAD_END)


def said(told: StepMetrics) -> str:
    val = "" if told.val_rank1 is None else f", val rank-1 {told.val_rank1:.1%}"
    fold = "" if told.fold is None else f"fold {told.fold}: "
    return f"{fold}loss {told.loss:.3f}{val}, temperature {told.temperature:.2f}"
