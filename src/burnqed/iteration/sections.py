"""The sections of a run's TOML file: defaults, bounds and descriptions stand at the fields."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from burnqed.core.config import AtLeast0, AtLeast1, about
from burnqed.core.types import LeakRule
from burnqed.evaluation.negatives import Effort
from burnqed.iteration.settings import (
    EncoderSettings,
    EvalSettings,
    JointSettings,
    PolicySettings,
    RankerSettings,
    SearchSettings,
    Section,
    ValueSettings,
)
from burnqed.lean.toolchain import Kind as ToolchainKind
from burnqed.prover.config import NOISE
from burnqed.prover.sites import LOCAL
from burnqed.training.plans import NANO, NANO_LR, JointPlan, Mixture

_MIX, _JOINT = Mixture(), JointPlan()
Nodes = tuple[AtLeast1, ...]
Share = Annotated[float, Meta(ge=0, le=1)]
NotNegative = Annotated[float, Meta(ge=0)]


class Run(Section, frozen=True, kw_only=True):
    """What all stages share."""

    seed: Annotated[int, about("Same seed, same run.")] = 0
    workers: Annotated[AtLeast1 | None, about("Lean processes to search with.")] = None
    toolchain: Annotated[ToolchainKind | None, about("embedded, native or pantograph.")] = None
    project: Annotated[
        Path | None, about("A lake project, whose Lean and modules all stages work with.")
    ] = None
    device: Annotated[
        Literal["auto", "cpu", "cuda"],
        about("Of models in searches; a training takes the GPU if there is one."),
    ] = "auto"


class Cluster(Section, frozen=True, kw_only=True):
    """Where the run's searches are done. It decides how long the run takes, not what comes of it."""

    address: Annotated[
        str,
        about(
            "local, or a Ray cluster, as --cluster takes it: its nodes search and evaluate, with "
            "[run] workers on each."
        ),
    ] = LOCAL


class Theorems(Section, frozen=True, kw_only=True):
    """What is searched for proofs to learn from. Theorems of the held-out sets are always left out."""

    modules: Annotated[
        tuple[str, ...], about("Of the library; in a lake project by default the project's own.")
    ] = ("Init", "Std")
    set: Annotated[str, about("An INDEX.json or a benchmark, instead of modules.")] = ""
    split: Annotated[Literal["train", "val", "test", ""], about("Only these of the set.")] = "train"
    sample: Annotated[AtLeast0, about("So many of them; 0: all.")] = 4000
    leak_rule: Annotated[LeakRule, about("What a new proof of a library theorem may use.")] = "self"


class Teacher(Section, frozen=True, kw_only=True):
    """Searches before the first training, by rules or by a model of others: budgets that rise on what
    is unproved.

    What is not in its sample is new to the searches of the iterations.
    """

    policy: Annotated[Literal["rules", "served"], about("Who teaches: rules, or [served].")] = "rules"
    nodes: Annotated[Nodes, about("Budgets of its rounds.")] = (1, 4)
    sample: Annotated[AtLeast0, about("So many of the theorems; 0: all.")] = 0
    candidates: Annotated[AtLeast1 | None, about("Tactics to try at a state.")] = None


class Data(Section, frozen=True, kw_only=True):
    """What the policy learns from.

    `base` are files of pairs, such as human proofs; without any, what the teacher proved takes their
    place. What the run's own searches find comes `extra_weight` times beside `base_sample` of them.
    """

    base: Annotated[tuple[str, ...], about("Files of pairs.")] = ()
    base_sample: Annotated[AtLeast0, about("Pairs of the base to keep.")] = _MIX.base_sample
    extra_weight: Annotated[AtLeast1, about("Times that found pairs come.")] = _MIX.extra_weight
    easy_share: Annotated[Share, about("Of theorems whose proof is one step.")] = 0.5
    val_share: Annotated[
        Annotated[float, Meta(ge=0, le=0.9)], about("Of the theorems, to validate on.")
    ] = 0.1


class Policy(Section, frozen=True, kw_only=True):
    """The model and its training; the learning rate is multiplied by `lr_decay` at each iteration."""

    base: Annotated[str, about("nano, ranker, served, smollm2, a directory, or a hub name.")] = NANO
    nano_size: Annotated[Literal["6m", "15m", "30m"], about("Parameters of nano.")] = "6m"
    lr: Annotated[Share, about("Peak learning rate.")] = NANO_LR
    lr_decay: Annotated[Annotated[float, Meta(ge=1e-6, le=1)], about("At each iteration.")] = 0.5
    first_epochs: Annotated[AtLeast1, about("Of iteration 0.")] = 12
    epochs: Annotated[AtLeast1, about("Of the later iterations.")] = 4
    batch: Annotated[AtLeast1, about("Examples at once.")] = 64
    accumulate: Annotated[AtLeast1, about("Batches to a step.")] = 1
    training: Annotated[PolicySettings, about("More of `burn-qed train policy`.")] = PolicySettings()
    ranker: Annotated[RankerSettings, about("More of `burn-qed train ranker`.")] = RankerSettings()


class Served(Section, frozen=True, kw_only=True):
    """A model behind servers, which the run does not train: the policy, or only the teacher of one."""

    kind: Annotated[Literal["sglang", "openai"], about("How it is asked.")] = "openai"
    url: Annotated[
        str, about("Of its servers, with commas; the least busy of those that are well is asked.")
    ] = ""
    model: Annotated[str, about("Its name there, where they serve several.")] = ""
    prompt: Annotated[
        str | None, about("The format of its training: deepseek, proofstep or colons.")
    ] = None
    logprobs: Annotated[bool, about("Whether the servers give log-probabilities.")] = True


class Search(Section, frozen=True, kw_only=True):
    """Searching for proofs to learn from: rounds whose budgets rise, each on what is unproved."""

    policy: Annotated[
        Literal["mix", "local", "ranked", "served"], about("With the trained model, or [served].")
    ] = "mix"
    nodes: Annotated[Nodes, about("Budgets of its rounds.")] = (4, 16)
    escalate: Annotated[
        Annotated[float, Meta(ge=0.01, le=100)],
        about("Budgets are multiplied by it at each iteration."),
    ] = 1.0
    sample: Annotated[
        AtLeast0, about("Theorems to begin an iteration with, of those unproved; 0: all.")
    ] = 1000
    candidates: Annotated[AtLeast1 | None, about("Tactics to try at a state.")] = None
    noise_nodes: Annotated[AtLeast0, about("Iteration 0 only; 0: no noise.")] = 4
    noise_temperature: Annotated[
        Annotated[float, Meta(ge=0.01, le=100)], about("What a search with noise samples at.")
    ] = NOISE
    noise_sample: Annotated[AtLeast0, about("Theorems to search with noise.")] = 300
    settings: Annotated[SearchSettings, about("More of `burn-qed search`.")] = SearchSettings()


class Value(Section, frozen=True, kw_only=True):
    """The value model, from iteration `first` on. `model` is `words`, or `policy` for its own model."""

    first: Annotated[AtLeast1, about("The iteration that begins with it.")] = 1
    model: Annotated[Literal["words", "policy"], about("What encodes states.")] = "words"
    siblings: Annotated[AtLeast0, about("To search at each state of a proof.")] = Effort().siblings
    beside_nodes: Annotated[
        AtLeast0, about("Of each sibling's search; 0: no searches beside proofs.")
    ] = 6
    beside_steps: Annotated[AtLeast1, about("Only beside proofs of so many steps.")] = 2
    candidates: Annotated[AtLeast1 | None, about("Of those searches; by default as [search].")] = None
    val_share: Annotated[
        Annotated[float, Meta(ge=0.01, le=0.9)], about("Of the theorems, not trained on.")
    ] = 0.4
    training: Annotated[ValueSettings, about("More of `burn-qed train value`.")] = ValueSettings()
    encoder: Annotated[EncoderSettings, about("How `policy` encodes states.")] = EncoderSettings()


class Joint(Section, frozen=True, kw_only=True):
    """The policy and its value model trained together, through one backbone, from iteration `first` on.

    Pooling and layer are those of `[value.encoder]`; theorems are set aside by `[value]` val_share.
    """

    first: Annotated[AtLeast1 | None, about("The iteration that begins with it; by default none.")] = (
        None
    )
    training: Annotated[JointSettings, about("More of `burn-qed train joint`.")] = JointSettings()


class Embeddings(Section, frozen=True, kw_only=True):
    """Each iteration's backbone, measured on theorems that it did not learn from; and red lines."""

    states: Annotated[AtLeast0, about("To measure with, at most; 0: nothing is measured.")] = 2000
    least_distance: Annotated[
        NotNegative, about("Between the means of provable states and others, on the scale below.")
    ] = _JOINT.least_distance
    least_probe: Annotated[Share, about("Balanced accuracy of a linear probe; 0.5 is chance.")] = 0.65
    least_rank1: Annotated[
        Share, about("Of the value model, over held-out groups of siblings at depth 4 and more.")
    ] = 0.25
    scale: Annotated[
        Literal["auto", "own", "start"],
        about(
            "own: distances as they are. start: that of iteration 0's model, on the same states, "
            "counts as 5.0. auto: own for hidden states of width 4096, for which the lines were found."
        ),
    ] = "auto"
    red_line: Annotated[
        Literal["drop", "stop", "warn"],
        about(
            "What crossing one does. drop: searches go without the value model. stop: the run ends, "
            "too. warn: nothing."
        ),
    ] = "drop"


class Eval(Section, frozen=True, kw_only=True):
    """Held-out theorems: never searched for training, whatever the other sections say."""

    sets: Annotated[tuple[str, ...], about("Benchmarks, or INDEX.json files.")] = (
        "core-300", "qed-core",
    )  # fmt: skip
    sample: Annotated[AtLeast0, about("Of each set, for a quick look; 0: all.")] = 0
    budgets: Annotated[Nodes, about("Nodes per theorem.")] = (30, 100, 300)
    candidates: Annotated[AtLeast1 | None, about("Tactics to try at a state.")] = None
    settings: Annotated[EvalSettings, about("More of `burn-qed eval`.")] = EvalSettings()


class Stop(Section, frozen=True, kw_only=True):
    """When `run` ends by default. An `iterate` that is asked for is done whatever these say."""

    patience: Annotated[
        AtLeast0, about("Iterations that may prove no more than one before them; 0: never ends.")
    ] = 2
    min_gain: Annotated[AtLeast0, about("Held-out theorems that count as more.")] = 1
    errors: Annotated[Share, about("Share of theorems that may be errors, of whatever kind.")] = 0.05
