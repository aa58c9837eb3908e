"""Half precision on a CPU that dies of it: nothing dies, what is asked for is done, and it is said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from burnqed.policy.models import cpu
from burnqed.policy.models.load import load
from burnqed.training.plans import Adapting, PolicyPlan
from burnqed.training.policy import Job, train_policy
from tests.cli.in_process import burn_qed
from tests.policy.stand_in import ALL, Stand
from tests.training.samples import Watcher, pairs, write_jsonl, write_run

DIES = "loaded SIGILL"
SAID = "this CPU cannot compute in {} (trying it ended by SIGILL): float32 is used"


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_this_machine_can_do_what_was_found_out() -> None:
    """Here for real: what the probe found is what this process may do, and it lives."""
    ability = cpu.settle()
    for name in ability.formats:
        x = torch.randn(64, 64).to(getattr(torch, name))
        assert torch.isfinite(x @ x).all()
    assert cpu.probe().formats == ability.formats, "and it is found again"


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_model_is_loaded_as_float32(stand: Stand, saved: Path, dtype: str) -> None:
    stand.does(DIES)
    loaded = load(saved, "cpu", dtype)
    assert (loaded.dtype, loaded.note) == ("float32", SAID.format(dtype))
    assert {weight.dtype for weight in loaded.model.parameters()} == {torch.float32}
    assert load(saved, "cpu").note == "", "nothing is said where nothing was asked for"


@pytest.mark.parametrize("adapting", [Adapting("full"), Adapting("lora")])
def test_a_training_goes_on_and_says_so_once(
    stand: Stand, saved: Path, tmp_path: Path, adapting: Adapting
) -> None:
    stand.does(DIES)
    data = write_jsonl(tmp_path / "pairs.jsonl", pairs(40))
    job = Job(
        data=(data,), base=str(saved), plan=PolicyPlan(steps=1), adapting=adapting, dtype="bf16",
        prompt="colons", max_length=256, tactic_tokens=32, matched=0,
    )  # fmt: skip
    watcher = Watcher()
    result = train_policy(job, tmp_path / "out", watcher, resume=False)
    assert result is not None
    assert result["dtype"] == "float32"
    assert watcher.warnings == [SAID.format("bfloat16")]
    plain = Watcher()
    assert train_policy(replace(job, dtype="fp32"), tmp_path / "plain", plain, resume=False)
    assert plain.warnings == []


def test_commands_say_it_in_one_line(stand: Stand, saved: Path) -> None:
    stand.does(DIES)
    done = burn_qed("model", saved, "--device", "cpu", "--dtype", "bfloat16", "--json")
    assert json.loads(done.stdout)["runs_on"] == "cpu, float32"
    assert done.stderr == f"warning: {SAID.format('bfloat16')}\n"
    assert burn_qed("model", saved, "--device", "cpu", "--json").stderr == ""


@pytest.mark.parametrize(
    ("does", "ok", "found"),
    [
        ({"usually": ALL}, True, "bfloat16, float16"),
        (
            {"usually": DIES, "AVX512_CORE": ALL}, True,
            "bfloat16, float16, with ONEDNN_MAX_CPU_ISA=AVX512_CORE, which burn-qed sets (else "
            "trying it ended by SIGILL)",
        ),
        ({"usually": DIES}, None, "none: trying it ended by SIGILL"),
        ({"usually": "fail"}, False, "torch cannot be loaded: no such library"),
    ],
)  # fmt: skip
def test_doctor_has_a_line(stand: Stand, does: dict[str, str], ok: bool | None, found: str) -> None:
    stand.does(**does)
    said = json.loads(burn_qed("doctor", "--json", code=3).stdout)  # there is no Lean in this cache
    (line,) = (one for one in said if one["what"] == "Half precision on the CPU")
    assert (line["ok"], line["found"]) == (ok, found)


PREPARE = """
from burnqed.prover import policies
policies.prepare(policies.choice('local', {!r}), None, None, print)
"""
MAIN = "from burnqed.cli.main import main\nmain()"


@pytest.mark.parametrize(
    "command",
    [
        ("model", "DIR"),
        ("embed", "RUN", "--model", "DIR", "--out", "OUT"),
        ("serve", "encode", "--model", "DIR", "--port", "0"),
        ("train", "policy", "--data", "RUN", "--base", "DIR", "--out", "OUT"),
        ("train", "value", "--data", "RUN", "--model", "DIR", "--out", "OUT"),
        ("train", "ranker", "--data", "RUN", "--out", "OUT"),
        ("export", "DIR", "--out", "OUT"),
        (),  # what searches have in common
    ],
    ids=" ".join,
)
def test_the_cpu_is_looked_at_before_torch_is_loaded(
    stand: Stand, saved: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """Every command ends where it would load torch, and says how often the stand-in was started."""
    stand.does(DIES, AVX512_CORE=ALL)
    run = write_run(tmp_path / "run", range(3))
    code = f"""
import os, sys
from burnqed.policy.models import cpu
cpu.PROBE = {stand.command!r}
def hook(event, arguments):
    if event == "import" and arguments[0].split(".")[0] == "torch":
        print(os.environ.get(cpu.LIMIT), flush=True)
        os._exit(0)
sys.addaudithook(hook)
{MAIN if command else PREPARE.format(str(saved))}
"""
    places = {"DIR": str(saved), "RUN": str(run), "OUT": str(tmp_path / "out")}
    asked = [places.get(word, word) for word in command]
    done = subprocess.run(
        [sys.executable, "-c", code, *asked],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "AVX512_CORE\n"


def test_the_limit_reaches_the_library(stand: Stand, saved: Path) -> None:
    """A command of its own, with oneDNN telling which instructions it chose."""
    stand.does(DIES, AVX512_CORE=ALL)
    code = (
        f"from burnqed.policy.models import cpu\ncpu.PROBE = {stand.command!r}\n"
        "from burnqed.cli.main import main\nmain()"
    )
    state = "n : Nat\n⊢ n + 0 = n"
    how = ["--device", "cpu", "--dtype", "bfloat16", "--candidates", "1"]
    told = {**os.environ, "ONEDNN_VERBOSE": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code, "model", str(saved), "--ask", state, *how]
    done = subprocess.run(command, env=told, capture_output=True, text=True, check=True)
    assert "no more is used of it than AVX512_CORE" in done.stderr
    chosen = [line for line in done.stdout.splitlines() if line.startswith("onednn_verbose")]
    assert not [line for line in chosen if "bfloat16 support" in line or "amx" in line.lower()]
    assert "tactic" in done.stdout
