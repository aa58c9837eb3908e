"""Embeddings on a plane: PCA, and by what is installed t-SNE of scikit-learn, UMAP of umap-learn.

The last two are loaded on use. They show which states are neighbours: their distances and empty places
mean nothing. PCA shows two directions of many. No figure is taken from a map.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]  # [states, 2]
Maps = dict[str, dict[str, Points]]  # by the encoder's label and the map's name

PCA = "PCA"
_FEWEST = 5  # states that a map can be made of
_DIRECTIONS = 50  # that are kept before: the others are mostly noise, and cost time


def maps(rows: NDArray[np.float32], seed: int) -> dict[str, Points]:
    """Each map that can be made here, by its name. The same seed gives the same map."""
    if len(rows) < _FEWEST:
        return {}
    reduced = _reduced(rows.astype(np.float64))
    with warnings.catch_warnings():
        # They warn about threads, about TensorFlow and about memory, which changes nothing here.
        warnings.simplefilter("ignore")
        drawn = {name: make(reduced, seed) for name, (package, make) in _KINDS.items() if _has(package)}
    return {**drawn, PCA: _two(reduced)}


def missing() -> dict[str, str]:
    """The maps that cannot be made here, with the package that each needs."""
    return {name: _PACKAGES[package] for name, (package, _) in _KINDS.items() if not _has(package)}


def _has(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ValueError:  # somebody put it out of reach
        return False


def _reduced(rows: Points) -> Points:
    """Along the directions that vary most, in units of the first: scales differ between encoders."""
    centred = rows - rows.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    points = left[:, :_DIRECTIONS] * sizes[:_DIRECTIONS]
    scale = points[:, 0].std()
    return np.asarray(points / scale if scale > 0 else points)


def _two(rows: Points) -> Points:
    """The first two directions; of embeddings with a single one, a line."""
    return np.pad(rows[:, :2], ((0, 0), (0, max(0, 2 - rows.shape[1]))))


def _tsne(rows: Points, seed: int) -> Points:
    from sklearn.manifold import TSNE

    perplexity = min(30.0, (len(rows) - 1) / 3)
    return np.asarray(TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(rows))


def _umap(rows: Points, seed: int) -> Points:
    from umap import UMAP

    return np.asarray(UMAP(n_neighbors=min(15, len(rows) - 1), random_state=seed).fit_transform(rows))


_KINDS: dict[str, tuple[str, Callable[[Points, int], Points]]] = {
    "t-SNE": ("sklearn", _tsne),
    "UMAP": ("umap", _umap),
}
_PACKAGES = {"sklearn": "burn-qed[embeddings]", "umap": "umap-learn"}
