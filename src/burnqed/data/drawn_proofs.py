"""The whole proofs of a source, or a sample of them, read as often as they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from burnqed.core.errors import InputError
from burnqed.data.migration import key_of_proof
from burnqed.data.sources.open import Opened
from burnqed.data.sources.rows import BadRows, Notes
from burnqed.data.spill import key_of
from burnqed.data.steps import WholeProof


class DrawnProofs:
    """`count` proofs by the seed, or all. What is wrong with rows is said once."""

    def __init__(
        self, source: Opened, count: int | None, seed: int, warn: Callable[[str], None]
    ) -> None:
        self._source = source
        self._chosen: frozenset[str] | None = None
        bad = BadRows()
        keys = {key_of_proof(proof) for proof in source.proofs(Notes(warn, bad.add))}
        bad.tell(warn)
        if not keys:
            raise InputError(
                f"{source.given} has no proofs", hint="`burn-qed data inspect` looks into it"
            )
        if count is not None:
            drawn = sorted(keys, key=lambda key: key_of(f"migrate {seed}", key))[:count]
            self._chosen = frozenset(drawn)
        self.there = len(keys)
        self.count = len(keys if self._chosen is None else self._chosen)

    def __call__(self) -> Iterator[WholeProof]:
        for proof in self._source.proofs(Notes(on_bad=lambda _told_already: None)):
            if self._chosen is None or key_of_proof(proof) in self._chosen:
                yield proof
