#!/bin/sh
# 300 theorems of the library, sampled by seed, with a limit of 50 s a theorem.
#
#     sh recipes/library-300-seconds.sh
#
# Figure: 98, 143, 156 and 161 of 300 within 1, 10, 30 and 100 nodes.
# Recorded in commit 8116fa9 (docs/search.md; moved to docs/results.md later).
# The commit of the code that ran is not known. It was stopped after 560 s, with six theorems unfinished.
set -e
mkdir -p runs
out=${1:-runs/library-300-seconds}
burn-qed data index --module Init --module Std --sample 300 --seed 0 --leak-rule self --out "$out.json"
burn-qed search "$out.json" --import Std --policy portfolio --nodes 100 --seconds 50 --workers 15 \
    --out "$out"
burn-qed summary "$out"
