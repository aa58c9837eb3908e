"""`qed?` in the embedded Lean: what it asks, and what it makes of an answer.

Lean has no processes there. So a `qed?` of the test says what it would ask for, or offers the answer
that is written behind it.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from burnqed.lean import requests, tactic
from burnqed.lean.pool import Pool, Worker
from burnqed.lean.toolchain import Toolchain
from tests.cli.in_process import burn_qed

pytestmark = pytest.mark.lean

REHEARSAL = r"""
open Lean Elab Tactic BurnQed
@[tactic BurnQed.qed] def rehearsal : Tactic := fun stx => do
  let request ← requestAt stx
  let told := optionsIn stx
  match told.toList with
  | '{' :: _ =>
    match answerOf told with
    | .ok answer => offer stx answer
    | .error why => throwError "no answer: {why}"
  | _ =>
    let place := toString request.line ++ ":" ++ toString request.column
    throwError ("asks " ++ place ++ "\n" ++ request.text)
syntax (name := sends) "sends" str num : tactic
@[tactic sends] def showSent : Tactic := fun stx => do
  let source := ((stx.getArg 1).isStrLit?).getD ""
  match (← requestOf (← getEnv) {} .anonymous [] source (((stx.getArg 2).isNatLit?).getD 0)) with
  | some request => throwError request.text
  | none => throwError "nothing"
syntax (name := words) "words" str : tactic
@[tactic words] def showWords : Tactic := fun stx => do
  let request : Request := { text := "", line := 3, column := 4 }
  let shown := argumentsOf request (wordsOf (((stx.getArg 1).isStrLit?).getD "")) true
  throwError (String.intercalate "|" shown.toList)
"""
WHY = re.compile(r"^error: asks (\d+):(\d+)\n(.*)$", re.DOTALL)


class Lean:
    """One Lean with `import BurnQed`, as it were."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker

    async def said(self, text: str) -> list[str]:
        """The messages about a text, each with its severity before it."""
        reply = await self.worker.request(requests.Process(text).line, timeout=120)
        return [f"{m['severity']}: {m['data']}" for u in reply["units"] for m in u["messages"]]

    async def asked(self, text: str) -> dict[str, str]:
        """The texts that are asked about, by the places of their `sorry`s."""
        found = [WHY.match(said) for said in await self.said(text)]
        return {f"{m[1]}:{m[2]}": m[3] for m in found if m}

    async def offered(self, text: str, *proofs: list[str]) -> str:
        """A text with what is offered in place of its `qed?`, where these proofs are the answer."""
        answer = {"suggestions": [{"tactics": proofs, "reason": ""}]}
        said = await self.said(text.replace("qed?", f"qed? {literal(answer)}"))
        offers = {
            one.partition("[apply] ")[2] for one in said if one.startswith("information: Try this:")
        }
        assert len(offers) == 1, said
        # In a message, Lean shows the lines behind the first two columns deeper.
        return text.replace("qed?", offers.pop().rstrip().replace("\n  ", "\n"))


def literal(answer: Any) -> str:
    """A string of Lean with JSON in it."""
    return json.dumps(json.dumps(answer, ensure_ascii=False), ensure_ascii=False)


@pytest.fixture(scope="module")
async def lean(toolchain: Toolchain) -> AsyncIterator[Lean]:
    own = re.sub(r"^import .*", "", tactic.source(), flags=re.MULTILINE)
    own = own.replace("@[tactic qed]", "")  # Lean would try it after the rehearsal
    async with (
        Pool(toolchain.launch(["Init", "Std", "Lean"]), 1) as pool,
        pool.lease() as worker,
    ):
        load = {"file": own + REHEARSAL, "inheritEnv": True}
        reply = await worker.request(f"frontend.process {json.dumps(load)}", timeout=200)
        assert [m for unit in reply["units"] for m in unit["messages"]] == []
        yield Lean(worker)


async def test_all_of_it_can_be_run(lean: Lean) -> None:
    """What Lean has no code for, it leaves out without a word there."""
    counted = (
        "def counted : List Lean.Elab.Tactic.Tactic → Nat\n  | [] => 0\n  | _ :: l => counted l + 1\n"
    )
    assert await lean.said(counted + "#eval counted [BurnQed.elabQed]\n") == ["information: 1"]


TEXT = """\
/-! é ∀ -/
universe u
namespace Here
open Nat in
theorem early : 0 < 1 := by qed? "--nodes 3"
variable {α : Type u} [Inhabited α]
local notation "⟪" x "⟫" => some x
theorem one (a : α) : ⟪a⟫ = ⟪a⟫ ∧ True :=
  ⟨by qed?, by exact trivial⟩ -- with a comment
theorem later : False := by qed?
"""


async def test_it_sends_the_text_up_to_the_end_of_its_command(lean: Lean) -> None:
    asked = await lean.asked(TEXT)
    assert list(asked) == ["5:28", "9:6", "10:28"]
    assert asked["9:6"] == (
        "/-! é ∀ -/\nuniverse u\nnamespace Here\nopen Nat in\n"
        "theorem early : 0 < 1 := by sorry\nvariable {α : Type u} [Inhabited α]\n"
        'local notation "⟪" x "⟫" => some x\n'
        "theorem one (a : α) : ⟪a⟫ = ⟪a⟫ ∧ True :=\n  ⟨by sorry, by exact trivial⟩\n"
    )
    assert asked["5:28"].endswith("open Nat in\ntheorem early : 0 < 1 := by sorry\n")


@pytest.mark.parametrize(
    ("header", "sent"),
    [
        ("import BurnQed\n", "\n"),
        ("import Std\nimport BurnQed -- why\n\n", "import Std\n -- why\n\n"),
        ("module\n\npublic meta import BurnQed\nimport Std.Data\n", "module\n\n\nimport Std.Data\n"),
        ("import Other.BurnQed\n", "import Other.BurnQed\n"),
        ("", ""),
    ],
)
async def test_the_import_of_the_tactic_is_left_out(lean: Lean, header: str, sent: str) -> None:
    text = header + "theorem é : True := by\n  qed?\n"
    at = len(text.partition("qed?")[0].encode())
    (said,) = await lean.said(f"example : True := by sends {json.dumps(text, ensure_ascii=False)} {at}")
    assert said == f"error: {sent}theorem é : True := by\n  sorry\n"


async def test_where_no_tactic_is_written_nothing_is_asked(lean: Lean) -> None:
    text = 'macro "ask" : tactic => `(tactic| qed?)\nexample : True := by ask\n'
    (said,) = await lean.said(text)
    assert "where it is written" in said


async def test_the_command_line(lean: Lean) -> None:
    async def words(options: str) -> list[str]:
        (said,) = await lean.said(f"example : True := by words {json.dumps(options)}")
        return said.removeprefix("error: ").split("|")

    own = ["prove", "-", "--at", "3:4", "--suggest"]
    assert await words("") == [*own, "--project", "."]
    assert await words(" --nodes  3\n") == [*own, "--project", ".", "--nodes", "3"]
    server = ["--server", "http://127.0.0.1:8200"]
    for chosen in (["--project", "there"], ["--toolchain", "embedded"], server):
        assert await words(" ".join(chosen)) == [*own, *chosen]


# ---------------------------------------------------------------------------- the offer

HAVE = "have hq : q := by\n  cases h with\n  | intro a b => exact b"
AND = "example (p q : Prop) (h : p ∧ q) : q ∧ p := "


@pytest.mark.parametrize(
    ("before", "after", "proofs", "offered"),
    [
        ("by\n  ", "", [["exact ⟨h.2, h.1⟩"]], "exact ⟨h.2, h.1⟩"),
        (
            "by\n  ", "", [[HAVE, "exact ⟨hq, h.1⟩"]],
            "have hq : q := by\n    cases h with\n    | intro a b => exact b\n  exact ⟨hq, h.1⟩",
        ),
        ("by ", "", [["have := h.1", "exact ⟨h.2, this⟩"]], None),
        ("⟨by ", ", h.1⟩", [["have := h.2", "exact this"]], None),
        ("by\n  constructor\n  · ", "\n  · exact h.1", [[HAVE, "exact hq"]], None),
        ("by\n  constructor <;> ", "", [["exact h.2"], ["exact h.1"]], None),
        ("by\n  constructor <;> ", "", [[HAVE, "exact hq"], ["have := h", "exact this.1"]], None),
        ("by\n  refine ?_; ", "", [["have := h.1", "exact ⟨h.2, this⟩"]], None),
        ("by\n  skip <;> ", "", [["have := h.1", "exact ⟨h.2, this⟩"]], None),
        ("And.symm (by {", "})", [["exact h"]], "exact h"),
    ],
)  # fmt: skip
async def test_what_is_offered_fits_where_it_is_put(
    lean: Lean, before: str, after: str, proofs: list[list[str]], offered: str | None
) -> None:
    text = f"{AND}{before}qed?{after}\n"
    finished = await lean.offered(text, *proofs)
    if offered is not None:
        assert finished == f"{AND}{before}{offered}{after}\n"
    assert finished.startswith(AND + before)
    assert await lean.said(finished) == []


@pytest.mark.parametrize(
    ("proof", "why"),
    [
        ("sorry", "leaves something open"),
        ("constructor", "leaves something open"),
        ("exact ⟨_, h.1⟩", "don't know how to synthesize"),
        ("exact nothing.there", "Unknown identifier `nothing.there`"),
        ("exact (h.2", "Lean cannot read burn-qed's proof here"),
        ("omega", "omega"),
    ],
)
async def test_what_lean_does_not_accept_here_is_not_offered(lean: Lean, proof: str, why: str) -> None:
    answer = {"suggestions": [{"tactics": [[proof]], "reason": ""}]}
    said = await lean.said(f"{AND}by qed? {literal(answer)}")
    assert why in said[0]
    assert all(one.startswith("error: ") for one in said)


async def test_what_a_proof_says_is_not_shown(lean: Lean) -> None:
    answer = {"suggestions": [{"tactics": [['trace "hello"', "exact h.symm"]], "reason": ""}]}
    (said,) = await lean.said(f"{AND}by\n  qed? {literal(answer)}")
    assert said.startswith("information: Try this:")
    assert "hello" in said


async def test_no_proof_and_no_answer_are_said(lean: Lean) -> None:
    nothing = {"suggestions": [{"tactics": [], "reason": "exhausted: nodes"}]}
    for answer, said in (
        (nothing, "error: burn-qed found no proof: exhausted: nodes"),
        ({"suggestions": []}, "error: no answer: it is not about one `sorry`"),
        ({"suggestions": [{"tactics": 3}]}, "error: no answer: "),
        ({"told": 1}, "error: no answer: "),
    ):
        (heard,) = await lean.said(f"{AND}by qed? {literal(answer)}")
        assert heard.startswith(said)


# ------------------------------------------------------------------------ the whole way

LEMMAS = """\
theorem double (n : Nat) : n + n = 2 * n := by
  qed?
namespace Pairs
variable {p q : Prop}
theorem swap (h : p ∧ q) : q ∧ p := by
  constructor
  · qed?
  · exact h.1
"""


async def test_from_a_question_to_a_proof(lean: Lean) -> None:
    """What Lean asks is put to `burn-qed prove`, and its answer before Lean again."""
    finished = LEMMAS
    for _ in range(2):
        place, text = next(iter((await lean.asked(finished)).items()))
        prove = ("prove", "-", "--at", place, "--suggest", "--policy", "portfolio", "--nodes", "20")
        done = await asyncio.to_thread(burn_qed, *prove, stdin=text)
        told = json.loads(done.stdout)["suggestions"]
        assert told[0]["proved"]
        first, *rest = re.split(r"qed\?", finished)
        offered = await lean.offered(f"{first}qed?" + "sorry".join(rest), *told[0]["tactics"])
        finished = offered.replace("sorry", "qed?")
    assert "qed?" not in finished
    assert await lean.said(finished) == []
