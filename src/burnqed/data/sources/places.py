"""Which theorem a row belongs to, and how deep in its proof it is."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import count


class Places:
    """Names that no two theorems of a source share, and the number of steps each has had.

    Sets have theorems of one name, of different files or repositories: the second `foo` is `foo#2`, as
    in theorem indexes. `key` is all that tells a theorem from others.
    """

    def __init__(self) -> None:
        self._names: dict[Hashable, str] = {}
        self._taken: set[str] = set()
        self._steps: dict[Hashable, int] = {}

    def name(self, key: Hashable, wanted: str) -> str:
        name = self._names.get(key)
        if name is None:
            longer = (f"{wanted}#{k}" for k in count(2))
            name = (
                wanted if wanted not in self._taken else next(n for n in longer if n not in self._taken)
            )
            self._names[key] = name
            self._taken.add(name)
        return name

    def step(self, key: Hashable, wanted: str) -> tuple[str, int]:
        """The theorem's name, and the depth of its next step."""
        depth = self._steps.get(key, 0)
        self._steps[key] = depth + 1
        return self.name(key, wanted), depth
