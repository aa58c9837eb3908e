"""Expert iteration as a function: what `burn-qed run` does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from burnqed.core.watching import warn
from burnqed.iteration import rounds
from burnqed.iteration.config import Config
from burnqed.iteration.history import History
from burnqed.iteration.opening import Planned, Watching, go_on
from burnqed.iteration.runner import Watcher
from burnqed.iteration.specs import Stage
from burnqed.prover.loops import outside


class _Quiet:
    def begun(self, stage: Stage, log: Path) -> None:
        pass

    def looked(self, stage: Stage, last_line: str) -> None:
        pass

    def ended(self, stage: Stage, how: str, why: str) -> None:
        pass


@contextmanager
def _unwatched(_planned: Planned) -> Iterator[Watcher]:
    yield _Quiet()


def run(
    out: str | Path,
    config: str | Config | None = None,
    iterations: int = 5,
    settings: Mapping[str, Any] | None = None,
    watching: Watching = _unwatched,
) -> History:
    """Begin a run of expert iteration, or go on with the one in `out`, for so many iterations.

    `config` is a preset's name, a TOML file's, or a `burnqed.iteration.config.Config`; a run that is
    there has its own. `settings` come in place of the file's, as {"search.sample": 200}.
    """
    given = [f"{name}={_toml(value)}" for name, value in (settings or {}).items()]

    def work() -> History:
        history, _ = go_on(
            Path(out), config, given, warn, lambda work: rounds.run(work, iterations), watching,
            lambda: None,
        )  # fmt: skip
        return history

    return outside(work)


def _toml(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case list() | tuple():
            return f"[{', '.join(_toml(one) for one in value)}]"
        case str():
            quoted = value.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{quoted}"'
        case _:
            return str(value)
