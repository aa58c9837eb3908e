#!/bin/sh
# The ranker with a value model and without, on core-300 and qed-core.
# Run recipes/core-300.sh, recipes/qed-core.sh and recipes/expert-iteration.toml first: it compares with the first
# two, and learns from the searches of the third.
#
#     sh recipes/value-model.sh
#
# Figure: within 300 nodes 219 of core-300 with it and 222 without, 72 of qed-core with it and 74 without.
# Recorded in commit fe6de60 (core-300) and 38738f4 (qed-core), in docs/results.md.
# The commit of the code that ran is not known. The data also had a part of another sample, 107 theorems at 60 nodes,
# which this recipe does not make.
set -e
mkdir -p runs
out=${1:-runs/value-model}
burn-qed data index --module Init --module Std --split train --without core-300 --without qed-core --leak-rule self \
    --sample 700 --seed 12 --out "$out.json"
burn-qed search "$out.json" --model core --nodes 30 --candidates 4 --out "$out/more"
burn-qed negatives "$out.json" --data "$out/more" --siblings 3 --walks 0 --nodes 4 --model core --candidates 4 \
    --out "$out/beside"
set -- --data "$out/more" --data "$out/beside"
for run in runs/expert-iteration/trajectories/teacher/* runs/expert-iteration/trajectories/iter_*/*; do
    if [ -d "$run/trajectories" ]; then set -- "$@" --data "$run"; fi
done
burn-qed train value "$@" --model words --slower --val-share 0.4 --folds 1 --out "$out/value"
for theorems in core-300 qed-core; do
    burn-qed eval $theorems --model core --value "$out/value" --value-anyway --budgets 1,3,10,30,100,300 \
        --candidates 4 --out "$out/$theorems"
    burn-qed compare "runs/$theorems/core" "$out/$theorems"
done
