"""A directory of prepared pairs: there whole, with its report, or not there at all.

    tactic_pairs/train.jsonl, val.jsonl, test.jsonl    rows {"state", "tactic", "theorem", "depth"},
                                                       with "premises", "mathlib", "dialect" if there
    contrastive_pool.jsonl                             whole proofs that are deep, with their source
    report.json                                        what was asked, what came in, what became of it

It is made beside its place and brought there by one rename.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from burnqed.core.errors import InfrastructureError, InputError
from burnqed.core.files import publish_json
from burnqed.core.storage import remedy
from burnqed.data.contamination import Held
from burnqed.data.prepare import RULES, Counts, Rules, Unfit, Written, prepare
from burnqed.data.sources.open import Opened
from burnqed.data.sources.rows import BadRows, Notes
from burnqed.data.splits import SPLITS
from burnqed.data.steps import Step

REPORT = "report.json"
_ROW = 'a row is {"state": "…", "tactic": "…", "theorem": "…", "depth": 0}'


def settings_of(
    inputs: Sequence[Opened], rules: Rules, more: Mapping[str, Any], on_file: Callable[[], None]
) -> dict[str, Any]:
    """All that decides the result, wherever the files lie. Two of the same are the same data."""
    read = []
    for one in inputs:
        read.append(
            {"source": one.info.name, "label": one.label, "name": one.name, "sha256": one.checksum()}
        )
        on_file()
    settings = {"inputs": read, **asdict(rules), **more}
    return dict(json.loads(json.dumps(settings)))  # as it will come back from a file


def earlier_report(out: Path, settings: Mapping[str, Any]) -> dict[str, Any] | None:
    """The report of a directory that holds just this; None where there is nothing yet."""
    try:
        if not out.exists() or (out.is_dir() and not any(out.iterdir())):
            return None
        report = json.loads((out / REPORT).read_text(encoding="utf-8"))
        before = report["settings"]
        changed = [k for k in {**before, **settings} if before.get(k) != settings.get(k)]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{out} is there, and holds no prepared data", hint="give another directory with --out"
        ) from error
    if changed:
        raise InputError(
            f"{out} was prepared otherwise: {', '.join(_change(k, before, settings) for k in changed)}",
            hint="give another directory with --out, or remove this one",
        )
    return dict(report)


def _change(key: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    said = [json.dumps(one.get(key), ensure_ascii=False) for one in (before, now)]
    return f"{key} was {said[0]}, now {said[1]}" if max(map(len, said)) < 100 else f"other {key}"


def prepare_into(
    out: Path,
    inputs: Sequence[Opened],
    rules: Rules,
    held: Held,
    unfit: Unfit,
    settings: Mapping[str, Any],
    on_rows: Callable[[str, int], None],
    on_problem: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Prepare all inputs, in their order, and give the report that was written."""
    bad = [BadRows() for _ in inputs]
    notes = [Notes(on_problem, problems.add) for problems in bad]
    streams = [one.steps(beside) for one, beside in zip(inputs, notes, strict=True)]

    def steps() -> Iterator[Step]:
        for stream in streams:
            yield from stream

    with _made_apart(out) as directory:
        counts, written = prepare(steps(), directory, rules, held, unfit, on_rows)
        report = _report(settings, inputs, counts, written, bad, notes)
        if not report["rows"]["train"]:
            raise InputError(f"nothing is left to train on: {_told(report)}", hint=_ROW)
        publish_json(directory / REPORT, report)
    return report


@contextmanager
def _made_apart(out: Path) -> Iterator[Path]:
    """A directory to work in, which becomes `out` at the end; one that a kill left is cleared."""
    directory = out.absolute().with_name(f".{out.absolute().name}.preparing")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        held = os.open(directory, os.O_RDONLY)
    except OSError as error:
        raise InputError(f"cannot write {out}: {error.strerror}", hint=remedy(error, out)) from error
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{out} is being prepared by another process") from None
        try:
            for path in directory.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            yield directory
            directory.rename(out)
        except BaseException as error:
            shutil.rmtree(directory, ignore_errors=True)
            if isinstance(error, OSError):
                raise InfrastructureError(
                    f"cannot write {out}: {error.strerror or error}",
                    hint=remedy(error, out),
                ) from error
            raise
    finally:
        os.close(held)


# ---------------------------------------------------------------------------------- the report


def _report(
    settings: Mapping[str, Any],
    inputs: Sequence[Opened],
    counts: Counts,
    written: Sequence[Written],
    bad: Sequence[BadRows],
    notes: Sequence[Notes],
) -> dict[str, Any]:
    malformed = sum(one.count for one in bad)
    by_source = {source: _of_source(counts, source) for source in counts.rows}
    total = {
        "in": counts.rows.total() + malformed,
        "dropped": {
            "malformed": malformed,
            **{rule: sum(one["dropped"][rule] for one in by_source.values()) for rule in RULES},
        },
        "out": counts.kept.total(),
        **{split: sum(one[split] for one in by_source.values()) for split in SPLITS},
    }
    theorems = {
        "in": counts.theorems.total(),
        "dropped": {
            rule: found
            for rule in RULES
            if (found := sum(n for (_, why), n in counts.theorems.items() if why == rule))
        },
        "left": sum(n for (_, why), n in counts.theorems.items() if not why),
    }
    return {
        "format": 1,
        "settings": dict(settings),
        "inputs": [
            {
                "given": one.given,
                "source": one.info.name,
                "files": [str(part) for part in one.parts],
                "notes": beside.beside(),
            }
            for one, beside in zip(inputs, notes, strict=True)
        ],
        "rows": total,
        "theorems": theorems,
        "sources": by_source,
        "overlaps": [
            {"first": first, "later": later, "pairs": n}
            for (first, later), n in sorted(counts.overlaps.items())
        ],
        "pool": {"theorems": counts.pool_theorems.total(), "rows": counts.pool_rows.total()},
        "malformed": [
            {"input": read.given, "rows": one.count, "first": one.first}
            for read, one in zip(inputs, bad, strict=True)
            if one.count
        ],
        "files": {one.name: {"rows": one.rows, "sha256": one.sha256} for one in written},
    }


def _of_source(counts: Counts, source: str) -> dict[str, Any]:
    kept = {split: counts.kept[source, split] for split in SPLITS}
    return {
        "in": counts.rows[source],
        "dropped": {rule: counts.dropped[source, rule] for rule in RULES},
        "out": sum(kept.values()),
        **kept,
        "theorems": sum(n for (whose, _), n in counts.theorems.items() if whose == source),
        "pool_theorems": counts.pool_theorems[source],
        "pool_rows": counts.pool_rows[source],
        "with_premises": counts.premises[source],
        "mathlib": {
            "rows": counts.mathlib[source, ""],
            "tactics": {
                tactic: n
                for (whose, tactic), n in counts.mathlib.most_common()
                if whose == source and tactic
            },
        },
    }


def _told(report: Mapping[str, Any]) -> str:
    rows = report["rows"]
    dropped = ", ".join(f"{rule} {n}" for rule, n in rows["dropped"].items() if n)
    first = next((f"; {one['first'][0]}" for one in report["malformed"]), "")
    return f"of {rows['in']} rows, {dropped or 'none'} dropped, {rows['out']} left{first}"
