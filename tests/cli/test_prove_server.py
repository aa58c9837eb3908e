"""`burn-qed prove --server`: told as without it, and what a server cannot do is refused at once."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from burnqed.cli.following import FollowView
from burnqed.core.listening import listen, url_of
from burnqed.search.shown import Edge, Node
from burnqed.serve.answers import Health
from burnqed.serve.events import Answered, Begun, Expanded, Searching
from tests.cli.in_process import Done, burn_qed
from tests.cli.test_prove import DRAFT, OPEN
from tests.cli.test_serve_prove import serving as served
from tests.serve.servers import FOUND, Scripted, serving, until

BURN_QED = str(Path(sys.executable).with_name("burn-qed"))
QUICK = ("--policy", "portfolio", "--candidates", "4")
TIMES = ("seconds", "lean_seconds", "judge_seconds", "times")  # a server does not tell the last


def untimed(text: str) -> Any:
    """JSON without what differs from one time to another."""
    return json.loads(
        text, object_hook=lambda found: {k: v for k, v in found.items() if k not in TIMES}
    )


TWO = """\
theorem a (p q : Prop) (h : p ∧ q) : q ∧ p := by constructor <;> sorry

theorem b : 2 + 2 = 5 := by sorry
"""


@pytest.mark.lean
def test_the_same_is_suggested_with_a_server_and_without(tmp_path: Path) -> None:
    file, header = tmp_path / "two.lean", tmp_path / "header.lean"
    file.write_text(TWO)
    header.write_bytes(f"import Init\r\n\r\n/-! 𝔸 -/ {TWO}".encode())
    with served(*QUICK, "--nodes", "3", "--seconds", "600") as (_, about):
        server = ("--server", about["url"])
        for what, options, code in (
            (file, ("--at", "1", "--suggest"), 0),
            (file, ("--at", "3:28", "--suggest"), 1),
            (header, ("--suggest",), 1),
            (file, ("--at", "1", "--json"), 0),
        ):
            there = burn_qed("prove", what, *options, *server, code=code)
            here = burn_qed("prove", what, *options, "--nodes", "3", *QUICK, code=code)
            assert untimed(there.stdout) == untimed(here.stdout)
        told = json.loads(burn_qed("prove", file, "--at", "1", "--suggest", *server).stdout)
        (one,) = told["suggestions"]
        assert one["proved"]
        assert len(one["tactics"]) == 2, "both of its goals"


@pytest.mark.lean
def test_the_same_is_told_with_a_server_and_without(tmp_path: Path) -> None:
    file, lost = tmp_path / "open.lean", tmp_path / "wrong.lean"
    file.write_bytes(OPEN.encode())
    lost.write_text("theorem a : 1 = (2 := by sorry\n")
    rewritten = tmp_path / "Draft.lean"
    rewritten.write_text(DRAFT)
    with served(*QUICK, "--seconds", "600") as (_, about):
        server = ("--server", about["url"])
        for what, code in (("theorem t (n : Nat) : n + 0 = n", 0), ("∀ n, n < 5", 1), (file, 1)):
            there = burn_qed("prove", what, "--nodes", "2", "--json", *server, code=code)
            here = burn_qed("prove", what, "--nodes", "2", "--json", *QUICK, code=code)
            assert untimed(there.stdout) == untimed(here.stdout)
            assert list(json.loads(there.stdout)) == list(json.loads(here.stdout))
            assert there.stderr == here.stderr == ""
        said = burn_qed("prove", "∀ n : Nat, n + 0 = n", *server)
        assert said.stdout.startswith("theorem qed_goal : ∀ n : Nat, n + 0 = n := by\n  ")
        assert said.stderr.startswith("proved: ")
        assert "judged in" in said.stderr
        unknown = burn_qed("prove", "∀ n : Nat, n = someone.else", *server, code=2)
        assert "error (statement): " in unknown.stderr
        wrong = burn_qed("prove", lost, *server, code=2)
        assert "error: the file does not compile: 1:18" in wrong.stderr
        finished = burn_qed("prove", rewritten, *server)
        assert finished.stderr.count("accepted") == 2
        assert rewritten.read_text() == DRAFT
        assert burn_qed("prove", rewritten, "--write", *server).stdout == ""
        assert rewritten.read_text() == finished.stdout
        assert "sorry" not in finished.stdout


# -------------------------------------------------------------------------- without Lean


class Small(Scripted):
    """An engine that says what it allows."""

    def health(self) -> Health:
        return Health(
            status="ok", version="0", modules=("Init",), policy="portfolio", workers=1, most_nodes=5,
            most_seconds=9.0, most_text_bytes=60,
        )  # fmt: skip


async def test_what_a_server_cannot_do_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    file = tmp_path / "Draft.lean"
    file.write_text("theorem a : 1 = 1 := by sorry\n")
    imports = tmp_path / "Imports.lean"
    imports.write_text("import Std\ntheorem a : 1 = 1 := by sorry\n")
    engine = Small()
    async with serving(engine) as (client, _):
        url = str(client.base_url).rstrip("/")
        for what, options, words in (
            (file, ("--at", "2"), "line 2 has no `sorry`"),
            ("1 = 1", ("--at", "1"), "--at needs a text that contains a `sorry`"),
            ("1 = 1", ("--suggest",), "--suggest needs a text that contains a `sorry`"),
            ("1 = 1", ("--explain",), "--explain does not go with --server"),
            ("1 = 1", ("--trust",), "--trust does not go with --server"),
            ("1 = 1", ("--policy", "ranked"), "--policy does not go with --server"),
            ("1 = 1", ("--device", "auto"), "--device does not go with --server"),
            ("1 = 1", ("--import", "Std"), "--import does not go with --server"),
            ("1 = 1", ("--nodes", "6"), f"--nodes is 6, and {url} allows at most 5"),
            ("1 = 1", ("--seconds", "10"), f"--seconds is 10, and {url} allows at most 9"),
            ("1 = 1", ("--seed", "-1"), "takes none below 0"),
            ("True ∧ " * 20 + "True", (), f"and {url} allows at most 60"),
            (imports, (), f"the text imports Std, which {url} did not load"),
            ("#eval 1", (), "`#eval` runs code"),
            ("1 = 1", ("--write",), "--write needs a file"),
            ("", (), "the input is empty"),
        ):  # fmt: skip
            told = await asyncio.to_thread(burn_qed, "prove", what, "--server", url, *options, code=2)
            assert words in told.stderr
            assert "  fix: " in told.stderr or "--server" not in words
    assert engine.asked == []


async def test_what_is_sent() -> None:
    engine = Small()
    async with serving(engine) as (client, _):
        ask = ("prove", "1 = 1", "--server", str(client.base_url), "--json")

        def done(*more: str) -> Done:
            return burn_qed(*ask, *more, code=1)

        said = json.loads((await asyncio.to_thread(done)).stdout)
        await asyncio.to_thread(done, "--nodes", "3", "--seconds", "2", "--seed", "4")
    assert (said["outcome"], said["reason"], said["policy"]) == ("exhausted", "nodes", "portfolio")
    first, second = engine.asked
    assert (first.nodes, first.seconds, first.seed) == (None, None, 0), "the server has its own"
    assert (second.nodes, second.seconds, second.seed) == (3, 2.0, 4)
    assert (second.line, second.column, second.suggest) == (None, None, False)


def test_a_server_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with listen("127.0.0.1", 0) as listening:
        url = url_of(listening)
    told = burn_qed("prove", "1 = 1", "--server", url, code=3)
    assert told.stdout == ""
    assert told.stderr.startswith(f"error: {url}: nobody answers: ")
    assert "  fix: is `burn-qed serve prove` running" in told.stderr
    monkeypatch.setenv("BURN_QED_TOKEN", "short")
    assert "BURN_QED_TOKEN" in burn_qed("prove", "1 = 1", "--server", url, code=2).stderr


async def test_ctrl_c_ends_the_search_at_the_server() -> None:
    """Whenever it comes: before the job's id is known, the end of the connection ends the job."""
    engine = Scripted()
    engine.health = Small().health  # type: ignore[method-assign]
    engine.go.clear()
    async with serving(engine) as (client, _):
        process = await asyncio.to_thread(
            subprocess.Popen,
            [BURN_QED, "prove", "1 = 1", "--server", str(client.base_url)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ,
        )  # fmt: skip
        try:
            await until(lambda: bool(engine.asked), 120)
            process.send_signal(signal.SIGINT)
            out, err = await asyncio.to_thread(process.communicate, timeout=120)
            await until(lambda: engine.cancelled == 1, 120)
        finally:
            process.kill()
    assert (process.returncode, out) == (130, "")
    assert "stopped before the search began" in err
    assert "Traceback" not in err


# ------------------------------------------------------------------------- what is followed


def state(id: int, parent: int | None, score: float, line: str, **more: Any) -> Node:
    known = {"energy": None, "seen": 0.0, "expanded": None, "closed": None, "failed": None}
    known |= {"tried": 0, "worked": 0, "on_proof": False, "goals": 1}
    depth = 0 if parent is None else 1
    return Node(id=id, parent=parent, depth=depth, score=score, line=line, **{**known, **more})


def test_what_a_search_has_seen() -> None:
    view = FollowView("http://there")
    assert view.learnt() == ""
    view(Begun())
    view(Searching(search=0, theorem="goal", nodes=(state(0, None, 0.0, "p → q"),)))
    children = (state(1, 0, -1.0, "q"), state(2, 0, -0.5, "r", failed=1.0), state(3, 0, -2.0, "s"))
    edge = Edge(source=0, children=(1, 2, 3), tactic="intro h", logprob=-1.0, at=1.5, on_proof=False)
    root = state(0, None, -9.0, "p → q", tried=1, worked=1)
    view(
        Expanded(
            search=0, node=0, at=1.5, spent=1, goals=("⊢ p → q",), nodes=(root, *children),
            edges=(edge,), refused=(),
        )
    )  # fmt: skip
    view(Answered(answer=FOUND, left_out=2))
    assert view.learnt().splitlines() == [
        "goal: 1 nodes expanded in 1.5 s, 4 states seen (0 proved, 1 dead ends, 3 open)",
        "best open state, at depth 1:",
        "    ⊢ q",
        "the steps to it:",
        "  1. intro h",
        "(the server left out 2 events, so there was more)",
    ]
