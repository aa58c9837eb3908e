"""What a model is shown and what it is to answer: one place for training and for search.

The prompt and the tactic are tokenised apart and joined as tokens. So what is generated from is, token
for token, what was trained on, whatever a tokenizer would make of the two at their seam; and the first
token that counts in training is the first one that is sampled.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from burnqed.core.errors import InputError
from burnqed.core.files import publish

DIALECTS = ("core", "mathlib")
SETTINGS = "burn_qed.json"  # beside a model's weights: how it was trained to be asked


@dataclass(frozen=True, slots=True)
class Format:
    """The text around a state. `stops` end a tactic where a model does not say that it ends."""

    name: str
    before: str
    after: str
    stops: tuple[str, ...]


FORMATS = {
    format.name: format
    for format in (
        # The state is a comment inside a fence, the tactic follows the fence.
        Format(
            "deepseek",
            "Complete the following Lean 4 code:\n\n```lean4\n/- tactic state:\n",
            "\n-/\n```\n",
            ("```", "\n/-"),
        ),
        Format("proofstep", "[GOAL]", "[PROOFSTEP]", ("[GOAL]", "[PROOFSTEP]")),
        Format("colons", "", ":::", (":::",)),
    )
}


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """How a model is asked; kept with it, so that nobody has to remember.

    `dialect`, if it is not empty, is a tag in front of the state: whether tactics that only Mathlib has
    may be said. A model that was trained on both is shown either. `lemmas` is how many names of lemmas
    are put in front of a state, of those that a retrieval finds for it.
    """

    format: str = "deepseek"
    prompt_tokens: int = 1920
    tactic_tokens: int = 128
    dialect: str = ""
    lemmas: int = 0

    def __post_init__(self) -> None:
        if self.dialect not in ("", *DIALECTS):
            raise InputError(f"no dialect {self.dialect}", hint=f"one of {', '.join(DIALECTS)}")
        if self.format not in FORMATS:
            raise InputError(f"no prompt format {self.format}", hint=f"one of {', '.join(FORMATS)}")
        if self.lemmas < 0:
            raise InputError(f"no prompt has {self.lemmas} lemmas", hint="0 or more")
        if self.prompt_tokens < 1 or self.tactic_tokens < 2:
            raise InputError("a prompt has at least one token, a tactic and its end at least two")

    @property
    def shape(self) -> Format:
        """The text around a state, with the tag if there is one."""
        format = FORMATS[self.format]
        if not self.dialect:
            return format
        return replace(format, before=f"{format.before}tactics: {self.dialect}\n")

    @property
    def max_length(self) -> int:
        return self.prompt_tokens + self.tactic_tokens


def read_settings(directory: Path) -> PromptSettings | None:
    """How the model in a directory wants to be asked; None where nothing was written down."""
    path = directory / SETTINGS
    try:
        content = json.loads(path.read_text(encoding="utf-8"))["prompt"]
        return PromptSettings(
            content["format"],
            int(content["prompt_tokens"]),
            int(content["tactic_tokens"]),
            content.get("dialect", ""),
            int(content.get("lemmas", 0)),
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise InputError(
            f"cannot read {path}: {error!r}", hint="export the model again, or remove the file"
        ) from error
    except InputError as error:
        raise InputError(f"{path}: {error.message}", hint=error.hint) from error


def write_settings(directory: Path, settings: PromptSettings) -> None:
    """Keep beside a model how it is asked."""
    told = {key: value for key, value in asdict(settings).items() if value not in ("", 0)}
    publish(directory / SETTINGS, json.dumps({"prompt": told}, indent=2) + "\n")


# ------------------------------------------------------------------------------------ text


def prompt_text(format: Format, state: str) -> str:
    """The prompt for a state."""
    return f"{format.before}{state}{format.after}"


def with_lemmas(state: str, names: Sequence[str]) -> str:
    """The state with lemmas in front of it: of a prompt that is too long they go before hypotheses."""
    return f"lemmas: {' '.join(names)}\n{state}" if names else state


def first_goal(state: str) -> str:
    """The text of a state's first goal, which is the one that a tactic works on."""
    return state.split("\n\n", 1)[0]


def tactic_of(format: Format, completion: str) -> str:
    """The tactic in what a model said: up to a stop, and without the space around it."""
    for stop in format.stops:
        completion = completion.split(stop, 1)[0]
    return completion.strip()


# ---------------------------------------------------------------------------------- tokens


class Tokenizer(Protocol):
    """What is used of a Hugging Face tokenizer."""

    eos_token_id: Any

    def __call__(self, text: str, *, add_special_tokens: bool) -> Any: ...


class FastTokenizer(Tokenizer, Protocol):
    """One that takes many texts at once."""

    def __call__(self, text: str | list[str], *, add_special_tokens: bool) -> Any: ...


@dataclass(frozen=True, slots=True)
class Example:
    """A state and its tactic as tokens; the loss is on the tokens from `prompt_length` on."""

    ids: tuple[int, ...]
    prompt_length: int


def prompt_ids(tokenizer: Tokenizer, settings: PromptSettings, state: str) -> list[int]:
    """The prompt as tokens, `prompt_tokens` at most, with what the tokenizer puts in front of a text.

    Of a state that is too long the last goals go first, then the first hypotheses of what is left,
    and of a target that is too long its end: a tactic works on the first goal's target.
    """
    format = settings.shape
    start = start_ids(tokenizer)

    def encode(part: str) -> list[int]:
        return [*start, *_ids(tokenizer, prompt_text(format, part))]

    ids = encode(state)
    if len(ids) <= settings.prompt_tokens:
        return ids
    ids = encode(shortened(state, lambda part: len(encode(part)) <= settings.prompt_tokens))
    if len(ids) > settings.prompt_tokens:
        raise InputError(
            f"a prompt may have {settings.prompt_tokens} tokens; without any state it has {len(ids)}",
            hint=f"raise prompt_tokens, or use another format than {format.name}",
        )
    return ids


def completion_ids(tokenizer: Tokenizer, tactic: str) -> list[int]:
    """The tactic as tokens, with the token that ends it."""
    return [*_ids(tokenizer, tactic), _end(tokenizer)]


def _end(tokenizer: Tokenizer) -> int:
    if tokenizer.eos_token_id is None:
        raise InputError(
            "the tokenizer has no end-of-sequence token, so no tactic could end",
            hint="set eos_token in tokenizer_config.json",
        )
    return int(tokenizer.eos_token_id)


def examples(
    tokenizer: FastTokenizer, settings: PromptSettings, pairs: Sequence[tuple[str, str]]
) -> Iterator[Example | None]:
    """A training example of each state and tactic; None when the tactic is longer than one may be.

    Many at once, because a fast tokenizer uses all cores then.
    """
    format, start = settings.shape, start_ids(tokenizer)
    prompts = _many(tokenizer, [prompt_text(format, state) for state, _ in pairs])
    completions = _many(tokenizer, [tactic for _, tactic in pairs])
    end = _end(tokenizer)
    for (state, _), prompt, completion in zip(pairs, prompts, completions, strict=True):
        if len(completion) >= settings.tactic_tokens:
            yield None
            continue
        ids = [*start, *prompt]
        if len(ids) > settings.prompt_tokens:
            ids = prompt_ids(tokenizer, settings, state)
        yield Example((*ids, *completion, end), len(ids))


def _ids(tokenizer: Tokenizer, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def _many(tokenizer: FastTokenizer, texts: list[str]) -> list[list[int]]:
    found: list[list[int]] = tokenizer(texts, add_special_tokens=False)["input_ids"] if texts else []
    return found


def start_ids(tokenizer: Tokenizer) -> list[int]:
    """What the tokenizer puts in front of a text by itself, as servers let it: a start token, if any.

    What it puts behind a text is left out, also where start and end are the same token.
    """
    bare = _ids(tokenizer, "a")
    whole = list(tokenizer("a", add_special_tokens=True)["input_ids"])
    starts = range(len(whole) - len(bare) + 1)
    return whole[: next((at for at in starts if whole[at : at + len(bare)] == bare), 0)]


def shortened(state: str, fits: Callable[[str], bool]) -> str:
    goals = state.split("\n\n")
    whole_goals = _most(len(goals), lambda count: fits("\n\n".join(goals[:count])))
    if whole_goals:
        return "\n\n".join(goals[:whole_goals])
    lines = goals[0].split("\n")
    marks = [index for index, line in enumerate(lines) if line.startswith(("⊢ ", "| "))]
    first = marks[-1] if marks else len(lines) - 1  # of the target, which may have several lines
    lines[first:] = ["\n".join(lines[first:])]
    kept = _most(len(lines), lambda count: fits("\n".join(lines[-count:])))
    if kept:
        return "\n".join(lines[-kept:])
    target = lines[-1]
    return target[: _most(len(target), lambda count: fits(target[:count]))]


def _most(limit: int, fits: Callable[[int], bool]) -> int:
    """The largest count up to `limit` that fits, 0 if none; more never fits where less does not."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
