"""Lean files and whole proofs traced into a directory: their proofs as steps that replay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from burnqed.core.errors import InputError, SetupError
from burnqed.core.files import publish_json
from burnqed.core.runs import check_out, open_run
from burnqed.core.watching import Watcher
from burnqed.data.fix_rules import load_fixes
from burnqed.data.lean_files import imports_of
from burnqed.data.lean_sources import sources
from burnqed.data.library_trace import LIBRARY
from burnqed.data.project_trace import ProjectTracer, library_of
from burnqed.data.recipe import Trace
from burnqed.data.sources.lean_library import lean_path
from burnqed.data.sources.open import open_source
from burnqed.data.sources.rows import BadRows, Notes
from burnqed.data.trace_store import REPORT
from burnqed.data.whole_proofs import LEAN, lay_out, refuse_nothing
from burnqed.data.with_lean import (
    Report,
    Tools,
    modules_with,
    trace_lean_files,
    trace_library_files,
    trace_project_files,
    trace_whole_proofs,
)
from burnqed.lean.pool import run_sync
from burnqed.lean.project import Project
from burnqed.prover.data_config import TraceConfig
from burnqed.prover.leans import Leans, in_project

_FILES = "give .lean files, or folders that hold some"


def trace(
    paths: Sequence[Path], out: Path, config: TraceConfig, watcher: Watcher, *, resume: bool
) -> Report | None:
    """Trace Lean files, or go on, and give the report that is written; None if it was stopped.

    One path that is neither a Lean file nor a folder names a source of whole proofs.
    """
    paths = [lean_path(path) for path in paths]
    if len(paths) == 1 and paths[0].suffix != ".lean" and not paths[0].is_dir():
        return _whole_proofs(str(paths[0]), out, config, watcher, resume)
    for path in paths:
        if not path.exists():
            raise InputError(f"there is no {path}", hint=_FILES)
    check_out(out)
    found = list(sources(paths))
    if all(trouble for _, trouble in found):
        raise InputError(f"{found[0][0]}: {found[0][1]}", hint=_FILES)
    config = config if config.library else in_project(config, paths[0])
    here = Leans(config)
    of_project = None if config.library else here.project
    if of_project is not None and config.imports:
        raise InputError(
            f"files of a lake project ({of_project.root}) say themselves what they import",
            hint="leave out --import",
        )
    needed = LIBRARY if config.library else imports_of(paths)
    modules = modules_with(here, config.imports, needed)
    if of_project is None:
        here.spec(modules)  # what cannot be set up is refused before anything is written
    asked = {
        "command": "data trace", "paths": [str(path.resolve()) for path in paths],
        "file_seconds": config.file_seconds, "modules": modules, "toolchain": here.label,
        **({"library": True} if config.library else {"judge": config.judge}),
        **({"project": of_project.root.name} if of_project else {}),
    }  # fmt: skip
    open_run(out, asked, resume=resume)
    if of_project is not None:
        tracer = ProjectTracer(of_project, _options(of_project, modules, found, watcher.warn))

    async def work() -> Report | None:
        if of_project is not None:
            return await trace_project_files(found, tracer, out, _tools(config, here, watcher))
        do = trace_library_files if config.library else trace_lean_files
        return await do(found, modules, out, _tools(config, here, watcher))

    told = run_sync(work())
    if told is not None:
        publish_json(out / REPORT, told)
    return told


def _options(
    project: Project,
    modules: Sequence[str],
    files: Sequence[tuple[Path, str]],
    warn: Callable[[str], None],
) -> dict[str, tuple[str, ...]]:
    """Lean's options for each library, asked with its first file.

    What is not up to date is traced as it was built, and said to be old.
    """
    try:
        project.setup(modules)
    except SetupError as error:
        warn(f"{error.message}; {error.hint}")
    found: dict[str, tuple[str, ...]] = {}
    for path, trouble in files:
        library = library_of(project.module_at(path))
        if not trouble and library not in found:
            found[library] = project.setup(["Init"], path)
    return found


def _whole_proofs(
    given: str, out: Path, config: TraceConfig, watcher: Watcher, resume: bool
) -> Report | None:
    check_out(out)
    source = open_source(given)
    bad = BadRows()
    proofs = source.proofs(Notes(watcher.warn, bad.add))
    here = Leans(config)
    asked = {
        "command": "data trace", "source": source.info.name, "sha256": source.checksum(),
        "file_seconds": config.file_seconds, "judge": config.judge, "imports": list(config.imports),
        "toolchain": here.label,
    }  # fmt: skip
    open_run(out, asked, resume=resume)
    laid = lay_out(proofs, out / LEAN)
    refuse_nothing(laid)
    bad.tell(watcher.warn)

    async def work() -> Report | None:
        return await trace_whole_proofs(source, laid, out, _tools(config, here, watcher))

    return run_sync(work())


def _tools(config: TraceConfig, here: Leans, watcher: Watcher) -> Tools:
    how = Trace(file_seconds=config.file_seconds, judge=config.judge)
    return Tools(here, watcher, watcher.stopping(), load_fixes(), how, config.workers, config.imports)
