"""`burn-qed train ranker`: which lemmas a state needs, and in which order to try things."""

from __future__ import annotations

import typer

from burnqed.cli import tables
from burnqed.cli.options import JsonOption, TrainingOption, configured
from burnqed.cli.watch import Watch
from burnqed.prover.config import LeanConfig
from burnqed.prover.training import train_ranker
from burnqed.training.settings import RankerTraining


@configured(LeanConfig, "lean", without=("imports",))
@configured(RankerTraining)
def ranker_command(
    out: TrainingOption,
    config: RankerTraining,
    lean: LeanConfig,
    as_json: JsonOption = False,
) -> None:
    """Train a ranker: which lemmas of the library a state needs, and what to try there first.

    It proposes what the portfolio's rules propose, and what can be done with lemmas that look as if
    they were needed: those that share words with the state, and those whose words went together with
    the state's in proofs before. The order in which it is tried is learnt from the states of judged
    proofs, where it is known what worked and what did not. Tables of numbers, a few megabytes: it needs
    no GPU, neither to learn nor to be asked.

    DIR gets best/ (the ranker, for --model) and result.json: how often a lemma that was needed is among
    the first found, and how often what worked is tried first, on theorems that were not learnt from,
    before and after. All of it is there at the end, or nothing.

    Example:

        burn-qed search train.json --policy ranked --nodes 1 --out runs/taught

        burn-qed train ranker --data runs/taught --without core-300 --out rankers/first

        burn-qed eval core-300 --model rankers/first/best --out runs/ranked

    Exit codes: 0 trained, 1 there is not enough to learn from, 2 the data or an option is wrong, 3 a
    package or Lean failed, 130 or 143 stopped by a signal.
    """
    with Watch(shown=not as_json) as watch:
        result = train_ranker(config, out, lean, watch)
    if result is None:
        raise typer.Exit(128 + watch.signal)
    tables.print_trained(result, out, as_json)
