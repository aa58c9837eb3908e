"""Gives a ranker the costs of tactics that runs show, and says how they are spread.

    python bench/costs.py RUN... --out DIRECTORY [--model core] [--without SET]

`burn-qed train ranker` learns costs with the rest. This makes a ranker of another's order and lemmas
with costs of other runs: so the ranker that comes with the package got its own (docs/search.md).
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from burnqed.policy.ranked.files import CARD, CORE, find_ranker
from burnqed.policy.ranked.weights import FORMAT, KIND, as_saved, load, save
from burnqed.prover.sets import chosen
from burnqed.training.costs import learn_costs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--model", default=CORE)
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    found = find_ranker(given.model)
    costs = learn_costs(given.runs, [chosen(name) for name in given.without], print)
    weights = as_saved(replace(load(found), cost=costs.table))
    about = json.loads((found / CARD).read_text(encoding="utf-8"))
    given.out.mkdir(parents=True, exist_ok=True)
    save(given.out, weights, {key: about[key] for key in about if key not in ("kind", "format")})
    known = np.exp(costs.table[costs.table != 0])
    print(f"{KIND} of format {FORMAT}, {weights.identity}, in {given.out}")
    print(f"{costs.tactics:,} tactics, {costs.seconds:.0f} s of Lean, {len(known)} shapes")
    print(f"cheapest {known.min():.2f} of the average, dearest {known.max():.2f}")


if __name__ == "__main__":
    main()
