"""`burn-qed data validate`: does data still say what this Lean says?"""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from burnqed.cli import stopping, tables
from burnqed.cli.commands.data_validate_proofs import validate_whole_proofs
from burnqed.cli.options import JsonOption, configured
from burnqed.cli.progress import CountedProgress
from burnqed.core.errors import InputError
from burnqed.core.files import publish_json
from burnqed.core.runs import check_out, open_run
from burnqed.core.stopping import Stopping
from burnqed.core.types import Theorem
from burnqed.data.drift import Sorter
from burnqed.data.fix_rules import load_fixes
from burnqed.data.known_names import known_names
from burnqed.data.ledger import open_ledger
from burnqed.data.sampled_proofs import Sample, collected, draw
from burnqed.data.sources.open import Opened, open_source
from burnqed.data.sources.rows import BadRows, Notes
from burnqed.data.validation import (
    Proof,
    report,
    startable,
    stated_by,
    stated_in,
    validate,
)
from burnqed.lean.pool import Pool, run_sync
from burnqed.prover import leans
from burnqed.prover.config import LeanConfig
from burnqed.prover.sets import chosen

PROOFS, REPORT = "proofs.jsonl", "report.json"
_MEANING = {
    "use": "it replays and prints as recorded: use it",
    "re-extract": "it replays, and this Lean prints states otherwise: extract the states again",
    "re-trace": "too little of it replays: trace its sources with this Lean, or migrate them",
    "none": "nothing of it could be tried",
}


@configured(LeanConfig)
def validate_command(
    given: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="Steps or whole proofs: a source that was fetched, SOURCE=PATH, a trace, or a file or "
            "folder whose columns say what it is.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The directory of the run.")],
    config: LeanConfig,
    count: Annotated[int, typer.Option("--sample", min=1, help="Theorems to draw.")] = 200,
    theorems: Annotated[
        str | None,
        typer.Option(
            "--theorems",
            metavar="SET",
            help="A benchmark or index with the statements, by name. Else a trace's own context, or "
            "what the first state of a proof says.",
        ),
    ] = None,
    renames: Annotated[
        list[Path] | None,
        typer.Option("--renames", metavar="FILE", help="A table of old and new names (TOML or JSON)."),
    ] = None,
    judge: Annotated[
        bool, typer.Option("--judge", help="Have the judge look at every proof that replays.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Same seed, same theorems.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Replay recorded proofs in this Lean, and compare each state with the recorded one.

    Theorems are drawn by the length of their proofs, as many short as long ones. Each is started, its
    tactics are applied in order, and what Lean prints is compared with the data. What fails is sorted:
    lemma rename, tactic API change, missing import, missing open; what only prints otherwise is
    pretty-printer drift. Theorems without a statement to start from are counted apart.

    With --judge a proof that replays must be accepted by the judge as well, or it counts as failing.

    The verdict: at least 80% replay and print as recorded: use. At least 80% replay: re-extract. Else
    re-trace. Whole proofs are shown to the judge as they are: use if it accepts at least 80%, else
    migrate.

    DIR gets proofs.jsonl, a line for each theorem, and report.json. Ctrl-C keeps what is done, and
    --resume goes on.

    Examples:

        burn-qed data validate traces/mine --out seen/mine

        burn-qed data validate traces/library --judge --seed 1 --out seen/library

        burn-qed data validate lean-workbook-steps --project ~/mathlib --import Mathlib --out seen/lw

    Exit codes: 0 use it, 1 re-extract, re-trace or migrate, 2 bad input, or nothing could be tried, 3
    Lean failed on some theorems, 130 or 143 stopped by a signal.
    """
    check_out(out)
    source = open_source(given)
    fixes = load_fixes(renames or ())
    if "steps" not in source.info.gives and "proofs" in source.info.gives:
        if theorems is not None:
            raise InputError("whole proofs have their statements", hint="leave out --theorems")
        if config.imports:
            raise InputError("whole proofs name what they import", hint="leave out --import")
        raise validate_whole_proofs(
            source, out, config, count, fixes, seed, resume, as_json, (PROOFS, REPORT)
        )
    index = None if theorems is None else chosen(theorems)
    stated, needed = stated_in(source, tables.warn)
    if index is not None:
        stated = {**stated, **stated_by(index)}
        needed = (*needed, *index.imports)
    modules = ["Init", *config.imports, *leans.loadable(config, needed)]
    modules = list(dict.fromkeys(modules))
    absent = tuple(module for module in dict.fromkeys(needed) if module not in modules)
    lean = leans.set_up(config, modules)
    asked = {
        "command": "data validate", "source": source.info.name, "sha256": source.checksum(),
        "sample": count, "seed": seed, "theorems": index.checksum if index else None,
        "rules": fixes.digest(), "modules": modules, "toolchain": lean.toolchain.label,
        **({"judge": True} if judge else {}),
    }  # fmt: skip
    open_run(out, asked, resume=resume)
    sample, proofs = _drawn(source, count, seed, stated)

    async def work() -> tuple[signal.Signals | None, list[dict[str, Any]]]:
        stop = Stopping()
        enough = stop.event()
        with open_ledger(out / PROOFS, tables.warn) as ledger:
            bar = CountedProgress("replaying", len(proofs), shown=not as_json)
            with bar.shown():
                async with Pool(lean.spec, config.workers) as pool, Pool(lean.spec, 2) as judges:
                    sorter = Sorter(await known_names(pool), fixes, absent)
                    await validate(
                        pool, proofs, sorter, ledger, lambda row: _count(bar, row), enough,
                        judges if judge else None,
                    )  # fmt: skip
            return stop.signal, list(ledger.rows())

    stopped, rows = run_sync(work())
    if stopped is not None:
        raise stopping.stopped(stopped)
    told = {"settings": asked, "given": given, "absent": list(absent), **report(sample, rows)}
    publish_json(out / REPORT, told)
    if as_json:
        typer.echo(json.dumps(told, ensure_ascii=False))
    else:
        _print(told, out)
    if told["errors"]:
        raise typer.Exit(3)
    raise typer.Exit({"use": 0, "none": 2}.get(told["verdict"], 1))


def _drawn(
    source: Opened, count: int, seed: int, stated: Mapping[str, Theorem]
) -> tuple[Sample, list[Proof]]:
    bad = BadRows()

    sample = draw(source.steps(Notes(tables.warn, bad.add)), count, seed)
    for problem in bad.first:
        tables.warn(problem)
    if bad.count > len(bad.first):
        tables.warn(f"and {bad.count - len(bad.first)} more such rows")
    found = collected(source.steps(Notes(on_bad=lambda _told_already: None)), sample.chosen)
    if not found:
        raise InputError(f"{source.given} has no theorem to try")
    return sample, [startable(key, sample.chosen[key], proof, stated) for key, proof in found.items()]


def _count(bar: CountedProgress, row: Mapping[str, Any]) -> None:
    bar.add(
        {
            str(row["outcome"]): 1,
            "prints otherwise": row.get("equal") is False and row["outcome"] == "replays",
        }
    )


def _print(told: Mapping[str, Any], out: Path) -> None:
    screen = tables.console()
    table = tables.folding("steps of the proof", "theorems", "tried", "replay", "print as recorded")
    for name, one in told["strata"].items():
        if one["there"]:
            table.add_row(name, *(f"{one[key]:,}" for key in ("there", "tried", "replay", "equal")))
    there = sum(one["there"] for one in told["strata"].values())
    table.add_row("all", f"{there:,}", *(f"{told[key]:,}" for key in ("tried", "replay", "equal")))
    screen.print(table)
    wrong = {name: one for name, one in told["categories"].items() if one["theorems"]}
    if wrong:
        table = tables.folding("what is wrong", "theorems", "such as", "because")
        for name, one in sorted(wrong.items(), key=lambda item: -item[1]["theorems"]):
            example = one["examples"][0]
            table.add_row(name, str(one["theorems"]), example["theorem"], example["detail"])
        screen.print(table)
    if told["judged"]:
        asked = sum(told["judged"].values())
        typer.echo(f"{told['judged'].get('accepted', 0)} of {asked} judged proofs are accepted")
    for why, number in told["no_statement"].items():
        typer.echo(f"{number} could not be started: {why}")
    for why, number in told["not_drawn"].items():
        typer.echo(f"{number} were not drawn from: {why}")
    if told["absent"]:
        typer.echo(f"not loaded here: {', '.join(told['absent'])}")
    for error in told["errors"][:5]:
        tables.warn(f"Lean failed on {error['theorem']}: {error['why']}")
    rates = (
        ""
        if told["replay_rate"] is None
        else f" ({told['replay_rate']:.1%} replay, {told['equal_rate']:.1%} print as recorded)"
    )
    typer.echo(f"{told['verdict']}: {_MEANING[told['verdict']]}{rates}")
    typer.echo(f"{out / REPORT} has it all")
