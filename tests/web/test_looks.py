"""Reports on embeddings, as the server tells of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from burnqed.core.guard import Guard
from burnqed.web.app import app_of
from tests.web import samples
from tests.web.looks import GOAL, STATES, write_look
from tests.web.samples import HOSTILE
from tests.web.test_app import get


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_look(tmp_path / "looks" / "both", "iter0", "iter1")
    samples.write_search(tmp_path / "run", ())
    return tmp_path


@pytest.fixture
def client(folder: Path) -> Iterator[TestClient]:
    app = app_of(folder, Guard(local=True))
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        yield client


def listed(client: TestClient) -> dict[str, Any]:
    (found,) = get(client, "/api/runs")["looks"]
    return dict(found)


def test_a_report_is_listed_beside_runs(client: TestClient) -> None:
    look = listed(client)
    assert (look["name"], look["encoders"], look["states"]) == ("looks/both", ["iter0", "iter1"], 36)
    assert [run["name"] for run in get(client, "/api/runs")["runs"]] == ["run"]


def test_it_has_figures_drift_and_maps_of_the_same_states(client: TestClient, folder: Path) -> None:
    look = get(client, f"/api/looks/{listed(client)['id']}")
    written = json.loads((folder / "looks" / "both" / "embeddings.json").read_text())
    figures = {row[0]: row[1:] for row in look["figures"]}
    assert figures["centroid_l2"][:2] == [f"{e['centroid_l2']:.4g}" for e in written["encoders"]]
    assert figures["by the depth"][2] == "the same of the depth"
    assert {row[0]: row[1] for row in look["drift"]}["CKA"] == f"{written['drift']['cka']:.4f}"
    kinds = [(one["encoder"], one["kind"]) for one in look["maps"]]
    assert kinds == [("iter0", "t-SNE"), ("iter0", "PCA"), ("iter1", "t-SNE"), ("iter1", "PCA")]
    assert {len(one["points"]) for one in look["maps"]} == {len(look["states"])} == {STATES}
    first = look["states"][0]
    assert first["line"] == "first goal"
    assert first["theorem"] == f"t0 {HOSTILE}"
    assert all(look["states"][one]["on_path"] for one, _ in look["pairs"])


def test_a_state_has_its_goals(client: TestClient) -> None:
    path = f"/api/looks/{listed(client)['id']}/state"
    goals = get(client, f"{path}?number=0")["goals"]
    assert "\n\n".join("".join(text for _, text in goal) for goal in goals) == GOAL
    assert ["word", "∀"] in goals[1]
    told = client.get(f"{path}?number={STATES}")
    assert (told.status_code, told.json()["error"]) == (400, "the maps have 36 states, and no state 36")
    assert client.get(f"{path}?number=-1").status_code == 400
    assert client.get(path).status_code == 400


def test_no_other_file_is_named(client: TestClient) -> None:
    assert client.get("/api/looks/0123456789abcdef").status_code == 404
    assert client.get("/api/looks/..%2f..%2fetc").status_code == 404
    run = get(client, "/api/runs")["runs"][0]["id"]
    assert client.get(f"/api/looks/{run}").status_code == 404


def test_a_new_report_is_seen_and_a_lost_one_is_said(client: TestClient, folder: Path) -> None:
    listed(client)
    write_look(folder / "second", "other")
    looks = get(client, "/api/runs")["looks"]
    assert [look["name"] for look in looks] == ["looks/both", "second"]
    alone = get(client, f"/api/looks/{looks[1]['id']}")
    assert alone["drift"] == []
    assert alone["states"][0]["neighbours"] is None
    (folder / "second" / "embeddings.json").unlink()
    told = client.get(f"/api/looks/{looks[1]['id']}")
    assert told.status_code == 500
    assert "cannot read" in told.json()["error"]
    assert "burn-qed embeddings report" in told.json()["hint"]


def test_figures_are_shown_without_maps(client: TestClient, folder: Path) -> None:
    """Expert iteration draws none; and maps may be damaged, or of an earlier report."""
    path = f"/api/looks/{listed(client)['id']}"
    maps = folder / "looks" / "both" / "maps.json"
    maps.write_text(maps.read_text()[:-9])
    look = get(client, path)
    assert "maps.json" in look["problem"]
    assert (look["maps"], len(look["figures"])) == ([], 15)
    maps.unlink()
    look = get(client, path)
    assert (look["problem"], look["drawn"], look["maps"]) == ("", False, [])
    assert client.get(f"{path}/state?number=0").status_code == 400


def test_a_run_has_the_reports_inside_of_it(client: TestClient, folder: Path) -> None:
    write_look(folder / "run" / "embeddings", "iter0")
    answer = get(client, "/api/runs")
    (run,) = answer["runs"]
    assert {look["name"]: look["parent"] for look in answer["looks"]} == {
        "looks/both": None, "run/embeddings": run["id"],
    }  # fmt: skip
    (own,) = get(client, f"/api/runs/{run['id']}")["looks"]
    assert own["name"] == "run/embeddings"


def test_what_cannot_be_read_is_named_and_hides_nothing(client: TestClient, folder: Path) -> None:
    (folder / "looks" / "both" / "embeddings.json").write_text('{"encoders": 3}')
    answer = get(client, "/api/runs")
    assert (answer["looks"], len(answer["runs"])) == ([], 1)
    assert "embeddings.json does not fit" in answer["problems"][0]
