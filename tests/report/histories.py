"""Runs of expert iteration made up from what became of each theorem, whole ones and half done ones."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from burnqed.evaluation.results import BenchmarkId, IterationResult, TheoremResult
from burnqed.iteration.history import (
    BASELINE,
    Evaluated,
    Gate,
    History,
    Iteration,
    SearchCount,
    StageCost,
)
from tests.report.samples import exhausted, failed, proved, result_of

BUDGETS = (30, 100, 300)


def evaluation(name: str, count: int, skill: float, seed: int, **more: Any) -> IterationResult:
    """The same theorems each time; the larger the skill, the fewer nodes a proof takes."""
    hard, luck = random.Random(name), random.Random(f"{name} {seed}")
    theorems: list[TheoremResult] = []
    for i in range(count):
        theorem = f"{name}.theorem_{i + 1}"
        nodes = int(hard.lognormvariate(5.6, 2.2) * luck.lognormvariate(0, 0.5) / skill) + 1
        if luck.random() < 0.01:
            theorems.append(failed(theorem, "LeanDied", f"Lean died at {theorem}"))
        elif nodes > BUDGETS[-1]:
            theorems.append(exhausted(theorem, BUDGETS[-1]))
        else:
            text = f"theorem {theorem} (a b : Nat) : a ≤ a + b := by\n  omega"
            theorems.append(proved(theorem, nodes, nodes * 0.1, text))
    benchmark = BenchmarkId(name, f"{name}-checksum", count, "v1", ("module",))
    return result_of(theorems, BUDGETS, **({"benchmark": benchmark} | more))


def evaluated(number: int, skill: float, *, value: bool = True) -> dict[str, Evaluated]:
    """On two sets, with the value model from iteration 1 on."""

    def one(name: str, count: int) -> Evaluated:
        without = evaluation(name, count, skill, number, iteration=number)
        better = evaluation(name, count, 1.3 * skill, number + 100, iteration=number)
        return Evaluated(without, better if value and number > 0 else None)

    return {"library-300": one("library-300", 300), "qed-core": one("qed-core", 120)}


VALUE: dict[str, Any] = {
    "stopped": "patience", "steps": 1200, "seconds": 321.5, "test_energy_gap": 1.234,
    "temperature": 0.876, "train_groups": 5123, "train_theorems": 812, "verdict": "better",
    "told": "the value model is right about 71.2% of 640 groups of siblings",
    "test_by_depth": {
        str(depth): {"groups": 300 // depth, "energy_gap": 1.5 / depth, "rank1": 0.8 - depth / 20,
                     "chance": 0.21, "discrimination": 0.77, "active": 0.4}
        for depth in (1, 2, 3, 4)
    },
    "test_logprob_by_depth": {"1": 0.61, "2": 0.583, "3": 0.55, "4": 0.52},
    "calibration": {
        "verdict": "better", "difference": 0.112, "low": 0.043, "high": 0.181, "rank1_energy": 0.712,
        "rank1_logprob": 0.6, "rank1_both": 0.74, "chance": 0.2081, "groups": 640, "theorems": 97,
    },
}  # fmt: skip
ENCODER: dict[str, Any] = {
    "states": 812,
    "theorems": 61,
    "positives": 400,
    "negatives": 412,
    "centroid_l2": 0.4321,
    "probe": 0.713,
    "sibling_l2": 0.5,
    "stranger_l2": 2.0,
    "effective_rank": 41.25,
    "explained": {"label": 0.031, "depth": 0.11, "theorem": 0.52},
    "encoder": {"width": 384},
}
EMBEDDINGS: dict[str, Any] = {
    "encoders": [ENCODER, ENCODER | {"centroid_l2": 0.3456, "probe": 0.687}],
    "drift": {"cosine": 0.9123, "cka": 0.8765},
}
POLICY: dict[str, Any] = {
    "base": "iter-0/policy/best", "method": "lora", "steps": 2345, "seconds": 4321.0,
    "train_examples": 45678, "train_loss": 0.8123, "val_loss": 0.95, "best_val_loss": 0.9342,
    "baseline_val_loss": 3.2101, "val_top1": 0.412, "val_top8": 0.688,
}  # fmt: skip
PAIRS: dict[str, Any] = {
    "pairs": 45678, "theorems": 3456, "shortened": 231, "kept": {"found": 12345, "base": 33333},
    "share": 0.2701, "easy_capped": 99,
}  # fmt: skip
MANIFEST: dict[str, Any] = {
    "format": 1,
    "created": "2026-02-03T04:05:06+00:00",
    "config": {"iterations": 3, "search": {"nodes": 300, "candidates": 16}, "base": "nano"},
    "versions": {"burn-qed": "0.1.0", "python": "3.11.2", "torch": "2.9.0"},
    "toolchain": "leanprover/lean4:v4.20.0",
    "seeds": [0, 1, 2],
    "checksums": {"train.jsonl": "5ca1ab1e" * 8, "library-300.jsonl": "c0ffee00" * 8},
}


def stages(number: int) -> tuple[StageCost, ...]:
    names = ("train-policy", "export", "train-value", "search", "eval")
    return tuple(
        StageCost(f"{name}-{number}", f"burn-qed {name.replace('-', ' ')} --out iter-{number}/{name}",
                  True, 1 + (name == "search"), 600.0 * (i + 1) + number)
        for i, name in enumerate(names)
        if number > 0 or name != "train-value"
    )  # fmt: skip


def iteration(number: int, skill: float, **more: Any) -> Iteration:
    """A whole turn of the loop."""
    ablation = Gate("value, qed-core", "the value model loses nothing", "warn", "3 gained, 5 lost",
                    "look at the depths that it was trained on")  # fmt: skip
    rise = Gate(f"iteration {number}", "more is proved than before", "pass", "141 of 300 after 120")
    content: dict[str, Any] = {
        "evaluated": evaluated(number, skill),
        "policy": POLICY | {"steps": 2345 + number},
        "value": VALUE if number > 0 else None,
        "embeddings": EMBEDDINGS if number > 0 else {"encoders": [ENCODER], "drift": None},
        "dropped": ("probe",) if number == 2 else (),
        "pairs": PAIRS,
        "searches": (
            SearchCount(f"search-{number}", 4000, 1500 + 100 * number, 2480 - 100 * number, 20,
                        456_789, 7_654_321, 23_456.7),
        ),
        "newly_proved": tuple(f"Nat.lemma_{number}_{i}" for i in range(40)),
        "gates": (rise, ablation) if number > 0 else (rise,),
        "stages": stages(number),
    }  # fmt: skip
    return Iteration(number, **(content | more))


def history(iterations: int = 3, **more: Any) -> History:
    """A run with a baseline and so many iterations."""
    begun = Gate("baseline", "something is proved, and not all", "pass", "98 of 300 proved")
    evaluating = StageCost("baseline", "burn-qed baseline RUN", True, 1, 1234.0)
    baseline = Iteration(BASELINE, evaluated(BASELINE, 1.0), gates=(begun,), stages=(evaluating,))
    turns = [iteration(number, 2.0 + 1.5 * number) for number in range(iterations)]
    content: dict[str, Any] = {"ended": "all iterations are done"}
    return History("first-run", MANIFEST, 4000, (baseline, *turns), **(content | more))


def half_done() -> dict[str, History]:
    """A run as it is found when somebody looks too early."""
    whole = history(2, ended="")
    baseline, first, second = whole.iterations
    running = replace(second.stages[3], done=False, runs=3)
    untried = replace(first, evaluated={}, policy=None, gates=(), stages=(*first.stages[:2], running))
    other = replace(first, evaluated=other_budgets())
    late = {"only-late": second.evaluated["qed-core"]}
    return {
        "nothing": replace(whole, iterations=(), manifest={}, train_theorems=0),
        "baseline begun": replace(whole, iterations=(Iteration(BASELINE),)),
        "baseline": replace(whole, iterations=(baseline,)),
        "not evaluated": replace(whole, iterations=(baseline, untried)),
        "no value": replace(whole, iterations=(baseline, first)),
        "value without an evaluation": replace(
            whole, iterations=(baseline, first, replace(second, evaluated={}))
        ),
        "bare results": replace(
            whole,
            iterations=(baseline, replace(second, value={"verdict": None}, policy={"x": 1}, pairs={})),
        ),
        "late set": replace(
            whole, iterations=(baseline, first, replace(second, evaluated={**second.evaluated, **late}))
        ),
        "other budgets": replace(whole, iterations=(baseline, other)),
        "no theorem": replace(
            whole, iterations=(replace(baseline, evaluated={"empty": Evaluated(result_of([]))}),)
        ),
    }


def other_budgets() -> dict[str, Evaluated]:
    return {"library-300": Evaluated(result_of([proved("library-300.theorem_1", 3)], budgets=(7,)))}
