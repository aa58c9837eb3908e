#!/bin/sh
# core-300 by nodes: the portfolio, the ranker that comes with the package, and the two compared.
#
#     sh recipes/core-300.sh
#
# Figure: within 1 / 3 / 10 / 30 / 100 / 300 nodes the portfolio proves 71 / 99 / 118 / 137 / 148 / 163 of 300,
# and the ranker that comes with the package 136 / 161 / 185 / 197 / 211 / 222.
# Recorded in commit e7ad99b (docs/results.md).
# The commit of the code that ran is not known.
set -e
out=${1:-runs/core-300}
burn-qed eval core-300 --policy portfolio --budgets 1,3,10,30,100,300 --candidates 4 --out "$out/portfolio"
burn-qed eval core-300 --model core --budgets 1,3,10,30,100,300 --candidates 4 --out "$out/core"
burn-qed compare "$out/portfolio" "$out/core"
burn-qed report "$out/portfolio" "$out/core" --out "$out/comparison"
python bench/kinds.py "$out/portfolio" "$out/core"
