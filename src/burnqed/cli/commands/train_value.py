"""`burn-qed train value`: a head that says how provable a state looks."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from burnqed.cli import compose, policies, sets, stopping, tables
from burnqed.cli.watch import Watch
from burnqed.core.errors import InputError
from burnqed.policy.models.strict import need_libraries

if TYPE_CHECKING:  # it loads torch
    from burnqed.training.ebm import Told
    from burnqed.value.embeddings import Encoder

_BAD_END = 3


def value_command(
    data: Annotated[
        list[Path],
        typer.Option(
            "--data", metavar="RUN", help="A run of search or negatives; may be repeated, give both."
        ),
    ],
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="DIR|words",
            help="The policy's model, which encodes states; or words, which needs none.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="OUT", help="The training's directory.")],
    pooling: policies.PoolingOption = None,
    layer: policies.LayerOption = None,
    prompt: policies.PromptOption = None,
    device: policies.DeviceOption = "auto",
    dtype: policies.DtypeOption = "auto",
    embeddings: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where `burn-qed embed` keeps embeddings; else OUT has them."),
    ] = None,
    k: Annotated[
        int, typer.Option("--k", min=1, help="Negatives that a positive is held against.")
    ] = 8,
    in_batch: Annotated[
        bool,
        typer.Option(
            "--in-batch/--no-in-batch",
            help="Fill up to --k with states of other theorems, where a theorem has too few.",
        ),
    ] = True,
    slower: Annotated[
        bool,
        typer.Option(
            "--slower", help="Hold positives also against siblings whose proofs had more steps."
        ),
    ] = False,
    margin_weight: Annotated[
        float, typer.Option(min=0, help="Of a margin of 1 between positive and negatives.")
    ] = 0.0,
    steps_weight: Annotated[
        float, typer.Option(min=0, help="Of a regression on the steps that remain of a proof.")
    ] = 0.0,
    unconditioned: Annotated[
        bool, typer.Option("--unconditioned", help="The head does not see the goal; to compare with.")
    ] = False,
    batch: Annotated[int, typer.Option(min=1, help="Positives to a step.")] = 64,
    lr: Annotated[float, typer.Option(min=0, help="Peak learning rate.")] = 2e-3,
    weight_decay: Annotated[float, typer.Option(min=0, help="Of matrices.")] = 0.01,
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1, help="Times through the data, at most; by itself 40, or 500 steps if more."
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Steps to take at most, instead of --epochs.")
    ] = None,
    patience: Annotated[
        int, typer.Option(min=1, help="Evaluations without a better one, after which it ends.")
    ] = 10,
    eval_every: Annotated[
        int | None,
        typer.Option(min=1, help="Steps between two evaluations; by itself an epoch, 25 at least."),
    ] = None,
    val_share: Annotated[
        float,
        typer.Option(
            min=0.01,
            max=0.9,
            help="Share of the theorems that are not trained on: half choose, half judge.",
        ),
    ] = 0.2,
    seed: Annotated[int, typer.Option(help="Same seed, same training.")] = 0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the training that is in --out.")
    ] = False,
    resume_from: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Begin with the weights of this head, of the same encoder."),
    ] = None,
    as_json: compose.JsonOption = False,
) -> None:
    """Train a value model: the energy of a state, low where a proof is near.

    It learns from groups of siblings: states that steps led to from one state, of which one is on the
    path of a judged proof and the others were explored and given up. What was not explored to the end
    is no evidence. The states are shown to --model, and a small head is trained on its hidden states;
    the model itself stays as it is, and the head is refused for any other (weights, prompt, pooling or
    precision). A share of the theorems, by their names, is not trained on: half of these choose the
    best step, the other half judge it.

    OUT gets manifest.json, log.jsonl, curve.png and .svg, embeddings/, checkpoint/ (to go on from),
    best/ (the head with the best validation rank, and calibration.json: how it compares with
    log-probability, and how to add the two), and at the end result.json with all figures: rank-1 is how
    often the positive has the lowest energy of its group, beside what chance and log-probability get.

    It ends after --epochs, or when validation has not got better for --patience evaluations. It also
    ends when the temperature reaches a bound, which says that energies are off their scale: then the
    exit code is 3, and what was best before is kept.

    Ctrl-C saves; --resume goes on, also after a crash, with the same result.

    Examples:

        burn-qed train value --data runs/first --data runs/negatives --model models/nano
        --out values/first

        burn-qed train value --data runs/second --model models/nano --resume-from values/first
        --out values/second

    The verdict is better, no better or undecided: that the model is right about siblings more often
    than log-probability is shown, the contrary is shown, or neither. A search goes by a model whose
    verdict is better.

    Exit codes: 0 trained (whatever the verdict), 1 there is not enough to learn from, 2 the data
    or an option is wrong, 3 a package, memory, the loss or the temperature failed, 130 or 143 stopped
    by a signal.
    """
    sets.check_out(out)
    if epochs is not None and steps is not None:
        raise InputError("--epochs and --steps both say when to end", hint="leave out one of them")
    need_libraries()
    from burnqed.training.ebm import Plan
    from burnqed.training.value import Job, train_value
    from burnqed.value.words import WORDS

    encoder, where, source = _encoder(model, pooling, layer, prompt, device, dtype)
    job = Job(
        data=tuple(data),
        # A linear head cannot make anything of a goal: it is the same for all that are compared.
        conditioned=not unconditioned and model != WORDS,
        slower=slower,
        val_share=val_share,
        plan=Plan(
            k=k, batch=batch, epochs=epochs, steps=steps, lr=lr, weight_decay=weight_decay,
            margin_weight=margin_weight, steps_weight=steps_weight, in_batch=in_batch,
            patience=patience, eval_every=eval_every, seed=seed,
        ),
        resume_from=resume_from,
        embeddings=embeddings,
        device=where,
        source=source,
    )  # fmt: skip
    with Watch(_said, shown=not as_json) as watch:
        result = train_value(job, encoder, out, watch, resume=resume)
    if result is None:
        raise stopping.stopped(watch.stopping.signal or signal.SIGTERM)
    _print(result, out, as_json)
    if result["stopped"] == "temperature":
        tables.warn(
            f"the temperature went to its bound ({result['temperature']:.3g}) and training was ended; "
            "try a lower --lr, or look at the embeddings"
        )
        raise typer.Exit(_BAD_END)


def _encoder(
    model: str, pooling: str | None, layer: int | None, prompt: str | None, device: str, dtype: str
) -> tuple[Encoder, str, str]:
    """What encodes states, where the head is computed, and where the encoder's model is."""
    from burnqed.value.encoder import LocalEncoder
    from burnqed.value.words import WORDS, WordsEncoder

    how = policies.pooling(pooling)
    if model == WORDS:
        if pooling or prompt or layer is not None:
            raise InputError(
                "words are no model's hidden states", hint="leave out --pooling, --layer and --prompt"
            )
        return WordsEncoder(), "cpu", ""
    choice = policies.choice("local", model, device=device, dtype=dtype, prompt=prompt)
    loaded = policies.load_model(choice)
    encoder = LocalEncoder(loaded, how, -1 if layer is None else layer)
    return encoder, loaded.device, str(loaded.model.name_or_path)


def _said(told: Told) -> str:
    val = "" if told.val_rank1 is None else f", val rank-1 {told.val_rank1:.1%}"
    return f"loss {told.loss:.3f}{val}, temperature {told.temperature:.2f}"


def _print(result: dict[str, Any], out: Path, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(result, ensure_ascii=False))
        return
    depths = result["test_by_depth"]
    by_depth = {
        f"test_rank1_at_depth_{depth}": f"{found['rank1']:.3f} of {found['groups']} groups, chance "
        f"{found['chance']:.3f}, log-probability {result['test_logprob_by_depth'][depth]:.3f}"
        for depth, found in depths.items()
    }
    figures = {key: value for key, value in result.items() if not isinstance(value, dict)}
    told = {"verdict": f"{figures.pop('verdict')}: {figures.pop('told')}"}
    tables.print_facts(f"trained: {out / 'best'}", {**result["data"], **figures, **by_depth, **told})
