"""The loop that trains a policy on pairs.

The loss of a step is the sum over all its tactic tokens divided by their number, whatever the batches
and GPUs it is cut over.
"""

from __future__ import annotations

import operator
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
from burnqed.training import log, loop
from burnqed.training.batches import Order, collate, micro_batches, on_device, tactic_tokens
from burnqed.training.checkpoints import write_model
from burnqed.training.given import Material
from burnqed.training.loop import KeptLoop, Pending, Stop, parameter_groups
from burnqed.training.loss import Score, TacticLoss, evaluate
from burnqed.training.plans import PolicyPlan
from burnqed.training.speed import Work, compile_layers, limit

_FLUSH_SECONDS = 1.0  # between two looks at the losses, where there is one process
_FLUSH_STEPS = 10  # where there are several, which have to look at the same time
BETAS = (0.9, 0.95)


@dataclass(frozen=True, slots=True)
class StepMetrics:
    """How a training stands, for whoever watches."""

    step: int
    steps: int
    loss: float
    val_loss: float | None
    tokens_per_second: float
    utilisation: float | None  # of what the GPU can do; None on a CPU


@dataclass(frozen=True, slots=True)
class Progress(loop.Progress):
    tokens: int = 0
    best_loss: float | None = None
    best_step: int | None = None
    waited: int = 0  # evaluations since the best


class Loop(KeptLoop[Progress]):
    """The training of a policy, in one process or in several."""

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
        self.loaded, self.material, self.plan = loaded, material, plan
        self.accelerator = accelerator
        self.world: int = accelerator.num_processes
        size = plan.batch * plan.accumulate * self.world
        self._lengths = [len(example.ids) for example in material.train]
        order = Order(material.repeats, size, plan.seed)
        pending = Pending("loss", "gradient_norm", hint="a lower --lr, or with --dtype fp32")
        super().__init__(out, plan, order, Progress(), pending)
        self.steps = plan.steps or plan.epochs * self.order.per_epoch
        self.eval_every = plan.eval_every or max(1, self.steps // 10)
        # A row has room for `batch` examples of full length, and so for more that are shorter.
        self.room = plan.batch * loaded.settings.max_length
        self.module = TacticLoss(loaded.model, precision, loaded.settings.max_length)
        self.work = Work.of(loaded.model)
        self.limit = limit(accelerator.device, precision)
        mean = sum(map(operator.mul, self._lengths, material.repeats)) / max(1, sum(material.repeats))
        compile_layers(loaded.model, int(self.steps * size * mean))
        self.optimizer = _optimizer(self.module, plan)
        self._resume(resumed)
        # What spreads the model over GPUs; evaluation and saving use the module itself.
        self.wrapped, self.optimizer = accelerator.prepare(self.module, self.optimizer)
        self.val_loss: float | None = None
        self._rate = 0.0  # tokens per second
        self._utilisation: float | None = None

    @property
    def _main(self) -> bool:
        return bool(self.accelerator.is_main_process)

    def is_over(self) -> bool:
        return self.progress.step >= self.steps or self.is_out_of_patience

    @property
    def is_out_of_patience(self) -> bool:
        return self.plan.patience is not None and self.progress.waited >= self.plan.patience

    def try_out(self, examples: int, stop: Stop) -> float | None:
        """Take all steps, leave nothing behind, and say the loss on some of what it validates on.

        None when it was stopped.
        """
        self.module.train()
        for _ in range(self.steps):
            self._step()
            if self._agreed(stop):
                return None
        every = (*self.material.val_given, *self.material.val_found)
        some = random.Random(f"try {self.plan.seed}").sample(every, min(examples, len(every)))
        found = evaluate(self.module, some, self.room, self.accelerator)
        assert found is not None
        return found.mean

    def run(self, stop: Stop, tell: Callable[[StepMetrics], None]) -> bool:
        try:
            self.module.train()
            return self._caught_up(stop) and super().run(lambda: self._agreed(stop), tell)
        except torch.OutOfMemoryError as error:
            raise InfrastructureError(
                f"out of memory in step {self.progress.step + 1}: {error}",
                hint="a smaller --batch with a larger --accumulate, or --checkpointing",
            ) from error

    # ------------------------------------------------------------------------------ one step

    def _step(self) -> int:
        number = self.progress.step
        places = self.order.step(number)
        examples = [self.material.train[place] for place in places]
        tokens = tactic_tokens(examples)
        rank = self.accelerator.process_index
        lr = self._prepare(number, f" {rank}")
        total = torch.zeros((), device=self.accelerator.device)
        batches = list(micro_batches(places, self._lengths, self.room, rank, self.world))
        for i, (chosen, counts) in enumerate(batches):
            made = collate([self.material.train[place] for place in chosen], self.module.longest)
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
        self.progress = replace(self.progress, tokens=self.progress.tokens + size)
        return self._taken(lr, {"tokens": size, "tactic_tokens": tokens}, total / tokens, norm)

    def _trained(self) -> list[torch.nn.Parameter]:
        return [parameter for parameter in self.module.parameters() if parameter.requires_grad]

    def _agreed(self, stop: Stop) -> bool:
        """Whether to stop; several processes have to do it at the same step."""
        if self.world == 1:
            return stop()
        if self.progress.step % _FLUSH_STEPS:
            return False
        asked = torch.tensor(float(stop()), device=self.accelerator.device)
        return bool(self.accelerator.reduce(asked, reduction="sum").item())

    # ---------------------------------------------------------------------------- keeping track

    def _is_saved(self, step: int) -> bool:
        return step % self.plan.save_every == 0 or step == self.steps

    def _looks(self, step: int) -> bool:
        if self.world > 1:
            return step % _FLUSH_STEPS == 0
        return time.monotonic() - self._flushed > _FLUSH_SECONDS

    def _timed(self, entries: list[dict[str, Any]], seconds: float) -> list[dict[str, Any]]:
        tokens, said = (sum(entry[key] for entry in entries) for key in ("tokens", "tactic_tokens"))
        self._rate = tokens / max(seconds, 1e-9)
        told = {"tokens_per_second": round(self._rate, 1)}
        if self.limit is not None:
            done = self.work.of_tokens(tokens, said) / max(seconds, 1e-9)
            self._utilisation = done / (self.limit * self.world)
            told["utilisation"] = round(self._utilisation, 4)
        return [{**entry, **told} for entry in entries]

    def _standing(self, entry: log.Entry) -> StepMetrics:
        return StepMetrics(
            entry["step"], self.steps, entry["loss"], self.val_loss, self._rate, self._utilisation
        )

    def _evaluate(self, stop: Stop) -> bool:
        """Both losses into the log, and the weights kept if they are the best so far.

        False when it was stopped before; several processes do not stop here.
        """
        if not (self.material.val_given or self.material.val_found):
            return True
        ends = stop if self.world == 1 else lambda: False
        given, found = (
            evaluate(self.module, examples, self.room, self.accelerator, ends) if examples else Score()
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
        self._log(entry)
        best = self.progress.best_loss
        if self.progress.step and both.mean is not None and (best is None or both.mean < best):
            step = self.progress.step
            self.progress = replace(self.progress, best_loss=both.mean, best_step=step, waited=0)
            self.keep_as_best()
        elif self.progress.step:
            self.progress = replace(self.progress, waited=self.progress.waited + 1)
        self._flushed = time.monotonic()  # an evaluation is not training time
        return True

    def keep_as_best(self) -> None:
        super().keep_as_best()
        self.accelerator.wait_for_everyone()

    def _save(self) -> None:
        super()._save()
        self.accelerator.wait_for_everyone()

    def _write(self, directory: Path) -> None:
        write_model(directory, self.loaded.model, self.loaded.tokenizer, self.loaded.settings)


def _optimizer(module: torch.nn.Module, plan: PolicyPlan) -> torch.optim.Optimizer:
    trained = [p for p in module.parameters() if p.requires_grad]
    fused = trained[0].device.type == "cuda"
    groups = parameter_groups(trained, plan.weight_decay)
    return torch.optim.AdamW(groups, lr=plan.lr, betas=BETAS, fused=fused)
