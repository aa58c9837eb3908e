"""A session keeps its states whatever happens to its worker. First without Lean, then with it."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnqed.core.errors import (
    LeanDied,
    LeanMemoryExceeded,
    LeanStartError,
    PoolClosed,
    ProtocolError,
    ReplayDiverged,
    StatementError,
)
from burnqed.core.ports import Environment
from burnqed.core.types import (
    Advanced,
    Closed,
    Constant,
    LibraryConstant,
    ProofState,
    Proposition,
    Rejected,
    StepResult,
    Theorem,
    TheoremText,
    TimedOut,
)
from burnqed.lean.fake import FakeEnvironment, Suggests
from burnqed.lean.pool import Pool
from burnqed.lean.process import Limits
from burnqed.lean.session import Session, open_session
from tests.lean.lines import stat
from tests.lean.scripted_repl import launch, left_behind, runs

QUICK = Limits(start_seconds=10, request_seconds=1, memory_bytes=300 << 20)
GOAL = Theorem("goal", Proposition("G"))


@pytest.fixture
async def pool() -> AsyncIterator[Pool]:
    async with Pool(launch(), 2, QUICK, spares=0) as pool:
        yield pool
    assert left_behind() == []


@pytest.fixture
async def session(pool: Pool) -> AsyncIterator[Session]:
    async with open_session(pool) as session:
        yield session


async def step(
    session: Environment, state: ProofState, tactic: str, goals: Sequence[int] | None = None
) -> ProofState:
    outcome = await session.apply(state, tactic, goals)
    assert isinstance(outcome, Advanced | Closed), outcome
    return outcome.state


def kill_worker(session: Session) -> None:
    assert session._worker.pid is not None
    with suppress(ProcessLookupError):  # it may have ended by itself a moment ago
        os.kill(session._worker.pid, signal.SIGKILL)


def kinds(results: list[StepResult]) -> list[type]:
    return [type(result) for result in results]


async def test_a_proof(session: Session) -> None:
    state = await session.start(GOAL)
    assert state.text == "⊢ G"
    both = await step(session, state, "to A B")
    assert both.text == "⊢ A\n\n⊢ B"
    first = await step(session, both, "to", [1, 0])
    assert first.text == "⊢ A"
    closed = await session.apply(first, "to")
    assert isinstance(closed, Closed)
    certificate = await session.certify(closed.state)
    assert certificate.ok
    assert certificate.constants == (Constant("And.intro", "Init.Prelude"),)


@pytest.mark.parametrize("statement", [LibraryConstant("And.comm"), TheoremText("theorem …")])
async def test_other_statements(session: Session, statement: TheoremText) -> None:
    assert (await session.start(Theorem("x", statement))).goals


async def test_a_bad_statement(session: Session) -> None:
    with pytest.raises(StatementError, match="bad: type mismatch"):
        await session.start(Theorem("bad", Proposition("ill-typed")))
    assert (await session.start(GOAL)).goals


@pytest.mark.parametrize(
    ("tactic", "outcome"),
    [
        ("fail", Rejected("the tactic failed", "tactic")),
        ("parse", Rejected("<input>:1:1: unknown tactic", "parse")),
        ("sorry", Rejected("the tactic leaves a sorry", "sorry")),
        ("logged", Rejected("an error nobody threw", "tactic")),
        ("heartbeats", TimedOut(2.5, deterministic=True)),
        ("to \ud800", Rejected("the tactic is not valid Unicode text", "parse")),
    ],
)
async def test_refusals(session: Session, tactic: str, outcome: Rejected) -> None:
    state = await session.start(GOAL)
    assert await session.apply(state, tactic) == outcome
    assert await session.apply_batch(state, [tactic, "fail"]) == [
        outcome,
        Rejected("the tactic failed", "tactic"),
    ]
    assert (await session.apply(state, "to A")) is not None


async def test_hang_is_timed_out_and_the_state_survives(session: Session, pool: Pool) -> None:
    state = await step(session, await session.start(GOAL), "to A B")
    assert await session.apply(state, "hang") == TimedOut(1, deterministic=False)
    assert (await step(session, state, "to")).text == "⊢ B"
    assert pool.stats().timeouts == 1


async def test_it_goes_on_at_another_worker(pool: Pool) -> None:
    async with pool.lease() as worker:
        session = Session(worker)
        async with session.at(worker):
            both = await step(session, await session.start(GOAL), "to A B")
    with pytest.raises(ValueError, match="between two workers"):
        await session.apply(both, "to")
    async with pool.lease() as first:  # others work with both
        async with open_session(pool) as other:
            await step(other, await other.start(GOAL), "to X")
            async with session.at(first):
                assert (await step(session, both, "to", [1, 0])).text == "⊢ A"
        async with pool.lease() as second:
            assert second.pid != first.pid
            async with session.at(second):
                assert (await step(session, both, "to")).text == "⊢ B"
    assert pool.stats().died == 0
    assert pool.stats().recycled == 0
    await session.close()


async def test_what_happens_at_its_last_worker_is_not_its_concern(pool: Pool) -> None:
    async with pool.lease() as worker:
        session = Session(worker)
        async with session.at(worker):
            state = await step(session, await session.start(GOAL), "to A B")
        kill_worker(session)
    async with pool.lease() as worker, session.at(worker):
        assert await session.apply(state, "fail") == Rejected("the tactic failed", "tactic")
        kill_worker(session)
        assert (await step(session, state, "to")).text == "⊢ B"


async def test_replay_gives_the_same_goals(session: Session) -> None:
    root = await session.start(GOAL)
    left = await step(session, root, "to A B")
    deep = await step(session, await step(session, left, "to C", [1, 0]), "to D E")
    line = await step(session, deep, "to X Y", [2, 1])
    kill_worker(session)
    assert (await step(session, deep, "to F", [1, 0, 2])).text == "⊢ F\n\n⊢ D\n\n⊢ A"
    assert (await step(session, line, "to Z", [1])).text == "⊢ Z"
    assert (await step(session, left, "to")).text == "⊢ B"
    assert (await step(session, root, "to X")).text == "⊢ X"


async def test_replay_is_lazy(session: Session, pool: Pool) -> None:
    root = await session.start(GOAL)
    branches = [await step(session, root, f"to B{i}") for i in range(50)]
    kill_worker(session)
    await asyncio.sleep(0.1)
    before = pool.stats().requests
    await step(session, branches[7], "to")
    # goal.start, goal.print, one tactic of the path, and the one asked for
    assert pool.stats().requests == before + 4


async def test_a_state_freed_still_carries_its_children(session: Session) -> None:
    root = await session.start(GOAL)
    middle = await step(session, root, "to M")
    leaf = await step(session, middle, "to L")
    await session.free([root, middle, middle])
    kill_worker(session)
    assert (await step(session, leaf, "to X Y")).text == "⊢ X\n\n⊢ Y"
    with pytest.raises(ValueError, match="was freed"):
        await session.apply(middle, "to")


async def test_replay_through_a_freed_state_that_lean_has_deleted(session: Session) -> None:
    root = await session.start(GOAL)
    middle = await step(session, root, "to M")
    leaves = [await step(session, middle, f"to L{i}") for i in range(2)]
    await session.free([middle])
    kill_worker(session)
    assert (await step(session, leaves[0], "to X")).text == "⊢ X"
    await session.free([await step(session, root, "to A") for _ in range(200)])
    assert (await step(session, leaves[1], "to Y")).text == "⊢ Y"


async def test_freed_states_leave_lean_and_the_books(session: Session) -> None:
    root = await session.start(GOAL)
    for _ in range(3):
        states = [await step(session, root, "to A") for _ in range(100)]
        states += [await step(session, state, "to B") for state in states]
        await session.free(states)
    assert len(session._records) == 1
    assert await session._worker.request(stat()) == {"nGoals": 1}


async def test_refused_states_leave_lean_too(session: Session) -> None:
    root = await session.start(GOAL)
    for _ in range(201):
        await session.apply(root, "sorry")
    await session.free([])
    assert await session._worker.request(stat()) == {"nGoals": 1}


async def test_close_leaves_a_clean_worker(pool: Pool) -> None:
    async with open_session(pool) as session:
        await session.start(GOAL)
    async with pool.lease() as worker:
        assert await worker.request(stat()) == {"nGoals": 0}
    with pytest.raises(ValueError, match="closed"):
        await session.start(GOAL)


async def test_one_death_is_nobodys_fault(session: Session, tmp_path: Path, pool: Pool) -> None:
    state = await step(session, await session.start(GOAL), "to A")
    outcome = await session.apply(state, f"die-once {tmp_path / 'died'}")
    assert isinstance(outcome, Closed)
    assert pool.stats().died == 1


@pytest.mark.parametrize(
    ("tactic", "error"),
    [("die", LeanDied), ("eat 400", LeanMemoryExceeded), ("misshapen", ProtocolError)],
)
async def test_two_deaths_are_an_exception(
    session: Session, tactic: str, error: type[Exception]
) -> None:
    state = await step(session, await session.start(GOAL), "to A")
    with pytest.raises(error):
        await session.apply(state, tactic)
    assert (await step(session, state, "to B")).text == "⊢ B"


async def test_batch(session: Session) -> None:
    state = await session.start(GOAL)
    results = await session.apply_batch(state, ["to A B", "fail", "to", "to C"])
    assert kinds(results) == [Advanced, Rejected, Closed, Advanced]
    assert isinstance(results[3], Advanced)
    assert results[3].state.text == "⊢ C"
    assert await session.apply_batch(state, []) == []


async def test_a_refused_tactic_takes_its_own_place_only(session: Session, pool: Pool) -> None:
    state = await session.start(GOAL)
    before = pool.stats().requests
    results = await session.apply_batch(state, ["to A", "run_tac x", "fail", "to \ud800", "to B"])
    assert kinds(results) == [Advanced, Rejected, Rejected, Rejected, Advanced]
    assert [r.kind for r in results if isinstance(r, Rejected)] == ["forbidden", "tactic", "parse"]
    assert isinstance(results[4], Advanced)
    assert results[4].state.text == "⊢ B"
    assert kinds(await session.apply_batch(state, ["run_tac x"] * 2)) == [Rejected] * 2
    assert pool.stats().requests == before + 1


async def test_a_step_on_some_of_the_goals(session: Session) -> None:
    state = await step(session, await session.start(GOAL), "to A B C")
    assert (await step(session, state, "to X", [2, 0])).text == "⊢ X\n\n⊢ A"
    alone = await step(session, state, "to Y Z", [1])
    assert alone.text == "⊢ Y\n\n⊢ Z"
    results = await session.apply_batch(alone, ["to", "to W"], [1])
    assert kinds(results) == [Closed, Advanced]
    assert (await step(session, state, "to")).text == "⊢ B\n\n⊢ C"


async def test_suggestions_and_the_time_that_lean_took(session: Session) -> None:
    state = await session.start(GOAL)
    assert session.lean_seconds == 0
    outcome = await session.apply(state, "try A")
    assert isinstance(outcome, Advanced)
    assert outcome.suggestions == ("to A",)
    (closed, _) = await session.apply_batch(state, ["try", "fail"])
    assert isinstance(closed, Closed)
    assert closed.suggestions == ("to",)
    assert session.lean_seconds == pytest.approx(0.002005)


async def test_a_replayed_step_has_ten_times_the_budget(pool: Pool) -> None:
    async with open_session(pool, heartbeats=7) as session:
        state = await session.start(GOAL)
        assert (await step(session, state, "budget")).text == "⊢ 7"
        told = await step(session, state, "budget")
        kill_worker(session)
        with pytest.raises(ReplayDiverged, match="70"):
            await session.apply(told, "to")
    async with open_session(pool) as session:
        assert (await step(session, await session.start(GOAL), "budget")).text == "⊢ None"


async def test_a_batch_may_have_less_than_the_session(pool: Pool) -> None:
    for own, less, limit in ((7, 3, 3), (7, 9, 7), (7, None, 7), (None, 3, 3), (None, None, None)):
        async with open_session(pool, own) as session:
            state = await session.start(GOAL)
            told = await session.apply_batch(state, ["budget", "budget"], heartbeats=less)
            for outcome in told:
                assert isinstance(outcome, Advanced)
                assert outcome.state.text == f"⊢ {limit}"


async def test_where_there_is_no_batch() -> None:
    async with Pool(launch("--no-batch"), 1, QUICK) as pool, open_session(pool) as session:
        state = await session.start(GOAL)
        for _ in range(2):
            results = await session.apply_batch(state, ["to A", "fail"])
            assert kinds(results) == [Advanced, Rejected]
        many = await step(session, state, "to A B C")
        assert (await step(session, many, "to X")).text == "⊢ X\n\n⊢ B\n\n⊢ C"
        assert (await step(session, many, "to X", [1])).text == "⊢ X"
        assert (await step(session, many, "to X", [1, 0, 2])).text == "⊢ X\n\n⊢ A\n\n⊢ C"
        for some in ([1, 2], [1, 2, 0]):
            with pytest.raises(ValueError, match="one goal, or all"):
                await session.apply(many, "to X", some)
        kill_worker(session)
        assert (await step(session, many, "to", [2])).goals == ()


async def test_the_guilty_one_of_a_batch(session: Session) -> None:
    state = await step(session, await session.start(GOAL), "to A")
    results = await session.apply_batch(state, ["to B", "die", "fail", "hang", "to", "misshapen"])
    assert kinds(results) == [Advanced, LeanDied, Rejected, TimedOut, Closed, ProtocolError]
    assert isinstance(results[0], Advanced)
    assert (await step(session, results[0].state, "to C D")).text == "⊢ C\n\n⊢ D"


async def test_slow_together_is_not_slow_alone(session: Session) -> None:
    state = await session.start(GOAL)
    results = await session.apply_batch(state, ["sleep 0.4"] * 4)
    assert kinds(results) == [Closed] * 4


async def test_recycling_in_the_middle_of_a_search() -> None:
    async with Pool(launch(), 2, QUICK, recycle_bytes=0, recycle_requests=10) as pool:
        async with open_session(pool) as session:
            state = await session.start(GOAL)
            for i in range(60):
                state = await step(session, state, f"to A{i} B" if i == 0 else f"to A{i}")
            assert state.text == "⊢ A59\n\n⊢ B"
        # A path longer than a worker's life is still replayed whole.
        assert pool.stats().recycled > 3
        assert pool.stats().died == 0


async def test_a_replay_that_comes_out_different(session: Session, tmp_path: Path) -> None:
    mark = tmp_path / "died"
    mark.touch()
    state = await session.start(GOAL)
    leaf = await step(session, await step(session, state, "to A B"), f"die-once {mark}")
    record = session._records[leaf.id]
    record.goals = state.goals
    kill_worker(session)
    with pytest.raises(ReplayDiverged):
        await session.apply(leaf, "to")


MOVES = st.tuples(
    st.sampled_from(["step", "step", "step", "split", "batch", "free", "kill", "retire", "sweep"]),
    st.integers(0, 99),
)


@settings(max_examples=40, deadline=None)
@given(moves=st.lists(MOVES, max_size=30))
async def test_any_history_ends_in_the_right_states(moves: list[tuple[str, int]]) -> None:
    """Against a model of what each state must be, whatever is killed or freed on the way."""
    async with Pool(launch(), 2, QUICK) as pool, open_session(pool) as session:
        root = await session.start(GOAL)
        model = {root: ["G"]}
        for number, (move, choice) in enumerate(moves):
            state = list(model)[choice % len(model)]
            goals = model[state]
            at = choice % len(goals)
            match move:
                case "step" | "split":
                    new = [f"A{number}"] if move == "step" else [f"B{number}", f"C{number}"]
                    wanted = [at, *range(at)]  # the goals after it are left out
                    after = await step(session, state, "to " + " ".join(new), wanted)
                    model[after] = new + goals[:at]
                case "batch":
                    results = await session.apply_batch(state, ["fail", f"to D{number}", "sorry"], [at])
                    assert kinds(results) == [Rejected, Advanced, Rejected]
                    assert isinstance(results[1], Advanced)
                    model[results[1].state] = [f"D{number}"]
                case "free" if len(model) > 1:
                    await session.free([state])
                    del model[state]
                case "kill" if runs(session._worker.pid):
                    kill_worker(session)
                case "retire":
                    session._worker.retire()
                case "sweep":
                    session._garbage += [(0, 0)] * 200
                    await session.free([])
        for state, goals in model.items():
            assert [goal.target for goal in state.goals] == goals
            after = await step(session, state, "to Z")
            assert [goal.target for goal in after.goals] == ["Z", *goals[1:]]
        await session.free(model)
        assert all(not record.freed or record.children for record in session._records.values())


async def test_calls_from_many_tasks_are_served_in_turn(session: Session) -> None:
    state = await session.start(GOAL)
    outcomes = await asyncio.gather(*(session.apply(state, f"to A{i}") for i in range(20)))
    assert [o.state.text for o in outcomes if isinstance(o, Advanced)] == [f"⊢ A{i}" for i in range(20)]


async def test_calls_that_make_no_sense(session: Session) -> None:
    state = await session.start(GOAL)
    for strange, message in (
        ([1], "no goal 1"),
        ([-1], "no goal -1"),
        ([], "no goal"),
        ([0, 0], "twice"),
    ):
        with pytest.raises(ValueError, match=message):
            await session.apply(state, "to", strange)
    closed = await step(session, state, "to")
    with pytest.raises(ValueError, match="no goal 0 in a state of 0"):
        await session.apply_batch(closed, ["to"])
    with pytest.raises(ValueError, match="belongs to another session"):
        await session.apply(ProofState(99, state.goals), "to")


async def test_a_pool_closed_under_it(pool: Pool) -> None:
    async with open_session(pool) as session:
        state = await session.start(GOAL)
        asking = asyncio.create_task(session.apply(state, "hang"))
        await asyncio.sleep(0.1)
        await pool.close()
        with pytest.raises(PoolClosed):
            await asking


async def test_no_worker_to_be_had(tmp_path: Path) -> None:
    async with Pool(launch("--exit-at-start"), 1, QUICK) as pool:
        with pytest.raises(LeanStartError, match="no library here"):
            async with open_session(pool):
                pass
    spec = launch("--fail-first", str(tmp_path / "x"))
    async with Pool(spec, 1, QUICK) as pool, open_session(pool) as session:
        assert await session.start(GOAL)


async def test_the_fake_does_the_same() -> None:
    fake: Environment = FakeEnvironment(
        {
            "G": {"split": ("A", "B"), "slow": TimedOut(1, True), "die": LeanDied("x")},
            "A": {"done": (), "done?": Suggests((), ("done",))},
            "B": {"done": ()},
        }
    )
    state = await fake.start(GOAL)
    results = await fake.apply_batch(state, ["split", "slow", "die", "other"])
    assert kinds(results) == [Advanced, TimedOut, LeanDied, Rejected]
    both = await step(fake, state, "split")
    assert (await step(fake, both, "done", [1, 0])).text == "⊢ A"
    assert isinstance(await fake.apply(both, "done", [1]), Closed)
    found = await fake.apply(both, "done?")
    assert isinstance(found, Advanced)
    assert (found.suggestions, found.state.goals[0].holes) == (("done",), ())
    assert fake.lean_seconds == 0.0
    for strange in ([], [0, 0], [-1]):
        with pytest.raises(ValueError, match="no goals"):
            await fake.apply(both, "done", strange)
    closed = await fake.apply(await step(fake, both, "done"), "done")
    assert isinstance(closed, Closed)
    assert (await fake.certify(closed.state)).ok
    with pytest.raises(LeanDied):
        await fake.apply(state, "die")
    await fake.free([state])
    with pytest.raises(ValueError, match="freed"):
        await fake.apply(state, "split")
    with pytest.raises(StatementError):
        await fake.start(Theorem("x", Proposition("unknown")))
    await fake.close()
