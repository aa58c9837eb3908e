"""Files that Lean dies of, and files that take too long: what is said of which theorem, and when."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from burnqed.core.errors import LeanDied, LeanLost, LeanMemoryExceeded, RequestTimeout
from burnqed.lean import requests
from burnqed.lean.compiling import Compiled, Deadline, compile_file, is_of_the_text, why_lost
from burnqed.lean.judge import examine_file, judge_file
from burnqed.lean.pool import Pool
from burnqed.lean.process import LaunchSpec, Limits
from tests.lean.scripted_repl import launch

PANIC = "INTERNAL PANIC: Nat.pow exponent is too big"


async def compiled(text: str, *flags: str, seconds: float = 30.0) -> Compiled:
    async with Pool(launch(*flags), 2) as pool:
        return await compile_file(
            pool, lambda text: requests.Compile(text, {}).line, text, Deadline(seconds)
        )


def left(found: Compiled, text: str) -> list[str]:
    raw = text.encode()
    return [raw[slice(*command.boundary)].decode().strip() for command in found.reply.commands]


async def test_what_lean_dies_of_each_time_is_left_out() -> None:
    text = (
        "theorem ä : 1 = 1 := rfl\n"
        f"@[simp] theorem b : 2 = 2 -- exit 1 {PANIC}\n  := rfl\n\n/-- c -/\n"
        "theorem c : 3 = 3 := rfl\n"
        "theorem d : 4 = 4 := rfl -- exit 1 Lean's runtime failed: 2139413608\n"
        "#check c\n"
    )
    found = await compiled(text)
    assert left(found, text) == [
        "theorem ä : 1 = 1 := rfl", "theorem c : 3 = 3 := rfl", "#check c",
    ]  # fmt: skip
    first, second = found.deaths
    assert text.encode()[first.start : first.end].decode().startswith("@[simp] theorem b")
    assert (first.why, second.why) == ("Nat.pow exponent is too big", "it runs out of memory")


async def test_a_process_that_is_killed_says_nothing_about_the_text(tmp_path: Path) -> None:
    with pytest.raises(LeanDied, match="signal 9"):
        await compiled("theorem a : 1 = 1 := rfl -- die\n")
    once = f"theorem a : 1 = 1 := rfl -- die-once {tmp_path / 'mark'}\n"
    assert (await compiled(once)).deaths == ()


async def test_dying_elsewhere_says_nothing_either(tmp_path: Path) -> None:
    """The first Lean dies in the first line, the second in the second."""
    text = f"theorem a : 1 = 1 -- die-once {tmp_path / 'mark'}\ntheorem b : 1 = 1 -- exit 1 {PANIC}\n"
    with pytest.raises(LeanDied, match="PANIC"):
        await compiled(text)


async def test_the_time_is_that_of_everything() -> None:
    begun = time.monotonic()
    with pytest.raises(RequestTimeout, match=r"no verdict within 1\.5 s: Lean was in line 3") as told:
        await compiled("theorem a : 1 = 1\n\ntheorem b : 2 = 2 -- hang\n", seconds=1.5)
    assert "--seconds" in told.value.hint
    deadline = Deadline(1.0)
    async with Pool(launch("--slow-start", "60"), 1) as pool:
        with pytest.raises(RequestTimeout, match="was starting"):
            async with deadline.kept():
                await compile_file(pool, lambda text: text, "theorem a : 1 = 1", deadline)
    assert time.monotonic() - begun < 6


async def test_a_kernel_that_dies_of_the_file_refuses_it() -> None:
    text = "theorem a : 1 = 1 := rfl\n"
    async with Pool(launch("--verify", f"exit 1 {PANIC}"), 2) as pool:
        (verdict,) = await judge_file(pool, text)
        assert "the file's declarations crash Lean every time: Nat.pow" in verdict.reason
    async with Pool(launch("--verify", "die"), 2) as pool:
        with pytest.raises(LeanDied):
            await judge_file(pool, text)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (LeanMemoryExceeded("Lean used 9000 MB"), "it runs out of memory"),
        (LeanDied("Lean died (exit code 1): INTERNAL PANIC: out of memory"), "out of memory"),
        (LeanDied("… RangeError: Maximum call stack size exceeded"), "it runs out of stack"),
        (LeanDied("… Stack overflow detected. Aborting.", returncode=-6), "it runs out of stack"),
        (LeanDied("… Lean's runtime failed: 2139413608"), "it runs out of memory"),
        (LeanDied("Lean died (signal 11, Segmentation fault): x", returncode=-11), "signal 11"),
    ],
)
def test_what_it_died_of(error: LeanLost, why: str) -> None:
    assert is_of_the_text(error)
    assert why in why_lost(error)


def test_what_others_did_is_not_the_texts() -> None:
    for error in (LeanDied(returncode=-9), LeanDied(returncode=-15), RequestTimeout()):
        assert not is_of_the_text(error)


# ---------------------------------------------------------------------------- real Lean

DEADLY = """\
theorem before : 1 = 1 := rfl

theorem shift : 1 <<< 10^12 > 0 := by decide

theorem power : 2 ^ 4294967296 = 1 := by
  omega

theorem needs : 1 <<< 10^12 > 0 := shift

theorem after : 2 = 2 := rfl
"""


@pytest.mark.lean
async def test_numbers_that_kill_lean(lean_launch: LaunchSpec) -> None:
    async with Pool(lean_launch, 2, Limits(memory_bytes=8 * 2**30)) as pool:
        judged = await examine_file(pool, DEADLY)
    said = {verdict.theorem: verdict.reason for verdict in judged.verdicts}
    assert list(said) == ["before", "shift", "power", "needs", "after"]
    assert said["before"] == said["after"] == ""
    assert said["shift"] == "it crashes Lean every time: Nat.shiftl exponent is too big"
    assert said["power"] == "it crashes Lean every time: Nat.pow exponent is too big"
    assert "Unknown identifier `shift`" in said["needs"]
    assert [error.line for error in judged.errors] == [3, 5, 8]


@pytest.mark.lean
async def test_a_level_of_any_depth(lean_launch: LaunchSpec) -> None:
    """As data it is no deeper than any other, so that nobody has to count."""
    names = " ".join(f"u{i}" for i in range(1500))
    text = f"universe {names}\ntheorem t (α : Sort (max {names})) : α = α := rfl\n"
    async with Pool(lean_launch, 2) as pool:
        (verdict,) = await judge_file(pool, text)
        assert verdict.reason == ""
        changed = text.replace("(max u0 u1 ", "(max u1 u0 ").replace(":= rfl", ":= sorry")
        (verdict,) = await judge_file(pool, text, changed)
        assert "something else" in verdict.reason


@pytest.mark.lean
async def test_a_text_without_end_ends_in_time(lean_launch: LaunchSpec) -> None:
    text = "theorem a : 1 = 1 := rfl\n\ntheorem t : 123456 ^ 16777216 > 0 := by omega\n"
    async with Pool(lean_launch, 1) as pool:
        begun = time.monotonic()
        with pytest.raises(RequestTimeout, match="no verdict within 6 s: Lean was in line 3"):
            await judge_file(pool, text, seconds=6.0)
        assert time.monotonic() - begun < 7.5
