"""The loop of every training: steps, evaluations and checkpoints, and nothing else waits for a GPU.

What a step and an evaluation are is each training's own. One that is kept in a directory (`KeptLoop`)
can be stopped and gone on with: its order, learning rate and noise are functions of the seed and the
step, so it is then the training that was never stopped, bit for bit on a CPU.
"""

from __future__ import annotations

import math
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch

from burnqed.core.errors import InfrastructureError
from burnqed.core.files import publish_directory
from burnqed.policy.models.names import BEST
from burnqed.training import log
from burnqed.training.batches import Order
from burnqed.training.checkpoints import read_optimizer, read_progress, write_checkpoint
from burnqed.training.plans import JointPlan, PolicyPlan, ValuePlan

T = TypeVar("T")
Stop = Callable[[], bool]


class Loop(ABC):
    """Steps until it `is_over`, with an evaluation behind those where one `_is_due`."""

    def run(self, stop: Stop, tell: Callable[[Any], None]) -> bool:
        """Train to the end (True), or until `stop` says so (False). Either way it is saved."""
        while not self.is_over():
            step = self._step()
            due, saved, stopped = self._is_due(step), self._is_saved(step), stop()
            entry = self._flush() if due or saved or stopped or self._looks(step) else None
            whole = not due or self._evaluate(stop)
            if entry is not None:  # after the evaluation: what is told of a step has its own
                tell(self._standing(entry))
            if saved or stopped or not whole:
                self._save()
            if not whole or (stopped and not self.is_over()):
                return False
        return True

    @abstractmethod
    def is_over(self) -> bool: ...

    @abstractmethod
    def _step(self) -> int:
        """Take the next step; its number, counted from 1."""

    @abstractmethod
    def _is_due(self, step: int) -> bool: ...

    @abstractmethod
    def _evaluate(self, stop: Stop) -> bool:
        """Whether it came to its end."""

    def _is_saved(self, step: int) -> bool:
        return self._is_due(step)

    def _looks(self, step: int) -> bool:
        """Whether losses are fetched though nothing else asks for them."""
        return False

    def _flush(self) -> log.Entry | None:
        return None

    def _standing(self, entry: log.Entry) -> Any:
        return entry

    def _save(self) -> None:
        return


@dataclass
class Epochs(Loop, Generic[T]):
    """Over and over the examples, in memory, in batches of an order that is drawn anew each time.

    `ended` is asked after each epoch, by its number from 1 on.
    """

    examples: Sequence[T]
    loss_of: Callable[[list[T]], torch.Tensor]
    optimizer: torch.optim.Optimizer
    draw: random.Random
    size: int
    epochs: int
    ended: Callable[[int], bool]
    after_step: Callable[[], None] = lambda: None

    def learn(self) -> None:
        self._order, self._taken = list(range(len(self.examples))), 0
        self._per_epoch = -(-len(self.examples) // self.size)
        self._over = not (self.epochs and self.examples)
        self.run(lambda: False, lambda _standing: None)

    def is_over(self) -> bool:
        return self._over

    def _step(self) -> int:
        place = self._taken % self._per_epoch * self.size
        if place == 0:
            self.draw.shuffle(self._order)
        loss = self.loss_of([self.examples[i] for i in self._order[place : place + self.size]])
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.after_step()
        self._taken += 1
        return self._taken

    def _is_due(self, step: int) -> bool:
        return step % self._per_epoch == 0

    def _evaluate(self, stop: Stop) -> bool:
        epoch = self._taken // self._per_epoch
        self._over = self.ended(epoch) or epoch == self.epochs
        return True


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a training is. Everything else follows from `step`."""

    step: int = 0
    seconds: float = 0.0


P = TypeVar("P", bound=Progress)


class KeptLoop(Loop, Generic[P]):
    """A training in a directory: `steps` of them, with a log, checkpoints and the best weights."""

    optimizer: torch.optim.Optimizer
    steps: int
    eval_every: int

    def __init__(
        self,
        out: Path,
        plan: PolicyPlan | ValuePlan | JointPlan,
        order: Order,
        progress: P,
        pending: Pending,
    ) -> None:
        self.out, self.order, self.progress = out, order, progress
        self._plan, self._pending = plan, pending
        self._begun = self._flushed = time.monotonic()
        self._earlier = 0.0

    def _resume(self, checkpoint: Path | None) -> None:
        """Go on from a checkpoint, where there is one; the log ends where the training does."""
        if checkpoint:
            self.progress = read_progress(checkpoint, type(self.progress))
            read_optimizer(checkpoint, self.optimizer)
            self._earlier = self.progress.seconds
        if self._main:
            log.cut(self.out / log.LOG, self.progress.step if checkpoint else -1)

    def _caught_up(self, stop: Stop) -> bool:
        """Before the first step, and where a training was stopped while it evaluated: that comes first.

        Whether it came to its end.
        """
        step = self.progress.step
        if step == 0 or (self._is_due(step) and not self._is_logged(step)):
            if not self._evaluate(stop):
                return False
            if step:
                self._save()
        return True

    def _is_logged(self, step: int) -> bool:
        entries = log.read_log(self.out / log.LOG)
        return any(entry["kind"] == "eval" and entry["step"] == step for entry in entries)

    @property
    def _main(self) -> bool:
        """Whether this is the process that writes."""
        return True

    @abstractmethod
    def _write(self, directory: Path) -> None:
        """The weights as they are."""

    def _prepare(self, number: int, salt: str = "") -> float:
        """Noise and learning rate of a step, counted from 0.

        Parameters may have a `peak` of their own, or another `pace` than the others.
        """
        seed = f"step {self._plan.seed} {number}{salt}"
        torch.manual_seed(random.Random(seed).getrandbits(62))
        lr = lr_at(number, self.steps, self._plan.lr, self._plan.warmup)
        for group in self.optimizer.param_groups:
            peak = group.get("peak", self._plan.lr)
            group["lr"] = lr_at(number, self.steps, peak, self._plan.warmup) * group.get("pace", 1.0)
        return lr

    def _taken(self, lr: float, told: log.Entry, *figures: torch.Tensor) -> int:
        """The step was taken; it is logged once its figures are fetched."""
        step = self.progress.step + 1
        self.progress = replace(self.progress, step=step)
        epoch = round(step / self.order.per_epoch, 4)
        entry = {"kind": "train", "step": step, "epoch": epoch, "lr": lr, **told}
        self._pending.add(entry, *figures)
        return step

    def _is_due(self, step: int) -> bool:
        return step % self.eval_every == 0 or step == self.steps

    def _flush(self) -> log.Entry | None:
        """Fetch the losses that came since the last time: the only place that waits for them.

        The last step's entry; None when none came.
        """
        if not (entries := self._pending.fetch()):
            return None
        now = time.monotonic()
        entries = self._timed(entries, now - self._flushed)
        self._flushed = now
        self.progress = replace(self.progress, seconds=self._earlier + now - self._begun)
        self._log(*entries)
        return entries[-1]

    def _timed(self, entries: list[dict[str, Any]], seconds: float) -> list[dict[str, Any]]:
        return entries

    def _log(self, *entries: log.Entry) -> None:
        if self._main:
            log.append(self.out / log.LOG, entries)

    def keep_as_best(self) -> None:
        if self._main:
            publish_directory(self.out / BEST, self._write)

    def _save(self) -> None:
        if self._main:
            write_checkpoint(self.out, self._write, self.optimizer, self.progress)


def parameter_groups(
    parameters: Iterable[torch.nn.Parameter], weight_decay: float, **own: float
) -> list[dict[str, Any]]:
    """For an optimiser: matrices decay, norms and biases do not. `own` is of both groups."""
    of = list(parameters)
    groups = [
        {"params": [p for p in of if p.ndim >= 2], "weight_decay": weight_decay, **own},
        {"params": [p for p in of if p.ndim < 2], "weight_decay": 0.0, **own},
    ]
    return [group for group in groups if group["params"]]


def lr_at(step: int, steps: int, lr: float, warmup: float) -> float:
    """Up in a straight line, down in half a cosine; steps are counted from 0."""
    warm = max(1, round(warmup * steps)) if warmup > 0 else 0
    if step < warm:
        return lr * (step + 1) / warm
    return lr * 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))


class Pending:
    """What was computed of steps and is still on the device: to fetch it is to wait for it.

    `names` are those of the figures, of which the first two are the loss and the gradient's norm.
    """

    def __init__(self, *names: str, hint: str) -> None:
        self._names, self._hint = names, hint
        self._steps: list[tuple[dict[str, Any], torch.Tensor]] = []

    def add(self, entry: dict[str, Any], *figures: torch.Tensor) -> None:
        device = figures[0].device
        self._steps.append((entry, torch.stack([figure.to(device) for figure in figures])))

    def fetch(self) -> list[dict[str, Any]]:
        """The entries that came since the last time, with their figures. Raises where one diverged."""
        if not self._steps:
            return []
        values = torch.stack([figures for _, figures in self._steps]).tolist()
        entries = []
        for (entry, _), found in zip(self._steps, values, strict=True):
            loss, norm = found[:2]
            if not (math.isfinite(loss) and math.isfinite(norm)):
                what = f"the gradient is {norm}" if math.isfinite(loss) else f"the loss is {loss}"
                raise InfrastructureError(
                    f"step {entry['step']}: {what}; nothing can be learnt from there on",
                    hint=f"train again with {self._hint}; the last checkpoint is kept",
                )
            entries.append({**entry, **dict(zip(self._names, found, strict=True))})
        self._steps.clear()
        return entries
