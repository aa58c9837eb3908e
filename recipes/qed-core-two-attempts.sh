#!/bin/sh
# The portfolio on qed-core, two attempts at temperature 1, 32 candidates at a state.
#
#     sh recipes/qed-core-two-attempts.sh
#
# Figure: one of two attempts proves 73, 78 and 84 of 150 within 10, 30 and 100 nodes.
# Recorded in commit de51d3c (docs/results.md).
# The commit of the code that ran is not known.
set -e
burn-qed eval qed-core --policy portfolio --budgets 10,30,100 --pass-n 2 --out "${1:-runs/qed-core-two-attempts}"
