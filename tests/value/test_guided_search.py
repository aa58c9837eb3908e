"""Where value must help: log-probabilities that mislead, and states that say so. From end to end.

Searches with a large budget find proofs and give up what is beside them; their trajectories train a
head on a real (if tiny and random) model's embeddings; with it, other theorems of the kind are
searched with a budget that does not suffice without it. The same with a head that was trained
together with its encoder.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from burnqed.core.types import Proposition, Theorem
from burnqed.lean.fake import FakeEnvironment, Script
from burnqed.policy.models.load import load
from burnqed.search.best_first import SearchResult, Settings, best_first
from burnqed.search.budget import Budget
from burnqed.search.scoring import Scoring
from burnqed.training import joint
from burnqed.training.plans import Adapting, JointPlan, Mixture, ValuePlan
from burnqed.training.value import Job, train_value
from burnqed.trajectories.record import Provenance, rows_of
from burnqed.trajectories.schema import PathStep
from burnqed.trajectories.store import open_writer
from burnqed.value.calibration import Calibration, read_calibration
from burnqed.value.encoder import LocalEncoder
from burnqed.value.saved import read_head
from burnqed.value.scorer import Scorer
from tests.policy.tiny import tiny_llama
from tests.search.problems import ScriptedPolicy
from tests.training.searches import Onlooker
from tests.trajectories.samples import record

Train = Callable[[Path], Awaitable[tuple[Scorer, Calibration]]]
STEPS = 4  # of a proof
SMALL, LARGE = Budget(nodes=12, candidates=9), Budget(nodes=2000, candidates=9)
# What looks likely leads astray; what is right comes last.
SAID = {"wrong1": -0.1, "wrong2": -0.2, "wrong3": -0.3, "right": -4.0}


def problem(number: int) -> tuple[Theorem, Script]:
    """One way through, and beside each of its states others that go on for a while and end."""
    script: dict[str, dict[str, tuple[str, ...]]] = {}
    chance = random.Random(number)

    def state(kind: str, depth: int) -> str:
        words = " ".join(chance.choice(("succ", "add", "mul", "list")) for _ in range(3))
        return f"{kind} ({words}) {chance.randrange(1000)} = {depth}"

    def astray(target: str, depth: int) -> None:
        script[target] = {}
        if depth <= STEPS:
            for tactic in ("wrong1", "wrong2"):
                following = state("odd", depth)
                script[target][tactic] = (following,)
                astray(following, depth + 1)

    root = here = f"goal {number}"
    for depth in range(1, STEPS):
        script[here] = {tactic: (state("odd", depth),) for tactic in SAID if tactic != "right"}
        for (target,) in list(script[here].values()):
            astray(target, depth + 1)
        script[here]["right"] = (state("even", depth),)
        (here,) = script[here]["right"]
    script[here] = {"right": ()}
    return Theorem(f"t{number}", Proposition(root)), script


async def search(number: int, budget: Budget, value: Scorer | None, scoring: Scoring) -> SearchResult:
    theorem, script = problem(number)
    policy = ScriptedPolicy({}, SAID)
    settings = Settings(scoring=scoring)
    return await best_first(
        theorem, FakeEnvironment(script), policy, value, budget, 0, settings=settings
    )


async def solved(numbers: range, value: Scorer | None = None, scoring: Scoring | None = None) -> int:
    found = [await search(n, SMALL, value, scoring or Scoring()) for n in numbers]
    return sum(searched.tree.proved for searched in found)


async def write_run(directory: Path) -> Path:
    """Searches that found a proof and gave up what is beside it."""
    with open_writer(directory / "trajectories") as writer:
        for number in range(60):
            searched = await search(number, LARGE, None, Scoring())
            assert searched.tree.proved
            rows = rows_of(searched.tree, f"t{number}", True, Provenance("run"))
            proof = [PathStep(row.state, row.tactic, row.depth) for row in rows if row.on_proof_path]
            writer.add(
                replace(record(number, len(rows)), theorem=f"t{number}", path=tuple(proof)), rows
            )
    return directory


async def trained(tmp_path: Path) -> tuple[Scorer, Calibration]:
    await write_run(tmp_path / "run")
    tiny_llama(tmp_path / "model")
    loaded = load(tmp_path / "model")
    encoder = LocalEncoder(loaded)
    job = Job(data=(tmp_path / "run",), val_share=0.4, plan=ValuePlan(steps=200))
    result = train_value(job, encoder, tmp_path / "value", Onlooker(), resume=False)
    assert result is not None
    saved = read_head(tmp_path / "value")
    calibration = read_calibration(saved.directory)
    return Scorer(saved, encoder, calibration, loaded.thread), calibration


async def trained_together(tmp_path: Path) -> tuple[Scorer, Calibration]:
    """Policy and value model from the same searches, by an adapter on a backbone that knows nothing."""
    run = await write_run(tmp_path / "run")
    tiny_llama(tmp_path / "model")
    job = joint.Job(
        data=(run,), runs=(run,), base=str(tmp_path / "model"), dtype="fp32",
        adapting=Adapting(rank=64, alpha=128), mixture=Mixture(val_share=0.4),
        plan=JointPlan(
            steps=80, lr=3e-3, head_lr=3e-3, eval_every=40, batch=8, positives=8, accumulate=1
        ),
    )  # fmt: skip
    result = joint.train_joint(job, tmp_path / "both", Onlooker(), resume=False)
    assert result is not None
    assert result["stopped"] == "steps"
    saved = read_head(tmp_path / "both")
    calibration = read_calibration(saved.directory)
    loaded = load(tmp_path / "both")
    return Scorer(saved, LocalEncoder(loaded), calibration, loaded.thread), calibration


@pytest.mark.parametrize("train", [trained, trained_together])
async def test_value_leads_where_log_probability_misleads(tmp_path: Path, train: Train) -> None:
    fresh = range(100, 120)
    assert await solved(fresh) == 0
    scorer, calibration = await train(tmp_path)
    assert calibration.verdict == "better"
    assert calibration.rank1_logprob < 0.1
    assert calibration.rank1_energy > 0.8
    scoring = Scoring(policy_weight=calibration.alpha, energy_weight=calibration.beta)
    assert await solved(fresh, scorer, scoring) >= 15
