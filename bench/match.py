"""How well models say what people did: the loss, and exact match, over the same held-out steps.

    python bench/match.py MODEL... --pairs val.jsonl [--count 1000] [--prompt proofstep]

MODEL is what `--model` takes. `--count` steps are drawn from FILE, each of another theorem while there
are some. The loss is a mean over the tactic's tokens, with the one that ends it. Top-1 and top-8 count
a step if the tactic is, character by character, the model's likeliest, or among its eight likeliest.
A model that learned with lemmas in front of its states is shown them.
A model that was not trained by burn-qed is asked in the format `--prompt`. Tokenizers differ, and with
them the loss a token: the column `a step` compares models of several.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from accelerate import Accelerator
from rich.console import Console
from rich.table import Table

from burnqed.policy.models.load import Loaded, load
from burnqed.policy.prompt import FORMATS, SETTINGS
from burnqed.training.batches import encode
from burnqed.training.found_lemmas import pairs_with_lemmas
from burnqed.training.loss import TacticLoss, evaluate
from burnqed.training.match import match
from burnqed.training.pairs import Pair, read_source

ROW = 8  # examples of full length


def drawn(pairs: Sequence[Pair], count: int) -> list[Pair]:
    """Of as many theorems as there are, in an order that depends on nothing but the file."""
    order = random.Random(0).sample(pairs, len(pairs))
    seen: dict[str, int] = {}
    turns = []
    for place, pair in enumerate(order):
        turn = seen[pair.theorem] = seen.get(pair.theorem, -1) + 1
        turns.append((turn, place))
    return [order[place] for _, place in sorted(turns)[:count]]


def asked(name: str, device: str, prompt: str) -> Loaded:
    loaded = load(name, device)
    if (loaded.path / SETTINGS).is_file():
        return loaded
    return replace(loaded, settings=replace(loaded.settings, format=prompt))


def row(name: str, loaded: Loaded, pairs: Sequence[Pair]) -> tuple[str, ...]:
    if loaded.settings.lemmas:
        pairs = pairs_with_lemmas(pairs, loaded.settings.lemmas)
    encoded = encode(loaded.tokenizer, loaded.settings, pairs)
    matched = match(loaded, pairs)  # before the attention is replaced by that of packed rows
    accelerator = Accelerator(mixed_precision="no")
    longest = loaded.settings.max_length
    module = TacticLoss(loaded.model, loaded.model.dtype, longest)
    score = evaluate(module, encoded.examples, ROW * longest, accelerator)
    assert score is not None
    return (
        name,
        f"{score.mean:.3f}",
        f"{score.loss / len(encoded.examples):.2f}",
        f"{matched.first / matched.pairs:.1%}",
        f"{matched.among / matched.pairs:.1%}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--prompt", choices=FORMATS, default="proofstep")
    given = parser.parse_args()
    console = Console()
    pairs = drawn(read_source(given.pairs, console.print).pairs, given.count)
    theorems = len({pair.theorem for pair in pairs})
    table = Table(title=f"{len(pairs)} steps of {theorems} theorems in {given.pairs}")
    for column in ("model", "loss a token", "a step", "top-1", "top-8"):
        table.add_column(column, justify="left" if column == "model" else "right")
    for name in given.models:
        table.add_row(*row(name, asked(name, given.device, given.prompt), pairs))
    console.print(table)


if __name__ == "__main__":
    main()
