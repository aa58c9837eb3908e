"""Lines out, replies in: the shapes, and what is done with any other shape."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

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
from burnqed.lean import protocol, replies, requests

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
            requests.GoalTactic(4, 1, "intro x\nsimp", auto_resume=True).line,
            "goal.tactic",
            {"stateId": 4, "goalId": 1, "tactic": "intro x\nsimp", "autoResume": True},
        ),
        (
            requests.GoalTactic(4, 1, "rfl", auto_resume=False).line,
            "goal.tactic",
            {"stateId": 4, "goalId": 1, "tactic": "rfl", "autoResume": False},
        ),
        (
            requests.Batch(4, ["rfl", "simp"]).line,
            "qed.batch",
            {"stateId": 4, "tactics": ["rfl", "simp"]},
        ),
        (
            requests.Batch(4, ["rfl"], (2, 0), 50_000).line,
            "qed.batch",
            {"stateId": 4, "goalIds": [2, 0], "tactics": ["rfl"], "maxHeartbeats": 50_000},
        ),
        (requests.PrintGoals(2, goals=True).line, "goal.print", {"stateId": 2, "goals": True}),
        (requests.DeleteStates([1, 2]).line, "goal.delete", {"stateIds": [1, 2]}),
        (requests.Reset().line, "reset", {}),
        (
            requests.Inspect("Nat").line,
            "env.inspect",
            {"name": "Nat"},
        ),
        (requests.Catalog().line, "env.catalog", {}),
        (requests.ReadModule("Init").line, "env.module_read", {"module": "Init"}),
        (
            requests.Process("def a := 1").line,
            "frontend.process",
            {"file": "def a := 1"},
        ),
        (requests.Certify(7).line, "qed.certify", {"stateId": 7}),
        (
            requests.Compile("a", {}, hide=("b",)).line,
            "qed.compile",
            {"file": "a", "gate": {}, "hide": ["b"]},
        ),
        (
            requests.Compile("a", {}, "r", max_heartbeats=9).line,
            "qed.compile",
            {"file": "a", "gate": {}, "reference": "r", "maxHeartbeats": 9},
        ),
        (
            requests.Verify({}, ["a"], "r").line,
            "qed.verify",
            {"export": {}, "written": ["a"], "reference": "r"},
        ),
        (
            requests.Verify({}, [], target="t", leak="self", max_heartbeats=9).line,
            "qed.verify",
            {"export": {}, "written": [], "target": "t", "leak": "self", "maxHeartbeats": 9},
        ),
        (requests.Theorems(0, 9).line, "qed.theorems", {"offset": 0, "limit": 9}),
        (
            requests.TraceFile("a", 3, full=False).line,
            "qed.trace",
            {"file": "a", "from": 3, "full": False},
        ),
    ],
)
def test_requests(line: str, command: str, fields: dict[str, Any]) -> None:
    assert payload(line) == (command, fields)


@given(st.text())
def test_a_request_is_one_line_whatever_the_tactic(tactic: str) -> None:
    line = requests.GoalTactic(0, 0, tactic, auto_resume=True).line
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


KINDS = [
    kind
    for kind in vars(replies).values()
    if isinstance(kind, type) and issubclass(kind, replies.Message) and kind is not replies.Message
]
# What some reply has, and what none has: more is found by mixing fields than by making names up.
FIELDS = sorted({field.encode_name for kind in KINDS for field in structs.fields(kind)})


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(KINDS), st.dictionaries(st.sampled_from([*FIELDS, "desc"]), JSON, max_size=8))
def test_no_reply_of_another_shape_escapes_as_another_exception(
    kind: type[replies.Message], reply: dict[str, Any]
) -> None:
    with suppress(ProtocolError, RequestRefused):
        assert isinstance(replies.read(reply, kind), kind)


def test_facts_of_a_goal() -> None:
    form = ["and", 0, 5, [["other", 0, 1], ["other", 4, 5]]]
    told = {"form": form, "numerals": [2], "definitions": [["f", 0, 1], ["g", None, None]]}
    of_hypothesis = {
        "form": ["exists", 0, 1, [["type", None, None, [], None, "Nat"], ["other", 0, 1]], "k"]
    }
    variables = [{**GOAL["vars"][0], "proposition": of_hypothesis}]  # type: ignore[index]
    goal = GOAL | {"proposition": told, "vars": variables}
    (read,) = protocol.read_step(DONE | {"goals": [goal]}).goals
    assert read.facts is not None
    assert [part.start for part in read.facts.target.form.parts] == [0, 4]
    assert [one.name for one in read.facts.target.definitions] == ["f", "g"]
    said = read.facts.hypotheses[0].proposition
    assert said is not None
    assert (said.form.name, said.form.parts[0].apart) == ("k", "Nat")
    assert protocol.read_step(DONE).goals[0].facts is None
    for wrong in (told | {"form": ["none of these"]}, told | {"form": []}, told | {"unheard": 1}):
        with pytest.raises(ProtocolError):
            protocol.read_step(DONE | {"goals": [goal | {"proposition": wrong}]})


def test_a_repl_that_starts_no_text_is_told_apart_from_a_wrong_statement() -> None:
    with pytest.raises(RequestRefused, match="only from a bare proposition") as refused:
        protocol.read_start({"error": "command", "desc": "Unknown command"}, "t")
    assert (refused.value.kind, refused.value.desc) == ("command", "Unknown command")
    assert "--toolchain pantograph" in refused.value.hint


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
    page = replies.read({"theorems": [one], "total": 501, "next": 500}, replies.TheoremsPage)
    assert page.theorems == (replies.ListedTheorem("a", "Init", ("u",), 3, "p"),)
    assert page.next == 500
    none = replies.read({"theorems": [], "total": 0, "next": None}, replies.TheoremsPage)
    assert none.next is None
