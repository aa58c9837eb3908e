"""The words of a library, kept in the cache.

Reading them takes milliseconds, counting them over a second. A file that is damaged is made again. Its
name is a digest of the library and of the code that counts, so that an edit makes a new one.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from burnqed.core.cache import cache_root
from burnqed.core.errors import InfrastructureError
from burnqed.core.files import publish
from burnqed.policy.ranked import retrieval, words
from burnqed.policy.ranked.library import Library
from burnqed.policy.ranked.retrieval import Bags, Shared

_COUNTED_BY = (words.__file__, retrieval.__file__)
_WORDS = "words"


def shared_words(library: Library) -> Shared:
    """Of this library: from the cache, or counted now and kept there if that can be."""
    path = _kept(library)
    try:
        return _parsed(path.read_bytes(), len(library.names))
    except (OSError, ValueError):
        shared = Shared.of(library)
    with suppress(InfrastructureError):  # without it, each start takes longer, and that is all
        publish(path, _written(shared))
    return shared


def _kept(library: Library) -> Path:
    digest = hashlib.sha256(library.identity.encode())
    for file in _COUNTED_BY:
        digest.update(Path(file).read_bytes())
    return cache_root() / "library" / f"words-{digest.hexdigest()[:16]}.safetensors"


def _written(shared: Shared) -> bytes:
    from safetensors.numpy import save

    tables: dict[str, np.typing.NDArray[Any]] = {
        _WORDS: np.frombuffer("\n".join(shared.words).encode(), np.uint8),
        "rare": shared.rare,
        "starts": shared.starts,
        "places": shared.places,
        "postings": shared.postings,
        "rows": shared.lemmas.rows,
        "weights": shared.lemmas.weights,
        "bags": shared.lemmas.starts,
    }
    return save(tables)


def _parsed(content: bytes, lemmas: int) -> Shared:
    """Raises `ValueError` for what is not such a file, or of another library."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        tables = load(content)
        every = tuple(tables[_WORDS].tobytes().decode().split("\n"))
        bags = Bags(tables["rows"], tables["weights"], tables["bags"])
        shared = Shared(
            every, tables["rare"], tables["starts"], tables["places"], tables["postings"], bags
        )
    except (SafetensorError, KeyError) as error:
        raise ValueError(str(error)) from error
    fits = (
        len(every) == len(shared.rare) == len(shared.starts) - 1
        and len(shared.places) == len(shared.postings) == shared.starts[-1]
        and shared.size == lemmas
    )
    if not fits:
        raise ValueError("its tables do not belong together")
    return shared
