"""`burn-qed train`: weights from proofs."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from burnqed.cli import compose, sets, stopping, tables
from burnqed.cli.commands.train_ranker import ranker_command
from burnqed.cli.commands.train_value import value_command
from burnqed.cli.watch import Watch, is_main
from burnqed.core.errors import InputError
from burnqed.policy.models.strict import need_libraries
from burnqed.policy.prompt import PromptSettings

if TYPE_CHECKING:
    from burnqed.training.sft import Told

app = typer.Typer(no_args_is_help=True, help="Train the models on what was proved.")
app.command("value")(value_command)
app.command("ranker")(ranker_command)

DEFAULT_BASE = "deepseek-ai/DeepSeek-Prover-V2-7B"
_LR, _NANO_LR = 2e-4, 1e-3  # random weights have further to go


@app.callback()
def options() -> None:
    """Train the models on what was proved."""


@app.command("policy")
def policy_command(
    data: Annotated[
        list[Path],
        typer.Option("--data", metavar="PATH", help="JSONL of pairs, or a run; may be repeated."),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="OUT", help="The training's directory.")],
    extra_data: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH",
            help="What searches found, to count --extra-weight times: runs, or a file that "
            "`burn-qed pairs` made of some.",
        ),
    ] = None,
    extra_weight: Annotated[int, typer.Option(min=1, help="Times that extra data comes.")] = 10,
    base_sample: Annotated[
        int, typer.Option(min=0, help="Pairs of --data that are kept beside extra data.")
    ] = 10_000,
    val: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", help="Validation data, instead of a share of the theorems."),
    ] = None,
    val_share: Annotated[
        float, typer.Option(min=0, max=0.9, help="Share of the theorems to validate on.")
    ] = 0.05,
    base: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="nano, smollm2, a directory, a hub name, or an earlier training to go on from.",
        ),
    ] = DEFAULT_BASE,
    nano_size: Annotated[str, typer.Option(help="Parameters of nano: 6m, 15m or 30m.")] = "6m",
    method: Annotated[
        str | None, typer.Option(help="lora or full; by itself lora, for nano always full.")
    ] = None,
    rank: Annotated[int, typer.Option(min=1, help="Of a new adapter; 32 for competition data.")] = 16,
    lora_alpha: Annotated[int, typer.Option(min=1, help="Of a new adapter.")] = 32,
    dropout: Annotated[float, typer.Option(min=0, max=0.9, help="Of a new adapter.")] = 0.05,
    load: Annotated[
        str | None, typer.Option(help="nf4 holds the base in four bits (needs bitsandbytes).")
    ] = None,
    dtype: Annotated[
        str, typer.Option(help="What is computed in: bf16, fp32, or auto (bf16 on a GPU).")
    ] = "auto",
    lr: Annotated[
        float | None, typer.Option(min=0, help="Peak learning rate; 2e-4, and 1e-3 for nano.")
    ] = None,
    warmup: Annotated[float, typer.Option(min=0, max=1, help="Share of the steps to warm up.")] = 0.03,
    weight_decay: Annotated[float, typer.Option(min=0, help="Of matrices.")] = 0.01,
    clip: Annotated[float, typer.Option(min=0.001, help="Largest norm of a gradient.")] = 1.0,
    batch: Annotated[int, typer.Option(min=1, help="Examples at once, on each GPU.")] = 4,
    accumulate: Annotated[int, typer.Option(min=1, help="Batches to a step, on each GPU.")] = 8,
    epochs: Annotated[int, typer.Option(min=1, help="Times through the data.")] = 3,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Steps to take, instead of --epochs.")
    ] = None,
    prompt: Annotated[
        str | None,
        typer.Option(help="deepseek, proofstep or colons; by itself what the base was trained with."),
    ] = None,
    max_length: Annotated[
        int | None,
        typer.Option(min=4, help="Tokens of prompt and tactic; as the base, or 2048 (nano 512)."),
    ] = None,
    tactic_tokens: Annotated[
        int | None,
        typer.Option(min=2, help="Tokens of a tactic, longer ones are dropped; as the base, or 128."),
    ] = None,
    checkpointing: Annotated[
        bool, typer.Option("--checkpointing", help="Less memory, more time: activations made twice.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Same seed, same training.")] = 0,
    save_every: Annotated[int, typer.Option(min=1, help="Steps between two checkpoints.")] = 500,
    eval_every: Annotated[
        int | None, typer.Option(min=1, help="Steps between two evaluations; by itself ten in all.")
    ] = None,
    matched: Annotated[
        int,
        typer.Option("--match", min=0, help="Held-out pairs to ask the trained model about, at most."),
    ] = 256,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the training that is in --out.")
    ] = False,
    as_json: compose.JsonOption = False,
) -> None:
    """Train a policy on pairs of a proof state and the tactic that a proof took there.

    Data is JSONL with rows {"state", "tactic", "theorem", "depth"}, or a run of `burn-qed search`, of
    which the steps of accepted proofs are taken; `burn-qed pairs` makes one file of several runs.
    Theorems that are validated on are not trained on.

    OUT gets manifest.json, log.jsonl, curve.png and .svg, checkpoint/ (to go on from), best/ (the
    model or adapter with the lowest validation loss, for `--model` and `burn-qed export`), and at the
    end result.json: the losses, that of a baseline without a network, and how often the model's
    likeliest tactics have the one that a held-out proof took.

    Ctrl-C saves; --resume goes on, also after a crash, with the same result.

    Examples:

        burn-qed train policy --data runs/first --base nano --batch 64 --accumulate 1 --out models/nano

        burn-qed train policy --data pairs.jsonl --base smollm2 --out models/small

        burn-qed train policy --data pairs.jsonl --extra-data found.jsonl --base models/iter0 --lr 1e-4
        --epochs 1 --out models/iter1

        accelerate launch --num_processes 8 $(which burn-qed) train policy --data pairs.jsonl
        --out models/7b

    Exit codes: 0 trained, 2 the data or an option is wrong, 3 a package, memory or the loss failed,
    130 or 143 stopped by a signal.
    """
    sets.check_out(out)
    nano = base == "nano"
    how, computed = _method(method, nano, load), _dtype(dtype)
    if prompt is not None:
        PromptSettings(format=prompt)  # it refuses what is none
    need_libraries("accelerate", "peft")
    from burnqed.training.lora import Adapting
    from burnqed.training.pairs import Mixture
    from burnqed.training.policy import Job, train_policy
    from burnqed.training.sft import Plan

    job = Job(
        data=tuple(data),
        extra=tuple(extra_data or ()),
        val=tuple(val or ()),
        base=base,
        nano_size=nano_size,
        mixture=Mixture(extra_weight, base_sample, val_share, seed),
        adapting=Adapting(how, rank, lora_alpha, dropout, load is not None, checkpointing),
        plan=Plan(
            batch=batch, accumulate=accumulate, epochs=epochs, steps=steps,
            lr=lr if lr is not None else _NANO_LR if nano else _LR, warmup=warmup,
            weight_decay=weight_decay, clip=clip, seed=seed, save_every=save_every,
            eval_every=eval_every,
        ),
        dtype=computed,
        prompt=prompt,
        max_length=max_length,
        tactic_tokens=tactic_tokens,
        matched=matched,
    )  # fmt: skip
    with Watch(_said, shown=not as_json and is_main()) as watch:
        result = train_policy(job, out, watch, resume=resume)
    if result is None:
        raise stopping.stopped(watch.stopping.signal or signal.SIGTERM)
    if is_main():
        _print(result, out, as_json)


def _method(given: str | None, nano: bool, load: str | None) -> Literal["lora", "full"]:
    method = given or ("full" if nano else "lora")
    if load not in (None, "nf4"):
        raise InputError(f"no way to load {load}", hint="--load is nf4, or is left out")
    if nano and method == "lora":
        raise InputError("random weights need more than an adapter", hint="leave out --method")
    if load is not None and method == "full":
        raise InputError("four bits cannot be trained", hint="--method lora, or leave out --load")
    match method:
        case "lora" | "full":
            return method
        case _:
            raise InputError(f"no method {given}", hint="--method is lora or full")


def _dtype(given: str) -> Literal["auto", "bf16", "fp32"]:
    match given:
        case "auto" | "bf16" | "fp32":
            return given
        case _:
            raise InputError(f"no dtype {given}", hint="--dtype is auto, bf16 or fp32")


def _print(result: dict[str, Any], out: Path, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(result, ensure_ascii=False))
        return
    figures = {key: value for key, value in result.items() if not isinstance(value, dict)}
    tables.print_facts(f"trained: {out / 'best'}", figures)


def _said(told: Told) -> str:
    val = "" if told.val_loss is None else f", val {told.val_loss:.3f}"
    return f"loss {told.loss:.3f}{val}, {told.tokens_per_second:,.0f} tokens/s"
