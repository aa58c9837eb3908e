"""Gates and plateaus: the right verdict for the figures, and never the better of two arms."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pytest
from msgspec.structs import replace as changed
from tests.evaluation.samples import result_of

from burnqed.evaluation.results import IterationResult
from burnqed.iteration.config import Config
from burnqed.iteration.gates import as_used, gates_of, value_answer, why_end
from burnqed.iteration.history import BASELINE, Evaluated, Gate, History, Iteration, SearchCount
from burnqed.iteration.red_lines import drops, lines
from burnqed.iteration.sections import Embeddings, Eval, Stop, Value
from burnqed.trajectories.schema import TheoremOutcome

CONFIG = Config(eval=Eval(sets=("made-up",), budgets=(10, 30, 100)))
SIZE = 40


def evaluation(proved: int, errors: int = 0, first: int = 0) -> IterationResult:
    """`proved` theorems from `first` on, then errors, the rest exhausted."""
    outcomes: dict[str, tuple[TheoremOutcome, int]] = {}
    for i in range(SIZE):
        place = (i - first) % SIZE
        end: TheoremOutcome = "proved" if place < proved else "exhausted"
        outcomes[f"t{i}"] = ("error" if proved <= place < proved + errors else end, 5)
    return result_of(outcomes)


def iteration(number: int, proved: int, **more: Any) -> Iteration:
    return Iteration(number, {"made-up": Evaluated(evaluation(proved))}, **more)


def gates(*iterations: Iteration, skipped: dict[str, str] | None = None) -> dict[str, Gate]:
    return {gate.name: gate for gate in gates_of(CONFIG, iterations, skipped or {})}


def test_a_baseline_has_to_prove_something_and_not_all() -> None:
    verdicts = [gates(iteration(BASELINE, proved))["baseline"].verdict for proved in (0, 7, SIZE)]
    assert verdicts == ["stop", "pass", "warn"]


def test_nothing_is_said_of_a_baseline_that_is_half_done() -> None:
    two = changed(CONFIG, eval=Eval(sets=("made-up", "another")))
    assert "baseline" not in {gate.name for gate in gates_of(two, [iteration(BASELINE, 3)], {})}


@pytest.mark.parametrize(("errors", "verdict"), [(0, "pass"), (2, "pass"), (3, "stop")])
def test_too_many_errors_stop_a_run(errors: int, verdict: str) -> None:
    one = Iteration(BASELINE, {"made-up": Evaluated(evaluation(5, errors))})
    assert gates(one)["errors, made-up"].verdict == verdict
    searched = SearchCount("search-1", SIZE, 5, SIZE - 5 - errors, errors, 9, 9, 1.0)
    turn = replace(iteration(0, 9), searches=(searched,))
    assert gates(iteration(BASELINE, 5), turn)["errors, training searches"].verdict == verdict


def test_errors_with_the_value_model_count_as_well() -> None:
    arms = Evaluated(evaluation(5), evaluation(5, errors=9))
    turn = Iteration(1, {"made-up": arms})
    gate = gates(iteration(BASELINE, 5), iteration(0, 5), turn)["errors, made-up"]
    assert gate.verdict == "stop"
    assert "9 of 40" in gate.told


def test_an_iteration_is_held_against_the_baseline_and_the_one_before() -> None:
    found = gates(iteration(BASELINE, 10), iteration(0, 14), iteration(1, 12))
    assert found["made-up, against baseline"].verdict == "pass"
    assert (
        "10 -> 12 of 40 within 100 nodes: 2 gained, 0 lost" in found["made-up, against baseline"].told
    )
    assert found["made-up, against iteration 0"].verdict == "warn"
    assert (
        gates(iteration(BASELINE, 10), iteration(0, 10))["made-up, against baseline"].verdict == "warn"
    )


def test_a_first_model_that_is_worse_beyond_chance_stops_the_run() -> None:
    found = gates(iteration(BASELINE, 20), iteration(0, 8))
    assert found["made-up, against baseline"].verdict == "stop"
    later = gates(iteration(BASELINE, 8), iteration(0, 20), iteration(1, 8))
    assert later["made-up, against iteration 0"].verdict == "warn"


def test_the_value_model_has_to_help_beyond_chance() -> None:
    def told(without: int, given: int) -> tuple[str, str]:
        turn = Iteration(1, {"made-up": Evaluated(evaluation(without), evaluation(given))})
        gate = gates(iteration(BASELINE, 5), iteration(0, 5), turn)["value, made-up"]
        return gate.verdict, gate.told.split(":")[0]

    assert told(10, 20) == ("pass", "better")
    assert told(10, 12) == ("warn", "undecided")
    assert told(14, 4) == ("warn", "no better")


def test_what_was_skipped_is_told_with_its_reason() -> None:
    found = gates(iteration(BASELINE, 5), iteration(0, 6), skipped={"value": "too few groups"})
    assert (found["value skipped"].verdict, found["value skipped"].told) == ("warn", "too few groups")


def test_a_policy_has_to_beat_counting_tokens() -> None:
    def verdict(loss: float) -> str:
        policy = {"best_val_loss": loss, "baseline_val_loss": 3.0, "train_examples": 7}
        return gates(iteration(BASELINE, 5), iteration(0, 6, policy=policy))["policy"].verdict

    assert (verdict(1.4), verdict(3.5)) == ("pass", "warn")
    assert "policy" not in gates(iteration(BASELINE, 5), iteration(0, 6))


def test_a_policy_that_is_trained_with_its_value_model_has_to_as_well() -> None:
    def gate(loss: float) -> Gate:
        both = head() | {"stopped": "steps", "best_val_loss": loss, "baseline_val_loss": 3.0}
        one = iteration(1, 6, policy=both, value=both)
        return gates(iteration(BASELINE, 5), iteration(0, 6), one)["policy"]

    assert (gate(1.4).verdict, gate(3.5).verdict) == ("pass", "warn")
    assert "result.json in checkpoints/joint:" in gate(3.5).hint
    alone = {"best_val_loss": 3.5, "baseline_val_loss": 3.0}
    turn = iteration(1, 6, policy=alone, value=head())
    assert "checkpoints/llm:" in gates(iteration(BASELINE, 5), iteration(0, 6), turn)["policy"].hint


def test_the_arm_that_counts_is_chosen_by_the_verdict_and_not_by_the_score() -> None:
    arms = Evaluated(evaluation(10), evaluation(20))
    assert as_used(Iteration(1, value={"verdict": "no better"}), arms) is arms.without
    assert as_used(Iteration(1), arms) is arms.without
    worse = Evaluated(evaluation(10), evaluation(4))
    assert as_used(Iteration(1, value={"verdict": "better"}), worse) is worse.given


# ------------------------------------------------------------------------------------ stopping


def ended(*solved: int, patience: int = 2, min_gain: int = 1) -> str:
    turns = tuple(iteration(number, proved) for number, proved in enumerate(solved, start=BASELINE))
    config = changed(CONFIG, stop=Stop(patience=patience, min_gain=min_gain))
    return why_end(config, History("run", {}, 9, turns))


def test_a_plateau_is_so_many_iterations_that_prove_no_more() -> None:
    assert ended(5, 8, 8, 8).startswith("plateau")
    assert not ended(5, 8, 8)  # one may be chance
    assert not ended(5, 8, 7, 9)
    assert not ended(5, 8, 9, 9)
    assert ended(5, 8, 9, 9, 9).startswith("plateau")
    assert ended(5, 8, 9, 9, min_gain=3).startswith("plateau")
    assert not ended(5, 5, 5, 5, 5, patience=0)


def test_a_stop_of_a_gate_ends_a_run_with_its_reason() -> None:
    gate = Gate("errors, made-up", "rule", "stop", "9 of 40", "look there")
    history = History("run", {}, 9, (replace(iteration(BASELINE, 5), gates=(gate,)),))
    assert why_end(CONFIG, history) == "gate: baseline, errors, made-up: 9 of 40; look there"
    warned = replace(gate, verdict="warn")
    fine = History("run", {}, 9, (replace(iteration(BASELINE, 5), gates=(warned,)),))
    assert not why_end(CONFIG, fine)


def test_the_one_answer() -> None:
    def answer(without: int, given: int) -> str:
        turn = Iteration(1, {"made-up": Evaluated(evaluation(without), evaluation(given))})
        return value_answer(History("run", {}, 9, (iteration(BASELINE, 5), iteration(0, 5), turn)))

    assert "? better: 10 without and 20 with it, of 40 within 100 nodes (+25.0 points" in answer(10, 20)
    assert "? undecided: 10 without and 11" in answer(10, 11)
    assert "? no better: 20 without and 5" in answer(20, 5)
    assert "not known" in value_answer(History("run", {}, 9, (iteration(BASELINE, 5),)))


# ------------------------------------------------------------------------------------- red lines


def encoder(distance: float, probe: float | None = 0.8, theorems: int = 30, width: int = 64) -> Any:
    return {"centroid_l2": distance, "probe": probe, "theorems": theorems, "states": 9 * theorems,
            "encoder": {"width": width}}  # fmt: skip


def look(start: float, now: float, **more: Any) -> dict[str, Any]:
    return {"encoders": [encoder(start), encoder(now, **more)]}


def head(rank1: float = 0.5, groups: int = 90) -> dict[str, Any]:
    deep = {"groups": groups, "rank1": rank1, "chance": 0.2}
    return {"verdict": "better", "test_by_depth": {"1": deep | {"rank1": 0.1}, "4": deep}}


def asking(model: Literal["words", "policy"] = "policy", **settings: Any) -> Config:
    return changed(CONFIG, value=Value(model=model), embeddings=Embeddings(**settings))


def crossed(config: Config, seen: Any, value: Any) -> set[str]:
    return {line.name for line in lines(config, seen, value) if line.crossed}


@pytest.mark.parametrize(
    ("seen", "value", "over"),
    [
        (look(0.5, 0.31), head(), set()),  # 3.1, where iteration 0's own is 5.0
        (look(0.5, 0.29), head(), {"centroid_l2"}),
        (look(9.0, 4.0), head(), {"centroid_l2"}),
        (look(9.0, 4.0, width=4096), head(), set()),  # the width that the lines were found with
        (look(9.0, 2.9, width=4096), head(), {"centroid_l2"}),
        (look(1.0, 1.0, probe=0.649), head(), {"probe"}),
        (look(1.0, 1.0, probe=0.65), head(), set()),
        (look(1.0, 1.0, probe=None), head(), set()),
        (look(1.0, 0.1, probe=0.5, theorems=9), head(), set()),  # too few to say
        (look(0.0, 0.0), head(), set()),  # no scale: the probe says it
        (look(1.0, 1.0), head(0.249), {"rank-1, depth 4+"}),
        (look(1.0, 1.0), head(0.249, groups=29), set()),
        (look(1.0, 1.0), {"verdict": "better", "test_by_depth": {"1": {"rank1": 0.0}}}, set()),
        (None, head(0.1), {"rank-1, depth 4+"}),
        (look(1.0, 0.1), None, {"centroid_l2"}),
        (None, None, set()),
    ],
)
def test_a_red_line_is_crossed_by_what_is_measured(seen: Any, value: Any, over: set[str]) -> None:
    assert crossed(asking(), seen, value) == over


def test_the_lines_are_settings() -> None:
    config = asking(least_distance=1.0, least_probe=0.5, least_rank1=0.1, scale="own")
    assert not crossed(config, look(9.0, 1.1, probe=0.51), head(0.11))
    assert len(crossed(config, look(9.0, 0.9, probe=0.49), head(0.09))) == 3


@pytest.mark.parametrize(
    ("config", "seen", "value", "names"),
    [
        (asking(), look(1.0, 0.1), head(0.1), ["centroid_l2", "rank-1, depth 4+"]),
        (asking(red_line="stop"), look(1.0, 0.1), head(), ["centroid_l2"]),
        (asking(red_line="warn"), look(1.0, 0.1), head(0.1), []),
        # Words are no hidden states: what the backbone makes of states is not what that head sees.
        (asking("words"), look(1.0, 0.1), head(0.1), ["rank-1, depth 4+"]),
        (asking(), look(1.0, 0.1), None, []),
    ],
)
def test_what_drops_a_head(config: Config, seen: Any, value: Any, names: list[str]) -> None:
    assert [line.name for line in drops(config, seen, value)] == names


def red(config: Config, one: Iteration) -> dict[str, Gate]:
    found = gates_of(config, [iteration(BASELINE, 5), iteration(0, 9), one], {})
    return {gate.name: gate for gate in found if gate.name.startswith(("red line", "joint"))}


def test_a_gate_says_what_it_measured_and_what_is_done() -> None:
    seen, value = look(0.5, 0.2), head()
    dropped = iteration(1, 9, embeddings=seen, value=value, dropped=("centroid_l2",))
    gate = red(asking(), dropped)["red line, centroid_l2"]
    assert gate.verdict == "warn"
    assert "2.00 on the scale of the line (0.2, and 0.5 with iteration 0's model)" in gate.told
    assert "270 states of 30 theorems; the searches of iteration 1 go without the value" in gate.told
    assert "[embeddings]" in gate.hint
    assert red(asking(), dropped)["red line, probe"].verdict == "pass"
    gate = red(asking(red_line="stop"), dropped)["red line, centroid_l2"]
    assert gate.verdict == "stop"
    assert gate.told.endswith("go without the value model and the run ends")
    plain = iteration(1, 9, embeddings=seen, value=value)
    gate = red(asking(red_line="warn"), plain)["red line, centroid_l2"]
    assert gate.verdict == "warn"
    assert gate.told.endswith("nothing is done about it")


def test_a_gate_that_cannot_judge_says_so() -> None:
    few = iteration(1, 9, embeddings=look(1.0, 0.1, theorems=4), value=head(0.1, groups=3))
    found = red(asking(), few)
    assert {gate.verdict for gate in found.values()} == {"warn"}
    assert "fewer than 10 theorems do not judge" in found["red line, probe"].told
    assert "fewer than 30 do not judge" in found["red line, rank-1, depth 4+"].told


def test_a_red_line_that_stops_ends_the_run() -> None:
    config = asking(red_line="stop")
    one = iteration(1, 9, embeddings=look(1.0, 0.1), value=head(), dropped=("centroid_l2",))
    turns = [iteration(BASELINE, 5), iteration(0, 9), one]
    last = replace(one, gates=gates_of(config, turns, {}))
    ended = why_end(config, History("run", {}, 10, (*turns[:2], last)))
    assert ended.startswith("gate: iteration 1, red line, centroid_l2: 0.50 on the scale of the line")


@pytest.mark.parametrize(("ended", "verdict"), [("steps", "pass"), ("collapse", "warn")])
def test_a_joint_training_that_ended_early_is_told(ended: str, verdict: str) -> None:
    both = head() | {"stopped": ended, "steps": 700, "best_step": 500}
    gate = red(asking(), iteration(1, 9, policy=both, value=both))["joint"]
    assert gate.verdict == verdict
    assert f"ended at step 700: {ended}" in gate.told
    assert ("step 500 is kept" in gate.told) == (verdict == "warn")
    assert "joint" not in red(asking(), iteration(1, 9, policy={"steps": 3}, value=both))


def test_what_counts_is_without_a_head_that_is_dropped() -> None:
    arms = Evaluated(evaluation(5), evaluation(9))
    one = Iteration(1, {"made-up": arms}, value={"verdict": "better"})
    assert as_used(one, arms) is arms.given
    assert as_used(replace(one, dropped=("probe",)), arms) is arms.without
