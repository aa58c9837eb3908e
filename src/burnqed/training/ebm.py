"""The loop that trains an energy head on embeddings that are there already.

Which groups a step learns from, and which negatives they are held against, are functions of the seed
and the step as well.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from burnqed.training import log, loop
from burnqed.training.batches import Order
from burnqed.training.hard_negatives import GroupRows, Negatives
from burnqed.training.loop import KeptLoop, Pending, Stop, parameter_groups
from burnqed.training.plans import ValuePlan
from burnqed.value.encoder import EncoderName
from burnqed.value.energy import COLDEST, WARMEST, EnergyHead
from burnqed.value.losses import info_nce, margin, remaining_steps
from burnqed.value.metrics import Group, Metrics, by_depth, metrics
from burnqed.value.saved import write_head

Ending = Literal["steps", "patience", "temperature"]

WATCH_STEPS = 50  # between two looks at the losses and the temperature
_EPOCHS, _FEWEST_STEPS = 40, 500  # little data needs its steps, too: patience ends it earlier
_RAREST = 25  # steps between two evaluations, at least: an epoch may be shorter
_SHOWN = 2000  # training groups that are evaluated
_ROWS = 16_384  # states in one pass of an evaluation
_GAIN_PACE = 10.0  # times the learning rate


@dataclass(frozen=True, slots=True)
class StepMetrics:
    """How a training stands, for whoever watches."""

    step: int
    steps: int
    loss: float
    val_rank1: float | None
    temperature: float
    fold: int | None = None  # whose head this is, if it is only there to be judged


# ------------------------------------------------------------------------------- evaluation


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How a head ranks siblings: the groups by their energies, and what follows from them."""

    groups: tuple[Group, ...]
    loss: float

    @property
    def overall(self) -> Metrics:
        return metrics(self.groups)

    def told(self, prefix: str) -> dict[str, Any]:
        """For the log and the result."""
        figures = {key: value for key, value in asdict(self.overall).items() if key != "groups"}
        depths = {str(depth): asdict(found) for depth, found in by_depth(self.groups).items()}
        return {
            f"{prefix}_{key}": value
            for key, value in {"loss": self.loss, **figures, "by_depth": depths}.items()
        }


@torch.inference_mode()
def evaluate(head: EnergyHead, embeddings: Tensor, groups: Sequence[GroupRows]) -> Evaluation:
    """The energies of positives and all their siblings; each group has to have one."""
    training = head.training
    head.eval()
    try:
        rows = [row for g in groups for row in (g.positive, *g.siblings)]
        goals = [g.goal for g in groups for _ in range(1 + len(g.siblings))]
        where = torch.tensor([rows, goals], device=embeddings.device)
        parts = [head(embeddings[r], embeddings[g]) for r, g in where.split(_ROWS, 1)]
    finally:
        head.train(training)
    found = torch.cat(parts).cpu().split([1 + len(g.siblings) for g in groups])
    padded = pad_sequence([energies[1:] for energies in found], batch_first=True)
    there = torch.arange(padded.shape[1]) < torch.tensor([[len(g.siblings)] for g in groups])
    loss = info_nce(torch.stack([energies[0] for energies in found]), padded, there)
    ranked = [(energies.tolist(), g.depth) for energies, g in zip(found, groups, strict=True)]
    return Evaluation(tuple(Group(e[0], tuple(e[1:]), depth) for e, depth in ranked), loss.item())


# ------------------------------------------------------------------------------------- loop


@dataclass(frozen=True, slots=True)
class Progress(loop.Progress):
    best_step: int | None = None
    best_rank1: float = 0.0
    best_loss: float = 0.0
    waited: int = 0  # evaluations since the best one
    ended: Ending | None = None


@dataclass(frozen=True, slots=True)
class Material:
    """Groups to learn from, and groups to choose the best step by, which all have siblings."""

    embeddings: Tensor
    train: tuple[GroupRows, ...]
    val: tuple[GroupRows, ...]


class Loop(KeptLoop[Progress]):
    """The training of a head."""

    def __init__(
        self,
        head: EnergyHead,
        encoder: EncoderName,
        source: str,
        material: Material,
        plan: ValuePlan,
        out: Path,
        resumed: Path | None = None,
    ) -> None:
        self.head, self.encoder, self.source = head, encoder, source
        self.material, self.plan = material, plan
        self.device = material.embeddings.device
        order = Order([1] * len(material.train), plan.batch, plan.seed)
        pending = Pending("loss", "gradient_norm", "temperature", hint="a lower --lr")
        super().__init__(out, plan, order, Progress(), pending)
        self.steps = plan.steps or _steps(plan, self.order.per_epoch)
        self.eval_every = plan.eval_every or max(self.order.per_epoch, _RAREST)
        self.negatives = Negatives(
            material.train, plan.k, in_batch=plan.in_batch, conditioned=head.config.conditioned
        )
        self.optimizer = _optimizer(head, plan)
        self._resume(resumed)
        with_siblings = [group for group in material.train if group.siblings]
        chance = random.Random(f"shown {plan.seed}")
        self._shown = chance.sample(with_siblings, min(_SHOWN, len(with_siblings)))
        self._val_rank1: float | None = None

    def is_over(self) -> bool:
        return self.progress.ended is not None

    def run(self, stop: Stop, tell: Callable[[StepMetrics], None]) -> bool:
        if self.progress.step == 0:
            self._evaluate(stop)
        self.head.train()
        return super().run(stop, tell)

    def _is_due(self, step: int) -> bool:
        return super()._is_due(step) or (self._looks(step) and is_at_bound(self.head))

    def _looks(self, step: int) -> bool:
        return step % WATCH_STEPS == 0

    def _standing(self, entry: log.Entry) -> StepMetrics:
        step, loss, temperature = entry["step"], entry["loss"], entry["temperature"]
        return StepMetrics(step, self.steps, loss, self._val_rank1, temperature)

    def _step(self) -> int:
        plan, number = self.plan, self.progress.step
        batch = [self.material.train[place] for place in self.order.step(number)]
        chosen = self.negatives.choose(batch, random.Random(f"negatives {plan.seed} {number}"))
        lr = self._prepare(number)
        loss = self._loss(batch, chosen)
        self.optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.head.parameters(), plan.clip)
        self.optimizer.step()
        return self._taken(lr, {}, loss.detach(), norm, self.head.temperature.detach())

    def _loss(self, batch: Sequence[GroupRows], chosen: Sequence[Sequence[int]]) -> Tensor:
        found = held_against(self.head, self.material.embeddings, batch, chosen)
        positive, negatives, there = found
        loss = info_nce(*found)
        if self.plan.margin_weight:
            loss = loss + self.plan.margin_weight * margin(positive, negatives, there)
        if self.plan.steps_weight:
            left = torch.tensor([group.remaining for group in batch], device=self.device)
            loss = loss + self.plan.steps_weight * remaining_steps(positive, left)
        return loss

    # -------------------------------------------------------------------------- keeping track

    def _evaluate(self, stop: Stop) -> bool:
        """Figures into the log, the weights kept if they are the best, and whether it is over."""
        progress, step = self.progress, self.progress.step
        val = evaluate(self.head, self.material.embeddings, self.material.val)
        entry = {
            "kind": "eval", "step": step, **val.told("val"),
            "temperature": self.head.temperature.item(),
        }  # fmt: skip
        if self._shown:
            entry |= evaluate(self.head, self.material.embeddings, self._shown).told("train")
        self._log(entry)
        self._val_rank1 = rank1 = val.overall.rank1
        if step == 0:
            return True
        best = (progress.best_rank1, -progress.best_loss)
        if progress.best_step is None or (rank1, -val.loss) > best:
            progress = replace(progress, best_step=step, best_rank1=rank1, best_loss=val.loss, waited=0)
            self.keep_as_best()
        else:
            progress = replace(progress, waited=progress.waited + 1)
        self.progress = replace(progress, ended=self._ending(step, progress.waited))
        return True

    def _ending(self, step: int, waited: int) -> Ending | None:
        if is_at_bound(self.head):
            return "temperature"
        if step == self.steps:
            return "steps"
        return "patience" if waited >= self.plan.patience else None

    def _write(self, directory: Path) -> None:
        write_head(directory, self.head, self.encoder, self.source)


def held_against(
    head: EnergyHead, z: Tensor, batch: Sequence[GroupRows], chosen: Sequence[Sequence[int]]
) -> tuple[Tensor, Tensor, Tensor]:
    """Energies of positives [groups] and of their negatives [groups, k], and which of these exist.

    Groups and `chosen` name states by their rows in `z`.
    """
    rows = [torch.tensor([g.positive, *n]) for g, n in zip(batch, chosen, strict=True)]
    states = pad_sequence(rows, batch_first=True).to(z.device)
    counts = torch.tensor([len(negatives) for negatives in chosen], device=z.device)
    there = torch.arange(states.shape[1] - 1, device=z.device) < counts[:, None]
    goals = torch.tensor([group.goal for group in batch], device=z.device)
    energies = head(z[states], z[goals][:, None].expand(-1, states.shape[1], -1))
    return energies[:, 0], energies[:, 1:], there


def is_at_bound(head: EnergyHead) -> bool:
    """Whether the temperature is where no healthy training gets to."""
    return not COLDEST < head.log_temperature.exp().item() < WARMEST


def _steps(plan: ValuePlan, per_epoch: int) -> int:
    return plan.epochs * per_epoch if plan.epochs else max(_EPOCHS * per_epoch, _FEWEST_STEPS)


def _optimizer(head: EnergyHead, plan: ValuePlan) -> torch.optim.Optimizer:
    return torch.optim.AdamW(head_groups(head, plan.weight_decay), lr=plan.lr)


def head_groups(head: EnergyHead, weight_decay: float, **own: float) -> list[dict[str, Any]]:
    """For an optimiser: the gain has further to go than any other parameter."""
    others = [p for p in head.parameters() if p is not head.log_gain]
    gain = {"params": [head.log_gain], "weight_decay": 0.0, **own, "pace": _GAIN_PACE}
    return [*parameter_groups(others, weight_decay, **own), gain]
