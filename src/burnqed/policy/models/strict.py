"""transformers' own loaders, made strict: where they would go on with a warning, we refuse."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnqed.core.errors import InputError, SetupError
from burnqed.core.storage import open_to_all_as_usual
from burnqed.policy.models.cpu import settle

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

MODELS = "pip install 'burn-qed[models]'"
TRAIN = "pip install 'burn-qed[train]'"

_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model")


def need_libraries(*more: str) -> None:
    """Refuse to go on without the packages that models, or with `more` their training, are made with.

    What this CPU can do is settled first: it has to be before torch is loaded.
    """
    settle()
    try:
        for name in ("torch", "transformers", *more):
            import_module(name)
    except ImportError as error:
        what, hint = ("training needs", TRAIN) if more else ("models need", MODELS)
        raise SetupError(f"{what} a package: {error}", hint=hint) from error


@contextmanager
def quiet() -> Iterator[None]:
    """Without transformers' bars and warnings: what matters of them is checked and raised."""
    from transformers.utils import logging

    bars, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def save_pretrained(directory: Path, model: Any, tokenizer: Any, **how: Any) -> None:
    """Write a model or an adapter, and its tokenizer, as files that others may read as any other."""
    with quiet():
        model.save_pretrained(directory, **how)
        tokenizer.save_pretrained(directory)
    open_to_all_as_usual(directory)  # safetensors keeps weights to their owner


def read_weights(source: Path, directory: Path, dtype: torch.dtype, **how: Any) -> PreTrainedModel:
    """The causal language model in a directory, with exactly the weights that it should have."""
    from transformers import AutoModelForCausalLM

    loader: Any = AutoModelForCausalLM
    try:
        with quiet():
            model, info = loader.from_pretrained(
                str(directory), dtype=dtype, local_files_only=True, output_loading_info=True,
                ignore_mismatched_sizes=True, **how,
            )  # fmt: skip
    except Exception as error:  # a wrong value in a configuration ends in an exception of any kind
        raise InputError(f"cannot load the model in {source}: {told(error)}") from error
    misshapen = [str(key[0]) for key in info["mismatched_keys"]]
    check_keys(source, info["missing_keys"], info["unexpected_keys"], misshapen)
    found: PreTrainedModel = model
    return found


def told(error: Exception) -> str:
    """The first line of what another library says, or at least the kind of its exception."""
    said = str(error).strip()
    return f"{type(error).__name__}: {said.splitlines()[0][:300]}" if said else type(error).__name__


def check_keys(
    source: Path,
    missing: Collection[str],
    unexpected: Collection[str],
    misshapen: Collection[str] = (),
) -> None:
    """Refuse weights that are not exactly the model's: a missing one would be a random one."""
    problems = []
    missing = set(missing) - set(misshapen)
    for word, names in (
        ("missing", missing),
        ("unexpected", unexpected),
        ("of another shape", misshapen),
    ):
        if names:
            some = ", ".join(sorted(names)[:3])
            problems.append(f"{len(names)} {word} ({some}{', …' if len(names) > 3 else ''})")
    if problems:
        raise InputError(
            f"the weights in {source} are not those of its configuration: {' and '.join(problems)}",
            hint="the configuration and the weights must come from the same model",
        )


def has_tokenizer(directory: Path) -> bool:
    return any((directory / name).is_file() for name in _TOKENIZERS)


def read_tokenizer(directory: Path) -> PreTrainedTokenizerFast:
    """The tokenizer in a directory."""
    from transformers import AutoTokenizer

    if not has_tokenizer(directory):  # transformers would make an empty one
        raise InputError(
            f"there is no tokenizer in {directory}",
            hint="copy tokenizer.json and tokenizer_config.json there",
        )
    loader: Any = AutoTokenizer
    try:
        with quiet():
            tokenizer: PreTrainedTokenizerFast = loader.from_pretrained(
                str(directory), local_files_only=True
            )
    except Exception as error:  # what is wrong in tokenizer.json comes as a bare Exception
        raise InputError(f"cannot read the tokenizer in {directory}: {error}") from error
    return tokenizer
