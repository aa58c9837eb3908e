"""`burn-qed repl` driven the way PyPantograph drives `pantograph-repl`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from burnqed.lean.toolchain import Toolchain

pytestmark = pytest.mark.lean
Reply = dict[str, Any]


class Client:
    """A line out, a line in."""

    def __init__(self, *arguments: str) -> None:
        command = [str(Path(sys.executable).with_name("burn-qed")), "repl", *arguments]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._line() == b"ready.\n"

    def _line(self) -> bytes:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def raw(self, line: bytes) -> Reply:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        reply = json.loads(self._line())
        assert isinstance(reply, dict)
        return reply

    def __call__(self, command: str, **payload: Any) -> Reply:
        return self.raw(f"{command} {json.dumps(payload, ensure_ascii=False)}".encode())

    def close(self) -> int:
        self.process.communicate(timeout=30)
        return self.process.returncode


@pytest.fixture(scope="module")
def repl(toolchain: Toolchain) -> Iterator[Client]:
    toolchain.launch(("Init",))
    client = Client("Init")
    yield client
    assert client.close() == 0


@pytest.fixture(autouse=True)
def clean(repl: Client) -> Iterator[None]:
    yield
    repl("reset")


def start(repl: Client, expr: str) -> int:
    reply = repl("goal.start", expr=expr)
    assert "root" in reply
    return int(reply["stateId"])


def targets(reply: Reply) -> list[str]:
    return [goal["target"]["pp"] for goal in reply["goals"]]


def test_a_proof_from_start_to_term(repl: Client) -> None:
    assert start(repl, "∀ (p q : Prop), p ∧ q → q ∧ p") == 0
    one = repl("goal.tactic", stateId=0, tactic="intro p q h")
    assert one["nextStateId"] == 1
    assert not one["hasSorry"]
    assert not one["hasUnsafe"]
    (goal,) = one["goals"]
    assert goal["fragment"] == "tactic"
    assert [v["userName"] for v in goal["vars"]] == ["p", "q", "h"]
    assert goal["vars"][2]["type"] == {"pp": "p ∧ q"}
    two = repl("goal.tactic", stateId=1, tactic="constructor")
    assert [g["userName"] for g in two["goals"]] == ["left", "right"]
    three = repl("goal.tactic", stateId=2, goalId=1, tactic="exact h.1")
    assert targets(three) == ["q"]  # the sibling stays
    printed = repl("goal.print", stateId=3, rootExpr=True, goals=True)
    assert "root" not in printed
    four = repl("goal.tactic", stateId=3, tactic="exact h.2")
    assert four["goals"] == []
    printed = repl("goal.print", stateId=4, rootExpr=True)
    assert printed["root"]["pp"].startswith("fun p q h")
    assert not printed["rootHasSorry"]
    assert not printed["rootHasMVar"]


def test_what_fails_and_what_does_not_parse(repl: Client) -> None:
    start(repl, "∀ (p : Prop), p → p")
    failed = repl("goal.tactic", stateId=0, tactic="exact nonsense")
    assert "goals" not in failed
    assert any(m["severity"] == "error" for m in failed["messages"])
    assert "parseError" in repl("goal.tactic", stateId=0, tactic="exact (((")
    assert repl("goal.tactic", stateId=99, tactic="skip")["error"] == "index"
    assert repl("goal.tactic", stateId=0, goalId=7, tactic="skip")["error"] == "index"
    assert repl("no.such")["error"] == "command"
    assert "error" in repl("goal.start", expr="∀ x, x = = x")
    sorry = repl("goal.tactic", stateId=0, tactic="sorry")
    assert sorry["hasSorry"] is True


def test_inaccessible_names_have_their_dagger(repl: Client) -> None:
    start(repl, "∀ (p q : Prop), p ∨ q → q ∨ p")
    repl("goal.tactic", stateId=0, tactic="intro p q h")
    reply = repl("goal.tactic", stateId=1, tactic="cases h")
    assert [g["userName"] for g in reply["goals"]] == ["inl", "inr"]
    last = reply["goals"][0]["vars"][-1]
    assert last["userName"] == "h✝"
    assert last["isInaccessible"] is True


def test_have_let_expr(repl: Client) -> None:
    start(repl, "1 + 1 = 2")
    have = repl("goal.tactic", stateId=0, have="2 = 1 + 1", binderName="h")
    assert targets(have) == ["2 = 1 + 1", "1 + 1 = 2"]
    assert have["goals"][1]["vars"][0]["userName"] == "h"
    let = repl("goal.tactic", stateId=0, let="Nat", binderName="n")
    assert targets(let)[0] == "Nat"
    assert repl("goal.tactic", stateId=0, expr="rfl")["goals"] == []
    draft = repl("goal.tactic", stateId=0, draft="Eq.trans (b := 1 + 1) sorry sorry")
    assert len(draft["goals"]) == 2


def test_conv_and_calc(repl: Client) -> None:
    start(repl, "∀ (a b : Nat), b = 2 → 1 + a + 1 = a + b")
    repl("goal.tactic", stateId=0, tactic="intro a b h")
    calc = repl("goal.tactic", stateId=1, mode="calc")
    assert calc["goals"][0]["fragment"] == "calc"
    step = repl("goal.tactic", stateId=calc["nextStateId"], tactic="1 + a + 1 = a + 1 + 1")
    assert targets(step) == ["1 + a + 1 = a + 1 + 1", "a + 1 + 1 = a + b"]
    conv = repl("goal.tactic", stateId=step["nextStateId"], mode="conv")
    assert conv["goals"][0]["fragment"] == "conv"
    rhs = repl("goal.tactic", stateId=conv["nextStateId"], tactic="rhs")
    back = repl("goal.tactic", stateId=rhs["nextStateId"], tactic="rw [Nat.add_comm]")
    assert back["goals"], back
    plain = repl("goal.tactic", stateId=back["nextStateId"], mode="tactic")
    assert plain["goals"][0]["fragment"] == "tactic"


def test_without_automatic_mode_goals_are_resumed(repl: Client) -> None:
    assert repl("options.set", automaticMode=False) == {}
    try:
        start(repl, "True ∧ (1 = 1)")
        both = repl("goal.tactic", stateId=0, tactic="constructor")
        first = repl("goal.tactic", stateId=both["nextStateId"], tactic="trivial")
        assert first["goals"] == []
        rest = repl("goal.continue", target=first["nextStateId"], branch=both["nextStateId"])
        assert targets(rest) == ["1 = 1"]
    finally:
        repl("options.set", automaticMode=True)
    assert repl("options.print")["automaticMode"] is True


def test_states_are_counted_and_freed(repl: Client) -> None:
    start(repl, "True")
    repl("goal.tactic", stateId=0, tactic="skip")
    assert repl("stat")["nGoals"] == 2
    assert repl("goal.delete", stateIds=[0]) == {}
    assert repl("stat")["nGoals"] == 1
    assert repl("goal.tactic", stateId=0, tactic="trivial")["error"] == "index"
    repl("reset")
    assert repl("stat")["nGoals"] == 0


def test_expressions_and_the_environment(repl: Client) -> None:
    echo = repl("expr.echo", expr="fun (n : Nat) => n + 1")
    assert echo["type"]["pp"] == "Nat → Nat"
    assert repl("expr.echo", expr="1 +")["error"] in ("parse", "expr", "elab")
    info = repl("env.inspect", name="Nat.add_comm")
    assert info["type"]["pp"] == "∀ (n m : Nat), n + m = m + n"
    assert info["module"].startswith("Init.")
    assert repl("env.inspect", name="Nat.no_such_thing")["error"] == "index"
    inductive = repl("env.inspect", name="Nat")
    assert inductive["inductInfo"]["ctors"] == ["Nat.zero", "Nat.succ"]
    catalog = repl("env.catalog")["symbols"]
    assert len(catalog) > 30_000
    module = repl("env.module_read", module="Init.Core")
    assert module["imports"] == ["Init.SizeOf"]
    assert module["constNames"]
    assert repl("env.describe")["imports"]
    parsed = repl("env.parse", input="intro x; apply a", category="tactic")
    assert parsed["pos"] == len("intro x")


def test_a_definition_is_added_and_used(repl: Client) -> None:
    added = repl(
        "env.add", name="mystery", levels=[], type="∀ (n : Nat), Nat",
        value="fun (n : Nat) => n + 1", isTheorem=False,
    )  # fmt: skip
    assert added == {}
    assert repl("env.inspect", name="mystery")["type"] == {"pp": "Nat → Nat"}
    start(repl, "mystery 2 = 3")
    assert repl("goal.tactic", stateId=0, tactic="rfl")["goals"] == []
    wrong = repl("env.add", name="wrong", levels=[], type="1 = 2", value="rfl", isTheorem=True)
    assert "error" in wrong


def test_a_snippet_is_compiled_with_messages(repl: Client) -> None:
    fine = repl("frontend.process", file="example (p : Prop) : p → p := id", readHeader=False,
                inheritEnv=False, newConstants=False)  # fmt: skip
    assert [unit["messages"] for unit in fine["units"]] == [[]]
    bad = repl("frontend.process", file="example (p : Prop) : p → p := 1", readHeader=False,
               inheritEnv=False, newConstants=False)  # fmt: skip
    (message,) = bad["units"][0]["messages"]
    assert message["severity"] == "error"
    assert message["pos"] == {"line": 1, "column": 30}
    assert message["endPos"] == {"line": 1, "column": 31}
    new = repl("frontend.process", file="def twice (n : Nat) := n + n", readHeader=False,
               inheritEnv=True, newConstants=True)  # fmt: skip
    assert "twice" in new["units"][0]["newConstants"]
    assert repl("env.inspect", name="twice")["type"]["pp"] == "Nat → Nat"


SEVERAL = """theorem one (a b : Nat) (h : a ≤ b) : a < b + 1 := by
  have h2 := h
  omega

theorem two (p q : Prop) : p ∧ q → q ∧ p := by
  intro h
  constructor
  · exact h.2
  · exact h.1
"""


def test_invocations_of_a_file(repl: Client, tmp_path: Path) -> None:
    source, target = tmp_path / "Several.lean", tmp_path / "invocations.json"
    source.write_text(SEVERAL, encoding="utf-8")
    reply = repl("frontend.process", fileName=str(source), invocations=str(target), readHeader=True,
                 inheritEnv=False, newConstants=False)  # fmt: skip
    units = json.loads(target.read_text(encoding="utf-8"))["units"]
    assert len(units) == len(reply["units"]) == 2
    first, second = (unit["invocations"] for unit in units)
    assert [i["tactic"] for i in first] == ["have h2 := h", "omega"]
    assert first[0]["goalBefore"].endswith("⊢ a < b + 1")
    assert "h h2 : a ≤ b" in first[0]["goalAfter"]
    assert first[1]["goalAfter"] == ""
    assert "exact h.2" in [i["tactic"] for i in second]
    missing = repl("frontend.process", fileName=str(tmp_path / "absent.lean"), readHeader=True,
                   inheritEnv=False, newConstants=False)  # fmt: skip
    assert missing["error"] == "io"


def test_a_file_that_imports_more_than_is_loaded(repl: Client) -> None:
    text = "import Std\nexample : (∅ : Std.HashMap Nat Nat).size = 0 := by simp\n"
    arguments = {"readHeader": True, "inheritEnv": False, "newConstants": False}
    reply = repl("frontend.process", file=text, **arguments)
    assert [unit["messages"] for unit in reply["units"]] == [[]]
    absent = repl("frontend.process", file="import Mathlib\n", **arguments)
    assert absent["error"] == "io"
    assert "Mathlib" in absent["desc"]


def test_load_header_changes_the_clients_lean(toolchain: Toolchain) -> None:
    client = Client()
    header = {"readHeader": True, "inheritEnv": True, "newConstants": False}
    reply = client("frontend.process", file="import Std\nopen Std", **header)
    assert "error" not in reply
    assert client("expr.echo", expr="(∅ : Std.HashMap Nat Nat)")["type"]["pp"].endswith(
        "HashMap Nat Nat"
    )
    assert client.close() == 0


def test_interrupt_while_nobody_types(toolchain: Toolchain) -> None:
    client = Client("Init")
    client.process.send_signal(signal.SIGINT)
    client.process.wait(timeout=20)  # with its stdin still open
    assert client.close() == 130


def test_catalog_into_a_file(repl: Client, tmp_path: Path) -> None:
    target = tmp_path / "catalog.txt"
    assert repl("env.catalog", filename=str(target)) == {}
    assert len(target.read_text(encoding="utf-8").splitlines()) > 30_000


def test_sorries_become_goals(repl: Client) -> None:
    text = "theorem t (p q : Prop) (h : p) (k : q) : p ∧ q := by\n  constructor\n  · sorry\n  · sorry\n"
    reply = repl("frontend.distil", file=text, ignoreValues=False)
    (target,) = reply["targets"]
    assert targets(target) == ["p", "q"]
    done = repl("goal.tactic", stateId=target["stateId"], tactic="exact h")
    assert targets(done) == ["q"]


def test_garbage_is_answered_and_survived(repl: Client) -> None:
    for line in (b"{", b"goal.start {", b"goal.start []", b"\xff\xfe\x00 {}", b"goal.start {} trailing",
                 b'{"cmd": 3}', b'{"payload": {}}', "∀∀∀".encode()):  # fmt: skip
        assert "error" in repl.raw(line), line
    assert repl.raw(b'{"cmd": "stat", "payload": {}}')["nGoals"] == 0


def test_version_and_options(toolchain: Toolchain) -> None:
    burn_qed = str(Path(sys.executable).with_name("burn-qed"))
    out = subprocess.run([burn_qed, "repl", "--version"], capture_output=True, timeout=60, check=True)
    assert out.stdout.startswith(b"burn-qed ")
    wrong = subprocess.run([burn_qed, "repl", "Mathlib"], capture_output=True, timeout=60, check=False)
    assert wrong.returncode == 2
    assert b"Mathlib" in wrong.stderr
