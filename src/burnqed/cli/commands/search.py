"""`burn-qed search`: search a set of theorems and keep every attempt."""

from __future__ import annotations

from burnqed.cli import sets, stopping, tables
from burnqed.cli.options import ClusterOption, JsonOption, OutOption, ResumeOption, configured
from burnqed.cli.watch import Watch
from burnqed.cluster.named import cluster_named
from burnqed.prover.config import SearchConfig
from burnqed.prover.searching import search
from burnqed.prover.sites import LOCAL


@configured(SearchConfig)
def search_command(
    theorems: sets.SetArgument,
    out: OutOption,
    config: SearchConfig,
    cluster: ClusterOption = LOCAL,
    resume: ResumeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Search for proofs of a set of theorems, and keep every step that was tried.

    DIR/trajectories gets Parquet files with a row for each step. They are saved every 50 theorems,
    every minute, and on Ctrl-C or SIGTERM. --resume continues, and searches a theorem again only if
    Lean failed on it. `burn-qed summary DIR` prints the results.

    With --follow the search takes the steps of recorded proofs, and the judge decides about them: so
    people's proofs become a run that `negatives` and `train value` take.

    Examples:

        burn-qed search qed-core --nodes 30 --out runs/first

        burn-qed search built/theorems.json --follow built/data/contrastive_pool.jsonl --out runs/people

    Exit codes: 0 every theorem was searched (proved or not), 2 some statements are wrong, 3 some could
    not be searched because Lean failed, 130 or 143 stopped by a signal.
    """
    watch = Watch(shown=not as_json)
    found = search(theorems, out, config, watch, resume=resume, cluster=cluster_named(cluster))
    tables.print_summary(found.summary, as_json)
    if not found.whole:
        raise stopping.stopped(watch.signal)
    tables.refuse_damage(found.summary)
    raise sets.end(set(found.summary.errors))
