"""The page about encoders: its figures are the measured ones, and maps show what was planted."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import numpy as np
import pytest

from burnqed.prover.embeddings import Look
from burnqed.report.embedding_plots import mapped_rows, svg_embedding_plots
from burnqed.report.embeddings import embeddings_page
from burnqed.report.maps import maps, missing
from burnqed.value.sample import Sample
from tests.report.looks import look
from tests.report.reading import HOSTILE, Parsed
from tests.value.test_geometry import planted


@pytest.fixture(autouse=True)
def no_umap(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests are the same where it is installed; to compile it takes most of a minute."""
    if "UMAP" not in request.node.name:
        monkeypatch.setitem(sys.modules, "umap", None)


@pytest.fixture(scope="module")
def two() -> Look:
    return look("iter0", "iter1")


def page_of(seen: Look) -> Parsed:
    return Parsed(embeddings_page(seen, mapped_rows(seen)))


def test_both_encoders_are_side_by_side_with_their_drift(two: Look) -> None:
    page = page_of(two)
    page.check_needs_no_network()
    page.check_places()
    figures = page.section("Figures")
    for one in two.encoders:
        assert f"{one.geometry.centroid_l2:.4g}" in figures
        assert f"{one.geometry.sibling_l2:.4g}" in figures
        assert f"{one.geometry.effective_rank:.1f}" in figures
    assert two.drift is not None
    assert f"{two.drift.cka:.4f}" in page.section("Drift")
    assert page.section("By depth").count("centroid_l2") == 2
    assert {"iter0: width", "iter1: pooling"} <= set(page.inside["th"])
    assert len(page.tags("figure")) == 2 * 5 + 1
    assert "There is no UMAP map: pip install 'umap-learn'" in page.section("Plots")


def test_one_encoder_has_no_drift() -> None:
    page = page_of(look("only"))
    page.check_places()
    assert "Drift" not in page.sections


@pytest.mark.parametrize("states", [planted(1, 1, 1), planted(1, 3, 1)], ids=["two states", "four"])
def test_few_states_are_no_trouble(states: Sample) -> None:
    page_of(look("a", "b", states=states)).check_places()


def test_names_do_nothing_on_the_page() -> None:
    page = page_of(look(HOSTILE[0], HOSTILE[1]))
    page.check_needs_no_network()
    assert not page.tags("b")
    assert "$x$" in page_of(look("$x$")).text


def test_plots_are_the_same_every_time_and_small(two: Look) -> None:
    first = svg_embedding_plots(two, mapped_rows(two))
    assert svg_embedding_plots(two, mapped_rows(two)) == first
    assert {"tsne_0_label", "tsne_1_depth", "siblings_0", "siblings_1", "spectrum"} <= set(first)
    assert all(len(svg) < 300_000 for svg in first.values())
    assert "provable" in first["tsne_0_label"]
    assert "depth 1" in first["tsne_0_depth"]


def test_no_more_states_are_drawn_than_asked_for() -> None:
    drawn = mapped_rows(look("a", mapped=17))
    assert {len(points) for points in drawn["a"].values()} == {17}


@pytest.mark.parametrize("kind", ["t-SNE", pytest.param("UMAP", marks=pytest.mark.soak)])
def test_a_map_keeps_neighbours(kind: str) -> None:
    if kind == "UMAP" and find_spec("umap") is None:
        pytest.skip("umap-learn is not installed")
    keeps_neighbours(kind)


def test_pca_needs_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert set(maps(np.eye(6, 1, dtype=np.float32), 0)) == {"PCA"}, "also in one dimension"
    keeps_neighbours("PCA")


def keeps_neighbours(kind: str) -> None:
    """Three heaps far from each other stay heaps."""
    heap = np.repeat(np.arange(3), 30)
    rows = np.random.default_rng(0).standard_normal((90, 8)).astype(np.float32)
    rows[:, 0] += 40.0 * heap
    points = maps(rows, 0)[kind]
    assert points.shape == (90, 2)
    apart = np.linalg.norm(points[:, None] - points[None], axis=2) + 1e9 * np.eye(90)
    assert (heap[apart.argmin(axis=1)] == heap).mean() > 0.97
    assert np.array_equal(points, maps(rows, 0)[kind])


def test_without_scikit_learn_the_page_says_how_to_get_maps(
    two: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert set(missing()) == {"t-SNE", "UMAP"}
    page = page_of(two)
    assert "pip install 'burn-qed[embeddings]'" in page.section("Plots")
    assert len(page.tags("figure")) == 2 * 3 + 1
