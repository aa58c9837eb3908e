"""What a node makes its prover of, and the proof that it is the driver's."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

import burnqed
from burnqed.cluster.hosts import Weights
from burnqed.core.errors import InputError, SetupError
from burnqed.policy.models.names import find
from burnqed.policy.ranked.files import SHIPPED, find_ranker
from burnqed.prover.assembly import Assembled, put_together
from burnqed.prover.config import GuidedConfig, PolicyConfig
from burnqed.prover.following import Followed, followed_by, following
from burnqed.prover.hosted import Asked, Hosted
from burnqed.prover.policies import Prepared, hosted_of

_SERVED = ("sglang", "openai")
_HOSTED = ("local", "mix")
_LARGEST = 2 * 10**9  # bytes of a model that is carried to where it is asked

Files = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Recipe:
    """A prover as plain data. `about` is what the run's manifest says of it.

    `files` are those of settings that are directories here, unless they come with burn-qed.
    """

    config: PolicyConfig
    modules: tuple[str, ...]
    nodes: int
    at_once: bool
    followed: Followed | None
    files: Mapping[str, Files]
    hosted: Hosted | None
    about: Mapping[str, Any]

    @classmethod
    def of(cls, assembled: Assembled) -> Recipe:
        """The recipe of a prover of this machine."""
        # Which Lean is usual depends on the machine.
        kind = assembled.lean.toolchain.kind
        config = msgspec.structs.replace(assembled.config, toolchain=kind)
        about, choice = assembled.about, assembled.policy.choice
        if choice.kind in _SERVED:
            config = _as_asked(config, assembled.policy)
            # Where the model's directory is not, a server's name for it cannot be shortened to its end.
            about = {name: value for name, value in about.items() if name != "model"}
        files: dict[str, Files] = {}
        ranker = choice.model if choice.kind == "ranked" else choice.ranker
        if ranker is not None and (folder := find_ranker(ranker)) != SHIPPED:
            files["model" if choice.kind == "ranked" else "ranker"] = _files(folder)
        if isinstance(config, GuidedConfig) and config.value is not None:
            files["value"] = _files(Path(assembled.guide.places["value"]))
        return cls(
            config,
            assembled.lean.modules,
            assembled.budget.nodes,
            assembled.at_once,
            followed_by(assembled),
            files,
            hosted_of(assembled.policy) if choice.kind in _HOSTED else None,
            about,
        )

    def assemble(self, folder: Path, elsewhere: Asked | None) -> Assembled:
        """The prover of this machine. Refused if it may search otherwise than the driver's."""
        config = self.config
        for setting, files in self.files.items():
            place = folder / setting
            place.mkdir()
            for name, content in files.items():
                (place / name).write_bytes(content)
            given = place if setting == "value" else str(place)
            config = msgspec.structs.replace(config, **{setting: given})
        # What there is to warn of, the driver has said.
        made = put_together(
            config, self.modules, self.nodes, lambda _: None, at_once=self.at_once,
            elsewhere=elsewhere,
        )  # fmt: skip
        if self.followed is not None:
            made = following(made, self.followed)
        other = [name for name, value in self.about.items() if made.about.get(name) != value]
        if other:
            name = other[0]
            raise SetupError(
                f"its prover is another one: {name} is {made.about.get(name)!r}, "
                f"not {self.about[name]!r}",
                hint="install the same burn-qed on every node",
            )
        return made


def weights_of(prepared: Prepared) -> Weights:
    """A loaded model for other processes, in the precision in which it is loaded here.

    A large one is not carried: it has to be there under the same name.
    """
    choice, loaded = prepared.choice, prepared.loaded
    assert loaded is not None
    name = choice.model or ""
    choice = replace(choice, dtype=loaded.dtype, device=_device(choice.device))
    if not Path(name).exists():
        return Weights(choice, {})
    place = find(name)
    one = place.name if place.is_file() else ""
    paths = [place] if one else [path for path in place.iterdir() if path.is_file()]
    if sum(path.stat().st_size for path in paths) > _LARGEST:
        return Weights(replace(choice, model=str(place.resolve())), {})
    return Weights(choice, {path.name: path.read_bytes() for path in paths}, one)


def _device(asked: str) -> str:
    """Of a host: a GPU of its own has no number."""
    return "cuda" if asked.startswith("cuda") else asked


def _files(folder: Path) -> Files:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def _as_asked(config: PolicyConfig, policy: Prepared) -> PolicyConfig:
    """The same with the prompts that a served model's directory says: nodes may not have that."""
    own = policy.settings
    return msgspec.structs.replace(
        config, prompt=own.format, prompt_tokens=own.prompt_tokens, tactic_tokens=own.tactic_tokens,
        dialect=own.dialect,
    )  # fmt: skip


def refuse(config: PolicyConfig) -> None:
    """Refuse settings that nodes cannot follow, before anything is set up."""
    if isinstance(config, GuidedConfig) and config.value is not None and not _is_anywhere(config):
        raise InputError(
            "the value model encodes states with a language model in this process, and nodes have none",
            hint="`burn-qed serve encode` serves that model: give its address with --encoder; or leave "
            "out --cluster",
        )
    if config.project is not None:
        raise InputError(
            "a lake project is not brought to the nodes of a cluster",
            hint="leave out --project, or --cluster",
        )


def _is_anywhere(config: GuidedConfig) -> bool:
    """Whether a value model reads words, or asks a server."""
    from burnqed.value.saved import read_head
    from burnqed.value.words import WORDS

    if config.encoder is not None and config.encoder.startswith(("http://", "https://")):
        return True
    assert config.value is not None
    return read_head(config.value).encoder.model == WORDS


@cache
def code() -> str:
    """The checksum of burn-qed's own files: jobs and records fit only between equal ones."""
    root = Path(burnqed.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
