"""Files of anybody's: what is read, what is refused, and that nothing waits or fills the memory."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from burnqed.core.errors import InputError
from burnqed.lean.source_file import MAX_BYTES, decoded, read_regular, read_source
from tests.cli.in_process import burn_qed


@pytest.fixture(autouse=True)
def nothing_waits() -> Iterator[None]:
    """A test that hangs ends as one that fails."""

    def late(*_: object) -> None:
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def made(folder: Path, kind: str) -> Path:
    path = folder / f"{kind}.lean"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "device":
            path.symlink_to("/dev/zero")
        case "sparse":
            path.touch()
            os.truncate(path, 2**40)
        case "long":
            path.write_bytes(b"-" * (MAX_BYTES + 1))
        case "latin":
            path.write_bytes(b"theorem \xff")
        case "return":
            path.write_bytes(b"-- a\n-- b\rtheorem t : 1 = 1 := rfl\n")
    return path


SAID = {
    "pipe": "it is not a regular file",
    "folder": "it is a folder",
    "device": "it is not a regular file",
    "sparse": "longer than 1 MB",
    "long": "longer than 1 MB",
    "latin": "not UTF-8 text, from byte 8 on",
    "return": "a lone carriage return in line 2",
    "absent": "No such file",
}


@pytest.mark.parametrize("kind", SAID)
@pytest.mark.parametrize("command", ["check", "prove"])
def test_what_is_no_text_is_refused_at_once(tmp_path: Path, command: str, kind: str) -> None:
    path = made(tmp_path, kind)
    told = burn_qed(command, path, code=2).stderr
    assert f"cannot read {path}: " in told
    assert SAID[kind] in told


def test_so_is_the_reference_and_a_folder_without_an_ending(tmp_path: Path) -> None:
    proof = tmp_path / "proof.lean"
    proof.write_text("theorem t : 1 = 1 := rfl\n")
    assert SAID["pipe"] in burn_qed("check", proof, "--against", made(tmp_path, "pipe"), code=2).stderr
    folder = tmp_path / "Nat"
    folder.mkdir()
    assert SAID["folder"] in burn_qed("prove", folder, code=2).stderr
    os.mkfifo(tmp_path / "statement")
    assert SAID["pipe"] in burn_qed("prove", tmp_path / "statement", code=2).stderr


@pytest.mark.lean
def test_data_goes_on_with_the_other_files(tmp_path: Path) -> None:
    (tmp_path / "good.lean").write_text("theorem t : 1 = 1 := by rfl\n")
    made(tmp_path, "pipe")
    made(tmp_path, "sparse")
    burn_qed("data", "index", "--lean", tmp_path, "--out", tmp_path / "set.json", code=2)
    content = (tmp_path / "set.json").read_text()
    assert SAID["pipe"] in content
    assert SAID["sparse"] in content
    told = burn_qed("data", "trace", tmp_path, "--out", tmp_path / "trace").stdout
    assert SAID["pipe"] in told


def test_standard_input_has_an_end(tmp_path: Path) -> None:
    told = burn_qed("prove", "-", code=2, stdin="-" * (MAX_BYTES + 1)).stderr
    assert "cannot read standard input: it is longer than 1 MB" in told
    assert SAID["return"] in burn_qed("prove", "-", code=2, stdin="1 =\n\r1").stderr


def test_a_text_is_what_stands_in_the_file(tmp_path: Path) -> None:
    """But for the mark at its beginning. Line ends of Windows are kept, for who writes it again."""
    path = tmp_path / "a.lean"
    path.write_bytes("\ufeff-- ∀\r\n\ttheorem\n\x0c\x85\u2028".encode())
    assert read_source(path) == "-- ∀\r\n\ttheorem\n\x0c\x85\u2028"
    assert read_regular(Path("/proc/self/status")).startswith(b"Name:")  # whose size is said to be 0
    for bad in (b"\r", b"a\r\r\n", b"\n\rb", b"a\r\n\r"):
        with pytest.raises(InputError, match="carriage return"):
            decoded(bad)
    assert decoded(b"\r\n\r\n") == "\r\n\r\n"
