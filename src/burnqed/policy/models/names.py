"""What a model's name means: a name of ours, a directory, a GGUF file, or a repository of the hub.

A path that exists is never looked up anywhere else, nor is what a bundle brought along, and a hub is
asked only for what looks like one of its names.
"""

from __future__ import annotations

import os.path
import re
from pathlib import Path

from burnqed.core.cache import brought
from burnqed.core.errors import InputError, NetworkError, SetupError
from burnqed.policy.models import smollm2
from burnqed.policy.models.checks import read_json
from burnqed.policy.models.strict import MODELS

ADAPTER = "adapter_config.json"
BEST = "best"  # in a training's directory, the model that it left
POLICY, VALUE = "policy", "value"  # in that of a joint training: both models that it left

_HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")
_WANTED = ("*.json", "*.safetensors", "*.jinja", "tokenizer.model", "merges.txt", "vocab.txt")


def find(name: str | Path, endpoint: str | None = None) -> Path:
    """The directory or GGUF file that a name means; `endpoint` is another hub than the usual one."""
    if str(name) == smollm2.NAME:
        return smollm2.ensure()
    path = Path(name)
    if exists(path):
        return left_in(path, POLICY)
    carried = brought("models", str(name))
    if carried is not None:
        return carried
    if isinstance(name, str) and is_hub_name(name):
        return _from_hub(name, endpoint)
    raise InputError(
        f"there is no model {name}",
        hint=f"give {smollm2.NAME}, a directory, a .gguf file, or a name of the hub such as "
        "deepseek-ai/DeepSeek-Prover-V2-7B",
    )


def left_in(directory: Path, which: str) -> Path:
    """What a training left in its directory: its best, of which a joint training has two."""
    best = directory / BEST if (directory / BEST).is_dir() else directory
    both = (best / POLICY).is_dir() and (best / VALUE).is_dir()
    return best / which if both else best


def is_hub_name(name: str) -> bool:
    """Whether a hub could know it: `owner/name`."""
    return _HUB_NAME.fullmatch(name) is not None


def exists(path: str | Path) -> bool:
    """Whether there is such a path; what no path could be is not there either."""
    return os.path.exists(path)  # noqa: PTH110  (pathlib's raises where a name is too long)


def find_base(adapter: Path) -> tuple[str, Path]:
    """The model that an adapter was trained on: a name that means it anywhere, and where it is."""
    file = adapter / ADAPTER
    fix = f"put the path of that model into {file} as base_model_name_or_path"
    recorded = read_json(file).get("base_model_name_or_path")
    if not isinstance(recorded, str) or not recorded:
        raise InputError(f"{file} does not say what it was trained on", hint=fix)
    if recorded != smollm2.NAME:
        for path in (adapter / recorded, adapter.parent / recorded):  # an absolute path stays itself
            if exists(path):
                found = find(path)
                return str(found.resolve()), found
    try:
        found = find(recorded)
    except InputError as error:
        raise InputError(
            f"the adapter {adapter} was trained on {recorded}, which is not there", hint=fix
        ) from error
    except NetworkError as error:
        raise NetworkError(
            f"the adapter {adapter} was trained on {recorded}: {error.message}", hint=fix
        ) from error
    named = recorded == smollm2.NAME or not exists(recorded)
    return recorded if named else str(found.resolve()), found


def _from_hub(name: str, endpoint: str | None) -> Path:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import GatedRepoError, HFValidationError, RepositoryNotFoundError
    except ImportError as error:
        raise SetupError("models of the hub need huggingface_hub", hint=MODELS) from error
    try:
        return Path(snapshot_download(name, allow_patterns=list(_WANTED), endpoint=endpoint))
    except GatedRepoError as error:
        raise InputError(
            f"the hub does not give {name} to everybody",
            hint="ask for access there, then hf auth login",
        ) from error
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise InputError(f"there is no directory {name}, and no such model on the hub") from error
    except Exception as error:  # the hub's client lets through what its HTTP library raises
        raise NetworkError(
            f"there is no directory {name}, and the hub did not answer: {_short(error)}",
            hint=f"give a directory with the model in it, or {smollm2.NAME}, which needs no hub",
        ) from error


def _short(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
