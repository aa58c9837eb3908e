"""What the server answers: to the page, to strangers, and to those who look for other files."""

from __future__ import annotations

import json
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from burnqed.core.guard import Guard
from burnqed.serve import patience
from burnqed.web.app import app_of
from burnqed.web.pages import Home, pages
from burnqed.web.server import WebServer
from tests.web import samples


@pytest.fixture
def client(root: Path) -> Iterator[TestClient]:
    app = app_of(root, Guard(local=True))
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        yield client


def get(client: TestClient, path: str) -> Any:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


def run_id(client: TestClient, name: str) -> str:
    (found,) = [run["id"] for run in get(client, "/api/runs")["runs"] if run["name"] == name]
    return str(found)


def path_of(client: TestClient, run: str, theorem: str) -> str:
    listing = get(client, f"/api/runs/{run_id(client, run)}/theorems")
    (found,) = [line["id"] for line in listing["lines"] if line["name"] == theorem]
    return f"/api/runs/{run_id(client, run)}/theorems/{found}"


# ------------------------------------------------------------------------------- what it shows


def test_a_search_has_figures_and_theorems(client: TestClient) -> None:
    run = get(client, f"/api/runs/{run_id(client, 'first')}")
    assert (run["state"], run["command"], run["problems"]) == ("done", "search", [])
    figures = run["search"]
    assert (figures["searched"], figures["proved"], figures["errors"]) == (4, 2, {"refused": 1})
    assert figures["within"][-1][1] == 2
    assert run["settings"]["policy.kind"] == "portfolio"
    lines = get(client, f"/api/runs/{run['id']}/theorems")["lines"]
    assert {line["name"]: line["outcome"] for line in lines} == {
        "And.both": "proved", "Not.provable": "exhausted", "refused_by_judge": "error",
        samples.THEOREMS[3].name: "proved",
    }  # fmt: skip


def test_an_evaluation_is_what_its_result_says(client: TestClient) -> None:
    run = run_id(client, "evals/ranker")
    budgets = get(client, f"/api/runs/{run}")["budgets"]
    assert [(b["nodes"], b["proved"], b["total"]) for b in budgets] == [
        (10, 1, 5),
        (30, 2, 5),
        (100, 2, 5),
    ]
    lines = get(client, f"/api/runs/{run}/theorems")["lines"]
    assert [line["name"] for line in lines] == ["And.both", "other", "t9", "Not.provable", "t10"]
    assert [line["group"] for line in lines] == ["level 1"] * 3 + ["level 2"] * 2
    by_name = {line["name"]: line for line in lines}
    assert by_name["And.both"]["attempts"] == 2
    assert by_name["t10"]["attempt"] is None, "nothing was kept of it"


def test_a_theorem_has_its_proof_and_its_attempts(client: TestClient) -> None:
    path = path_of(client, "evals/ranker", "And.both")
    about = get(client, path)
    assert (about["outcome"], about["attempts"], about["attempt"]) == ("proved", [1, 2], 1)
    assert "".join(text for _, text in about["proof"]).startswith("theorem t : p ∧ q")
    assert ["tactic", "constructor"] in about["proof"]
    assert get(client, f"{path}?attempt=2")["attempt"] == 2
    assert client.get(f"{path}?attempt=3").status_code == 404
    assert client.get(f"{path}?attempt=-1").status_code == 400


def test_a_benchmarks_theorem_has_its_statement(tmp_path: Path) -> None:
    from burnqed.data.benchmarks import BENCHMARKS, load

    index = load(BENCHMARKS["qed-core"])
    name = index.entries[0].theorem.name
    tried = samples.Tried(name, "p ∧ q", samples.CONJUNCTION)
    samples.write_search(tmp_path / "known", [tried])
    samples.manifest(
        tmp_path / "known", "search", theorems="qed-core", theorems_checksum=index.checksum
    )
    samples.write_search(tmp_path / "other", [tried])
    samples.manifest(tmp_path / "other", "search", theorems="qed-core", theorems_checksum="0" * 64)
    with TestClient(app_of(tmp_path, Guard(local=True)), base_url="http://localhost") as client:
        known = get(client, path_of(client, "known", name))
        assert known["stated"]
        assert "".join(text for _, text in known["statement"]).startswith("theorem")
        other = get(client, path_of(client, "other", name))
        assert not other["stated"], "another set that only has the same name says nothing"
        lines = get(client, f"/api/runs/{run_id(client, 'known')}/theorems")["lines"]
        assert lines[0]["group"]


def test_a_state_has_every_tactic_with_leans_answer(client: TestClient) -> None:
    path = path_of(client, "first", "And.both")
    tree = get(client, f"{path}/tree")
    root = tree["nodes"][0]
    assert (root["id"], root["tried"], root["worked"], root["on_proof"]) == (0, 5, 2, True)
    state = get(client, f"{path}/state?node=0")
    told = {
        "".join(t for _, t in one["tactic"]): (one["outcome"], one["answer"]) for one in state["tried"]
    }
    assert told["exact h"] == ("rejected", "tactic: unknown identifier 'h'")
    assert told["decide"][0] == "timeout"
    assert told["constructor"][0] == "advanced"
    assert ["".join(t for _, t in goal) for goal in state["goals"]] == ["⊢ p ∧ q"]
    assert client.get(f"{path}/state?node=99").status_code == 400
    for wrong in ("", "x", "-1", "1" * 30, "٣"):
        assert client.get(f"{path}/state", params={"node": wrong}).status_code == 400


def test_a_text_is_found_in_goals_tactics_and_answers(client: TestClient) -> None:
    path = path_of(client, "first", "And.both")
    assert get(client, f"{path}/find?q=CONSTRUCTOR")["nodes"] == [0]
    assert get(client, f"{path}/find?q=unknown%20identifier")["nodes"] == [0]
    assert len(get(client, f"{path}/find?q=q")["nodes"]) > 1
    assert get(client, f"{path}/find?q=nowhere")["nodes"] == []
    for wrong in ("", "x" * 201):
        assert client.get(f"{path}/find", params={"q": wrong}).status_code == 400


def test_only_the_judge_makes_a_proof(client: TestClient) -> None:
    path = path_of(client, "first", "refused_by_judge")
    about, tree = get(client, path), get(client, f"{path}/tree")
    assert (about["outcome"], about["proof"], tree["outcome"]) == ("error", [], "error")
    assert tree["nodes"][0]["closed"] is not None
    assert not any(node["on_proof"] for node in tree["nodes"])


def test_what_a_run_saves_appears(client: TestClient, root: Path) -> None:
    run = run_id(client, "begun")
    assert len(get(client, f"/api/runs/{run}/theorems")["lines"]) == 1
    samples.write_attempt(root / "begun", samples.THEOREMS[1:2])
    assert len(get(client, f"/api/runs/{run}/theorems")["lines"]) == 2
    new = samples.write_search(root / "new", samples.THEOREMS[:1])
    identity = run_id(client, "new")
    shutil.rmtree(new)
    assert client.get(f"/api/runs/{identity}").status_code == 404


# -------------------------------------------------------------------------- what goes wrong


def test_damage_is_named_and_the_rest_is_shown(client: TestClient, root: Path) -> None:
    samples.write_attempt(root / "begun", samples.THEOREMS[1:2])
    first, _ = sorted((root / "begun" / "trajectories").glob("part-*"))
    first.write_bytes(first.read_bytes()[:-10])
    run = run_id(client, "begun")
    listing = get(client, f"/api/runs/{run}/theorems")
    assert [line["name"] for line in listing["lines"]] == ["Not.provable"]
    assert any("is damaged" in problem for problem in listing["problems"])
    assert any("is damaged" in problem for problem in get(client, f"/api/runs/{run}")["problems"])
    result = root / "evals" / "ranker" / "result.json"
    result.write_text("{}")
    listing = get(client, f"/api/runs/{run_id(client, 'evals/ranker')}/theorems")
    assert {line["name"] for line in listing["lines"]} == {"And.both", "Not.provable"}
    assert any("is not the result" in problem for problem in listing["problems"])


def test_a_strange_manifest_is_shown(client: TestClient, root: Path) -> None:
    strange = {
        "theorems": ["x"],
        "nodes": {"a": None},
        "seed": True,
        "empty": {},
        "n": 1,
        "\ud800": "\ud800",
    }
    (root / "begun" / "manifest.json").write_text(json.dumps({"command": "search", **strange}))
    run = get(client, f"/api/runs/{run_id(client, 'begun')}")
    assert run["settings"]["seed"] == "yes"
    assert run["settings"]["n"] == "1"
    assert run["settings"]["nodes.a"] == "–"


def test_an_iteration_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    samples.manifest(tmp_path / "loop", "run")
    with TestClient(app_of(tmp_path, Guard(local=True)), base_url="http://localhost") as client:
        run = get(client, f"/api/runs/{run_id(client, 'loop')}")
        assert run["iterations"] is None
        assert any("holds no expert iteration" in problem for problem in run["problems"])


# ------------------------------------------------------------------------- who may ask for what


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    with WebServer(samples.write_all(tmp_path_factory.mktemp("runs"))) as server:
        yield server


def raw(server: WebServer, path: str, head: str = "Host: localhost\r\n") -> tuple[int, str]:
    """A request exactly as it is written: clients tidy paths up before they send them."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\n{head}Connection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
    return int(answer.split()[1]), answer.partition("\r\n\r\n")[2]


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc%2fpasswd", "/app.py",
        "//etc/passwd", "/tree/../../app.py", "/static/app.js", "/api/runs/..%2f..", "/api/runs/..",
        "/api/runs/../x", "/api/runs/0123456789abcdef", "/api/runs/%00", "/api/runs/first",
        "/manifest.json", "/api/runs/RUN/..", "/api/runs/RUN/theorems/..", "/api/runs/RUN/",
        "/api/runs/RUN/theorems/../../../etc/passwd", "/api/runs/RUN/theorems/And.both/tree",
        "/api/runs/RUN/theorems/%2e%2e%2f/tree", "/api/runs/RUN/theorems/" + "x" * 5000,
    ],
)  # fmt: skip
def test_no_url_names_a_file(server: WebServer, path: str) -> None:
    _, runs = raw(server, "/api/runs")
    (run,) = [run["id"] for run in json.loads(runs)["runs"] if run["name"] == "first"]
    status, body = raw(server, path.replace("RUN", run))
    assert status == 404
    assert "root:" not in body
    assert "import" not in body


def test_what_is_no_request_gets_no_answer_of_ours(server: WebServer) -> None:
    assert raw(server, "/api/runs", head="")[0] in (400, 403), "a request names its host"
    assert raw(server, "/api/runs", head="Host: a\r\nHost: localhost\r\n")[0] in (400, 403)
    assert raw(server, "/" + "x" * 100_000)[0] in (400, 404, 414)
    assert raw(server, "/api/runs")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_changed(client: TestClient, method: str) -> None:
    for path in ("/", "/api/runs", f"/api/runs/{run_id(client, 'first')}"):
        assert client.request(method, path).status_code == 405


def test_the_guard_stands_before_everything(client: TestClient) -> None:
    for path in ("/", "/app.js", "/api/runs", "/nothing"):
        for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
            answer = client.get(path, headers=headers)
            assert answer.status_code == 403
            assert answer.json()["error"]
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    elsewhere = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert client.get("/", headers=elsewhere).status_code == 200, "a link on another site leads here"
    assert client.get("/api/runs", headers=elsewhere).status_code == 403


def test_nothing_is_loaded_from_elsewhere_or_run_in_the_page(client: TestClient) -> None:
    for path in ("/", "/app.js", "/style.css", "/api/runs", "/nothing"):
        headers = client.get(path).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize("home", ["runs", "playground"])
def test_the_files_of_a_page_name_no_other_server_and_read_no_markup(home: Home) -> None:
    files = pages(home)
    assert [path for path, (_, kind) in files.items() if kind.startswith("text/html")] == ["/"]
    for content, _ in files.values():
        text = content.decode().replace("http://www.w3.org/2000/svg", "")
        assert not re.search("https?:|innerHTML|outerHTML|insertAdjacent|style=|eval\\(", text)
    names = set(re.findall(r'(?:src|href)="(/[^"]+)"', files["/"][0].decode())) - {"/docs"}
    assert names <= files.keys()


def test_the_server_serves_until_it_is_closed(root: Path) -> None:
    with WebServer(root) as server:
        assert server.runs == 3
        assert raw(server, "/api/runs")[0] == 200
    with pytest.raises(OSError, match="refused"):
        raw(server, "/api/runs")


@pytest.mark.parametrize("sent", [b"", b"GET /api/runs HTTP/1.1\r\nHost: local"])
def test_a_slow_client_is_cut_off(root: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(patience, "PATIENCE", 0.2)
    with WebServer(root) as server:
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(sent)
            with suppress(ConnectionResetError):
                assert connection.recv(1000) == b""
