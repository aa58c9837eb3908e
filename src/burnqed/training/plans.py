"""How models are trained, as values that need no torch: here are the defaults, and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Method = Literal["lora", "full"]
Dtype = Literal["auto", "bf16", "fp32"]
NANO = "nano"  # a base of random weights
NANO_LR = 1e-3  # random weights have further to go
MATCHED = 256  # held-out pairs that a trained policy is asked about
# Of the theorems that a ranker, and a value model, do not learn from.
RANKER_VAL_SHARE, VALUE_VAL_SHARE = 0.1, 0.2
FOLDS = 5  # of theorems, each of which judges a value model that did not learn from it


@dataclass(frozen=True, slots=True)
class Mixture:
    """How much of what: steps that a search found, beside steps of people.

    Found ones count `extra_weight` times. Of the others `base_sample` are drawn.
    """

    extra_weight: int = 10
    base_sample: int = 10_000
    val_share: float = 0.05
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Adapting:
    """What of a model is trained, and how it is held in memory."""

    method: Method = "lora"
    rank: int = 16
    alpha: int = 32
    dropout: float = 0.05
    nf4: bool = False
    checkpointing: bool = False


@dataclass(frozen=True, slots=True)
class PolicyPlan:
    """How a model is trained."""

    batch: int = 4
    accumulate: int = 8
    epochs: int = 3
    steps: int | None = None  # instead of epochs
    lr: float = 2e-4
    warmup: float = 0.03
    weight_decay: float = 0.01
    clip: float = 1.0
    seed: int = 0
    save_every: int = 500
    eval_every: int | None = None  # by default ten times in all
    patience: int | None = None  # evaluations without a better one, after which it ends


@dataclass(frozen=True, slots=True)
class Sweep:
    """Learning rates to try on the first steps of a training, of which the best is taken."""

    rates: tuple[float, ...] = ()
    steps: int = 50
    examples: int = 1024  # of validation, at most


@dataclass(frozen=True, slots=True)
class ValuePlan:
    """How a head is trained."""

    k: int = 8  # negatives of a positive
    batch: int = 64  # positives of a step
    epochs: int | None = None  # by default 40, and 500 steps at least
    steps: int | None = None  # instead of epochs
    lr: float = 2e-3
    warmup: float = 0.03
    weight_decay: float = 0.01
    clip: float = 1.0
    margin_weight: float = 0.0
    steps_weight: float = 0.0
    in_batch: bool = True  # negatives from other theorems, where a theorem has too few of its own
    patience: int = 10  # evaluations without a better one
    eval_every: int | None = None  # steps; by default an epoch
    seed: int = 0


@dataclass(frozen=True, slots=True)
class JointPlan:
    """How a policy and its value model are trained together."""

    batch: int = 8  # pairs at once
    positives: int = 8  # groups of siblings at once
    accumulate: int = 2
    steps: int = 6000
    lr: float = 2e-5  # of the adapter
    head_lr: float = 3e-5
    contrast_weight: float = 0.1  # of InfoNCE, beside the loss of tactics
    k: int = 8  # negatives of a positive
    in_batch: bool = True
    warmup: float = 0.03
    weight_decay: float = 0.01
    clip: float = 1.0  # of the adapter's gradient, and of the head's
    least_distance: float = 3.0
    most_loss: float = 0.5
    loss_after: int = 2000  # steps; before them a loss is only watched
    scale: Literal["auto", "own", "start"] = "auto"  # of these lines
    save_every: int = 500
    eval_every: int = 500
    seed: int = 0


JOINT_ADAPTER = Adapting(rank=64, alpha=128)  # an adapter that two losses share has room for both


@dataclass(frozen=True, slots=True)
class Effort:
    """How a part of a ranker is trained."""

    epochs: int
    lr: float
    weight_decay: float
    seed: int = 0


ORDER = Effort(epochs=40, lr=5e-3, weight_decay=0.05)  # of tactics
RETRIEVAL = Effort(epochs=20, lr=1e-3, weight_decay=0.1)  # of the lemmas that a state needs
