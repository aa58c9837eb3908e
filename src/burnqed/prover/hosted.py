"""A local model that another process has, such as one with a GPU: what is known of it here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from burnqed.policy.mix import Shares
from burnqed.policy.prompt import PromptSettings
from burnqed.policy.sampled import Sampler


@dataclass(frozen=True, slots=True)
class Hosted:
    """All of a loaded model but its weights, as plain data: `about` is what manifests say of it."""

    settings: PromptSettings
    shares: Shares
    about: Mapping[str, Any]

    @property
    def identity(self) -> str:
        return str(self.about["model_identity"])


@dataclass(frozen=True, slots=True)
class Asked:
    """The same, and how to ask it from here."""

    hosted: Hosted
    sampler: Callable[[], Sampler]  # one for each event loop
