"""States print as Lean prints them."""

from burnqed.core.types import Goal, Hypothesis, ProofState


def test_neighbours_of_one_type_share_a_line() -> None:
    goal = Goal(
        "_uniq.1",
        "q ∧ p",
        (
            Hypothesis("p", "Prop"),
            Hypothesis("q", "Prop"),
            Hypothesis("h", "p ∧ q"),
            Hypothesis("r", "Prop"),
        ),
        user_name="mp",
    )
    assert goal.text == "case mp\np q : Prop\nh : p ∧ q\nr : Prop\n⊢ q ∧ p"


def test_a_let_stands_alone() -> None:
    goal = Goal("g", "x = y", (Hypothesis("x", "Nat", "5"), Hypothesis("y", "Nat")))
    assert goal.text == "x : Nat := 5\ny : Nat\n⊢ x = y"


def test_long_types_go_to_the_next_line() -> None:
    long = "a = " + "b" * 120
    assert Goal("g", "c\nd", (Hypothesis("h", long),)).text == f"h :\n  {long}\n⊢ c\n  d"


def test_conv_goals_have_another_mark() -> None:
    assert Goal("g", "a", fragment="conv").text == "| a"


def test_goals_are_a_blank_line_apart() -> None:
    state = ProofState(0, (Goal("a", "A"), Goal("b", "B")))
    assert state.text == "⊢ A\n\n⊢ B"
