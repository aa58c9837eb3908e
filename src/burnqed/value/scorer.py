"""Energies for a search: the `Value` port over an encoder and a head.

States of all running searches are encoded in batches, each once. The head's calibration puts their
energies on the scale of log-probabilities.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor

import numpy as np
import torch
from numpy.typing import NDArray

from burnqed.core.errors import BurnQedError, InfrastructureError
from burnqed.core.types import Goal, state_text
from burnqed.value.calibration import Calibration
from burnqed.value.embeddings import Encoder
from burnqed.value.saved import SavedHead, check_encoder

# The energy of a state without goals must be lower than any other.
CLOSED = -math.inf
_REMEMBERED = 2**28  # bytes of embeddings


def trusted(calibration: Calibration, policy: str, anyway: bool, warn: Callable[[str], None]) -> bool:
    """Whether a search should use a value model: it must rank better than log-probability.

    `policy` is the one whose log-probabilities the search has. The model is only known to beat those
    that it was compared with.
    """
    better = calibration.verdict == "better"
    verdict = f"the value model's verdict is {calibration.verdict}: {calibration.told}"
    if not better and not anyway:
        warn(f"{verdict}; the search uses log-probability alone")
        return False
    if not better:
        warn(f"{verdict}; it is used anyway")
    elif calibration.policies and policy not in calibration.policies:
        known = ", ".join(calibration.policies)
        warn(f"the value model was compared with log-probabilities of {known}, not of {policy}")
    return True


class Scorer:
    """The head's energies of states. `encoded` counts computed states, `known` those from memory."""

    def __init__(
        self,
        saved: SavedHead,
        encoder: Encoder,
        calibration: Calibration,
        thread: Executor | None = None,
    ) -> None:
        check_encoder(saved, encoder.name)
        self.encoded = self.known = 0
        self._head = saved.head
        self._most = max(1, _REMEMBERED // (4 * encoder.name.width))
        self._encoder = encoder
        self._calibration = calibration
        self._thread = thread
        self._rows: dict[str, NDArray[np.float32]] = {}
        self._wanted: dict[str, None] = {}
        self._turn = asyncio.Lock()

    async def energies(self, root: Sequence[Goal], states: Sequence[Sequence[Goal]]) -> list[float]:
        open_states = [goals for goals in states if goals]
        texts = [state_text(goals) for goals in open_states]
        found = iter(await self._energies(state_text(root), texts) if texts else [])
        return [next(found) if goals else CLOSED for goals in states]

    async def _energies(self, root: str, texts: Sequence[str]) -> list[float]:
        embeddings = await self._embeddings([*texts, root])
        with torch.inference_mode():
            z = torch.from_numpy(embeddings)
            raw = self._head(z[:-1], z[-1:].expand(len(texts), -1)).tolist()
        energies = [self._calibration.scaled(energy) for energy in raw]
        if not all(map(math.isfinite, energies)):  # the frontier cannot order such a state
            raise InfrastructureError(
                "the value model gives energies that are not numbers", hint="train it again"
            )
        return energies

    async def _embeddings(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode all waiting states. Whichever caller has the turn does this for the others, too."""
        self.known += sum(text in self._rows for text in texts)
        self._wanted.update(dict.fromkeys(texts))
        async with self._turn:
            todo = [text for text in {**self._wanted, **dict.fromkeys(texts)} if text not in self._rows]
            self._wanted.clear()
            if todo:
                self._rows.update(zip(todo, await self._encode(todo), strict=True))
                self.encoded += len(todo)
            found = np.stack([self._rows[text] for text in texts])
            while len(self._rows) > self._most:
                del self._rows[next(iter(self._rows))]
        return found

    async def _encode(self, texts: list[str]) -> NDArray[np.float32]:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, self._encoder.encode, texts)
        except BurnQedError:
            raise
        except Exception as error:  # not the theorem's fault: it must stop the run
            raise InfrastructureError(
                f"the encoder failed: {type(error).__name__}: {error}",
                hint="use fewer --workers to save memory; --resume continues with all that is saved",
            ) from error
