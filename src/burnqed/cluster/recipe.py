"""What a node makes its prover of, and the proof that it is the driver's."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

import burnqed
from burnqed.core.errors import InputError, SetupError
from burnqed.policy.ranked.files import SHIPPED, find_ranker
from burnqed.prover.assembly import Assembled, put_together
from burnqed.prover.config import SetConfig
from burnqed.prover.following import Followed, followed_by, following
from burnqed.prover.policies import chosen

_ON_NODES = ("portfolio", "ranked")


@dataclass(frozen=True, slots=True)
class Recipe:
    """A prover as plain data. `about` is what the run's manifest says of it."""

    config: SetConfig
    modules: tuple[str, ...]
    nodes: int
    at_once: bool
    followed: Followed | None
    ranker: Mapping[str, bytes]  # its files, unless it comes with burn-qed
    about: Mapping[str, Any]

    @classmethod
    def of(cls, assembled: Assembled) -> Recipe:
        """The recipe of a prover of this machine."""
        config = assembled.config
        assert isinstance(config, SetConfig)
        given = assembled.policy.choice.model
        folder = find_ranker(given) if given is not None else SHIPPED
        files = [] if folder == SHIPPED else [path for path in folder.iterdir() if path.is_file()]
        return cls(
            # Which Lean is usual depends on the machine.
            msgspec.structs.replace(config, toolchain=assembled.lean.toolchain.kind),
            assembled.lean.modules,
            assembled.budget.nodes,
            assembled.at_once,
            followed_by(assembled),
            {path.name: path.read_bytes() for path in files},
            assembled.about,
        )

    def assemble(self, folder: Path) -> Assembled:
        """The prover of this machine. Refused if it may search otherwise than the driver's."""
        config = self.config
        if self.ranker:
            for name, content in self.ranker.items():
                (folder / name).write_bytes(content)
            config = msgspec.structs.replace(config, model=str(folder))
        # What there is to warn of, the driver has said.
        made = put_together(config, self.modules, self.nodes, lambda _: None, at_once=self.at_once)
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


def refuse(config: SetConfig) -> None:
    """Refuse settings that nodes cannot follow, before anything is set up."""
    given = config.policy is not None or config.model is not None
    kind = chosen(config).kind if given else "ranked"
    if kind not in _ON_NODES:
        raise InputError(
            f"--policy {kind} does not run on the nodes of a cluster",
            hint="rules and rankers do: --policy portfolio or ranked; or leave out --cluster",
        )
    if config.value is not None:
        raise InputError(
            "a value model does not run on the nodes of a cluster",
            hint="leave out --value, or --cluster",
        )
    if config.project is not None:
        raise InputError(
            "a lake project is not brought to the nodes of a cluster",
            hint="leave out --project, or --cluster",
        )


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
