"""What may go wrong, all at once: nothing lost, nothing blamed on a tactic, no process left."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import burnqed.lean.pool
from burnqed.core.errors import LeanMemoryExceeded, StatementError
from burnqed.core.types import (
    Advanced,
    Closed,
    LibraryConstant,
    ProofState,
    Proposition,
    Rejected,
    StepOutcome,
    Theorem,
    TheoremText,
    TimedOut,
)
from burnqed.lean.pool import Pool
from burnqed.lean.process import LaunchSpec, LeanProcess, Limits, resident_bytes
from burnqed.lean.protocol import start
from burnqed.lean.replies import TheoremsPage, read
from burnqed.lean.requests import GoalTactic, Theorems
from burnqed.lean.session import Session, open_session
from burnqed.lean.toolchain import Toolchain
from tests.lanes import few_and
from tests.lean.lines import stat
from tests.lean.scripted_repl import launch, left_behind, runs

QUICK = Limits(start_seconds=10, request_seconds=2)


def worker_pid(session: Session) -> int:
    assert session._worker.pid is not None
    return session._worker.pid


async def killed_while(session: Session, state: ProofState, tactic: str) -> StepOutcome:
    """The outcome of a tactic whose process is killed under it."""
    asking = asyncio.create_task(session.apply(state, tactic))
    await asyncio.sleep(0.05)
    assert not asking.done()
    os.kill(worker_pid(session), signal.SIGKILL)
    return await asking


async def test_twenty_sessions_under_kill_9() -> None:
    async def prove(pool: Pool, number: int) -> int:
        async with open_session(pool) as session:
            state = await session.start(Theorem(f"t{number}", Proposition("G")))
            for i in range(10):
                tactic = f"sleep {0.2 if i in (3, 7) else 0.001}"
                sibling = await session.apply(state, f"to A{i}x{number} B")
                assert isinstance(sibling, Advanced), sibling
                if i in (3, 7):
                    outcome = await killed_while(session, sibling.state, tactic)
                else:
                    outcome = await session.apply(sibling.state, tactic)
                assert isinstance(outcome, Advanced), outcome
                assert outcome.state.text == "\n\n".join(["⊢ B"] * (i + 1))
                state = sibling.state
            assert len(state.goals) == 11
            return number

    async with Pool(launch(), 4, QUICK) as pool:
        done = await asyncio.gather(*(prove(pool, i) for i in range(20)))
        assert pool.stats().died == 40
        assert pool.stats().timeouts == 0
    assert done == list(range(20))
    assert left_behind() == []


PARENT = textwrap.dedent("""
    import asyncio, sys
    from tests.lean.scripted_repl import launch
    from burnqed.lean.pool import Pool, run_sync
    from burnqed.lean.process import Limits
    from burnqed.lean.requests import GoalTactic

    hung = []

    async def hang(pool):
        async with pool.lease() as worker:
            await worker.request('goal.start {"expr":"G"}')
            hung.append(worker)
            await worker.request(GoalTactic(0, 0, "hang", auto_resume=True).line, 60)

    async def main():
        async with Pool(launch(), 3, Limits(), spares=1) as pool:
            both = asyncio.gather(hang(pool), hang(pool))
            while len(hung) < 2 or len([s for s in pool._slots if s.process]) < 3:
                await asyncio.sleep(0.02)
            print([s.process.pid for s in pool._slots if s.process], flush=True)
            if "raise" in sys.argv:
                raise RuntimeError("in the middle of it")
            await both

    run_sync(main())
""")


@pytest.mark.parametrize("end", ["SIGKILL", "SIGTERM", "SIGINT", "raise"])
def test_nothing_outlives_the_parent(end: str) -> None:
    paths = [str(Path(burnqed.lean.pool.__file__).parents[2]), str(Path(__file__).parents[2])]
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, end],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as parent:
        try:
            assert parent.stdout is not None
            pids = [int(word) for word in parent.stdout.readline().strip("[]\n").split(",")]
            assert len(pids) == 3
            if end != "raise":
                parent.send_signal(signal.Signals[end])
            _, errors = parent.communicate(timeout=10)
        finally:
            parent.kill()
    if end in ("SIGINT", "raise"):  # these leave Python the time to clean up
        assert ("KeyboardInterrupt" if end == "SIGINT" else "in the middle of it") in errors
        assert "Task exception was never retrieved" not in errors
    deadline = time.monotonic() + 5
    while any(map(runs, pids)):
        assert time.monotonic() < deadline, "processes were left behind"
        time.sleep(0.02)


# ------------------------------------------------------------------------ with a real Lean

AND = Theorem("and", Proposition("∀ p q : Prop, p ∧ q → q ∧ p"))
INDUCTION = "(intro n; induction n with | zero => rfl | succ n h => exact congrArg Nat.succ h)"
FALSE = Theorem("false", Proposition("False"))
# Numbers of millions of digits: all time, little memory. A native Lean is much faster with them.
LONG = {
    "embedded": Theorem("long", Proposition("3 ^ 16000000 % 7 ^ 5000000 = 1")),
    "native": Theorem("long", Proposition("(3 ^ 16000000) ^ 64 % 7 ^ 5000000 = 1")),
}
BIG = "(List.replicate 50000000 1).length = 50000000"


@pytest.mark.lean
class TestLean:
    async def test_a_proof_and_its_certificate(self, lean_pool: Pool) -> None:
        async with open_session(lean_pool) as session:
            state = await session.start(AND)
            assert state.text == "⊢ ∀ (p q : Prop), p ∧ q → q ∧ p"
            intro = await session.apply(state, "intro p q h")
            assert isinstance(intro, Advanced)
            assert intro.state.text == "p q : Prop\nh : p ∧ q\n⊢ q ∧ p"
            split = await session.apply(intro.state, "constructor")
            assert isinstance(split, Advanced)
            assert [goal.user_name for goal in split.state.goals] == ["left", "right"]
            right = await session.apply(split.state, "exact h.1", [1, 0])
            assert isinstance(right, Advanced)
            assert [goal.target for goal in right.state.goals] == ["q"]
            done = await session.apply(right.state, "exact h.2")
            assert isinstance(done, Closed)
            certificate = await session.certify(done.state)
            assert certificate.ok, certificate.desc
            assert certificate.axioms == ()

    async def test_outcomes_are_values(self, lean_pool: Pool) -> None:
        async with open_session(lean_pool) as session:
            state = await session.start(FALSE)
            tactics = ["omega", "exact (", "sorry", "have : 1 = 1 := rfl", "no_such_tactic"]
            omega, parse, sorry, have, unknown = await session.apply_batch(state, tactics)
            assert isinstance(omega, Rejected)
            assert omega.kind == "tactic"
            assert isinstance(parse, Rejected)
            assert parse.kind == "parse"
            assert isinstance(sorry, Rejected)
            assert sorry.kind == "sorry"
            assert isinstance(have, Advanced)
            assert isinstance(unknown, Rejected)
            assert unknown.kind == "parse"
            for tactic, batched in zip(tactics, (omega, parse, sorry), strict=False):
                assert await session.apply(state, tactic) == batched

    async def test_a_library_theorem(self, lean_pool: Pool, toolchain: Toolchain) -> None:
        async with open_session(lean_pool) as session:
            # Where the library has its proofs, omega is seen to rest on commutativity.
            name, proof = {
                "embedded": ("Nat.add_comm", "omega"),
                "native": ("Nat.zero_add", INDUCTION),
            }[toolchain.kind]
            state = await session.start(Theorem("x", LibraryConstant(name, "self")))
            assert isinstance(await session.apply(state, proof), Closed)

    async def test_a_theorem_with_its_context(self, lean_pool: Pool) -> None:
        theorem = "theorem t (b : Nat) (h : a < b + 1) : a ≤ b := by\n  sorry"
        source = f"variable (a : Nat)\nopen Nat in\n{theorem}"
        async with open_session(lean_pool) as session:
            state = await session.start(Theorem("t", TheoremText(source)))
            assert state.text == "a b : Nat\nh : a < b + 1\n⊢ a ≤ b"
            assert isinstance(await session.apply(state, "exact le_of_lt_succ h"), Closed)
            with pytest.raises(StatementError, match="bad: "):
                await session.start(Theorem("bad", TheoremText("theorem t : Nope := by sorry")))

    async def test_the_library_in_pages(self, lean_pool: Pool) -> None:
        async with lean_pool.lease() as worker:
            reply = await worker.request(Theorems(0, 3, ["Init.Data.Nat"]).line)
            page = read(reply, TheoremsPage)
            assert len(page.theorems) == page.next == 3
            assert page.total > 1000
            assert all(found.module.startswith("Init.Data.Nat") for found in page.theorems)

    async def test_replay_after_death_gives_the_same_goals(self, lean_pool: Pool) -> None:
        async with open_session(lean_pool) as session:
            state = await session.start(Theorem("x", Proposition("∀ a b : Nat, a + b = b + a")))
            first = await session.apply(state, "intro a b")
            assert isinstance(first, Advanced)
            second = await session.apply(first.state, "induction a")
            assert isinstance(second, Advanced)
            before = await session.apply_batch(second.state, ["simp", "cases b"])
            os.kill(worker_pid(session), signal.SIGKILL)
            after = await session.apply_batch(second.state, ["simp", "cases b"])
            for one, other in zip(before, after, strict=True):
                assert isinstance(one, Advanced)
                assert isinstance(other, Advanced)
                assert one.state.text == other.state.text

    async def test_a_tactic_that_never_ends(
        self, lean_launch: LaunchSpec, toolchain: Toolchain
    ) -> None:
        limit = 8.0
        short = Limits(request_seconds=limit)
        async with Pool(lean_launch, 1, short) as pool, open_session(pool) as session:
            state = await session.start(LONG[toolchain.kind])
            began = time.monotonic()
            # The kernel counts nothing inside one computation with large numbers.
            outcome = await session.apply(state, "decide +kernel")
            assert outcome == TimedOut(limit, deterministic=False)
            assert time.monotonic() - began < limit + 10
            assert isinstance(await session.apply(state, "skip"), Advanced)

    @pytest.mark.parametrize(
        "tactic",
        ["(repeat (have := trivial))", "(repeat' skip)", "exact " + "(" * 5000 + "1" + ")" * 5000],
        ids=["repeat", "repeat'", "parentheses"],
    )
    async def test_runaway_recursion(self, lean_pool: Pool, tactic: str) -> None:
        async with open_session(lean_pool) as session:
            state = await session.start(FALSE)
            outcome = await session.apply(state, tactic)
            assert isinstance(outcome, Rejected | TimedOut | Advanced), outcome
            assert isinstance(await session.apply(state, "exact 1"), Rejected)

    async def test_garbage_lines(self, lean_pool: Pool) -> None:
        rng = random.Random(0)
        alphabet = '{}[]":,\\ \tabcgoal.tactic0123∀⊢🦆\x00\x7f'
        async with lean_pool.lease() as worker:
            generation = await worker.ready()
            for _ in range(200):
                line = "x" + "".join(rng.choices(alphabet, k=rng.randrange(80)))
                assert "error" in await worker.request(line)
            assert "nGoals" in await worker.request(stat())
            assert await worker.ready() == generation

    async def test_a_long_line(self, lean_pool: Pool) -> None:
        async with open_session(lean_pool) as session:
            state = await session.start(FALSE)
            outcome = await session.apply(state, "exact 1 -- " + "∀" * (5 << 20))
            assert isinstance(outcome, Rejected), outcome

    async def test_bytes_that_are_no_text(self, lean_pool: Pool) -> None:
        async with lean_pool.lease() as worker:
            process = worker.slot.process
            assert process is not None
            reply = process._output.expect(lambda line: line.startswith(b"{"))
            process._output.write(b'goal.start {"expr":"\xff\xfe\x80 \xc3"}\n')
            assert b"error" in await asyncio.wait_for(reply, 20)
            assert "nGoals" in await worker.request(stat())

    async def test_kill_9_in_mid_request(self, lean_pool: Pool) -> None:
        slow = "(intro n; (iterate 40 (have : n + 0 = n := by omega)); rfl)"

        async def one(number: int) -> None:
            async with open_session(lean_pool) as session:
                state = await session.start(Theorem(f"t{number}", Proposition("∀ n : Nat, n = n")))
                if number % 2:
                    outcome = await killed_while(session, state, slow)
                else:
                    outcome = await session.apply(state, slow)
                assert isinstance(outcome, Closed), outcome

        died = lean_pool.stats().died
        await asyncio.gather(*map(one, range(4)))
        assert lean_pool.stats().died == died + 2

    @pytest.mark.parametrize("each", few_and(100, 1000))
    async def test_thousands_of_tactics_in_bounded_memory(
        self, lean_launch: LaunchSpec, each: int
    ) -> None:
        peak = 0

        async def one(pool: Pool, number: int) -> int:
            nonlocal peak
            count = 0
            async with open_session(pool) as session:
                state = await session.start(AND)
                while count < each:
                    first = await session.apply(state, "intro p q h")
                    assert isinstance(first, Advanced)
                    results = await session.apply_batch(
                        first.state, ["constructor", "omega", "exact ⟨h.2, h.1⟩", "cases h"]
                    )
                    kinds = [Advanced, Rejected, Closed, Advanced]
                    assert [type(result) for result in results] == kinds
                    made = [r.state for r in results if isinstance(r, Advanced | Closed)]
                    await session.free([first.state, *made])
                    count += 5
                peak = max(peak, resident_bytes(worker_pid(session)))
            return count

        async with Pool(lean_launch, 2, recycle_bytes=2**40) as pool:
            async with pool.lease() as worker:
                assert worker.pid is not None
                begin = resident_bytes(worker.pid)
            counts = await asyncio.gather(*(one(pool, i) for i in range(10)))
            assert sum(counts) == 10 * each
            assert pool.stats().died == pool.stats().timeouts == 0
        assert peak - begin < 700 << 20, f"{begin >> 20} MB at the start, {peak >> 20} MB later"


@pytest.mark.lean
async def test_lean_over_its_memory_limit(lean_launch: LaunchSpec) -> None:
    process = await LeanProcess.start(lean_launch)
    try:
        roomy = resident_bytes(process.pid)
        await process.request(start(Proposition(BIG)))
        process._limits = Limits(memory_bytes=roomy + (100 << 20), request_seconds=60)
        with pytest.raises(LeanMemoryExceeded):
            await process.request(GoalTactic(0, 0, "decide +kernel", auto_resume=True).line)
        assert not runs(process.pid)
    finally:
        await process.kill()
