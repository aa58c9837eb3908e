"""What a training is asked to do, as frozen settings; what these mean is in `prover.training`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from burnqed.core.config import AtLeast0, AtLeast1, about
from burnqed.training.plans import (
    FOLDS,
    JOINT_ADAPTER,
    MATCHED,
    NANO_LR,
    ORDER,
    RANKER_VAL_SHARE,
    RETRIEVAL,
    VALUE_VAL_SHARE,
    Adapting,
    Dtype,
    JointPlan,
    Method,
    Mixture,
    PolicyPlan,
    Sweep,
    ValuePlan,
)

DEFAULT_BASE = "deepseek-ai/DeepSeek-Prover-V2-7B"
DATA, MODEL, LOSS, STEPS, ADAPTER = "Data", "Model", "Loss", "Steps", "Adapter"
LINES = "Red lines"
_MIX, _ADAPTING, _PLAN, _VALUE, _SWEEP = Mixture(), Adapting(), PolicyPlan(), ValuePlan(), Sweep()
_JOINT = JointPlan()

AtLeast2 = Annotated[int, Meta(ge=2)]
NotNegative = Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=0.9)]
Seed = Annotated[int, about("Same seed, same training.", STEPS)]
PolicyShare = Annotated[
    Share,
    about(
        "The --val-share that the policy was trained with before: only theorems that it did not learn "
        "from judge. 0: any may judge.",
        DATA,
    ),
]


class PairsTraining(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every training on pairs of a proof state and a tactic has."""

    data: Annotated[tuple[Path, ...], about("JSONL of pairs, or a run; may be repeated.")]
    base: Annotated[
        str, about("nano, smollm2, a directory, a hub name, or an earlier training to go on from.")
    ] = DEFAULT_BASE
    extra_data: Annotated[
        tuple[Path, ...],
        about(
            "What searches found, to count --extra-weight times: runs, or a file that `burn-qed pairs` "
            "made of some.",
            DATA,
        ),
    ] = ()
    extra_weight: Annotated[AtLeast1, about("Times that extra data comes.", DATA)] = _MIX.extra_weight
    base_sample: Annotated[
        AtLeast0, about("Pairs of --data that are kept beside extra data.", DATA)
    ] = _MIX.base_sample
    nano_size: Annotated[
        Literal["6m", "15m", "30m"], about("Parameters of nano: 6m, 15m or 30m.", MODEL)
    ] = "6m"
    dtype: Annotated[
        Dtype, about("What is computed in: bf16, fp32, or auto (bf16 on a GPU).", MODEL)
    ] = "auto"
    prompt: Annotated[
        str | None,
        about("deepseek, proofstep or colons; by default what the base was trained with.", MODEL),
    ] = None
    max_length: Annotated[
        Annotated[int, Meta(ge=4)] | None,
        about("Tokens of prompt and tactic; as the base, or 2048 (nano 512).", MODEL),
    ] = None
    tactic_tokens: Annotated[
        AtLeast2 | None,
        about("Tokens of a tactic, longer ones are dropped; as the base, or 128.", MODEL),
    ] = None
    lemmas: Annotated[
        AtLeast0 | None,
        about(
            "Names of library lemmas in front of a state, as the shipped ranker finds them; by default "
            "as the base, or 0.",
            MODEL,
        ),
    ] = None
    method: Annotated[
        Method | None, about("lora or full; by default lora, for nano always full.", ADAPTER)
    ] = None
    checkpointing: Annotated[
        bool, about("Less memory, more time: activations made twice.", ADAPTER)
    ] = False
    warmup: Annotated[
        Annotated[float, Meta(ge=0, le=1)], about("Share of the steps to warm up.", STEPS)
    ] = _PLAN.warmup
    weight_decay: Annotated[NotNegative, about("Of matrices.", STEPS)] = _PLAN.weight_decay
    save_every: Annotated[AtLeast1, about("Steps between two checkpoints.", STEPS)] = _PLAN.save_every
    seed: Seed = 0


class PolicyTraining(PairsTraining, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A policy, from pairs of a proof state and the tactic that a proof took there."""

    lr: Annotated[
        NotNegative | None, about(f"Peak learning rate; {_PLAN.lr:g}, and {NANO_LR:g} for nano.")
    ] = None
    epochs: Annotated[AtLeast1, about("Times through the data.")] = _PLAN.epochs
    batch: Annotated[AtLeast1, about("Examples at once, on each GPU.")] = _PLAN.batch
    val: Annotated[
        tuple[Path, ...], about("Validation data, instead of a share of the theorems.", DATA)
    ] = ()
    val_share: Annotated[Share, about("Share of the theorems to validate on.", DATA)] = _MIX.val_share
    matched: Annotated[
        AtLeast0, about("Held-out pairs to ask the trained model about, at most.", DATA, "--match")
    ] = MATCHED
    rank: Annotated[AtLeast1, about("Of a new adapter; 32 for competition data.", ADAPTER)] = (
        _ADAPTING.rank
    )
    lora_alpha: Annotated[AtLeast1, about("Of a new adapter.", ADAPTER)] = _ADAPTING.alpha
    dropout: Annotated[Share, about("Of a new adapter.", ADAPTER)] = _ADAPTING.dropout
    load: Annotated[
        Literal["nf4"] | None,
        about("nf4 holds the base in four bits (needs bitsandbytes).", ADAPTER),
    ] = None
    accumulate: Annotated[AtLeast1, about("Batches to a step, on each GPU.", STEPS)] = _PLAN.accumulate
    steps: Annotated[AtLeast1 | None, about("Steps to take, instead of --epochs.", STEPS)] = None
    patience: Annotated[
        AtLeast1 | None,
        about("Evaluations without a better one, after which it ends; by default it goes on.", STEPS),
    ] = None
    try_lr: Annotated[
        tuple[Annotated[float, Meta(gt=0)], ...],
        about("Try this learning rate first, and train with the best; repeatable.", STEPS),
    ] = ()
    try_steps: Annotated[AtLeast1, about("Steps to try each --try-lr for.", STEPS)] = _SWEEP.steps
    clip: Annotated[Annotated[float, Meta(ge=0.001)], about("Largest norm of a gradient.", STEPS)] = (
        _PLAN.clip
    )
    eval_every: Annotated[
        AtLeast1 | None, about("Steps between two evaluations; by default ten in all.", STEPS)
    ] = None


class JointTraining(PairsTraining, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A policy and its value model, from pairs and from siblings, through one backbone."""

    runs: Annotated[
        tuple[Path, ...],
        about("A run of search or negatives, for siblings; may be repeated, give both."),
    ]
    lr: Annotated[
        NotNegative | None,
        about(f"Peak learning rate of the backbone; {_JOINT.lr:g}, and {NANO_LR:g} for nano."),
    ] = None
    head_lr: Annotated[NotNegative, about("Peak learning rate of the head.")] = _JOINT.head_lr
    steps: Annotated[AtLeast1, about("Steps to take.")] = _JOINT.steps
    val_share: Annotated[
        Annotated[float, Meta(ge=0.01, le=0.9)],
        about(
            "Share of the theorems that neither pairs nor siblings are learnt from: half choose, half "
            "judge.",
            DATA,
        ),
    ] = VALUE_VAL_SHARE
    policy_val_share: PolicyShare = 0.0
    slower: Annotated[
        bool, about("Hold positives also against siblings whose proofs had more steps.", DATA)
    ] = False
    pooling: Annotated[
        Literal["mean", "last"],
        about("A state's embedding: the mean of its tokens' hidden states, or the last.", MODEL),
    ] = "mean"
    layer: Annotated[
        Annotated[int, Meta(ge=-1)],
        about("The layer of the hidden states: 0 is the token embeddings, -1 the last layer.", MODEL),
    ] = -1
    rank: Annotated[AtLeast1, about("Of a new adapter.", ADAPTER)] = JOINT_ADAPTER.rank
    lora_alpha: Annotated[AtLeast1, about("Of a new adapter.", ADAPTER)] = JOINT_ADAPTER.alpha
    dropout: Annotated[Share, about("Of a new adapter.", ADAPTER)] = JOINT_ADAPTER.dropout
    contrast_weight: Annotated[
        NotNegative, about("Of InfoNCE over siblings, beside the loss of tactics.", LOSS)
    ] = _JOINT.contrast_weight
    k: Annotated[AtLeast1, about("Negatives that a positive is held against.", LOSS)] = _JOINT.k
    in_batch: Annotated[
        bool,
        about("Fill up to --k with states of other theorems, where a theorem has too few.", LOSS),
    ] = _JOINT.in_batch
    unconditioned: Annotated[bool, about("The head does not see the goal; to compare with.", LOSS)] = (
        False
    )
    batch: Annotated[AtLeast1, about("Pairs in one pass.", STEPS)] = _JOINT.batch
    positives: Annotated[AtLeast1, about("Positives in one pass, each with its negatives.", STEPS)] = (
        _JOINT.positives
    )
    accumulate: Annotated[AtLeast1, about("Passes to a step.", STEPS)] = _JOINT.accumulate
    clip: Annotated[
        Annotated[float, Meta(ge=0.001)],
        about("Largest norm of the backbone's gradient, and of the head's.", STEPS),
    ] = _JOINT.clip
    eval_every: Annotated[AtLeast1, about("Steps between two evaluations.", STEPS)] = _JOINT.eval_every
    least_distance: Annotated[
        NotNegative, about("End where positives and negatives are less apart.", LINES)
    ] = _JOINT.least_distance
    most_loss: Annotated[
        NotNegative, about("End where the held-out loss of tactics is larger.", LINES)
    ] = _JOINT.most_loss
    loss_after: Annotated[AtLeast0, about("Steps before --most-loss counts.", LINES)] = (
        _JOINT.loss_after
    )
    scale: Annotated[
        Literal["auto", "own", "start"],
        about(
            "own: the figures as they are. start: those before the first step count as 5.0 and 0.4. "
            "auto: own for hidden states of width 4096, for which the lines were found.",
            LINES,
        ),
    ] = _JOINT.scale


class RankerTraining(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A ranker, from the states of judged proofs."""

    data: Annotated[tuple[Path, ...], about("A run of search or eval; repeatable.")]
    without: Annotated[
        tuple[str, ...],
        about("Leave out the theorems of this set, by name and by what they state; repeatable."),
    ] = ()
    val_share: Annotated[Share, about("Of the theorems, not learnt from: these choose.")] = (
        RANKER_VAL_SHARE
    )
    epochs: Annotated[AtLeast1, about("Times through the decisions, at most.")] = ORDER.epochs
    lemma_epochs: Annotated[AtLeast1, about("Times through the lemmas that were used.")] = (
        RETRIEVAL.epochs
    )
    seed: Annotated[int, about("Same seed, same training.")] = 0


class ValueTraining(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value model, from siblings of which one is on the path of a proof."""

    data: Annotated[
        tuple[Path, ...], about("A run of search or negatives; may be repeated, give both.")
    ]
    model: Annotated[
        str, about("The policy's model, which encodes states; or words, which needs none.")
    ]
    embeddings: Annotated[
        Path | None, about("Where `burn-qed embed` keeps embeddings; else the training has them.", DATA)
    ] = None
    val_share: Annotated[
        Annotated[float, Meta(ge=0.01, le=0.9)],
        about("Share of the theorems that are not trained on: they choose the best step.", DATA),
    ] = VALUE_VAL_SHARE
    policy_val_share: PolicyShare = 0.0
    folds: Annotated[
        Annotated[int, Meta(ge=1, le=20)],
        about(
            "Heads trained for the verdict, each judged by theorems that it did not learn from. With 1 "
            "there is none, and half of --val-share judge.",
            DATA,
        ),
    ] = FOLDS
    slower: Annotated[
        bool, about("Hold positives also against siblings whose proofs had more steps.", DATA)
    ] = False
    k: Annotated[AtLeast1, about("Negatives that a positive is held against.", LOSS)] = _VALUE.k
    in_batch: Annotated[
        bool,
        about("Fill up to --k with states of other theorems, where a theorem has too few.", LOSS),
    ] = _VALUE.in_batch
    margin_weight: Annotated[
        NotNegative, about("Of a margin of 1 between positive and negatives.", LOSS)
    ] = _VALUE.margin_weight
    steps_weight: Annotated[
        NotNegative, about("Of a regression on the steps that remain of a proof.", LOSS)
    ] = _VALUE.steps_weight
    unconditioned: Annotated[bool, about("The head does not see the goal; to compare with.", LOSS)] = (
        False
    )
    batch: Annotated[AtLeast1, about("Positives to a step.", STEPS)] = _VALUE.batch
    lr: Annotated[NotNegative, about("Peak learning rate.", STEPS)] = _VALUE.lr
    weight_decay: Annotated[NotNegative, about("Of matrices.", STEPS)] = _VALUE.weight_decay
    epochs: Annotated[
        AtLeast1 | None,
        about("Times through the data, at most; by default 40, or 500 steps if more.", STEPS),
    ] = None
    steps: Annotated[AtLeast1 | None, about("Steps to take at most, instead of --epochs.", STEPS)] = (
        None
    )
    patience: Annotated[
        AtLeast1, about("Evaluations without a better one, after which it ends.", STEPS)
    ] = _VALUE.patience
    eval_every: Annotated[
        AtLeast1 | None,
        about("Steps between two evaluations; by default an epoch, 25 at least.", STEPS),
    ] = None
    seed: Seed = 0
    resume_from: Annotated[
        Path | None, about("Begin with the weights of this head, of the same encoder.", STEPS)
    ] = None
