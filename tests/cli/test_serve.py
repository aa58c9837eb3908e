"""`burn-qed serve encode`: a process that others ask, from its first line to its signal."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from burnqed.core.errors import InputError
from burnqed.policy.models.load import load
from burnqed.value.encoder import LocalEncoder
from burnqed.value.served import ServedEncoder
from tests.cli.in_process import burn_qed
from tests.policy.servers import nobody
from tests.policy.tiny import tiny_llama

BURN_QED = str(Path(sys.executable).with_name("burn-qed"))
STATES = [f"n : Nat\n⊢ n + {i} = {i} + n" for i in range(20)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_llama(tmp_path_factory.mktemp("serve") / "model")


@contextmanager
def serving(*arguments: str | Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and the line that it printed when it was ready."""
    command = [BURN_QED, "serve", "encode", *map(str, arguments)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            ready, _, _ = select.select([process.stdout], [], [], 120)
            yield process, process.stdout.readline() if ready else ""
        finally:
            process.kill()


def refused(*arguments: str | Path, code: int = 2) -> str:
    return burn_qed("serve", "encode", *arguments, code=code).stderr


def test_a_server_is_asked_and_stopped(model: Path) -> None:
    local = LocalEncoder(load(model, "cpu", "float32"), "last")
    options = ("--model", model, "--pooling", "last", "--device", "cpu", "--port", "0", "--json")
    with serving(*options) as (process, line):
        about: dict[str, Any] = json.loads(line)
        assert (about["model"], about["pooling"]) == (local.name.model, "last")
        assert httpx.get(f"{about['url']}/health", trust_env=False).json() == {"status": "ok"}
        with ServedEncoder(about["url"], local.name) as encoder:
            assert encoder.encode(STATES) == pytest.approx(local.encode(STATES), abs=1e-6)
        with pytest.raises(InputError, match="pooling is last, but should be mean"):
            ServedEncoder(about["url"], LocalEncoder(load(model, "cpu", "float32")).name)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


def test_what_is_asked_is_answered_before_it_stops(model: Path) -> None:
    port = nobody().rsplit(":", 1)[1]
    with serving("--model", model, "--device", "cpu", "--port", port) as (process, line):
        url = f"http://127.0.0.1:{port}"
        assert line.startswith(f"{url} encodes with {model} (32 numbers")
        body = {"text": [state * 20 for state in STATES] * 50}  # seconds, on a fast machine too
        with ThreadPoolExecutor(1) as threads:
            asked = threads.submit(httpx.post, f"{url}/encode", json=body, timeout=120, trust_env=False)
            until_busy(url)
            process.send_signal(signal.SIGINT)
            assert len(asked.result().json()["embeddings"]) == len(body["text"])
        assert process.wait(60) == 130


def until_busy(url: str) -> None:
    """Ask for something small, until it has to wait behind the large thing."""
    for _ in range(1000):
        try:
            httpx.post(f"{url}/encode", json={"text": "⊢ True"}, timeout=0.5, trust_env=False)
        except httpx.ReadTimeout:
            return
    pytest.fail("it was never busy")


def test_what_is_wrong_is_told(model: Path, tmp_path: Path) -> None:
    assert "unknown pooling max" in refused("--model", model, "--pooling", "max")
    assert "no number format gguf" in refused("--model", model, "--dtype", "gguf")
    assert "absent" in refused("--model", tmp_path / "absent", "--port", "0")
    assert "cannot listen on 192.0.2.1" in refused("--model", model, "--host", "192.0.2.1")


def test_without_torch_the_fix_is_told(model: Path) -> None:
    code = "import sys; sys.modules['torch'] = None; from burnqed.cli.main import main; main()"
    out = subprocess.run(
        [sys.executable, "-c", code, "serve", "encode", "--model", str(model)],
        capture_output=True, text=True, timeout=60, check=False, env=dict(os.environ),
    )  # fmt: skip
    assert out.returncode == 3
    assert "pip install 'burn-qed[models]'" in out.stderr
    assert "Traceback" not in out.stderr
