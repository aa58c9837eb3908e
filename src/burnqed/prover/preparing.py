"""Steps prepared for a training: what the settings mean together, and the one pass through the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from burnqed.core.errors import InputError
from burnqed.core.runs import check_out
from burnqed.data.contamination import held_out
from burnqed.data.index import TheoremIndex
from burnqed.data.prepare import Rules
from burnqed.data.prepared import earlier_report, prepare_into, settings_of
from burnqed.data.sources.open import Opened
from burnqed.data.splits import read_shares
from burnqed.policy.lengths import Lengths, lengths
from burnqed.policy.prompt import DIALECTS, PromptSettings
from burnqed.prover.data_config import PrepareConfig
from burnqed.prover.policies import Warn
from burnqed.prover.sets import chosen


class Preparing:
    """One preparation, checked as far as that goes without reading its inputs."""

    def __init__(self, config: PrepareConfig, out: Path) -> None:
        if config.tactic_tokens >= config.max_length:
            raise InputError("--tactic-tokens leaves no room for a prompt in --max-length")
        check_out(out)
        self._config, self._out = config, out
        prompt_tokens = config.max_length - config.tactic_tokens
        tag = DIALECTS[-1] if config.dialect == "both" else ""  # the longer one
        self._prompt = PromptSettings(config.prompt, prompt_tokens, config.tactic_tokens, tag)
        self._rules = Rules(
            config.seed, read_shares(config.splits), config.state_chars, config.keep_trivial,
            config.pool_depth, config.dialect,
        )  # fmt: skip
        self._settings: dict[str, Any] = {}

    def load(self) -> None:
        """The sets that are held out, and the tokenizer."""
        self.held: list[TheoremIndex] = [chosen(one) for one in self._config.without]
        self._measure: Lengths = lengths(self._config.tokenizer)

    def earlier(self, inputs: Sequence[Opened], on_file: Callable[[], None]) -> dict[str, Any] | None:
        """The report, where just this was prepared before. Reads every input once, for its checksum."""
        config = self._config
        more = {
            "prompt": config.prompt, "max_length": config.max_length,
            "tactic_tokens": config.tactic_tokens, "tokenizer": self._measure.identity,
            "without": [{"set": index.name, "checksum": index.checksum} for index in self.held],
        }  # fmt: skip
        self._settings = settings_of(inputs, self._rules, more, on_file)
        return earlier_report(self._out, self._settings)

    def run(
        self, inputs: Sequence[Opened], on_rows: Callable[[str, int], None], warn: Warn
    ) -> dict[str, Any]:
        """Prepare, once `earlier` has found nothing, and give the report."""
        return prepare_into(
            self._out, inputs, self._rules, held_out(self.held),
            lambda pairs: self._measure.unfit(self._prompt, pairs), self._settings, on_rows, warn,
        )  # fmt: skip
