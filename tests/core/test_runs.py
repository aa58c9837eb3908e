"""A run's directory: begun once, gone on with only as the same run."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnqed.core.errors import InfrastructureError, InputError
from burnqed.core.runs import MANIFEST, open_run, read_manifest
from tests.core.test_files import full_disk

ASKED = {"command": "search", "nodes": 100, "seconds": None, "modules": ["Init"]}


def test_a_new_run_writes_down_what_was_asked(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "first"
    open_run(run, ASKED, resume=False)
    assert read_manifest(run) == ASKED
    assert [path.name for path in run.iterdir()] == [MANIFEST]


def test_an_empty_directory_will_do_and_resuming_nothing_begins(tmp_path: Path) -> None:
    """So that one command line with --resume can be run again and again from the first time on."""
    open_run(tmp_path, ASKED, resume=True)
    assert read_manifest(tmp_path) == ASKED


def test_the_same_run_is_resumed(tmp_path: Path) -> None:
    open_run(tmp_path, ASKED, resume=False)
    before = (tmp_path / MANIFEST).read_bytes()
    (tmp_path / "results").mkdir()
    open_run(tmp_path, ASKED, resume=True)
    assert (tmp_path / MANIFEST).read_bytes() == before


def test_where_things_lie_is_told_and_not_compared(tmp_path: Path) -> None:
    """So that a run which was carried elsewhere goes on there."""
    open_run(tmp_path, ASKED, resume=False, places={"model": "/here/nano"})
    told = {**ASKED, "places": {"model": "/here/nano"}}
    assert read_manifest(tmp_path) == told
    for elsewhere in ({"model": "/there/nano"}, {}, None):
        open_run(tmp_path, ASKED, resume=True, places=elsewhere)
        assert read_manifest(tmp_path) == told, "as it began"
    with pytest.raises(InputError, match=r"other settings: nodes was 100, now 1$"):
        open_run(tmp_path, {**ASKED, "nodes": 1}, resume=True, places={"model": "/here/nano"})


def test_a_run_that_is_there_is_not_begun_again(tmp_path: Path) -> None:
    open_run(tmp_path, ASKED, resume=False)
    with pytest.raises(InputError, match="holds a run already") as caught:
        open_run(tmp_path, ASKED, resume=False)
    assert "--resume" in caught.value.hint


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"nodes": 200}, "nodes was 100, now 200"),
        ({"seconds": 1.5}, "seconds was None, now 1.5"),
        ({"modules": ["Init", "Std"]}, r"modules was \['Init'\], now \['Init', 'Std'\]"),
        ({"new": 1}, "new was None, now 1"),
    ],
)
def test_another_run_is_not_mixed_in(tmp_path: Path, change: dict[str, object], told: str) -> None:
    open_run(tmp_path, ASKED, resume=False)
    with pytest.raises(InputError, match=told):
        open_run(tmp_path, {**ASKED, **change}, resume=True)
    assert read_manifest(tmp_path) == ASKED


def test_a_setting_that_is_gone_is_a_difference(tmp_path: Path) -> None:
    open_run(tmp_path, ASKED, resume=False)
    with pytest.raises(InputError, match="nodes was 100, now None"):
        open_run(tmp_path, {k: v for k, v in ASKED.items() if k != "nodes"}, resume=True)


def test_a_directory_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("do not touch")
    for resume in (False, True):
        with pytest.raises(InputError, match="is not empty"):
            open_run(tmp_path, ASKED, resume=resume)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_run_that_was_killed_at_its_very_beginning_can_be_begun(tmp_path: Path) -> None:
    """Killed while the manifest was being written: what is left of it is not somebody's work."""
    (tmp_path / f".{MANIFEST}.12345.tmp").write_text('{"comm')
    open_run(tmp_path, ASKED, resume=False)
    assert read_manifest(tmp_path) == ASKED


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff\xfe", b"[1, 2]"])
def test_a_damaged_manifest_is_told(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / MANIFEST).write_bytes(damage)
    with pytest.raises(InfrastructureError, match=f"cannot read .*{MANIFEST}"):
        open_run(tmp_path, ASKED, resume=True)


def test_a_file_is_no_directory_for_a_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("do not touch")
    with pytest.raises(InputError, match=r"cannot use .*file: Not a directory"):
        open_run(tmp_path / "file", ASKED, resume=False)


def test_no_manifest(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no run"):
        read_manifest(tmp_path)


def test_a_run_that_could_not_begin_can_begin_later(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with pytest.raises(InfrastructureError, match="manifest"), full_disk():
        open_run(run, {**ASKED, "much": "x" * 1000}, resume=False)
    assert list(run.iterdir()) == []
    open_run(run, {"nodes": 1}, resume=False)
