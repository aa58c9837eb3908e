"""Which pairs a model can learn from: as long as its prompt and its answer may be, in its own tokens.

Only the tokenizer is needed for that, and not the model. Without one, lengths are estimated from the
bytes of the text: two to a token. smollm2 has 2.2 bytes of a state to a token and a tokenizer made for
Lean 2.5, so the estimate drops a little too much rather than too little.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from burnqed.core.errors import InputError, NetworkError, SetupError
from burnqed.policy.models import smollm2
from burnqed.policy.models.names import POLICY, exists, is_hub_name, left_in
from burnqed.policy.models.strict import MODELS
from burnqed.policy.prompt import PromptSettings, prompt_text, start_ids, tactic_of

# Why a pair cannot be learnt; empty where it can.
Unfit = Literal["", "prompt_tokens", "tactic_tokens", "ends_tactic"]

ESTIMATE = "estimate: two bytes a token"
_FILE = "tokenizer.json"
_BYTES = 2
_MARGIN = 16  # for what a tokenizer may put around a text


@dataclass(frozen=True, slots=True)
class Lengths:
    """Lengths in one tokenizer's tokens; `identity` says which it is, also on another machine."""

    identity: str
    count: Callable[[Sequence[str]], list[int]]
    start: int = 0  # tokens that stand before every text

    def unfit(self, settings: PromptSettings, pairs: Sequence[tuple[str, str]]) -> Sequence[Unfit]:
        """Of each state and tactic, what is wrong with it as an example in this prompt."""
        format = settings.shape
        prompts = [prompt_text(format, state) for state, _ in pairs]
        long_prompts = self._longer(prompts, settings.prompt_tokens - self.start)
        # A tactic has a token more, which ends it.
        long_tactics = self._longer([tactic for _, tactic in pairs], settings.tactic_tokens - 1)
        return [
            "prompt_tokens" if long_prompts[place]
            else "tactic_tokens" if long_tactics[place]
            else "ends_tactic" if tactic_of(format, tactic) != tactic
            else ""
            for place, (_, tactic) in enumerate(pairs)
        ]  # fmt: skip

    def _longer(self, texts: Sequence[str], limit: int) -> list[bool]:
        """Which have more tokens than that. A token has a byte or more: short texts need no count."""
        most = (limit - _MARGIN) // 4  # characters that cannot have more bytes, so most need no look
        asked = [
            i
            for i, text in enumerate(texts)
            if len(text) > most and len(text.encode()) + _MARGIN > limit
        ]
        longer = [False] * len(texts)
        for place, tokens in zip(asked, self.count([texts[i] for i in asked]), strict=True):
            longer[place] = tokens > limit
        return longer


def lengths(tokenizer: str | None) -> Lengths:
    """By the tokenizer of a model (a directory, smollm2, a name of the hub), or by the estimate."""
    if tokenizer is None:
        return Lengths(ESTIMATE, _estimated)
    path = _file(tokenizer)
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise SetupError(f"--tokenizer needs a package: {error}", hint=MODELS) from error
    try:
        content = path.read_bytes()
        made = Tokenizer.from_str(content.decode())
    except Exception as error:  # what is wrong in tokenizer.json comes as a bare Exception
        raise InputError(f"cannot read the tokenizer {path}: {error}") from error
    made.no_truncation()
    made.no_padding()

    def count(texts: Sequence[str]) -> list[int]:
        return [len(one.ids) for one in made.encode_batch(list(texts), add_special_tokens=False)]

    identity = f"{tokenizer}: sha256 {hashlib.sha256(content).hexdigest()}"
    return Lengths(identity, count, len(start_ids(_Plain(made))))


class _Plain:
    """A bare tokenizer, asked as transformers' are."""

    eos_token_id: Any = None

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def __call__(self, text: str, *, add_special_tokens: bool) -> Any:
        return {"input_ids": self._tokenizer.encode(text, add_special_tokens=add_special_tokens).ids}


def _estimated(texts: Sequence[str]) -> list[int]:
    return [-(-len(text.encode()) // _BYTES) for text in texts]


def _file(name: str) -> Path:
    if name == smollm2.NAME:
        return smollm2.ensure() / _FILE
    path = Path(name)
    if exists(path):
        places = (path, left_in(path, POLICY) / _FILE, path / _FILE)
        found = next((place for place in places if place.is_file()), None)
        if found is None:
            raise InputError(
                f"there is no {_FILE} in {name}",
                hint="give the directory of a model with its tokenizer",
            )
        return found
    if not is_hub_name(name):
        raise InputError(
            f"there is no tokenizer {name}",
            hint=f"a model's directory, {smollm2.NAME}, or a name of the hub; without one, an estimate",
        )
    try:
        from huggingface_hub import hf_hub_download

        return Path(hf_hub_download(name, _FILE))
    except ImportError as error:
        raise SetupError("tokenizers of the hub need huggingface_hub", hint=MODELS) from error
    except Exception as error:  # the hub's client lets through what its HTTP library raises
        said = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise NetworkError(
            f"there is no directory {name}, and the hub gave no {_FILE}: {said}",
            hint="give a directory with the tokenizer, or leave --tokenizer out for an estimate",
        ) from error
