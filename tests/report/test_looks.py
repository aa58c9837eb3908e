"""What a report leaves for programs is read back as it was, or named as damaged."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from burnqed.core.errors import CorruptError
from burnqed.prover.embeddings import FIGURES
from burnqed.report.embedding_plots import mapped
from burnqed.report.looks import MAPS, MapsFile, read_figures, read_maps, save_maps
from burnqed.report.maps import Maps
from tests.report.looks import look, write_figures

SEEN = look("iter0", "iter1", mapped=25)


def drawn() -> Maps:
    places = np.arange(50.0).reshape(25, 2)
    return {"iter0": {"PCA": places}, "iter1": {"PCA": places + 1}}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    write_figures(SEEN, tmp_path)
    save_maps(SEEN, drawn(), tmp_path)
    return tmp_path


def maps_of(folder: Path) -> MapsFile:
    found = read_maps(folder)
    assert found is not None
    return found


def test_what_is_read_is_what_was_written(out: Path) -> None:
    figures = read_figures(out)
    assert figures.labels == ("iter0", "iter1")
    assert figures.geometries == tuple(one.geometry for one in SEEN.encoders)
    assert figures.drift == SEEN.drift
    found = maps_of(out)
    assert [(one.encoder, one.kind) for one in found.maps] == [("iter0", "PCA"), ("iter1", "PCA")]
    assert list(found.maps[1].points[3]) == [7, 8]
    chosen = mapped(SEEN).tolist()
    sample = SEEN.sample
    assert [one.text for one in found.states] == [sample.texts[number] for number in chosen]
    assert [one.depth for one in found.states] == [sample.depths[number] for number in chosen]
    for one, other in found.pairs:
        assert (chosen[one], chosen[other]) in sample.pairs
        assert found.states[one].on_path
        assert not found.states[other].on_path
    assert len(found.pairs) == sum(a in chosen and b in chosen for a, b in sample.pairs) > 0


def test_each_state_says_how_far_it_moved(out: Path, tmp_path: Path) -> None:
    one, other = (encoded.rows[mapped(SEEN)].astype(float) for encoded in SEEN.encoders)
    states = maps_of(out).states
    assert [state.cosine for state in states] == pytest.approx(
        (one * other).sum(axis=1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
    )
    assert all(state.neighbours is not None and 0 <= state.neighbours <= 1 for state in states)
    only = look("only", mapped=25)
    write_figures(only, tmp_path / "alone")
    save_maps(only, {"only": drawn()["iter0"]}, tmp_path / "alone")
    alone = maps_of(tmp_path / "alone").states
    assert {(state.cosine, state.neighbours) for state in alone} == {(None, None)}


@pytest.mark.parametrize(
    ("file", "change"),
    [
        (MAPS, lambda text: text[:-20]),
        (MAPS, lambda text: text.replace('"pairs":[[', '"pairs":[[0,99],[')),
        (MAPS, lambda text: text.replace('"points":[[0.0,1.0],', '"points":[')),
        (MAPS, lambda text: text.replace('"depth":1', '"depth":"<b>"', 1)),
        (FIGURES, lambda text: text[:-20]),
        (FIGURES, lambda text: text.replace('"centroid_l2"', '"other"')),
        (FIGURES, lambda text: json.dumps({**json.loads(text), "drift": {"cka": []}})),
    ],
    ids=["cut", "no state", "no place", "no number", "cut figures", "no figure", "drift"],
)
def test_damage_is_named(out: Path, file: str, change: object) -> None:
    text = (out / file).read_text()
    damaged = change(text)  # type: ignore[operator]
    assert damaged != text
    (out / file).write_text(damaged)
    with pytest.raises(CorruptError, match=file) as why:
        read_maps(out) if file == MAPS else read_figures(out)
    assert "embeddings report" in why.value.hint


def test_figures_alone_have_no_maps(out: Path) -> None:
    (out / MAPS).unlink()
    assert read_maps(out) is None


def test_maps_are_not_shown_with_the_figures_of_another_report(out: Path) -> None:
    write_figures(look("another"), out)
    with pytest.raises(CorruptError, match="are of two reports"):
        read_maps(out)
