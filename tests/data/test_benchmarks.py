"""Benchmarks by name: what pins them holds, wherever their files come from."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from burnqed.core.errors import CorruptError, InputError, NetworkError, SetupError
from burnqed.core.types import LibraryConstant, TheoremText
from burnqed.data import benchmarks
from burnqed.data.benchmarks import (
    BENCHMARKS,
    Benchmark,
    IndexFile,
    LibrarySample,
    Packaged,
    Repository,
    build,
    fetch,
    is_here,
    load,
    stored,
    theorem_set,
)
from burnqed.data.fetch import fetch_commit, has_commit, read_commit
from burnqed.data.index import TheoremIndex, read_index
from burnqed.lean.pool import Pool
from burnqed.lean.statement import declarations, header, with_sorry
from burnqed.lean.toolchain import Toolchain

ABSENT = "0123456789abcdef0123456789abcdef01234567"
HEADER = "set_option maxHeartbeats 0\n\nopen BigOperators Real Nat Topology Rat"
AIME = "theorem aime_1983_p9 (x : ℝ) (h₀ : 0 < x ∧ x < Real.pi) :\n  12 ≤ (9 * x + 4) / x"
ALGEBRA = "theorem mathd_algebra_44 (s t : ℝ) (h₀ : s = 9 - 2 * t) : s = 1 ∧ t = 4"
FILES = {
    "MiniF2F/Test/aime_1983_p9.lean": f"import Mathlib\n\n{HEADER}\n\n{AIME} := by sorry",
    "MiniF2F/Test/mathd_algebra_44.lean": f"import Mathlib\n\n{HEADER}\n\n{ALGEBRA} := by\n  sorry\n",
    "MiniF2F/Valid/other.lean": "import Mathlib\n\ntheorem other : 1 = 1 := by sorry\n",
    "MiniF2F/Test/README.md": "A theorem a file. Each theorem is left open.\n",
    "MiniF2F/Test.lean": "import MiniF2F.Test.aime_1983_p9\n",
}
LINES = "".join(
    json.dumps(
        {
            "name": name,
            "split": split,
            "informal_prefix": "/-- Show that it is so. -/\n",
            "formal_statement": f"theorem {name} (n : ℕ) : n = n :=",
            "header": "import Mathlib\n\nopen Nat\n\n",
        }
    )
    + "\n"
    for name, split in [("a", "valid"), ("b", "test"), ("b", "test"), ("c", "valid")]
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of our own, and a git that knows nothing of whoever runs the tests."""
    monkeypatch.setenv("BURN_QED_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def git(repository: Path, *arguments: str) -> str:
    who = ["-c", "user.name=Nobody", "-c", "user.email=nobody@example.org"]
    command = ["git", "-C", str(repository), *who, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


def put(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def committed(repository: Path, files: Mapping[str, str]) -> str:
    """A commit with these files on top of what is there, and its name."""
    put(repository, files)
    if not (repository / ".git").is_dir():
        git(repository, "init", "--quiet")
        git(repository, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "the files")
    return git(repository, "rev-parse", "HEAD")


def of_lean_files(repository: Path, commit: str, path: str = "MiniF2F/Test") -> Benchmark:
    return Benchmark("mini", "a test", Repository(str(repository), commit, path, "lean"), "MIT")


def of_lines(repository: Path, commit: str, split: Literal["valid", "test", ""] = "test") -> Benchmark:
    origin = Repository(str(repository), commit, "datasets/lines.jsonl", "jsonl", split)
    return Benchmark("lines", "a test", origin, "MIT")


def names(index: TheoremIndex) -> list[str]:
    return [theorem.name for theorem in index.theorems]


# ----------------------------------------------------------------------------- those we know


def test_qed_core_is_the_set_that_is_pinned() -> None:
    benchmark = BENCHMARKS["qed-core"]
    assert isinstance(benchmark.origin, Packaged)
    index = load(benchmark)
    assert index.checksum == benchmark.origin.checksum
    assert (index.name, index.revision, len(index.entries)) == ("qed-core", benchmark.pin, 150)
    assert is_here(benchmark)
    assert fetch(benchmark, None) == index


def test_every_benchmark_has_a_pin() -> None:
    for name, benchmark in BENCHMARKS.items():
        assert name == benchmark.name
        assert re.fullmatch("commit [0-9a-f]{40}|(checksum|sha256) [0-9a-f]{64}", benchmark.pin)
        assert benchmark.about
        assert benchmark.licence
        if isinstance(benchmark.origin, Repository):
            assert benchmark.origin.url.startswith("https://")
        assert is_here(benchmark) == (name == "qed-core"), "the cache is empty"


@pytest.mark.lean
@pytest.mark.slow
async def test_core_300_is_the_set_that_is_pinned(toolchain: Toolchain) -> None:
    """Made of the embedded Lean's library; a set that comes out otherwise is not kept."""
    benchmark = BENCHMARKS["core-300"]
    assert isinstance(benchmark.origin, LibrarySample)
    async with Pool(toolchain.launch(benchmark.origin.modules), 1) as pool:
        with pytest.raises(CorruptError, match="core-300 comes out as another set") as caught:
            await build(benchmark, replace(benchmark.origin, modules=("Init.Core",), count=9), pool)
        assert "burn-qed data index --module" in caught.value.hint
        assert not is_here(benchmark)
        index = await build(benchmark, benchmark.origin, pool)
    assert index.checksum == benchmark.origin.checksum
    assert (len(index.entries), index.imports, index.leak_rules) == (300, ("Init", "Std"), ("self",))
    assert theorem_set("core-300") == index


# --------------------------------------------------------------------------------- by name


def test_a_set_is_named_or_is_a_file(folder: Path) -> None:
    assert theorem_set("qed-core").name == "qed-core"
    path = folder / "mine.json"
    put(folder, {"mine.json": json.dumps([{"name": "a", "statement": "1 = 1"}])})
    assert theorem_set(str(path)) == read_index(path)


def test_a_name_is_not_looked_for_in_the_working_directory(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What qed-core is does not depend on where one stands."""
    put(folder, {"qed-core": "[]", "other": "[]"})
    monkeypatch.chdir(folder)
    assert len(theorem_set("qed-core").entries) == 150
    assert theorem_set("other").entries == ()


@pytest.mark.parametrize("given", ["qed-cor", "minif2f", "no/such/file"])
def test_a_name_that_nobody_knows(given: str) -> None:
    with pytest.raises(InputError, match=f"there is no benchmark and no file {given}") as caught:
        theorem_set(given)
    assert "burn-qed data benchmarks" in caught.value.hint


def test_a_file_that_is_not_there(folder: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*absent\.json: No such file"):
        theorem_set(str(folder / "absent.json"))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("minif2f-test", "burn-qed data fetch minif2f-test"),
        ("core-300", "burn-qed data fetch core-300"),
        ("minif2f-core-valid", "burn-qed data fetch minif2f-core-valid --from FILE"),
    ],
)
def test_a_benchmark_that_is_not_here_yet(name: str, hint: str) -> None:
    with pytest.raises(InputError, match=f"{name} is not on this machine yet") as caught:
        theorem_set(name)
    assert caught.value.hint == hint


def test_one_split_of_a_set(folder: Path) -> None:
    entries = [{"name": n, "statement": "1 = 1", "split": s} for n, s in [("a", "test"), ("b", "val")]]
    put(folder, {"mine.json": json.dumps(entries)})
    assert names(theorem_set(str(folder / "mine.json"), split="val")) == ["b"]
    parts = [theorem_set("qed-core", split=split) for split in ("train", "val", "test")]
    assert sum(len(part.entries) for part in parts) == 150
    assert [part.name for part in parts] == ["qed-core/train", "qed-core/val", "qed-core/test"]
    with pytest.raises(InputError, match="no theorem of qed-core is in the split tset"):
        theorem_set("qed-core", split="tset")


def test_the_leak_rule_of_a_set_can_be_replaced(folder: Path) -> None:
    entries = [{"name": "a", "constant": "Nat.add_comm", "leak_rule": "self"}]
    put(folder, {"mine.json": json.dumps(entries)})
    (theorem,) = theorem_set(str(folder / "mine.json"), "module").theorems
    assert theorem.statement == LibraryConstant("Nat.add_comm", "module")


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
        ("list.json", "is no index"),
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


# --------------------------------------------------------------------------------------- git


def test_files_of_a_commit_by_path(folder: Path) -> None:
    files: dict[str, Any] = {"a/ü b.lean": "-- ∀\n", "a/sub/c.lean": "", "ab.lean": "x", "d": "no end"}
    commit = committed(folder / "upstream", files)
    assert fetch_commit(str(folder / "upstream"), commit, ["a"]) == {
        "a/sub/c.lean": "",
        "a/ü b.lean": "-- ∀\n",
    }
    assert read_commit(folder / "upstream", commit, ["d", "ab.lean"]) == {"ab.lean": "x", "d": "no end"}
    assert has_commit(folder / "upstream", commit)
    assert not has_commit(folder / "upstream", ABSENT)
    assert not has_commit(folder / "upstream" / "d", commit)
    assert not has_commit(folder / "absent", commit)


def test_a_file_that_is_no_text(folder: Path) -> None:
    (folder / "upstream").mkdir()
    (folder / "upstream" / "a.bin").write_bytes(b"\xff\x00")
    commit = committed(folder / "upstream", {"b": ""})
    with pytest.raises(InputError, match="is not text"):
        read_commit(folder / "upstream", commit, ["a.bin"])


def test_without_git(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be downloaded, nor any checkout be checked; a copy is still a copy."""
    commit = committed(folder / "upstream", FILES)
    benchmark = of_lean_files(folder / "upstream", commit)
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(SetupError, match="there is no git") as caught:
        fetch(benchmark, None)
    assert not isinstance(caught.value, NetworkError)
    assert "--from" in caught.value.hint
    index = fetch(benchmark, folder / "upstream")
    assert names(index) == ["aime_1983_p9", "mathd_algebra_44"]
    assert "not checked" in index.revision
