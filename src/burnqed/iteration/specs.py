"""What a stage does, as a value: settings, and the paths that it works on.

A specification is written to a file and carried out by a process of its own (`child`). Each one is
named after the public command that does the same, and its fields are that command's arguments and
options, so the command that is shown is made from it. Paths are meant from the run's directory.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec

from burnqed.core.config import Setting, about, settings_of
from burnqed.prover.config import (
    EncoderConfig,
    EvalConfig,
    ExportConfig,
    LeanConfig,
    LookConfig,
    NegativesConfig,
    SearchConfig,
)
from burnqed.prover.data_config import IndexConfig, PairsConfig
from burnqed.prover.sites import LOCAL
from burnqed.training.settings import (
    JointTraining,
    PolicyTraining,
    RankerTraining,
    ValueTraining,
)


class Command(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="command"
):
    """What all of them share. All but one have `out`, where what they make goes."""

    arguments: ClassVar[tuple[str, ...]] = ()  # the fields that are no options of the command
    resumes: ClassVar[bool] = False  # it goes on with what is in `out`
    whole: ClassVar[bool] = False  # what it makes is there whole or not at all, and is not made again

    @property
    def words(self) -> tuple[str, ...]:
        """As a user would type it after `burn-qed`."""
        fields = settings_of(type(self))
        given = [str(one) for name in self.arguments for one in _each(getattr(self, name))]
        options = [
            word
            for name, field in fields.items()
            if name not in self.arguments
            for word in _options(field, getattr(self, name))
        ]
        return (*str(self.__struct_config__.tag).split(), *given, *options)


def _options(field: Setting, value: Any) -> Iterator[str]:
    """A field as options; nothing where it is as it is by default."""
    if field.is_table:
        for name, setting in settings_of(field.type).items():
            yield from _options(setting, getattr(value, name))
    elif not field.required and value == field.default:
        return
    elif field.type is bool:
        yield field.flag if value else f"--no-{field.flag.removeprefix('--')}"
    elif field.is_list_of_numbers:
        yield from (field.flag, ",".join(map(str, value)))
    else:
        for one in _each(value):
            yield from (field.flag, str(one))


def _each(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


class Fetch(Command, frozen=True, kw_only=True, tag="data fetch"):
    """A benchmark that has to be brought or made."""

    arguments: ClassVar[tuple[str, ...]] = ("name",)
    name: str
    config: LeanConfig = LeanConfig()


class Index(Command, frozen=True, kw_only=True, tag="data index"):
    """A set of theorems."""

    config: IndexConfig
    out: Path


class OnSet(Command, frozen=True, kw_only=True):
    """Work on a set of theorems, one by one."""

    arguments: ClassVar[tuple[str, ...]] = ("theorems",)
    resumes: ClassVar[bool] = True
    theorems: str
    cluster: str = LOCAL


class Search(OnSet, frozen=True, kw_only=True, tag="search"):
    """A set of theorems, searched for something to learn from."""

    config: SearchConfig
    out: Path


class Negatives(OnSet, frozen=True, kw_only=True, tag="negatives"):
    """Searches beside proofs."""

    runs: Annotated[tuple[Path, ...], about("Searches with proofs.", flag="--data")]
    config: NegativesConfig
    out: Path


class Pairs(Command, frozen=True, kw_only=True, tag="pairs"):
    """The steps of proofs, to train on."""

    arguments: ClassVar[tuple[str, ...]] = ("runs",)
    runs: tuple[Path, ...]
    config: PairsConfig
    out: Path


class TrainPolicy(Command, frozen=True, kw_only=True, tag="train policy"):
    resumes: ClassVar[bool] = True
    config: PolicyTraining
    out: Path


class TrainRanker(Command, frozen=True, kw_only=True, tag="train ranker"):
    whole: ClassVar[bool] = True
    config: RankerTraining
    lean: LeanConfig = LeanConfig()
    out: Path


class TrainValue(Command, frozen=True, kw_only=True, tag="train value"):
    resumes: ClassVar[bool] = True
    config: ValueTraining
    encoding: EncoderConfig = EncoderConfig()
    out: Path


class TrainJoint(Command, frozen=True, kw_only=True, tag="train joint"):
    resumes: ClassVar[bool] = True
    config: JointTraining
    out: Path


class Look(Command, frozen=True, kw_only=True, tag="embeddings report"):
    """An encoder measured, or two. The stage writes the figures; the command draws them, too."""

    arguments: ClassVar[tuple[str, ...]] = ("runs",)
    runs: tuple[Path, ...]
    model: str
    against: str | None = None
    config: LookConfig
    embeddings: Path | None = None
    out: Path


class Export(Command, frozen=True, kw_only=True, tag="export"):
    """A trained model, as a directory of its own."""

    arguments: ClassVar[tuple[str, ...]] = ("source",)
    whole: ClassVar[bool] = True
    source: Path
    config: ExportConfig = ExportConfig()
    out: Path


class Evaluate(OnSet, frozen=True, kw_only=True, tag="eval"):
    """Held-out theorems."""

    config: EvalConfig
    out: Path


Spec = (
    Fetch | Index | Search | Negatives | Pairs | TrainPolicy | TrainRanker | TrainValue | TrainJoint
    | Look | Export | Evaluate
)  # fmt: skip


class Stage(msgspec.Struct, frozen=True):
    """A stage of an iteration: what its file holds."""

    iteration: int
    name: str
    spec: Spec
    optional: bool = False  # the run goes on without it where its input is not enough
    needs: tuple[str, ...] = ()  # stages of this iteration: where one was skipped, so is this

    @property
    def key(self) -> tuple[int, str]:
        return self.iteration, self.name

    @property
    def out(self) -> str:
        return "" if isinstance(self.spec, Fetch) else str(self.spec.out)

    @property
    def theorems(self) -> str:
        """The index that it searches for something to learn from."""
        return self.spec.theorems if isinstance(self.spec, Search | Negatives) else ""

    def shown(self, resume: bool = False) -> str:
        """The public command that does the same, as a user would type it."""
        again = ("--resume",) if resume else ()
        return shlex.join(("burn-qed", *self.spec.words, *again))
