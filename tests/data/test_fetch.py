"""What pins a benchmark holds, wherever its files come from."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Literal

import pytest

from burnqed.core.errors import CorruptError, InputError, NetworkError
from burnqed.core.types import TheoremText
from burnqed.data import benchmarks
from burnqed.data.benchmarks import (
    BENCHMARKS,
    Benchmark,
    IndexFile,
    Repository,
    is_here,
    load,
    stored,
    theorem_set,
)
from burnqed.data.fetch import fetch
from burnqed.lean.statement import declarations, header, with_sorry
from tests.data.repositories import (
    ABSENT,
    AIME,
    ALGEBRA,
    FILES,
    HEADER,
    LINES,
    committed,
    git,
    names,
    of_lean_files,
    of_lines,
    put,
)

pytestmark = pytest.mark.usefixtures("folder")


# --------------------------------------------------------------------------------- fetching


def test_a_folder_of_lean_files(folder: Path) -> None:
    """A theorem a file, left open behind its options and `open`s; other files are not looked at."""
    commit = committed(folder / "upstream", FILES)
    index = fetch(of_lean_files(folder / "upstream", commit), None)
    assert names(index) == ["aime_1983_p9", "mathd_algebra_44"]
    assert index.imports == ("Mathlib",)
    assert index.revision == f"commit {commit} of {folder / 'upstream'}"
    assert [e.fields["file_path"] for e in index.entries] == list(FILES)[:2]
    for theorem, stated in zip(index.theorems, (AIME, ALGEBRA), strict=True):
        assert theorem.statement.__class__ is TheoremText
        assert header(theorem.statement) == f"{HEADER}\n{stated}"
        text = with_sorry(theorem.statement)
        assert [d.name for d in declarations(text)] == [theorem.name]
        assert text.count("sorry") == 1


def test_a_lean_file_with_more_than_a_theorem(folder: Path) -> None:
    """The last theorem is the one that is asked for, and goes by its full name."""
    text = (
        "import Mathlib\nimport Aesop\n\nnamespace IMO\n\ndef f (n : ℕ) := n\n\n"
        "lemma f_eq : f 1 = 1 := rfl\n\n/-- Find it. -/\n@[simp]\ntheorem p6 : f 2 = 2 := by sorry\n"
    )
    commit = committed(folder / "upstream", {"MiniF2F/Test/p6.lean": text, "MiniF2F/Test/x.lean": "\n"})
    index = fetch(of_lean_files(folder / "upstream", commit), None)
    (theorem,) = index.theorems
    assert theorem.name == "IMO.p6"
    assert index.imports == ("Mathlib", "Aesop")
    assert header(theorem.statement).startswith("namespace IMO\n\ndef f (n : ℕ) := n\n\nlemma f_eq")
    assert header(theorem.statement).endswith("/-- Find it. -/\n@[simp]\ntheorem p6 : f 2 = 2")


def test_json_lines_of_one_split(folder: Path) -> None:
    """Names are numbered over the whole file, so that a theorem has one name in every part of it."""
    commit = committed(folder / "upstream", {"datasets/lines.jsonl": LINES})
    index = fetch(of_lines(folder / "upstream", commit, "test"), None)
    assert names(index) == ["b", "b#2"]
    assert index.imports == ("Mathlib",)
    assert index.entries[0].fields["file_path"] == "datasets/lines.jsonl:2"
    assert header(index.theorems[0].statement) == "open Nat\ntheorem b (n : ℕ) : n = n"
    assert names(fetch(of_lines(folder / "upstream", commit, "valid"), None)) == ["a", "c"]
    assert names(fetch(of_lines(folder / "upstream", commit, ""), None)) == ["a", "b", "b#2", "c"]


def test_a_commit_that_is_not_the_newest(folder: Path) -> None:
    """What happens upstream after a commit was pinned changes nothing."""
    repository = folder / "upstream"
    pinned = committed(repository, FILES)
    text = FILES["MiniF2F/Test/mathd_algebra_44.lean"].replace("t = 4", "t = 5")
    newer = committed(repository, {"MiniF2F/Test/mathd_algebra_44.lean": text})
    before, after = (fetch(of_lean_files(repository, commit), None) for commit in (pinned, newer))
    assert before.checksum != after.checksum
    assert "t = 4" in header(before.theorems[1].statement)


def test_what_is_kept_is_the_same_set(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = folder / "upstream"
    files = {**FILES, "datasets/lines.jsonl": LINES}
    commit = committed(repository, files)
    for benchmark in (of_lean_files(repository, commit), of_lines(repository, commit)):
        assert not is_here(benchmark)
        fetched = fetch(benchmark, None)
        assert is_here(benchmark)
        assert stored(benchmark) == folder / "cache" / "benchmarks" / f"{benchmark.name}.json"
        monkeypatch.setitem(benchmarks.BENCHMARKS, benchmark.name, benchmark)
        kept = theorem_set(benchmark.name)
        assert kept == fetched
        assert kept.checksum == fetched.checksum


@pytest.mark.parametrize("form", ["lean", "jsonl"])
def test_a_set_without_a_theorem_is_not_kept(folder: Path, form: Literal["lean", "jsonl"]) -> None:
    """Such as after a folder or a split was named otherwise upstream: not a set that is all proved."""
    repository = folder / "upstream"
    lines = LINES.replace('"test"', '"dev"')
    files = {"sets/nothing.lean": "-- no theorem\n", "set.jsonl": lines}
    commit = committed(repository, files)
    path = {"lean": "sets", "jsonl": "set.jsonl"}[form]
    benchmark = Benchmark("empty", "", Repository(str(repository), commit, path, form, "test"), "MIT")
    with pytest.raises(InputError, match="there is no theorem of empty in what was fetched"):
        fetch(benchmark, None)
    assert not is_here(benchmark)


def test_a_commit_that_cannot_be_fetched(folder: Path) -> None:
    commit = committed(folder / "upstream", FILES)
    benchmark = of_lean_files(folder / "upstream", ABSENT)
    for wrong in (benchmark, of_lean_files(folder / "nowhere", commit)):
        with pytest.raises(NetworkError, match="cannot fetch ") as caught:
            fetch(wrong, None)
        assert "--from" in caught.value.hint
        assert not is_here(wrong)


def test_a_commit_without_the_files(folder: Path) -> None:
    commit = committed(folder / "upstream", FILES)
    with pytest.raises(InputError, match=f"has no MiniF2F/Tset at {commit[:12]}"):
        fetch(of_lean_files(folder / "upstream", commit, "MiniF2F/Tset"), None)


def test_a_fetch_that_fails_keeps_what_is_here(folder: Path) -> None:
    commit = committed(folder / "upstream", FILES)
    benchmark = of_lean_files(folder / "upstream", commit)
    fetched = fetch(benchmark, None)
    with pytest.raises(NetworkError):
        fetch(of_lean_files(folder / "upstream", ABSENT), None)
    assert load(benchmark) == fetched


def test_what_is_made_here_is_not_fetched(folder: Path) -> None:
    with pytest.raises(InputError, match="qed-core is made here"):
        fetch(BENCHMARKS["qed-core"], folder)
    with pytest.raises(InputError, match="core-300 is made here") as caught:
        fetch(BENCHMARKS["core-300"], folder)
    assert caught.value.hint == "leave out --from"


# ------------------------------------------------------------------------------- from a copy


def test_a_checkout_that_has_the_commit_is_checked(folder: Path) -> None:
    """What is read is the commit, whatever became of the working tree."""
    repository = folder / "checkout"
    commit = committed(repository, FILES)
    benchmark = of_lean_files(folder / "gone", commit)
    expected = fetch(of_lean_files(repository, commit), None)
    text = FILES["MiniF2F/Test/mathd_algebra_44.lean"].replace("t = 4", "t = 5")
    put(repository, {"MiniF2F/Test/mathd_algebra_44.lean": text, "MiniF2F/Test/new.lean": text})
    (repository / "MiniF2F" / "Test" / "aime_1983_p9.lean").unlink()
    index = fetch(benchmark, repository)
    assert index.theorems == expected.theorems
    assert index.checksum == expected.checksum
    assert index.revision == f"commit {commit} of {folder / 'gone'}"
    committed(repository, {"more": ""})
    assert fetch(benchmark, repository) == index


def test_a_folder_inside_of_a_checkout_is_the_checkout(folder: Path) -> None:
    commit = committed(folder / "checkout", FILES)
    benchmark = of_lean_files(folder / "gone", commit)
    whole = fetch(benchmark, folder / "checkout")
    assert fetch(benchmark, folder / "checkout" / "MiniF2F" / "Test") == whole


def test_a_checkout_cannot_say_that_a_commit_is_another(folder: Path) -> None:
    """Git can be told to read one object for another; the pin is of the first."""
    repository = folder / "checkout"
    pinned = committed(repository, FILES)
    text = FILES["MiniF2F/Test/mathd_algebra_44.lean"].replace("t = 4", "t = 5")
    other = committed(repository, {"MiniF2F/Test/mathd_algebra_44.lean": text})
    git(repository, "replace", pinned, other)
    index = fetch(of_lean_files(folder / "gone", pinned), repository)
    assert "t = 4" in header(index.theorems[1].statement)


def test_the_repository_of_a_hook_is_not_meant(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git tells its hooks where their repository is, and everything that they start."""
    benchmark = of_lean_files(folder / "upstream", committed(folder / "upstream", FILES))
    expected = fetch(benchmark, None)
    committed(folder / "hooked", {"a": ""})
    hooked = folder / "hooked" / ".git"
    before = {path: path.stat().st_mtime_ns for path in hooked.rglob("*")}
    monkeypatch.setenv("GIT_DIR", str(hooked))
    monkeypatch.setenv("GIT_INDEX_FILE", str(hooked / "index"))
    assert fetch(benchmark, folder / "upstream") == expected
    assert fetch(benchmark, None) == expected
    assert {path: path.stat().st_mtime_ns for path in hooked.rglob("*")} == before


@pytest.mark.parametrize("inside", ["", "MiniF2F/Test"])
def test_a_plain_folder_is_taken_as_it_is(folder: Path, inside: str) -> None:
    """With the repository's layout, or only the files; every result says that nobody checked it."""
    benchmark = of_lean_files(folder / "gone", ABSENT)
    put(folder / "copy", FILES)
    index = fetch(benchmark, folder / "copy" / inside)
    assert names(index) == ["aime_1983_p9", "mathd_algebra_44"]
    name = Path("copy", inside).name
    assert index.revision == f"a local copy ({name}), not checked against a pin"
    assert load(benchmark) == index
    commit = committed(folder / "upstream", FILES)
    assert fetch(of_lean_files(folder / "upstream", commit), None).checksum == index.checksum


def test_a_checkout_that_lacks_the_commit_is_a_plain_folder(folder: Path) -> None:
    committed(folder / "checkout", FILES)
    index = fetch(of_lean_files(folder / "gone", ABSENT), folder / "checkout")
    assert "not checked" in index.revision


def test_files_of_one_name_in_two_folders_are_two(folder: Path) -> None:
    files = {f"copy/{part}/p1.lean": f"theorem {part} : 1 = 1 := by sorry" for part in ("amc", "imo")}
    put(folder, files)
    index = fetch(of_lean_files(folder / "gone", ABSENT), folder / "copy")
    assert names(index) == ["amc", "imo"]
    assert [entry.fields["file_path"] for entry in index.entries] == list(files)


def test_json_lines_from_a_copy(folder: Path) -> None:
    put(folder, {"copy/datasets/lines.jsonl": LINES, "copy/A.lean": "theorem a : 1 = 1 := by sorry"})
    benchmark = of_lines(folder / "gone", ABSENT)
    for copy in (folder / "copy", folder / "copy" / "datasets" / "lines.jsonl"):
        index = fetch(benchmark, copy)
        assert names(index) == ["b", "b#2"]
        assert "not checked" in index.revision
    for wrong in ("A.lean", "absent.jsonl"):
        with pytest.raises(InputError):
            fetch(benchmark, folder / "copy" / wrong)


def test_a_folder_that_lacks_the_json_lines(folder: Path) -> None:
    """Lean files that lie there are something else."""
    put(folder, {"copy/A.lean": "theorem a : 1 = 1 := by sorry", "copy/B.lean": ""})
    with pytest.raises(InputError, match=r"copy has no datasets/lines\.jsonl") as caught:
        fetch(of_lines(folder / "gone", ABSENT), folder / "copy")
    assert "--from" in caught.value.hint


def test_a_copy_that_has_nothing(folder: Path) -> None:
    benchmark = of_lean_files(folder / "gone", ABSENT)
    (folder / "empty").mkdir()
    with pytest.raises(InputError, match=r"empty has no \.lean files"):
        fetch(benchmark, folder / "empty")
    with pytest.raises(InputError, match=r"cannot read the copy in .*absent"):
        fetch(benchmark, folder / "absent")
    (folder / "empty" / "bad.lean").write_bytes(b"theorem \xff")
    with pytest.raises(InputError, match=r"cannot read the copy in .*empty"):
        fetch(benchmark, folder / "empty")


def test_an_index_that_somebody_made(folder: Path) -> None:
    entry = {"name": "a", "statement": "theorem a : f = 1", "context": {"file": "A", "length": 10}}
    content = {"name": "theirs", "imports": ["Std"], "files": {"A": "def f := 1"}, "theorems": [entry]}
    put(folder, {"made.json": json.dumps(content), "list.json": "[]", "bad.json": "{"})
    benchmark = of_lean_files(folder / "gone", ABSENT)
    index = fetch(benchmark, folder / "made.json")
    assert (index.name, index.imports) == ("mini", ("Std",))
    assert index.revision == "a local copy (made.json), not checked against a pin"
    assert load(benchmark) == index, "with the files that its contexts are in"
    for wrong, told in [
        ("list.json", "is not an index"),
        ("bad.json", "is not JSON"),
        ("no.json", "cannot"),
    ]:
        with pytest.raises(InputError, match=told):
            fetch(benchmark, folder / wrong)


def test_an_index_is_checked_by_its_digest(folder: Path) -> None:
    content = {"name": "x", "theorems": [{"name": "a", "statement": "1 = 1"}]}
    put(folder, {"right.json": json.dumps(content), "wrong.json": json.dumps(content, indent=1)})
    digest = hashlib.sha256((folder / "right.json").read_bytes()).hexdigest()
    benchmark = Benchmark("index", "a test", IndexFile(digest), "MIT")
    index = fetch(benchmark, folder / "right.json")
    assert (index.name, index.revision, names(index)) == ("index", f"sha256 {digest}", ["a"])
    assert load(benchmark) == index
    with pytest.raises(CorruptError, match=f"is not index: its SHA-256 is .*, not {digest}") as caught:
        fetch(benchmark, folder / "wrong.json")
    assert "by its path" in caught.value.hint
    assert load(benchmark) == index
    with pytest.raises(InputError, match="index cannot be downloaded") as caught_too:
        fetch(benchmark, None)
    assert "--from" in caught_too.value.hint
