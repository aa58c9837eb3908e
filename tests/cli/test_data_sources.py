"""`burn-qed data sources`, and `burn-qed data fetch` of one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.data.published import LEAN_GITHUB, published, write

BURN_QED = str(Path(sys.executable).with_name("burn-qed"))


def data(
    *arguments: str | Path, code: int, cache: Path, **more: str
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "BURN_QED_CACHE": str(cache), **more}
    out = subprocess.run(
        [BURN_QED, "data", *map(str, arguments)],
        capture_output=True, text=True, timeout=100, check=False, env=environment,
    )  # fmt: skip
    assert out.returncode == code, out
    assert "Traceback" not in out.stderr
    return out


def test_sources_are_listed_and_one_is_fetched_from_a_copy(tmp_path: Path) -> None:
    known = json.loads(data("sources", "--json", code=0, cache=tmp_path).stdout)
    assert {"leandojo", "lean-github", "minif2f-test"} <= {info["name"] for info in known}
    github = next(info for info in known if info["name"] == "lean-github")
    assert github["rows"] == 218866
    assert github["pinned"]
    assert not github["here"]
    path = published(tmp_path / "mine", "lean-github")
    out = data("fetch", "lean-github", "--from", path, code=0, cache=tmp_path)
    assert "lean-github: 4 rows, from a local copy" in out.stdout
    assert "warning: lean-github has 4 rows, and should have 218866" in out.stderr
    told = json.loads(data("fetch", "lean-github", "--json", code=0, cache=tmp_path).stdout)
    assert (told["rows"], told["pinned"]) == (4, False)
    table = data("sources", code=0, cache=tmp_path).stdout
    line = next(line for line in table.splitlines() if " lean-github " in line)
    assert "yes" in line
    assert "unpinned" in table


def test_what_cannot_be_fetched(tmp_path: Path) -> None:
    out = data("fetch", "nothing", code=2, cache=tmp_path)
    assert "no benchmark nothing, and no source" in out.stderr
    assert "lean-github" in out.stderr
    assert "--revision" in data("fetch", "goedel-workbook", code=2, cache=tmp_path).stderr
    bad = write(tmp_path / "bad.jsonl", [{**row, "more": 1} for row in LEAN_GITHUB])
    out = data("fetch", "lean-github", "--from", bad, code=2, cache=tmp_path)
    assert f"{bad}, line 1 has unknown `more`" in out.stderr
    out = data("fetch", "qed-core", "--revision", "main", code=2, cache=tmp_path)
    assert "qed-core is pinned" in out.stderr


@pytest.mark.parametrize("source", ["lean-github"])
def test_a_hub_that_does_not_answer(tmp_path: Path, source: str) -> None:
    out = data("fetch", source, code=3, cache=tmp_path, HF_ENDPOINT="http://127.0.0.1:9")
    assert "the hub did not give internlm/Lean-Github" in out.stderr
    assert "--from PATH" in out.stderr
