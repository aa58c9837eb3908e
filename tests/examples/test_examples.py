"""Each example runs with real Lean and says what it is there to show."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent.parent / "examples"
SAYS = {
    "prove_one": ["proved: ", "theorem "],
    "prove_many": ["proved: ∀ n : Nat, n + 0 = n by ", "false: ∀ n : Nat, n = n + 1 at {'n': '"],
    "check_a_file": ["swap: accepted; axioms: ", "swap: refused: "],
    "step_through": ["exact h.1: refused", "exact h.2: no goal is left", "accepted: True"],
    "evaluate_and_compare": ["8 candidates: 2 of 2 within 2 nodes", "only with 8: "],
    "read_a_tree": ["0 (proved): ∀ (p q : Prop), p ∧ q → q ∧ p", "tactics tried; these worked: "],
}
pytestmark = [pytest.mark.lean, pytest.mark.timeout(600)]


def test_every_script_is_here() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == SAYS.keys()


@pytest.mark.parametrize("name", SAYS)
def test_an_example_says_what_it_should(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    out = capsys.readouterr().out
    for said in SAYS[name]:
        assert said in out
