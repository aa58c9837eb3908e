"""Negatives are what was given up, and nothing else."""

from __future__ import annotations

from dataclasses import replace

from burnqed.trajectories.schema import Label, StepRow
from burnqed.value.groups import State, contrasts

STEP = StepRow(
    run="r", theorem="t", node=0, parent=None, children=(), depth=0, state="root", root_goal="root",
    tactic="x", logprob=-1.0, energy=None, score=0.0, outcome="advanced", error="", label="unknown",
    on_proof_path=False, remaining_steps=None, origin="search", temperature=0.0, iteration=0,
    seconds=0.0,
)  # fmt: skip


def step(node: int, label: Label, *children: int, state: str = "", **more: object) -> StepRow:
    depth = 0 if node == 0 else 1
    base = replace(STEP, node=node, depth=depth, state=state or f"s{node}", children=children)
    return replace(base, label=label, **more)  # type: ignore[arg-type]


def on_path(node: int, remaining: int, *children: int, state: str = "") -> StepRow:
    return step(node, "positive", *children, state=state, on_proof_path=True, remaining_steps=remaining)


PROOF = [
    on_path(0, 2, 1),
    step(0, "negative", 2),
    step(0, "unknown", 3),
    step(0, "unknown", 4),
    step(0, "negative", outcome="rejected"),
    on_path(1, 1),
    step(2, "negative", outcome="rejected"),  # 2: all that was tried failed
    step(2, "negative", outcome="rejected"),
    step(3, "negative", outcome="rejected"),  # 3: not all of it
    step(3, "unknown", outcome="timeout"),
]  # 4 was never explored


def test_only_what_was_given_up_is_negative() -> None:
    found = contrasts(PROOF)
    (group,) = found.groups
    assert (group.positive, group.siblings) == (State("s1", -1.0), (State("s2", -1.0),))
    assert (group.depth, group.remaining_steps, group.root_goal) == (1, 1, "root")
    assert (found.positives, found.alone, found.dual) == (1, 0, 0)
    assert found.by_depth == {1: 1}


def test_an_unproved_search_says_nothing() -> None:
    failed = [replace(s, on_proof_path=False, remaining_steps=None, label="negative") for s in PROOF]
    assert contrasts(failed).groups == ()


def test_a_state_that_another_search_proved_is_no_negative() -> None:
    other = [
        replace(s, theorem="u")
        for s in (on_path(0, 2, 7, state="elsewhere"), on_path(7, 1, state="s2"))
    ]
    found = contrasts([*PROOF, *other])
    assert found.groups == ()
    assert (found.positives, found.alone, found.dual) == (2, 2, 1)


def test_both_halves_of_a_split_are_positives() -> None:
    rows = [
        on_path(0, 3, 1, 2),
        step(0, "negative", 5),
        on_path(1, 1),
        on_path(2, 1),
        step(5, "negative", outcome="rejected"),
    ]
    found = {g.positive.text: [s.text for s in g.siblings] for g in contrasts(rows).groups}
    assert found == {"s1": ["s5"], "s2": ["s5"]}


def test_what_runs_say_of_a_theorem_is_read_together() -> None:
    """One run has the proof, another gave up what lies beside it; a third has seen it all before."""
    beside = [step(0, "unknown", 8, logprob=-3.0), step(8, "negative", outcome="rejected")]
    (group,) = contrasts(PROOF, beside, PROOF).groups  # nodes are numbered anew in each
    assert group.siblings == (State("s2", -1.0), State("s8", -3.0))


def test_runs_of_one_name_are_still_two() -> None:
    """Two attempts of an evaluation, or directories called alike: their nodes are not the same."""
    other = [step(0, "unknown", 1, state="elsewhere"), step(1, "negative", state="x")]
    assert contrasts(PROOF, other).groups == contrasts(PROOF).groups


def test_what_known_steps_prove_is_no_negative() -> None:
    """A detour that comes back to the proof was told not to go on from there; it could have."""
    back = [
        step(0, "unknown", 9),
        step(9, "negative", 0, logprob=-2.0),  # given up, and a step leads back to the root
        step(0, "unknown", 10),
        step(10, "negative", outcome="closed"),
    ]
    found = contrasts(PROOF, back)
    (group,) = found.groups
    assert [s.text for s in group.siblings] == ["s2"]
    assert found.dual == 2


def test_the_likeliest_step_counts() -> None:
    rows = [*PROOF, step(0, "unknown", 1, logprob=-0.2), step(0, "unknown", 2, logprob=-5.0)]
    (group,) = contrasts(rows).groups
    assert (group.positive.logprob, group.siblings[0].logprob) == (-0.2, -1.0)


def test_what_walks_gave_up_stands_behind_siblings() -> None:
    walk = [
        step(0, "unknown", 20),
        step(20, "unknown", 21),
        step(21, "negative", outcome="rejected"),
        step(2, "negative", outcome="rejected"),
        step(1, "negative", outcome="rejected"),  # elsewhere it is on a path
    ]
    rows = [*PROOF, *(replace(s, run="beside", origin="walk") for s in walk)]
    (group,) = contrasts(rows).groups
    assert (group.siblings, group.others) == ((State("s2", -1.0),), ("s21",))


def test_siblings_that_take_longer_are_known_but_no_negatives() -> None:
    longer = [
        on_path(0, 4, 7),
        on_path(7, 3),
        step(0, "unknown", 8),
    ]
    groups = {g.positive.text: g for g in contrasts(PROOF, longer).groups}
    assert {text: group.slower for text, group in groups.items()} == {
        "s1": (State("s7", -1.0),),
        "s7": (),
    }
    assert all([s.text for s in group.siblings] == ["s2"] for group in groups.values())
    quick, slow = on_path(0, 2, 1), on_path(0, 4, 7)
    alone = contrasts([quick, on_path(1, 1)], [slow, on_path(7, 3)])
    assert alone.groups == ()
    assert [(g.positive.text, g.slower) for g in alone.paced] == [("s1", (State("s7", -1.0),))]


def test_statistics_say_whether_there_is_anything_to_learn() -> None:
    told = contrasts(PROOF).statistics
    assert told["groups"] == told["theorems"] == told["hard negatives"] == 1
    assert told["groups by depth"] == "1: 1"
