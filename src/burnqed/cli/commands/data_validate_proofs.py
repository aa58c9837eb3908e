"""`burn-qed data validate` on whole proofs: does the judge still accept them?"""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import typer

from burnqed.cli import stopping, tables
from burnqed.cli.progress import CountedProgress
from burnqed.core.files import publish
from burnqed.core.runs import open_run
from burnqed.core.stopping import Stopping
from burnqed.data.drawn_proofs import DrawnProofs
from burnqed.data.fix_rules import Fixes
from burnqed.data.ledger import open_ledger
from burnqed.data.proof_validation import report, validate_proofs
from burnqed.data.sources.open import Opened
from burnqed.lean.pool import run_sync
from burnqed.prover import leans
from burnqed.prover.config import LeanConfig

_MEANING = {
    "use": "the judge accepts it: use it",
    "migrate": "too little of it is accepted: `burn-qed data migrate` changes by rules what fails",
    "none": "nothing of it could be tried",
}


def validate_whole_proofs(
    source: Opened,
    out: Path,
    config: LeanConfig,
    count: int,
    fixes: Fixes,
    seed: int,
    resume: bool,
    as_json: bool,
    names: tuple[str, str],
) -> typer.Exit:
    """Judge a sample; `names` are those of the file of proofs and of the report."""
    lean = leans.set_up(config, ["Init"])
    asked = {
        "command": "data validate", "source": source.info.name, "sha256": source.checksum(),
        "sample": count, "seed": seed, "rules": fixes.digest(), "toolchain": lean.toolchain.label,
    }  # fmt: skip
    open_run(out, asked, resume=resume)
    proofs = DrawnProofs(source, count, seed, tables.warn)

    async def work() -> tuple[signal.Signals | None, dict[str, Any]]:
        stop = Stopping()
        enough = stop.event()
        with open_ledger(out / names[0], tables.warn) as ledger:
            bar = CountedProgress("judging", proofs.count, shown=not as_json)
            with bar.shown():
                await validate_proofs(
                    partial(leans.with_judges, config), proofs,
                    partial(leans.loaded_by, lean.toolchain), fixes, ledger,
                    lambda row: bar.add({_CALLED.get(row["outcome"], row["outcome"]): 1}), enough,
                )  # fmt: skip
            return stop.signal, report(ledger.rows(), proofs.there)

    stopped, told = run_sync(work())
    if stopped is not None:
        raise stopping.stopped(stopped)
    told = {"settings": asked, "given": source.given, **told}
    publish(out / names[1], json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    if as_json:
        typer.echo(json.dumps(told, ensure_ascii=False))
    else:
        _print(told, out / names[1])
    if told["errors"]:
        return typer.Exit(3)
    return typer.Exit({"use": 0, "none": 2}.get(told["verdict"], 1))


_CALLED = {"unchanged": "accepted"}


def _print(told: Mapping[str, Any], path: Path) -> None:
    facts = {
        "whole proofs": told["there"],
        "tried": told["tried"],
        "accepted by the judge": told["accepted"],
        "without a proof": told["without_a_proof"] or None,
        "Lean failed": told["errors"] or None,
    }
    tables.print_facts(told["given"], facts)
    if told["causes"]:
        table = tables.folding("what is wrong", "proofs", "such as", "because")
        for cause, number in sorted(told["causes"].items(), key=lambda one: -one[1]):
            shown = [one for one in told["failures"] if (one["cause"] or "error") == cause]
            example = shown[0] if shown else {"theorem": "", "reason": ""}
            said = str(example["reason"]).split("\n")[0][:200]
            table.add_row(cause, str(number), str(example["theorem"]), said)
        tables.console().print(table)
    rate = "" if told["accepted_rate"] is None else f" ({told['accepted_rate']:.1%} accepted)"
    typer.echo(f"{told['verdict']}: {_MEANING[told['verdict']]}{rate}")
    typer.echo(f"{path} has it all")
