"""`burn-qed lean tactic`: the file of `qed?` in a lake project, and nobody else's file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from burnqed.lean import tactic
from tests.cli.in_process import burn_qed

TOML = 'name = "mine"\n[[lean_lib]]\nname = "Mine"\n'


def test_it_is_written_once_and_the_lakefile_is_advised(tmp_path: Path) -> None:
    lakefile = tmp_path / "lakefile.toml"
    lakefile.write_text(TOML)
    said = burn_qed("lean", "tactic", tmp_path).stdout
    written = tmp_path / "BurnQed.lean"
    assert written.read_text(encoding="utf-8") == tactic.source()
    assert said.startswith(f"{written}: written\nadd this to {lakefile}:\n\n[[lean_lib]]\n")
    assert lakefile.read_text() == TOML, "only its owner changes it"
    lakefile.write_text(TOML + tactic.LISTED["lakefile.toml"])
    again = json.loads(burn_qed("lean", "tactic", "--json", cwd=tmp_path).stdout)
    assert again == {"path": "BurnQed.lean", "changed": False, "add_to_lakefile": None}


def test_an_older_one_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "lakefile.lean").write_text("import Lake\n")
    (tmp_path / "BurnQed.lean").write_text(tactic.source()[:500])
    told = json.loads(burn_qed("lean", "tactic", tmp_path, "--json").stdout)
    assert (told["changed"], told["add_to_lakefile"]) == (True, "lean_lib BurnQed\n")
    assert (tmp_path / "BurnQed.lean").read_text(encoding="utf-8") == tactic.source()


@pytest.mark.parametrize("content", ["def mine := 1\n", "", "-- é"])
def test_somebody_elses_file_stays(tmp_path: Path, content: str) -> None:
    (tmp_path / "lakefile.toml").write_text(TOML)
    own = tmp_path / "BurnQed.lean"
    own.write_text(content, encoding="utf-8")
    said = burn_qed("lean", "tactic", tmp_path, code=2).stderr
    assert "burn-qed did not write it" in said
    assert "  fix: rename it" in said
    assert own.read_text(encoding="utf-8") == content


def test_what_is_no_lake_project_is_refused(tmp_path: Path) -> None:
    for where in (tmp_path, tmp_path / "nowhere"):
        said = burn_qed("lean", "tactic", where, code=2).stderr
        assert f"{where} is not a lake project" in said
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "lakefile.toml").write_text(TOML)
    (tmp_path / "BurnQed.lean").mkdir()
    assert "BurnQed.lean" in burn_qed("lean", "tactic", tmp_path, code=2).stderr
