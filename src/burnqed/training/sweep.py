"""Which learning rate: a few are tried for some steps each, from the same weights on the same data."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from burnqed.core.errors import InfrastructureError, InputError
from burnqed.core.files import publish_json, read_object
from burnqed.core.watching import Watcher
from burnqed.policy.models.load import Loaded
from burnqed.training.given import Material
from burnqed.training.plans import PolicyPlan, Sweep
from burnqed.training.sft import Loop

SWEEP = "sweep.json"  # rates and the losses that they led to; null where the loss was no number


def sweep(
    loaded: Loaded,
    material: Material,
    plan: PolicyPlan,
    asked: Sweep,
    out: Path,
    accelerator: Any,
    precision: torch.dtype,
    watcher: Watcher,
    *,
    resumed: bool,
) -> PolicyPlan | None:
    """The plan with the best of the learning rates; None when it was stopped before.

    What was tried is kept, so a training that goes on does not try it again.
    """
    if not (material.val_given or material.val_found):
        raise InputError(
            "learning rates are compared by validation loss, and there is no validation data",
            hint="--val FILE, a --val-share above 0, or --lr instead of --try-lr",
        )
    path = out / SWEEP
    found: dict[str, Any] = (
        read_object(path, "remove it: the rates are tried again") if path.exists() else {}
    )
    due = [rate for rate in asked.rates if f"{rate:g}" not in found]
    if due and resumed:
        raise InputError(f"{path} lacks rates that were tried", hint="train into another --out")
    trained = [p for p in loaded.model.parameters() if p.requires_grad]
    begun = [p.detach().clone() for p in trained] if due else []
    for rate in due:
        trial = replace(plan, lr=rate, steps=asked.steps, eval_every=None, patience=None)
        try:
            loop = Loop(loaded, material, trial, out, accelerator, precision)
            loss = loop.try_out(asked.examples, watcher.stop)
            if loss is None:
                return None
            found[f"{rate:g}"] = loss if math.isfinite(loss) else None
        except InfrastructureError as error:
            watcher.warn(f"learning rate {rate:g}: {error.message}")
            found[f"{rate:g}"] = None
        finally:
            with torch.no_grad():
                for parameter, value in zip(trained, begun, strict=True):
                    parameter.copy_(value)
        if accelerator.is_main_process:
            publish_json(path, found)
    losses = {rate: found[f"{rate:g}"] for rate in asked.rates}
    known = {rate: loss for rate, loss in losses.items() if loss is not None}
    if not known:
        raise InfrastructureError(
            "the loss was no number with any of the learning rates", hint="lower ones: --try-lr"
        )
    return replace(plan, lr=min(known, key=lambda rate: known[rate]))
