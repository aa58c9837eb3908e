"""The loop that trains a policy and its value model together: one pass, two losses, one checkpoint.

A step's loss is the mean over its tactic tokens plus `contrast_weight` times the mean over its groups.
Adapter and head have learning rates of their own, and their gradients are clipped apart. Which pairs,
groups and negatives a step has are functions of the seed and the step.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from burnqed.core.errors import InfrastructureError, InputError
from burnqed.policy.models.load import Loaded, written_identity
from burnqed.policy.models.names import POLICY, VALUE
from burnqed.policy.prompt import Example
from burnqed.training import given, log, loop
from burnqed.training.batches import Order, tactic_tokens
from burnqed.training.checkpoints import write_model
from burnqed.training.ebm import WATCH_STEPS, evaluate, head_groups, is_at_bound
from burnqed.training.hard_negatives import GroupRows, Negatives
from burnqed.training.loop import KeptLoop, Pending, Stop, parameter_groups
from burnqed.training.loss import evaluate as evaluate_tactics
from burnqed.training.one_pass import OnePass, Part
from burnqed.training.plans import JointPlan
from burnqed.training.red_lines import Scale, Standing, crossed, scale_of
from burnqed.training.sft import BETAS
from burnqed.value.encoder import EncoderName, Pooling
from burnqed.value.saved import write_head
from burnqed.value.separation import Separation, separation

Ending = Literal["steps", "temperature", "collapse", "tactics"]

_FLUSH_SECONDS = 1.0  # between two looks at the losses


@dataclass(frozen=True, slots=True)
class StepMetrics:
    """How a training stands, for whoever watches."""

    step: int
    steps: int
    tactic_loss: float
    contrast_loss: float
    temperature: float
    val_loss: float | None = None
    val_rank1: float | None = None
    distance: float | None = None  # of positives and negatives, on the scale of the red line


@dataclass(frozen=True, slots=True)
class Progress(loop.Progress):
    start_distance: float = 0.0
    start_loss: float = 0.0
    best_step: int | None = None
    best_loss: float = 0.0  # both, with their weights, held out
    ended: Ending | None = None


@dataclass(frozen=True, slots=True)
class Material:
    """Pairs, and groups of states; `val` has siblings in every group."""

    pairs: given.Material
    train: tuple[GroupRows, ...]
    val: tuple[GroupRows, ...]

    @property
    def val_pairs(self) -> tuple[Example, ...]:
        return (*self.pairs.val_given, *self.pairs.val_found)


class Loop(KeptLoop[Progress]):
    """The training of both."""

    def __init__(
        self,
        loaded: Loaded,
        both: OnePass,
        material: Material,
        plan: JointPlan,
        out: Path,
        accelerator: Any,
        pooling: Pooling,
        layer: int,
        resumed: Path | None = None,
    ) -> None:
        self.loaded, self.both, self.material, self.plan = loaded, both, material, plan
        self.pooling, self.layer, self.accelerator = pooling, layer, accelerator
        order = Order(material.pairs.repeats, plan.batch * plan.accumulate, plan.seed)
        names = ("loss", "gradient_norm", "tactic_loss", "contrast_loss", "head_norm", "temperature")
        pending = Pending(*names, hint="a lower --lr or --head-lr, or with --dtype fp32")
        super().__init__(out, plan, order, Progress(), pending)
        self.group_order = Order([1] * len(material.train), plan.positives * plan.accumulate, plan.seed)
        self.steps, self.eval_every = plan.steps, plan.eval_every
        self.room = plan.batch * loaded.settings.max_length
        self.negatives = Negatives(
            material.train, plan.k, in_batch=plan.in_batch,
            conditioned=both.head.config.conditioned,
        )  # fmt: skip
        self.scale: Scale = scale_of(plan.scale, both.head.config.width)
        self.shared = [p for p in both.module.parameters() if p.requires_grad]
        self.optimizer = _optimizer(self.shared, both, plan)
        self._resume(resumed)
        self._val, self._val_groups = _together(material.val)
        self._standing_at: dict[str, float] = {}

    def is_over(self) -> bool:
        return self.progress.ended is not None

    def run(self, stop: Stop, tell: Callable[[StepMetrics], None]) -> bool:
        self.both.module.train()
        self.both.head.train()
        try:
            return self._caught_up(stop) and super().run(stop, tell)
        except torch.OutOfMemoryError as error:
            raise InfrastructureError(
                f"out of memory in step {self.progress.step + 1}: {error}",
                hint="smaller --batch and --positives with a larger --accumulate, or --checkpointing",
            ) from error

    # ------------------------------------------------------------------------------ one step

    def parts(self, number: int) -> Iterator[Part]:
        """What a step reads, in as many passes as it accumulates, some of which may be empty."""
        plan = self.plan
        pairs = [self.material.pairs.train[place] for place in self.order.step(number)]
        groups = [self.material.train[place] for place in self.group_order.step(number)]
        for i in range(plan.accumulate):
            some = groups[i * plan.positives : (i + 1) * plan.positives]
            chance = random.Random(f"negatives {plan.seed} {number} {i}")
            chosen = self.negatives.choose(some, chance)
            examples = pairs[i * plan.batch : (i + 1) * plan.batch]
            if examples or some:
                yield Part(tuple(examples), tuple(some), tuple(map(tuple, chosen)))

    def _step(self) -> int:
        number, plan = self.progress.step, self.plan
        parts = list(self.parts(number))
        lr = self._prepare(number)
        tokens = sum(tactic_tokens(part.pairs) for part in parts)
        groups = sum(len(part.groups) for part in parts)
        sums = torch.zeros(2, device=self.both.device)
        for part in parts:
            tactics, contrast = self.both.losses(part)
            loss = tactics / tokens + plan.contrast_weight * contrast / groups
            loss.backward()
            sums += torch.stack([tactics.detach() / tokens, contrast.detach() / groups])
        norm = torch.nn.utils.clip_grad_norm_(self.shared, plan.clip)
        head_norm = torch.nn.utils.clip_grad_norm_(self.both.head.parameters(), plan.clip)
        self.optimizer.step()
        self.optimizer.zero_grad()
        total = sums[0] + plan.contrast_weight * sums[1]
        figures = (total, norm, sums[0], sums[1], head_norm, self.both.head.temperature.detach())
        size = sum(len(one.ids) for part in parts for one in part.pairs)
        told = {"tokens": size, "tactic_tokens": tokens, "groups": groups}
        return self._taken(lr, told, *figures)

    # ---------------------------------------------------------------------------- keeping track

    def _is_due(self, step: int) -> bool:
        at_bound = step % WATCH_STEPS == 0 and is_at_bound(self.both.head)
        return super()._is_due(step) or at_bound

    def _is_saved(self, step: int) -> bool:
        return step % self.plan.save_every == 0 or self._is_due(step)

    def _looks(self, step: int) -> bool:
        return step % WATCH_STEPS == 0 or time.monotonic() - self._flushed > _FLUSH_SECONDS

    def _standing(self, entry: log.Entry) -> StepMetrics:
        return StepMetrics(
            entry["step"], self.steps, entry["tactic_loss"], entry["contrast_loss"],
            entry["temperature"], **self._standing_at,
        )  # fmt: skip

    def _evaluate(self, stop: Stop) -> bool:
        """Held-out figures of both into the log; the best is kept; and whether it is over."""
        score = evaluate_tactics(
            self.both.module, self.material.val_pairs, self.room, self.accelerator, stop
        )
        z = None if score is None else self.both.embed(self._val, self.room, stop)
        if score is None or z is None:
            return False
        assert score.mean is not None, "there are pairs to validate on"
        ranked = evaluate(self.both.head, z, self._val_groups)
        apart = self._separation(z)
        step, progress = self.progress.step, self.progress
        now = Standing(apart.centroid_l2, score.mean)
        if step == 0:
            if not (now.distance and now.loss):
                raise InputError(
                    "before the first step positives and negatives are embedded alike, or the loss of "
                    "tactics is 0: there is nothing to compare later figures with",
                    hint="train another --base, or give --scale own",
                )
            progress = replace(progress, start_distance=now.distance, start_loss=now.loss)
        scaled = now.scaled(Standing(progress.start_distance, progress.start_loss), self.scale)
        both = score.mean + self.plan.contrast_weight * ranked.loss
        self._log({
            "kind": "eval", "step": step, **ranked.told("val"), "val_contrast_loss": ranked.loss,
            "val_loss": score.mean, "val_accuracy": score.accuracy, "val_both": both,
            **asdict(apart), "distance": scaled.distance, "scaled_loss": scaled.loss,
            "temperature": self.both.head.temperature.item(),
        })  # fmt: skip
        self._standing_at = {
            "val_loss": score.mean, "val_rank1": ranked.overall.rank1, "distance": scaled.distance,
        }  # fmt: skip
        ended = self._ending(scaled)
        bad = ended is not None and ended != "steps"
        if progress.best_step is None or (both < progress.best_loss and not bad):
            progress = replace(progress, best_step=step, best_loss=both)
            self.keep_as_best()
        self.progress = replace(progress, ended=ended)
        self._flushed = time.monotonic()  # an evaluation is not training time
        return True

    def _ending(self, scaled: Standing) -> Ending | None:
        step = self.progress.step
        if is_at_bound(self.both.head):
            return "temperature"
        if step and (line := crossed(scaled, step, self.plan)):
            return line
        return "steps" if step == self.steps else None

    def _separation(self, z: Tensor) -> Separation:
        kinds: dict[int, tuple[bool, str]] = {}
        for group in self._val_groups:
            kinds |= dict.fromkeys(group.siblings, (False, group.theorem))
        for group in self._val_groups:
            kinds[group.positive] = True, group.theorem
        rows = z[list(kinds)].cpu().numpy()
        found = [*kinds.values()]
        return separation(rows, [on_path for on_path, _ in found], [name for _, name in found])

    def _write(self, directory: Path) -> None:
        """Both models. The head gets the name of the encoder that the policy beside it is."""
        loaded, policy = self.loaded, directory / POLICY
        policy.mkdir()
        write_model(policy, loaded.model, loaded.tokenizer, loaded.settings)
        name = EncoderName.of(
            written_identity(policy, loaded.identity), loaded.settings, self.pooling, self.dtype,
            self.both.head.config.width, self.layer,
        )  # fmt: skip
        (directory / VALUE).mkdir()
        write_head(directory / VALUE, self.both.head, name)

    @property
    def dtype(self) -> str:
        """What a search is to compute embeddings in: the same as here."""
        return str(self.both.module.precision).removeprefix("torch.")


def _together(groups: Sequence[GroupRows]) -> tuple[list[int], tuple[GroupRows, ...]]:
    """The states of some groups, each once, and the groups by their places there."""
    used = dict.fromkeys(row for g in groups for row in (g.goal, g.positive, *g.siblings))
    place = {row: i for i, row in enumerate(used)}
    return list(used), tuple(
        replace(
            g, goal=place[g.goal], positive=place[g.positive], others=(),
            siblings=tuple(place[row] for row in g.siblings),
        )
        for g in groups
    )  # fmt: skip


def _optimizer(
    shared: Sequence[torch.nn.Parameter], both: OnePass, plan: JointPlan
) -> torch.optim.Optimizer:
    """One for both, in which each has its own peak learning rate and its own moments."""
    of_head = [
        {**group, "betas": (0.9, 0.999)}
        for group in head_groups(both.head, plan.weight_decay, peak=plan.head_lr)
    ]
    groups = [*parameter_groups(shared, plan.weight_decay, peak=plan.lr), *of_head]
    return torch.optim.AdamW(groups, lr=plan.lr, betas=BETAS, fused=both.device.type == "cuda")
