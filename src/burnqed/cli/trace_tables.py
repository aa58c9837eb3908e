"""What was traced, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from burnqed.cli import tables


def print_traced(told: Mapping[str, Any], out: Path) -> None:
    """Print what was recorded of Lean files, and why not the rest."""
    files, theorems, judged = told["files"], told["theorems"], told["judged"]
    facts = {
        "files": f"{files['traced']} of {files['found']}",
        **{f"skipped, {reason}": count for reason, count in files["skipped"].items()},
        "theorems": theorems["found"],
        "recorded": f"{theorems['recorded']} of {theorems['with_tactics']} with tactics",
        "steps": told["steps"],
        "over 100 tactics": theorems["over_100_tactics"],
        "proved by terms": theorems["proved_by_terms"],
        **{f"not recorded, {why}": count for why, count in theorems["not_recorded"].items()},
        "accepted by the judge": f"{judged['accepted']} of {judged['asked']}"
        if judged["asked"]
        else None,
    }
    tables.print_facts(str(out), facts)
    listed = [(f["file"], "", f["reason"], f["detail"]) for f in told["skipped_files"]]
    listed += [
        (f"{t['file']}:{t['line']}", t["theorem"], t["reason"], t["detail"])
        for t in told["not_recorded"]
        if t["reason"] != "proved by a term"
    ]
    if listed:
        table = tables.folding("where", "theorem", "reason", "detail", title="not recorded")
        for row in listed[:20]:
            table.add_row(*(cell.split("\n")[0][:200] for cell in row))
        tables.console().print(table)
    if len(listed) > 20:
        typer.echo(f"and {len(listed) - 20} more: see {out / 'report.json'}")


def print_traced_proofs(told: Mapping[str, Any], out: Path) -> None:
    """Print what was recorded of whole proofs, and which do not compile."""
    proofs, theorems = told["proofs"], told["theorems"]
    facts = {
        "proofs": f"{proofs['compile']:,} of {proofs['in']:,} compile",
        **{f"left out, {why}": count for why, count in proofs["left_out"].items()},
        "recorded": f"{theorems['recorded']} of {theorems['with_tactics']} theorems with tactics",
        "steps": told["steps"],
        "proved by terms": theorems["proved_by_terms"],
        **{f"not recorded, {why}": count for why, count in theorems["not_recorded"].items()},
    }
    tables.print_facts(str(out), facts)
    if told["does_not_compile"]:
        table = tables.folding("does not compile", "proofs", "such as", "because")
        for kind, some in told["does_not_compile"].items():
            first = some["examples"][0]
            table.add_row(
                kind, str(some["proofs"]), first["theorem"], first["why"].split("\n")[0][:200]
            )
        tables.console().print(table)
    typer.echo(f"{out / 'report.json'} has it all")
