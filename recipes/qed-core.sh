#!/bin/sh
# qed-core by nodes: the portfolio, the ranker that comes with the package, and the two compared.
#
#     sh recipes/qed-core.sh
#
# Figure: within 1 / 3 / 10 / 30 / 100 / 300 nodes the portfolio proves 30 / 41 / 61 / 66 / 68 / 70 of 150,
# and the ranker that comes with the package 29 / 46 / 58 / 66 / 69 / 74.
# Recorded in commit 12c1ff0 (docs/results.md).
# The commit of the code that ran is not known.
set -e
out=${1:-runs/qed-core}
burn-qed eval qed-core --policy portfolio --budgets 1,3,10,30,100,300 --candidates 4 --out "$out/portfolio"
burn-qed eval qed-core --model core --budgets 1,3,10,30,100,300 --candidates 4 --out "$out/core"
burn-qed compare "$out/portfolio" "$out/core"
burn-qed report "$out/portfolio" "$out/core" --out "$out/comparison"
