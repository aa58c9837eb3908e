"""Sets of theorems made: an index written from its source, a benchmark brought here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from burnqed.core.errors import CorruptError, InputError
from burnqed.core.types import LeakRule
from burnqed.data import lean_files
from burnqed.data.benchmarks import Benchmark, LibrarySample, is_here, load
from burnqed.data.choice import Choice, choose, choose_and_print
from burnqed.data.contamination import held_out
from burnqed.data.fetch import build, fetch
from burnqed.data.index import TheoremIndex, write_index
from burnqed.data.leandojo import read_leandojo
from burnqed.data.library import library_entries, with_statements
from burnqed.data.prover_jsonl import read_prover_jsonl
from burnqed.data.sources.open import open_source
from burnqed.data.splits import read_shares
from burnqed.data.stated_set import StatedSet, checked, read_stated
from burnqed.lean.embedded.progress import Progress, Terminal
from burnqed.lean.pool import Pool, run_sync
from burnqed.prover import leans
from burnqed.prover.config import LeanConfig
from burnqed.prover.data_config import IndexConfig
from burnqed.prover.policies import Warn
from burnqed.prover.sets import chosen

_SHOWN = 10  # statements that do not elaborate


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a source's theorems."""

    theorems: int
    total: int
    splits: Mapping[str, int]
    left_out: Mapping[str, int]  # by why
    unreadable: int  # kept as errors, so that they are counted; those of another set were told before


@dataclass(frozen=True, slots=True)
class _Source:
    """Where an index comes from: entries, what stands beside them, what is to be said of it."""

    entries: Sequence[dict[str, Any]]
    total: int
    more: Mapping[str, Any] = field(default_factory=dict)
    problems: Sequence[str] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)  # where it was chosen from already


def index(config: IndexConfig, out: Path, warn: Warn) -> Written:
    """Write an index of the theorems that are asked for."""
    _check(config)
    held = held_out([chosen(one) for one in config.without])
    choice = Choice(
        read_shares(config.splits), config.split, config.sample or config.at_most,
        config.at_most is not None, config.seed, held, _proved(config.unproved, warn),
    )  # fmt: skip
    source = _source(config, choice, warn)
    # Of the library's theorems, those that are wanted are chosen before they are printed.
    drawn, others = source.entries, source.left_out
    if not (config.module or _is_of_project(config)):
        found = choose(choice, source.entries, source.more.get("files"))
        drawn, others = found.entries, {**source.left_out, **found.left_out}
    write_index(out, out.stem, drawn, source.more)
    for problem in source.problems:
        warn(problem)
    unreadable = sum(entry.get("error") is not None for entry in drawn)
    splits = Counter(str(entry["split"]) for entry in drawn)
    return Written(len(drawn), source.total, splits, others, 0 if config.theorems else unreadable)


def _check(config: IndexConfig) -> None:
    given = {
        "--module": config.module, "--lean": config.lean, "--leandojo": config.leandojo,
        "--jsonl": config.jsonl, "--source": config.source, "--theorems": config.theorems,
    }  # fmt: skip
    used = [name for name, value in given.items() if value]
    if len(used) != 1 and not _is_of_project(config):
        raise InputError(
            "give one source: --module, --lean, --leandojo, --jsonl, --source, --theorems, or only "
            "--project",
            hint=f"these were given together: {', '.join(used)}" if used else "such as --module Init",
        )
    if config.sample is not None and config.at_most is not None:
        raise InputError("--sample and --at-most are two wishes", hint="give one of them")


def _is_of_project(config: IndexConfig) -> bool:
    """Whether a lake project is all that is named: then its own theorems are meant."""
    given = (
        config.module, config.lean, config.leandojo, config.jsonl, config.source, config.theorems,
    )  # fmt: skip
    return config.project is not None and not any(given)


def _proved(runs: Sequence[Path], warn: Warn) -> frozenset[tuple[str, str]]:
    from burnqed.trajectories.store import every_trajectories, read_records

    records = (r for run in runs for at in every_trajectories(run) for r in read_records(at, warn))
    return frozenset((r.theorem, r.statement_sha) for r in records if r.outcome == "proved")


def _source(config: IndexConfig, choice: Choice, warn: Warn) -> _Source:
    if config.module:
        roots = sorted({module.split(".")[0] for module in config.module})
        return _of_library(config, choice, config.module, roots)
    if _is_of_project(config):
        project = leans.Leans(config).project
        assert project is not None
        own = project.modules()
        prefixes = sorted({module.split(".")[0] for module in own})
        return _of_library(config, choice, prefixes, project.tops(), own)
    if config.lean:
        return _of_files(config)
    if config.leandojo:
        read = read_leandojo(list(config.leandojo), config.leak_rule or "module")
        left_out = [f"{name}: private, or there twice" for name in read.left_out]
        more = {"imports": list(config.imports) or read.roots}
        return _Source(read.entries, len(read.entries), more, left_out)
    if config.jsonl:
        lines = read_prover_jsonl(config.jsonl)
        return _Source(lines.entries, len(lines.entries), {"imports": lines.imports})
    if config.source:
        return _of_source(config.source, config, warn)
    return _of_set(chosen(str(config.theorems)), config.leak_rule)


def _of_library(
    config: IndexConfig,
    choice: Choice,
    prefixes: Sequence[str],
    imports: Sequence[str],
    only: Collection[str] = (),
) -> _Source:
    """Theorems of modules with these prefixes, perhaps `only` of these. `imports` are what has them."""
    spec = leans.set_up(config, tuple(dict.fromkeys(["Init", *config.imports, *imports]))).spec

    async def work() -> _Source:
        async with Pool(spec, 1) as pool:
            every = await library_entries(pool, prefixes, config.leak_rule or "module")
            every = [entry for entry in every if not only or entry["module"] in only]
            found = await choose_and_print(choice, every, lambda drawn: with_statements(pool, drawn))
            return _Source(
                found.entries, len(every), {"imports": list(imports)}, left_out=found.left_out
            )

    return run_sync(work())


def _of_files(config: IndexConfig) -> _Source:
    paths = list(config.lean)
    modules = [*config.imports, *leans.Leans(config).loadable(lean_files.imports_of(paths))]
    spec = leans.set_up(config, tuple(dict.fromkeys(["Init", *modules]))).spec

    async def work() -> lean_files.Indexed:
        async with Pool(spec, None) as pool:
            return await lean_files.file_entries(pool, paths, Path.cwd())

    found = run_sync(work())
    problems = [*found.problems, *(f"{line}: left out" for line in found.left_out)]
    more = {"imports": list(modules), "files": found.files}
    return _Source(found.entries, len(found.entries), more, problems)


def _of_source(given: str, config: IndexConfig, warn: Warn) -> _Source:
    found = read_stated(open_source(given), warn)
    modules = [*config.imports, *leans.Leans(config).loadable(found.imports)]
    modules = list(dict.fromkeys(["Init", *modules]))
    spec = leans.set_up(config, modules).spec

    async def work(progress: Progress) -> StatedSet:
        done = 0
        progress.stage("elaborating", len(found.entries))

        def one() -> None:
            nonlocal done
            done += 1
            progress.at(done)

        async with Pool(spec, None) as pool:
            return await checked(pool, found, modules, one)

    with Terminal() as progress:
        checked_set = run_sync(work(progress))
    wrong = [e for e in checked_set.entries if e.get("error") is not None]
    problems = [f"{e['name']}: {str(e['error']).splitlines()[0]}" for e in wrong[:_SHOWN]]
    if len(wrong) > _SHOWN:
        problems.append(f"and {len(wrong) - _SHOWN} more are errors in the index")
    more = {"imports": modules, "files": checked_set.files}
    rows = len(found.entries) + sum(found.left_out.values())
    return _Source(checked_set.entries, rows, more, problems, found.left_out)


def _of_set(given: TheoremIndex, rule: LeakRule | None) -> _Source:
    entries = [
        {**entry.fields, "leak_rule": rule} if rule and "constant" in entry.fields else entry.fields
        for entry in given.entries
    ]
    more = {"revision": given.revision, "imports": list(given.imports), "files": given.files}
    return _Source(entries, len(entries), more)


# -------------------------------------------------------------------------------- benchmarks


def bring(
    benchmark: Benchmark, config: LeanConfig, *, local: Path | None = None, again: bool = False
) -> TheoremIndex:
    """A benchmark, checked against its pin: the one that is here, or fetched, or made by Lean."""
    kept = None if again or local is not None else _kept(benchmark)
    if kept is not None:
        return kept
    if not isinstance(origin := benchmark.origin, LibrarySample) or local is not None:
        return fetch(benchmark, local)
    spec = leans.set_up(config, origin.modules).spec

    async def work() -> TheoremIndex:
        async with Pool(spec, 1) as pool:
            return await build(benchmark, origin, pool)

    return run_sync(work())


def _kept(benchmark: Benchmark) -> TheoremIndex | None:
    """The benchmark as it is here; None where it is not, or is not what is pinned."""
    try:
        return load(benchmark) if is_here(benchmark) else None
    except CorruptError:
        return None
