"""The training loop: steps, evaluations, checkpoints, and nothing that waits for the GPU in between.

The loss of a step is the sum over all its tactic tokens divided by their number, whatever the batches
and GPUs it is cut over. The order of the examples, the learning rate and the noise of dropout are
functions of the seed and the step. So a training that goes on from a checkpoint is the one that was
never stopped.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from burnqed.core.errors import InfrastructureError
from burnqed.policy.models.load import Loaded
from burnqed.policy.models.names import BEST
from burnqed.policy.prompt import Example
from burnqed.training import log
from burnqed.training.batches import Order, collate, micro_batches, on_device, tactic_tokens
from burnqed.training.checkpoints import (
    publish_directory,
    read_optimizer,
    read_progress,
    write_checkpoint,
    write_model,
)
from burnqed.training.loop import Pending
from burnqed.training.loss import Score, TacticLoss, evaluate
from burnqed.training.plans import PolicyPlan
from burnqed.training.schedule import lr_at

_FLUSH_SECONDS = 1.0  # between two looks at the losses, where there is one process
_FLUSH_STEPS = 10  # where there are several, which have to look at the same time
_BETAS = (0.9, 0.95)


@dataclass(frozen=True, slots=True)
class Material:
    """Examples: `repeats[i]` is how often `train[i]` comes in an epoch."""

    train: tuple[Example, ...]
    repeats: tuple[int, ...]
    val_given: tuple[Example, ...] = ()
    val_found: tuple[Example, ...] = ()


@dataclass(frozen=True, slots=True)
class StepMetrics:
    """How a training stands, for whoever watches."""

    step: int
    steps: int
    loss: float
    val_loss: float | None
    tokens_per_second: float


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a training is. Everything else (order, learning rate, dropout) follows from `step`."""

    step: int = 0
    seconds: float = 0.0
    tokens: int = 0
    best_loss: float | None = None
    best_step: int | None = None


class Loop:
    """One training. `run` it; it may be stopped, and another one goes on from its checkpoint."""

    def __init__(
        self,
        loaded: Loaded,
        material: Material,
        plan: PolicyPlan,
        out: Path,
        accelerator: Any,
        precision: torch.dtype,
        resumed: Path | None = None,
    ) -> None:
        self.loaded, self.material, self.plan, self.out = loaded, material, plan, out
        self.accelerator = accelerator
        self.world: int = accelerator.num_processes
        self.progress = read_progress(resumed, Progress) if resumed else Progress()
        size = plan.batch * plan.accumulate * self.world
        self.order = Order([len(e.ids) for e in material.train], material.repeats, size, plan.seed)
        self.steps = plan.steps or plan.epochs * self.order.per_epoch
        self.eval_every = plan.eval_every or max(1, self.steps // 10)
        self.module = TacticLoss(loaded.model, precision)
        optimizer = _optimizer(self.module, plan)
        if resumed:
            read_optimizer(resumed, optimizer)
        # What spreads the model over GPUs; evaluation and saving use the module itself.
        self.wrapped, self.optimizer = accelerator.prepare(self.module, optimizer)
        self.val_loss: float | None = None
        self._pending = Pending("loss", "gradient_norm", hint="a lower --lr, or with --dtype fp32")
        self._begun = self._flushed = time.monotonic()
        self._earlier = self.progress.seconds
        if self._main:
            log.cut(out / log.LOG, self.progress.step if resumed else -1)
        # A training that was stopped while it evaluated has that to do first.
        step = self.progress.step
        self._behind = step == 0 or (
            self.world == 1 and self._is_due(step) and not self._is_logged(step)
        )

    @property
    def _main(self) -> bool:
        return bool(self.accelerator.is_main_process)

    def run(self, stop: Callable[[], bool], tell: Callable[[StepMetrics], None]) -> bool:
        """Train to the end (True), or until `stop` says so (False). Either way it is saved."""
        try:
            return self._run(stop, tell)
        except torch.OutOfMemoryError as error:
            raise InfrastructureError(
                f"out of memory in step {self.progress.step + 1}: {error}",
                hint="a smaller --batch with a larger --accumulate, or --checkpointing",
            ) from error

    def _run(self, stop: Callable[[], bool], tell: Callable[[StepMetrics], None]) -> bool:
        if self._behind:
            if not self._evaluate(stop):
                return False
            if self.progress.step:
                self._save()
        self.module.train()
        while self.progress.step < self.steps:
            self._step(self.progress.step)
            step = self.progress.step
            last = step == self.steps
            saved = step % self.plan.save_every == 0 or last
            stopped = self._agreed(stop, step) and not last
            evaluated = self._is_due(step)
            flushed = None
            if evaluated or saved or stopped or self._flush_is_due(step):
                flushed = self._flush()
            if evaluated and not self._evaluate(stop):
                stopped = True
            if flushed is not None:  # after the evaluation: what is told of a step has its own
                loss, rate = flushed
                tell(StepMetrics(step, self.steps, loss, self.val_loss, rate))
            if saved or stopped:
                self._save()
            if stopped:
                return False
        return True

    def _is_due(self, step: int) -> bool:
        """Whether a step is followed by an evaluation."""
        return step % self.eval_every == 0 or step == self.steps

    def _is_logged(self, step: int) -> bool:
        entries = log.read_log(self.out / log.LOG)
        return any(entry["kind"] == "eval" and entry["step"] == step for entry in entries)

    # ------------------------------------------------------------------------------ one step

    def _step(self, number: int) -> None:
        places = self.order.step(number)
        examples = [self.material.train[place] for place in places]
        tokens = tactic_tokens(examples)
        rank = self.accelerator.process_index
        torch.manual_seed(random.Random(f"step {self.plan.seed} {number} {rank}").getrandbits(62))
        lr = lr_at(number, self.steps, self.plan.lr, self.plan.warmup)
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        total = torch.zeros((), device=self.accelerator.device)
        batches = list(micro_batches(places, self.plan.batch, rank, self.world))
        for i, (chosen, counts) in enumerate(batches):
            made = collate([self.material.train[place] for place in chosen])
            last = i == len(batches) - 1
            with nullcontext() if last else self.accelerator.no_sync(self.wrapped):
                loss, _ = self.wrapped(on_device(made, self.accelerator.device))
                loss = loss if counts else loss * 0.0
                # Gradients are averaged over the processes, and this is to be their sum.
                self.accelerator.backward(loss * (self.world / tokens))
            total += loss.detach()
        norm = torch.nn.utils.clip_grad_norm_(self._trained(), self.plan.clip)
        self.optimizer.step()
        self.optimizer.zero_grad()
        if self.world > 1:
            total = self.accelerator.reduce(total, reduction="sum")
        size = sum(len(one.ids) for one in examples)
        self.progress = replace(self.progress, step=number + 1, tokens=self.progress.tokens + size)
        entry = {
            "kind": "train", "step": number + 1, "epoch": round((number + 1) / self.order.per_epoch, 4),
            "lr": lr, "tokens": size, "tactic_tokens": tokens,
        }  # fmt: skip
        self._pending.add(entry, total / tokens, norm)

    def _trained(self) -> list[torch.nn.Parameter]:
        return [parameter for parameter in self.module.parameters() if parameter.requires_grad]

    def _agreed(self, stop: Callable[[], bool], step: int) -> bool:
        """Whether to stop; several processes have to do it at the same step."""
        if self.world == 1:
            return stop()
        if step % _FLUSH_STEPS:
            return False
        asked = torch.tensor(float(stop()), device=self.accelerator.device)
        return bool(self.accelerator.reduce(asked, reduction="sum").item())

    # ---------------------------------------------------------------------------- keeping track

    def _flush_is_due(self, step: int) -> bool:
        if self.world > 1:
            return step % _FLUSH_STEPS == 0
        return time.monotonic() - self._flushed > _FLUSH_SECONDS

    def _flush(self) -> tuple[float, float] | None:
        """Fetch the losses that came since the last time: the only place that waits for them.

        The last of them, and tokens per second; None when none came.
        """
        entries = self._pending.fetch()
        if not entries:
            return None
        now = time.monotonic()
        rate = sum(entry["tokens"] for entry in entries) / max(now - self._flushed, 1e-9)
        self._flushed = now
        self.progress = replace(self.progress, seconds=self._earlier + now - self._begun)
        if self._main:
            timed = [{**entry, "tokens_per_second": round(rate, 1)} for entry in entries]
            log.append(self.out / log.LOG, timed)
        return entries[-1]["loss"], rate

    def _evaluate(self, stop: Callable[[], bool]) -> bool:
        """Both losses into the log, and the weights kept if they are the best so far.

        False when it was stopped before; several processes do not stop here.
        """
        if not (self.material.val_given or self.material.val_found):
            return True
        batch, ends = max(self.plan.batch, 16), stop if self.world == 1 else lambda: False
        given, found = (
            evaluate(self.module, examples, batch, self.accelerator, ends) if examples else Score()
            for examples in (self.material.val_given, self.material.val_found)
        )
        if given is None or found is None:
            return False
        both = given + found
        self.val_loss = both.mean
        entry = {
            "kind": "eval", "step": self.progress.step, "val_loss": both.mean,
            "val_trajectory_loss": found.mean, "val_accuracy": both.accuracy,
        }  # fmt: skip
        if self._main:
            log.append(self.out / log.LOG, [entry])
        best = self.progress.best_loss
        if self.progress.step and both.mean is not None and (best is None or both.mean < best):
            self.progress = replace(self.progress, best_loss=both.mean, best_step=self.progress.step)
            self.keep_as_best()
        self._flushed = time.monotonic()  # an evaluation is no training time
        return True

    def keep_as_best(self) -> None:
        if self._main:
            publish_directory(
                self.out / BEST,
                lambda directory: write_model(
                    directory, self.loaded.model, self.loaded.tokenizer, self.loaded.settings
                ),
            )
        self.accelerator.wait_for_everyone()

    def _save(self) -> None:
        if self._main:
            loaded = self.loaded
            write_checkpoint(
                self.out,
                lambda at: write_model(at, loaded.model, loaded.tokenizer, loaded.settings),
                self.optimizer,
                self.progress,
            )
        self.accelerator.wait_for_everyone()


def _optimizer(module: torch.nn.Module, plan: PolicyPlan) -> torch.optim.Optimizer:
    """AdamW; matrices decay, norms and biases do not."""
    trained = [p for p in module.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": plan.weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]
    fused = trained[0].device.type == "cuda"
    return torch.optim.AdamW(
        [group for group in groups if group["params"]], lr=plan.lr, betas=_BETAS, fused=fused
    )
