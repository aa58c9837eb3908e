#!/bin/sh
# miniF2F (validation), 100 problems restated in core Lean; the set is a local file that does not come with the package.
#
#     sh recipes/minif2f-core.sh minif2f_core_valid.json
#
# Figure: 44, 66, 70, 70 and 70 of 100 within 1, 10, 30, 100 and 300 nodes, all with 190 s a theorem.
# Recorded in commit 8116fa9 (docs/search.md; moved to docs/results.md later).
# The commit of the code that ran is not known. It was stopped after 490 s, with one theorem unfinished.
set -e
theorems=${1:?the path of minif2f_core_valid.json}
out=${2:-runs/minif2f-core}
burn-qed search "$theorems" --policy portfolio --nodes 300 --seconds 190 --workers 15 --out "$out"
burn-qed summary "$out"
