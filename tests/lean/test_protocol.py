"""Lines out, replies in: the shapes, and what is done with any other shape."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnqed.core.errors import ProtocolError, RequestRefused, StatementError
from burnqed.core.types import (
    Constant,
    Cost,
    Hypothesis,
    LibraryConstant,
    Message,
    Proposition,
    Rejected,
    TheoremText,
    TimedOut,
)
from burnqed.lean import protocol

GOAL = {
    "name": "_uniq.17",
    "userName": "inl",
    "fragment": "tactic",
    "target": {"pp": "q ∧ p"},
    "vars": [
        {
            "name": "_uniq.3",
            "userName": "h✝",
            "isInaccessible": True,
            "type": {"pp": "p"},
            "value": {"pp": "x"},
        }
    ],
}
DONE = {"nextStateId": 3, "goals": [GOAL], "messages": [], "hasSorry": False, "hasUnsafe": False}
ERROR: dict[str, Any] = {"severity": "error", "data": "omega could not prove the goal", "pos": {}}


def payload(line: str) -> tuple[str, Any]:
    command, _, fields = line.partition(" ")
    return command, json.loads(fields)


@pytest.mark.parametrize(
    ("line", "command", "fields"),
    [
        (protocol.start(Proposition("p → p")), "goal.start", {"expr": "p → p"}),
        (
            protocol.start(Proposition("a", ("u",))),
            "goal.start",
            {"expr": "a", "levels": ["u"]},
        ),
        (
            protocol.start(LibraryConstant("Nat.add_comm")),
            "goal.start",
            {"copyFrom": "Nat.add_comm", "hide": True, "leak": "module"},
        ),
        (
            protocol.start(LibraryConstant("A", "self")),
            "goal.start",
            {"copyFrom": "A", "hide": True, "leak": "self"},
        ),
        (
            protocol.start(TheoremText("theorem a : b :=")),
            "qed.start",
            {"file": "theorem a : b := by sorry\n"},
        ),
        (
            protocol.goal_tactic(4, 1, "intro x\nsimp"),
            "goal.tactic",
            {"stateId": 4, "goalId": 1, "tactic": "intro x\nsimp", "autoResume": True},
        ),
        (
            protocol.goal_tactic(4, 1, "rfl", resume=False),
            "goal.tactic",
            {"stateId": 4, "goalId": 1, "tactic": "rfl", "autoResume": False},
        ),
        (
            protocol.qed_batch(4, ["rfl", "simp"]),
            "qed.batch",
            {"stateId": 4, "tactics": ["rfl", "simp"]},
        ),
        (
            protocol.qed_batch(4, ["rfl"], (2, 0), 50_000),
            "qed.batch",
            {"stateId": 4, "goalIds": [2, 0], "tactics": ["rfl"], "maxHeartbeats": 50_000},
        ),
        (protocol.goal_print(2), "goal.print", {"stateId": 2, "goals": True}),
        (protocol.goal_delete([1, 2]), "goal.delete", {"stateIds": [1, 2]}),
        (protocol.stat(), "stat", {}),
        (protocol.reset(), "reset", {}),
        (
            protocol.env_inspect("Nat", value=True),
            "env.inspect",
            {"name": "Nat", "value": True, "dependency": False, "source": False},
        ),
        (
            protocol.env_catalog("Init"),
            "env.catalog",
            {"modulePrefix": "Init", "invertFilter": False},
        ),
        (protocol.env_module_read("Init"), "env.module_read", {"module": "Init"}),
        (
            protocol.frontend_process("def a := 1"),
            "frontend.process",
            {
                "file": "def a := 1",
                "readHeader": False,
                "inheritEnv": False,
                "newConstants": False,
            },
        ),
        (protocol.qed_certify(7), "qed.certify", {"stateId": 7}),
        (
            protocol.qed_compile("a", {}, None, "b"),
            "qed.compile",
            {"file": "a", "gate": {}, "hide": ["b"]},
        ),
        (
            protocol.qed_compile("a", {}, "r", heartbeats=9),
            "qed.compile",
            {"file": "a", "gate": {}, "reference": "r", "maxHeartbeats": 9},
        ),
        (
            protocol.qed_verify({}, ["a"], "r", None),
            "qed.verify",
            {"export": {}, "written": ["a"], "reference": "r"},
        ),
        (
            protocol.qed_verify({}, [], None, LibraryConstant("t", "self"), 9),
            "qed.verify",
            {"export": {}, "written": [], "target": "t", "leak": "self", "maxHeartbeats": 9},
        ),
        (protocol.qed_theorems(limit=9), "qed.theorems", {"offset": 0, "limit": 9}),
    ],
)
def test_requests(line: str, command: str, fields: dict[str, Any]) -> None:
    assert payload(line) == (command, fields)


@given(st.text())
def test_a_request_is_one_line_whatever_the_tactic(tactic: str) -> None:
    line = protocol.goal_tactic(0, 0, tactic)
    assert "\n" not in line
    assert "\r" not in line
    assert payload(line)[1]["tactic"] == tactic


def test_step_with_goals() -> None:
    step = protocol.read_step(DONE | {"us": 1200, "heartbeats": 3})
    assert step.state == 3
    assert step.refusal is None
    (goal,) = step.goals
    assert goal.user_name == "inl"
    assert goal.hypotheses == (Hypothesis("h✝", "p", "x", inaccessible=True),)
    assert goal.text == "case inl\nh✝ : p := x\n⊢ q ∧ p"
    assert goal.holes is None
    assert step.cost == Cost(0.0012, 3)


def test_the_holes_of_a_goal() -> None:
    (goal,) = protocol.read_step(DONE | {"goals": [GOAL | {"holes": ["_uniq.3"]}]}).goals
    assert goal.holes == ("_uniq.3",)


def test_step_keeps_what_lean_says() -> None:
    said = {"severity": "information", "data": "Try this: exact h", "pos": {}}
    step = protocol.read_step(DONE | {"messages": [said, said | {"severity": "warning"}]})
    assert step.messages[0] == Message("information", "Try this: exact h")
    assert step.suggestions == ("exact h",)


@pytest.mark.parametrize(
    ("reply", "refusal"),
    [
        ({"parseError": "<input>:1:1: unknown"}, Rejected("<input>:1:1: unknown", "parse")),
        ({"messages": [ERROR]}, Rejected(ERROR["data"], "tactic")),
        ({"error": "operation", "desc": "no"}, Rejected("no", "tactic")),
        ({"error": "parse", "desc": "no"}, Rejected("no", "parse")),
        (DONE | {"messages": [ERROR]}, Rejected(ERROR["data"], "tactic")),
        (DONE | {"hasSorry": True}, Rejected("the tactic leaves a sorry", "sorry")),
        (
            DONE | {"hasUnsafe": True},
            Rejected("the tactic uses an unsafe definition", "tactic"),
        ),
        (
            DONE | {"goals": [], "rootHasMVar": True},
            Rejected("no goal is left, but the proof has unassigned metavariables", "tactic"),
        ),
        (
            {"leak": "Nat.add_comm", "messages": [], "us": 5},
            Rejected("it uses Nat.add_comm, which is the theorem itself or may rest on it", "leak"),
        ),
        (
            DONE | {"hasHoles": True},
            Rejected("the tactic leaves metavariables that are not among its goals", "tactic"),
        ),
        (
            {
                "us": 1_500_000,
                "messages": [
                    ERROR | {"data": "(deterministic) timeout at `whnf`, maximum number of …"}
                ],
            },
            TimedOut(1.5, deterministic=True),
        ),
    ],
)
def test_refusals(reply: dict[str, Any], refusal: Rejected | TimedOut) -> None:
    assert protocol.read_step(reply).refusal == refusal


def test_a_refused_step_tells_the_state_it_left() -> None:
    assert protocol.read_step(DONE | {"hasSorry": True}).state == 3


@pytest.mark.parametrize("kind", ["index", "command", "io"])
def test_trouble_with_the_request_is_not_the_tactics_failure(kind: str) -> None:
    with pytest.raises(RequestRefused) as caught:
        protocol.read_step({"error": kind, "desc": "Invalid state index 7"})
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"messages": []},
        {"nextStateId": 1, "goals": []},
        DONE | {"nextStateId": "1"},
        DONE | {"nextStateId": True},
        DONE | {"goals": [{"name": "x"}]},
        DONE | {"goals": {}},
        DONE | {"goals": None},
        DONE | {"hasSorry": 0},
        DONE | {"messages": [{"severity": "fatal", "data": "x"}]},
        DONE | {"goals": [GOAL | {"fragment": "term"}]},
        DONE | {"goals": [GOAL | {"target": "p"}]},
        DONE | {"goals": [GOAL | {"holes": None}]},
        DONE | {"hasHoles": 1},
        {"parseError": 7},
    ],
)
def test_any_other_shape_is_an_error_that_shows_it(reply: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError) as caught:
        protocol.read_step(reply)
    assert json.dumps(reply, ensure_ascii=False)[:40] in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
)


@given(st.dictionaries(st.sampled_from([*DONE, "error", "desc", "parseError", "us"]), JSON))
def test_no_shape_escapes_as_another_exception(reply: dict[str, Any]) -> None:
    with suppress(ProtocolError, RequestRefused):
        protocol.read_step(reply)


def test_start_with_and_without_goals() -> None:
    assert protocol.read_start({"stateId": 0, "root": "r"}, "a").goals is None
    started = protocol.read_start({"stateId": 0, "root": "r", "goals": [GOAL]}, "a")
    assert started.goals is not None
    assert started.goals[0].target == "q ∧ p"


def test_a_bad_statement_is_the_users_error() -> None:
    with pytest.raises(StatementError, match="a: Symbol not found"):
        protocol.read_start({"error": "index", "desc": "Symbol not found: x"}, "a")
    with pytest.raises(RequestRefused):
        protocol.read_start({"error": "command", "desc": "Unknown command qed.start"}, "a")


def test_batch() -> None:
    replies = protocol.read_batch({"results": [DONE, {"parseError": "no"}]}, 2)
    assert [reply.refusal for reply in replies] == [None, Rejected("no", "parse")]
    with pytest.raises(ProtocolError, match="1 results for 2 tactics"):
        protocol.read_batch({"results": [DONE]}, 2)


@pytest.mark.parametrize("complete", [True, False])
def test_certificate(complete: bool) -> None:
    certificate = protocol.read_certificate(
        {
            "ok": True,
            "desc": "",
            "axioms": ["propext"],
            "axiomsComplete": complete,
            "constants": [{"name": "Nat.rec", "module": "Init.Prelude"}],
        }
    )
    assert certificate.ok
    assert certificate.axioms == (("propext",) if complete else None)
    assert certificate.axioms_seen == ("propext",)
    assert certificate.constants == (Constant("Nat.rec", "Init.Prelude"),)


def test_theorems() -> None:
    one = {"name": "a", "module": "Init", "statement": "p", "levels": ["u"], "size": 3}
    page = protocol.read_theorems({"theorems": [one], "total": 501, "next": 500})
    assert page.theorems == (protocol.LibraryTheorem("a", "Init", "p", ("u",), 3),)
    assert page.next == 500
    assert protocol.read_theorems({"theorems": [], "total": 0, "next": None}).next is None
