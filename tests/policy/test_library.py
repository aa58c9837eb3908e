"""The library as Lean tells it: read once, kept, and the one that comes along is the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from burnqed.core.errors import LeanDied, LeanError
from burnqed.core.types import ProofState, StepOutcome, TimedOut
from burnqed.lean import library as reader
from burnqed.lean import replies
from burnqed.lean.embedded.progress import Silent
from burnqed.lean.pool import Pool
from burnqed.lean.process import LaunchSpec
from burnqed.lean.session import Session
from burnqed.lean.toolchain import Toolchain
from burnqed.policy.ranked import library
from burnqed.policy.ranked.library import Library, ensure_library, shipped_library
from burnqed.policy.ranked.patterns import usable

PAGES = 3


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Lean that has no more theorems than some pages hold: all of them take a minute."""
    whole = reader._page

    async def page(
        pool: Pool, modules: Sequence[str], offset: int, size: int, printed: bool
    ) -> replies.TheoremsPage:
        return structs.replace(await whole(pool, modules, offset, size, printed), total=PAGES * size)

    monkeypatch.setattr(reader, "_page", page)


@pytest.mark.lean
def test_what_comes_along_is_what_lean_says(
    few: None, tmp_path: Path, toolchain: Toolchain, lean_launch: LaunchSpec
) -> None:
    """If not: remove the file that comes along, `burn-qed prove --import Std` anything on an empty
    cache, and put the file that it leaves in its library/ there instead.
    """
    whole = shipped_library(toolchain, ("Init",))
    assert whole is not None, "it is of another Lean, or of another format"
    read = ensure_library(tmp_path / "here.parquet", lean_launch, 2, Silent())
    count = len(read.names)
    assert 0.8 * PAGES * reader.PAGE < count < len(whole.names)
    assert read.names == whole.names[:count]
    assert read.modules == whole.modules[:count]
    assert read.statements == whole.statements[:count]
    assert read.imports == whole.imports
    assert read.unusable == whole.unusable & set(read.names)
    assert 0 < len(read.unusable) < count


@pytest.mark.lean
def test_it_is_read_once(
    few: None, tmp_path: Path, lean_launch: LaunchSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def all_of_them(_pool: Pool, names: Sequence[str], _at: object) -> frozenset[str]:
        return frozenset(names)  # what grind can use has a test of its own

    monkeypatch.setattr(library, "usable", all_of_them)
    file = tmp_path / "here.parquet"
    read = ensure_library(file, lean_launch, 1, Silent())
    monkeypatch.setattr(library, "run_sync", None)  # whoever would ask Lean again
    assert ensure_library(file, lean_launch, 1, Silent()) == read


def test_what_comes_along_goes_as_far_as_what_is_imported(toolchain: Toolchain) -> None:
    init, every = (shipped_library(toolchain, modules) for modules in (("Init",), ("Init", "Std")))
    assert init is not None
    assert every is not None
    assert 20_000 < len(init.names) < 30_000 < len(every.names)
    assert all(module.startswith("Init") for module in init.modules)
    assert init.names == every.names[: len(init.names)]
    some = shipped_library(toolchain, ("Init", "Std.Data.TreeMap"))
    assert some is not None
    assert "Std.TreeMap.contains_insert" in some.places
    assert "Std.HashMap.contains_insert" not in some.places
    assert "Std.HashMap.contains_insert" in every.places
    assert some.identity not in (init.identity, every.identity)


def test_a_part_of_a_library_has_what_its_modules_import() -> None:
    names, modules = ("a", "b", "c", "d"), ("A", "B", "C", "D")
    imports = {"A": (), "B": ("A",), "C": ("A",), "D": ("B", "C")}
    whole = Library(names, modules, names, imports, frozenset({"b", "c"}))
    assert whole.within(["D"]) == whole
    assert whole.within(["B"]) == Library(
        ("a", "b"), ("A", "B"), ("a", "b"), {"A": (), "B": ("A",)}, frozenset({"b"})
    )
    assert whole.within([]).names == ()


def test_modules_that_do_not_come_along_are_read(toolchain: Toolchain) -> None:
    assert shipped_library(toolchain, ("Init", "Mine")) is None
    assert shipped_library(replace(toolchain, version="4.0.0"), ("Init",)) is None


@pytest.mark.lean
async def test_lemmas_that_grind_can_use(lean_launch: LaunchSpec) -> None:
    can, cannot = ["List.length_map", "List.length_append"], ["Nat.add_comm", "congr"]
    seen: list[int] = []
    async with Pool(lean_launch, 1) as pool:
        assert await usable(pool, [*can, *cannot], seen.append) == {*can}
        # nobody says that it is this one, and the others are found all the same
        assert await usable(pool, [can[0], "No.such.lemma", *can[1:]], seen.append) == {*can}
        assert await usable(pool, [], seen.append) == set()
    assert seen == [4, 3]


@pytest.mark.lean
@pytest.mark.parametrize("by_heartbeats", [True, False])
async def test_lean_that_is_too_slow_to_say_is_no_answer(
    by_heartbeats: bool, lean_pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lean's own limit is the same on every machine, the clock is not, and what is said is kept."""

    async def late(*_: object) -> TimedOut:
        return TimedOut(30.0, by_heartbeats)

    monkeypatch.setattr(Session, "apply", late)
    if by_heartbeats:
        assert await usable(lean_pool, ["Nat.add_comm", "congr"], lambda _: None) == set()
    else:
        with pytest.raises(LeanError, match=r"in 30 s whether grind can use Nat\.add_comm"):
            await usable(lean_pool, ["Nat.add_comm", "congr"], lambda _: None)


@pytest.mark.lean
@pytest.mark.parametrize("deadly", [1, 30])
async def test_a_lemma_that_ends_lean_is_left_out(
    deadly: int, lean_pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lean dies of some lemmas. It dies of many when it is not the lemmas that are wrong."""
    names = [f"deadly{i}" for i in range(deadly)]
    ask = Session.apply

    async def apply(session: Session, state: ProofState, tactic: str) -> StepOutcome:
        if "deadly" in tactic:
            raise LeanDied("Lean died (signal 8, Floating point exception)")
        return await ask(session, state, tactic)

    monkeypatch.setattr(Session, "apply", apply)
    given = ["List.length_map", *names, "List.length_append"]
    if deadly == 1:
        assert await usable(lean_pool, given, lambda _: None) == {given[0], given[-1]}
    else:
        with pytest.raises(LeanDied):
            await usable(lean_pool, given, lambda _: None)
