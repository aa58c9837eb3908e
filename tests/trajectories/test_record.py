"""What the rows say of a search: a label that is wrong would be learnt from."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from burnqed.core.errors import LeanDied, LeanMemoryExceeded
from burnqed.core.types import Cost, Goal, Proposition, Rejected, Theorem, TimedOut
from burnqed.lean.fake import FakeEnvironment, Script
from burnqed.search.best_first import Settings, best_first
from burnqed.search.budget import Budget
from burnqed.search.scoring import Scoring
from burnqed.trajectories.record import Provenance, path_of, rows_of
from burnqed.trajectories.schema import Label, StepRow
from tests.search.problems import BySize, ScriptedPolicy, every_tactic, search

RUN = Provenance(run="r")
NO = Rejected("no", "tactic")
SLOW = TimedOut(1.0, deterministic=True)
HUNGRY = LeanMemoryExceeded("too big")

Rows = dict[tuple[str, str], StepRow]


async def rows(
    script: Script,
    *,
    verified: bool = True,
    nodes: int = 1000,
    policy: ScriptedPolicy | None = None,
    provenance: Provenance = RUN,
) -> Rows:
    """The rows of a search for `root`, by goal and tactic."""
    searched, _ = await search(script, "root", policy, Budget(nodes=nodes, candidates=100))
    made = rows_of(searched.tree, "t", verified, provenance)
    found = {(row.state.removeprefix("⊢ "), row.tactic): row for row in made}
    assert len(found) == len(made), "these scripts have each goal once"
    return found


def labelled(rows: Rows, label: Label) -> set[tuple[str, str]]:
    return {step for step, row in rows.items() if row.label == label}


# ------------------------------------------------------------------------------------ ways


async def test_parents_lead_to_the_root_which_has_none() -> None:
    """Also where steps lead back to it."""
    script: Script = {
        "root": {"on": ("a",), "stay": ("root",)},
        "a": {"back": ("root",), "on": ("b",)},
        "b": {"back": ("a",), "home": ("root",), "wrong": NO},
    }
    found = (await rows(script)).values()
    parents = {row.node: row.parent for row in found}
    assert parents == {0: None, 1: 0, 2: 1}


async def test_a_proof_tells_how_deep_its_steps_are_in_it() -> None:
    """`b` is known from `both`, one step from the root, but the proof comes to it over `a`."""
    script: Script = {
        "root": {"both": ("b", "never"), "on": ("a",)},
        "a": {"on": ("b",)},
        "b": {"close": ()},
        "never": {},
    }
    searched, _ = await search(script, "root")
    path = path_of(searched.tree)
    assert [(step.state, step.depth) for step in path] == [("⊢ root", 0), ("⊢ a", 1), ("⊢ b", 2)]


# ------------------------------------------------------------------------------- positive

# A proof of `root` is split, a.close, b.step, d.close; at `a` there is another way, as good.
PROVED: Script = {
    "root": {"split": ("a", "b"), "wrong": NO},
    "a": {"close": (), "other": ()},
    "b": {"step": ("d",), "stuck": ("e",)},
    "d": {"close": ()},
    "e": {"nothing": NO},
}
PATH = {("root", "split"), ("a", "close"), ("b", "step"), ("d", "close")}


async def test_the_path_of_a_verified_proof_is_positive_and_nothing_else() -> None:
    found = await rows(PROVED)
    assert labelled(found, "positive") == PATH
    assert {step for step, row in found.items() if row.on_proof_path} == PATH
    assert found["a", "other"].label == "unknown", "it closed its goal, and no judge has seen it"


async def test_each_row_has_what_its_own_tactic_took() -> None:
    script: Script = {
        "root": {
            "long": Rejected("no", "tactic", Cost(2.5, 900)),
            "unread": Rejected("no", "parse", Cost(0.25)),
            "stopped": TimedOut(10.0, deterministic=False, cost=Cost(10.0)),
            "untold": Rejected("no", "forbidden"),
            "lost": HUNGRY,
        },
    }
    found = await rows(script)
    cost = {tactic: (row.lean_seconds, row.heartbeats) for (_, tactic), row in found.items()}
    assert cost == {
        "long": (2.5, 900), "unread": (0.25, None), "stopped": (10.0, None),
        "untold": (None, None), "lost": (None, None),
    }  # fmt: skip


async def test_what_the_judge_refused_is_not_positive() -> None:
    found = await rows(PROVED, verified=False)
    assert labelled(found, "positive") == set()
    assert not any(row.on_proof_path or row.remaining_steps for row in found.values())
    assert {found[step].label for step in PATH} == {"unknown"}
    assert found["root", "wrong"].label == "negative", "that is not the judge's to say"


async def test_steps_that_remain() -> None:
    found = await rows(PROVED)
    remaining = {step: row.remaining_steps for step, row in found.items() if row.on_proof_path}
    assert remaining == {
        ("root", "split"): 4,
        ("a", "close"): 1,
        ("b", "step"): 2,
        ("d", "close"): 1,
    }
    assert all(row.remaining_steps is None for row in found.values() if not row.on_proof_path)


async def test_a_goal_that_comes_twice_is_proved_twice() -> None:
    """One node, whose tactics the written proof has once for each place."""
    script: Script = {"root": {"split": ("a", "a")}, "a": {"step": ("b",)}, "b": {"close": ()}}
    found = await rows(script)
    assert found["root", "split"].children == (1, 1)
    assert [found[s].remaining_steps for s in (("root", "split"), ("a", "step"))] == [5, 2]


async def test_a_proof_of_a_part_is_not_a_proof() -> None:
    script: Script = {"root": {"split": ("a", "b")}, "a": {"close": ()}, "b": {"nothing": NO}}
    found = await rows(script)
    assert labelled(found, "positive") == set()
    assert found["a", "close"].label == "unknown"
    assert found["root", "split"].label == "negative"


# ------------------------------------------------------------------------------- negative


async def test_rejected_dead_ends_and_loops_are_negative() -> None:
    script: Script = {
        "root": {"wrong": NO, "loop": ("root",), "loop_too": ("root", "x"), "down": ("a",)},
        "a": {"down": ("b",), "split": ("b", "x")},
        "b": {"nothing": NO},
        "x": {"close": ()},
    }
    found = await rows(script)
    assert labelled(found, "negative") == set(found) - {("x", "close")}


async def test_a_goal_with_nothing_to_try_is_a_dead_end() -> None:
    found = await rows({"root": {"down": ("a",)}, "a": {}})
    assert found["root", "down"].label == "negative"


async def test_one_failed_goal_is_enough() -> None:
    """Though the other one is not explored, or its failure only for want of an answer."""
    script: Script = {
        "root": {"split": ("bad", "slow")},
        "bad": {"nothing": NO},
        "slow": {"slow": SLOW},
    }
    assert (await rows(script))["root", "split"].label == "negative"
    assert (await rows(script, nodes=2))["root", "split"].label == "negative"


async def test_what_leads_to_a_certain_failure_fails_certainly() -> None:
    script: Script = {
        "root": {"down": ("a",), "on": ("slow",)},
        "a": {"split": ("slow", "bad")},
        "bad": {"nothing": NO},
        "slow": {"on": ("slower",)},
        "slower": {"slow": SLOW},
    }
    found = await rows(script)
    assert found["a", "split"].label == "negative"
    assert found["root", "down"].label == "negative"
    assert found["root", "on"].label == "unknown"


# -------------------------------------------------------------------------------- unknown


async def test_what_was_not_explored_is_unknown() -> None:
    script: Script = {"root": {"a": ("a",), "b": ("b",)}, "a": {"nothing": NO}, "b": {"close": ()}}
    found = await rows(script, nodes=1)
    assert labelled(found, "unknown") == {("root", "a"), ("root", "b")}
    found = await rows(script, nodes=2)
    assert [found["root", tactic].label for tactic in "ab"] == ["negative", "unknown"]


async def test_what_lean_did_not_answer_is_unknown() -> None:
    script: Script = {
        "root": {"slow": SLOW, "hungry": HUNGRY, "a": ("a",), "b": ("b",), "c": ("c",)},
        "a": {"slow": SLOW, "wrong": NO},
        "b": {"kills": LeanDied("stack", returncode=1), "wrong": NO},
        "c": {"down": ("a",)},
    }
    found = await rows(script)
    assert labelled(found, "negative") == {("a", "wrong"), ("b", "wrong")}
    assert labelled(found, "unknown") == set(found) - labelled(found, "negative")
    assert [found["root", tactic].outcome for tactic in ("slow", "hungry")] == ["timeout", "lost"]


async def test_a_tactic_that_is_not_tried_again_leaves_its_goal_open() -> None:
    """It took Lean along elsewhere. Had it been tried here, it might have worked."""
    script: Script = {"root": {"bad": HUNGRY, "down": ("a",)}, "a": {}}
    found = await rows(script, policy=ScriptedPolicy({"root": {"bad": -1, "down": -2}}, {"bad": -1}))
    assert found["root", "down"].label == "unknown"
    assert found["a", "bad"].outcome == "lost"
    assert "not tried" in found["a", "bad"].error


async def test_a_loop_does_not_hide_what_was_not_answered() -> None:
    """`b` leads back to `a` only, and `a` failed for want of an answer; so both failed for that."""
    script: Script = {
        "root": {"to_a": ("a",), "to_b": ("b",)},
        "a": {"split": ("b", "bad"), "try": SLOW},
        "b": {"back": ("a",)},
        "bad": {"nothing": NO},
    }
    found = await rows(script)
    assert found["a", "split"].label == "negative"
    assert {found[s].label for s in (("root", "to_a"), ("root", "to_b"), ("b", "back"))} == {"unknown"}


async def test_a_loop_does_not_hide_a_certain_failure_either() -> None:
    script: Script = {
        "root": {"to_a": ("a",), "to_b": ("b",)},
        "a": {"split": ("b", "bad")},
        "b": {"back": ("a",)},
        "bad": {"nothing": NO},
    }
    assert {row.label for row in (await rows(script)).values()} == {"negative"}


# --------------------------------------------------------------- any problem, by definition

names = st.sampled_from(["root", *"abcdef"])
outcomes = st.one_of(
    st.lists(names, min_size=1, max_size=2).map(tuple),
    st.sampled_from([NO, NO, SLOW, ()]),
)
scripts = st.dictionaries(names, st.dictionaries(st.sampled_from("xyz"), outcomes, max_size=3)).map(
    lambda script: {"root": {}, **script}
)


def refuted(tried: set[str], script: Script) -> set[str]:
    """The goals that failed whatever came of the steps that Lean did not answer."""
    failed: set[str] = set()
    while more := {
        goal
        for goal in tried - failed
        if all(is_refuted(goal, after, failed) for after in script.get(goal, {}).values())
    }:
        failed |= more
    return failed


def is_refuted(goal: str, after: object, failed: set[str]) -> bool:
    return after == NO or (isinstance(after, tuple) and (goal in after or not failed.isdisjoint(after)))


@settings(max_examples=300, deadline=None)
@given(script=scripts, nodes=st.integers(1, 12))
async def test_labels_follow_the_definition(script: Script, nodes: int) -> None:
    found = await rows(script, nodes=nodes)
    tried = {goal for goal, _ in found}
    # Of a goal with nothing to try the rows do not say whether the search came to it.
    empty = {goal for goal in ("root", *"abcdef") if not script.get(goal)}
    at_least, at_most = refuted(tried, script), refuted(tried | empty, script)
    proved = {goal for (goal, _), row in found.items() if row.label == "positive"}
    for (goal, tactic), row in found.items():
        after = script[goal][tactic]
        if row.label == "positive":
            assert isinstance(after, tuple)
            assert proved.issuperset(after)
        else:
            assert (row.label == "negative") >= is_refuted(goal, after, at_least)
            assert (row.label == "negative") <= is_refuted(goal, after, at_most)


# ---------------------------------------------------------------------------- where, and how


async def test_a_row_says_where_it_was_tried() -> None:
    found = await rows(PROVED)
    root, step = found["root", "split"], found["d", "close"]
    assert (root.node, root.parent, root.depth, root.state) == (0, None, 0, "⊢ root")
    a, b = root.children
    assert found["a", "close"].node == a
    assert found["b", "step"].node == b
    assert {found[s].parent for s in (("a", "close"), ("b", "step"))} == {0}
    assert found["b", "step"].children == (step.node,)
    assert (step.parent, step.depth, step.children) == (b, 2, ())
    assert {row.root_goal for row in found.values()} == {"⊢ root"}
    assert {row.theorem for row in found.values()} == {"t"}


async def test_a_goal_with_several_ways_to_it_has_the_first_parent_and_the_least_depth() -> None:
    script: Script = {
        "root": {"long": ("a",), "short": ("b",)},
        "a": {"on": ("c",)},
        "c": {"on": ("d",)},
        "d": {"nothing": NO},
        "b": {"on": ("d",)},
    }
    likely = {"long": -0.1, "short": -5.0, "on": -0.1, "nothing": -0.1}
    found = await rows(script, policy=ScriptedPolicy({}, likely))
    shared = found["d", "nothing"]
    assert shared.parent == found["c", "on"].node, "it was found there"
    assert shared.depth == 2, "and is nearer by the other way"
    assert found["c", "on"].children == found["b", "on"].children == (shared.node,)


async def test_a_row_says_how_it_was_tried() -> None:
    script: Script = {
        "root": {"wrong": Rejected("unknown identifier", "parse"), "slow": SLOW, "hungry": HUNGRY},
    }
    likely = {"root": {"wrong": -0.5, "slow": -1.5, "hungry": -2.5}}
    provenance = Provenance(run="r7", iteration=3, origin="noise", temperature=0.8)
    found = await rows(script, policy=ScriptedPolicy(likely, {}), provenance=provenance)
    assert found["root", "wrong"].error == "parse: unknown identifier"
    assert found["root", "slow"].error == "heartbeats"
    assert found["root", "hungry"].error == "LeanMemoryExceeded: too big"
    assert [row.logprob for row in found.values()] == [-0.5, -1.5, -2.5]
    for row in found.values():
        assert (row.run, row.iteration, row.origin, row.temperature) == ("r7", 3, "noise", 0.8)
        assert row.energy is None
        assert row.seconds >= 0


class Length:
    """Long goals have much energy."""

    async def energies(self, root: object, states: Sequence[Sequence[Goal]]) -> list[float]:
        return [float(len(goals[0].target)) for goals in states]


async def test_the_energy_is_that_of_the_state_it_was_tried_at() -> None:
    script: Script = {"root": {"down": ("longer",)}, "longer": {"close": ()}}
    searched = await best_first(
        Theorem("t", Proposition("root")), FakeEnvironment(script), every_tactic(script), Length(),
        Budget(nodes=9, candidates=9),
    )  # fmt: skip
    assert [row.energy for row in rows_of(searched.tree, "t", True, RUN)] == [4.0, 6.0]


async def test_a_theorem_that_nothing_was_tried_at_has_no_rows() -> None:
    assert await rows({"root": {}}) == {}


# ------------------------------------------------------------------------------ children


async def test_states_that_were_never_expanded_keep_their_figures() -> None:
    script: Script = {"root": {"two": ("left", "rightmost"), "one": ("odd",)}, "left": {}}
    weighed = Settings(scoring=Scoring(policy_weight=0.5, energy_weight=2.0))
    searched, _ = await search(
        script, "root", budget=Budget(nodes=1, candidates=9), settings=weighed, value=BySize()
    )
    two, one = sorted(rows_of(searched.tree, "t", False, RUN), key=lambda row: -len(row.children))
    assert (two.child_energies, one.child_energies) == ((4.0, 9.0), (3.0,))
    assert (two.child_scores, one.child_scores) == ((-8.5, -18.5), (-6.5,))


async def test_without_a_value_model_children_have_scores_only() -> None:
    found = await rows({"root": {"on": ("a",), "wrong": NO}, "a": {"close": ()}})
    assert found["root", "on"].child_energies is None
    assert found["root", "on"].child_scores == (-1.0,)
    assert found["root", "wrong"].child_scores == ()
