"""Every setting of a training has its place in what is trained."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch  # noqa: F401  (as of all that loads a training)

from burnqed.prover.training import _as
from burnqed.training import joint, policy, value
from burnqed.training.plans import Adapting, JointPlan, Mixture, PolicyPlan, ValuePlan
from burnqed.training.settings import JointTraining, PolicyTraining, ValueTraining

JOINT = (joint.Job, Mixture, Adapting, JointPlan)
POLICY = (policy.Job, Mixture, Adapting, PolicyPlan)


@pytest.mark.parametrize(
    ("settings", "kinds", "others"),
    [
        (PolicyTraining, POLICY, {"extra_data", "lora_alpha", "load", "try_lr", "try_steps"}),
        (JointTraining, JOINT, {"extra_data", "lora_alpha", "unconditioned"}),
        (ValueTraining, (value.Job, ValuePlan), {"model", "unconditioned"}),
    ],
)
def test_a_setting_has_the_name_of_what_it_decides(
    settings: type[msgspec.Struct], kinds: tuple[Any, ...], others: set[str]
) -> None:
    """`others` have names of their own there; whoever renames a setting has to say where it goes."""
    taken = {one.name for kind in kinds for one in fields(kind)}
    assert {*settings.__struct_fields__} - taken == others


def test_what_is_given_is_taken_and_what_is_not_is_the_defaults() -> None:
    given = ValueTraining(data=(Path("run"),), model="words", k=3, lr=0.5, seed=7)
    assert _as(ValuePlan, given) == ValuePlan(k=3, lr=0.5, seed=7)
    assert _as(ValuePlan, given, seed=1, clip=2.0) == ValuePlan(k=3, lr=0.5, seed=1, clip=2.0)
