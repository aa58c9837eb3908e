"""Sources brought here, from a hub that the test plays, from an archive, from a copy."""

from __future__ import annotations

import hashlib
import json
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from burnqed.core.errors import CorruptError, InputError, NetworkError, SetupError
from burnqed.data.sources import download, leandojo
from burnqed.data.sources import open as opening
from burnqed.data.sources.declared import Archive, SourceInfo
from burnqed.data.sources.fetch import fetch_source
from burnqed.data.sources.open import open_source, read_steps, source
from burnqed.data.sources.rows import Notes
from burnqed.data.sources.stored import folder_of, is_stored
from tests.data.published import LEAN_GITHUB, LEANDOJO, archive, published, write

COMMIT = "22220a1073f959ec6fe1cee596965a8275bcc550"
OTHER = "f" * 40

pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> SourceInfo:
    """LEAN-GitHub as if it had four rows."""
    info = replace(source("lean-github"), rows=4)
    readers = tuple(
        replace(r, info=info) if r.info.name == info.name else r for r in opening._PUBLISHED
    )
    monkeypatch.setattr(opening, "_PUBLISHED", readers)
    monkeypatch.setitem(opening._READERS, info.name, next(r for r in readers if r.info is info))
    return info


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """A hub that has LEAN-GitHub; what was asked of it."""
    asked: list[tuple[str, str]] = []

    def resolve(repository: str, revision: str) -> str:
        asked.append(("resolve", revision))
        return OTHER if revision == "main" else revision

    def get(repository: str, commit: str, files: Sequence[str], folder: Path) -> None:
        asked.append(("download", commit))
        assert repository == "internlm/Lean-Github"
        (name,) = files
        write(folder / name, LEAN_GITHUB[:3] if commit == OTHER else LEAN_GITHUB)

    monkeypatch.setattr(download, "resolve", resolve)
    monkeypatch.setattr(download, "download", get)
    return asked


def test_a_pinned_source_of_the_hub(small: SourceInfo, hub: list[tuple[str, str]]) -> None:
    with pytest.raises(InputError, match="lean-github is not on this machine yet") as caught:
        read_steps("lean-github")
    assert "lean-github=PATH" in caught.value.hint
    told: list[int] = []
    record = fetch_source(small, None, None, Notes(), on_rows=told.append)
    assert (record.rows, record.pinned) == (4, True)
    assert record.revision == f"commit {COMMIT} of internlm/Lean-Github"
    assert sum(told) == 4
    assert len(list(read_steps("lean-github"))) == 4
    assert fetch_source(small, None, None, Notes()) == record
    assert hub == [("resolve", COMMIT), ("download", COMMIT)], "what is here is not fetched again"
    fetch_source(small, None, None, Notes(), again=True)
    assert len(hub) == 4


def test_rows_that_are_not_as_many_as_pinned(small: SourceInfo, hub: list[tuple[str, str]]) -> None:
    """At the pin an error, at another revision a warning."""
    with pytest.raises(CorruptError, match="has 4 rows, and should have 5"):
        fetch_source(replace(small, rows=5), None, None, Notes())
    assert not is_stored(small)
    told: list[str] = []
    record = fetch_source(small, None, "main", Notes(told.append))
    assert (record.pinned, record.rows) == (False, 3)
    assert record.revision == f"commit {OTHER} of internlm/Lean-Github"
    assert told == [
        "lean-github has 3 rows, and should have 4: it is another revision, or not all of it"
    ]
    assert len(list(read_steps("lean-github"))) == 3
    fetch_source(small, None, None, Notes(), again=True)
    assert len(list(read_steps("lean-github"))) == 4
    kept = {path.name for path in folder_of(small).iterdir()}
    assert kept == {COMMIT, "source.json"}, "what was here of the other revision is gone"


def test_an_unpinned_source_wants_a_revision(hub: list[tuple[str, str]]) -> None:
    with pytest.raises(InputError, match="numinamath-lean is unpinned") as caught:
        fetch_source(source("numinamath-lean"), None, None, Notes())
    assert "--revision" in caught.value.hint
    assert not hub


def test_without_a_hub(monkeypatch: pytest.MonkeyPatch, small: SourceInfo) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(SetupError, match="needs huggingface_hub") as caught:
        fetch_source(small, None, None, Notes())
    assert "burn-qed[data]" in caught.value.hint
    assert "--from PATH" in caught.value.hint


def test_without_a_network(monkeypatch: pytest.MonkeyPatch, small: SourceInfo) -> None:
    import huggingface_hub

    def fail(*_: object, **__: object) -> None:
        raise ConnectionError("Name or service not known\nand more")

    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", fail)
    with pytest.raises(
        NetworkError, match="the hub did not give internlm/Lean-Github: Name or"
    ) as caught:
        fetch_source(small, None, None, Notes())
    assert "--from PATH" in caught.value.hint
    assert "and more" not in caught.value.message
    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    with pytest.raises(NetworkError):
        download.download("internlm/Lean-Github", COMMIT, ["x"], folder_of(small))
    assert not is_stored(small)


def test_a_copy(folder: Path, small: SourceInfo) -> None:
    """Checked before it is taken: what is wrong is told of the file that was given."""
    told: list[str] = []
    path = published(folder / "mine", "lean-github")
    record = fetch_source(small, path, None, Notes(told.append))
    assert not record.pinned
    assert "a local copy (lean-github.parquet)" in record.revision
    assert not told
    path.unlink()
    assert len(list(read_steps("lean-github"))) == 4
    bad = write(folder / "mine" / "bad.jsonl", [{**row, "tactic": 1} for row in LEAN_GITHUB])
    with pytest.raises(InputError, match=f"{bad}, line 1: `tactic`"):
        fetch_source(small, bad, None, Notes())
    assert len(list(read_steps("lean-github"))) == 4, "what was here before is still here"
    with pytest.raises(InputError, match="--from takes what is there"):
        fetch_source(small, path, "main", Notes())


def test_what_was_changed_since_is_refused(folder: Path, small: SourceInfo) -> None:
    fetch_source(small, published(folder / "mine", "lean-github"), None, Notes())
    kept = folder_of(small) / "copy" / "lean-github.parquet"
    write(kept, LEAN_GITHUB[:1])
    with pytest.raises(CorruptError, match=r"lean-github.parquet of lean-github has \d+ bytes"):
        read_steps("lean-github")
    record = folder_of(small) / "source.json"
    told = json.loads(record.read_text())
    assert len(told["sha256"]["copy/lean-github.parquet"]) == 64
    record.write_text(json.dumps({**told, "files": {"copy/lean-github.parquet": kept.stat().st_size}}))
    with pytest.raises(CorruptError, match="has 1 rows, and had 4 when it was fetched"):
        list(read_steps("lean-github"))
    kept.unlink()
    with pytest.raises(CorruptError, match="is gone"):
        read_steps("lean-github")
    record.write_text("{")
    with pytest.raises(CorruptError, match="cannot read"):
        read_steps("lean-github")


# -------------------------------------------------------------------------------------- archives


@pytest.fixture
def served(folder: Path) -> Iterator[Callable[..., str]]:
    """A server of one file, which can begin anywhere in it."""

    class Handler(BaseHTTPRequestHandler):
        content = b""
        most = 1 << 20

        def do_GET(self) -> None:
            begin = self.headers.get("Range")
            at = int(begin.removeprefix("bytes=").removesuffix("-")) if begin else 0
            if at >= len(self.content):
                self.send_error(416)
                return
            self.send_response(206 if begin else 200)
            self.send_header("Content-Length", str(len(self.content) - at))
            self.end_headers()
            self.wfile.write(self.content[at:][: self.most])

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def serve(path: Path, most: int = 1 << 20) -> str:
        Handler.content, Handler.most = path.read_bytes(), most
        return f"http://127.0.0.1:{server.server_port}/{path.name}"

    yield serve
    server.shutdown()
    server.server_close()


@pytest.fixture
def dojo(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], SourceInfo]:
    def at(url: str, md5: str) -> SourceInfo:
        origin = Archive(url, md5, leandojo.INFO.files)
        info = replace(leandojo.INFO, rows=6, origin=origin, instead=None)
        readers = replace(opening._READERS["leandojo"], info=info)
        monkeypatch.setitem(opening._READERS, "leandojo", readers)
        monkeypatch.setattr(opening, "_PUBLISHED", (readers,))
        return info

    return at


def made(folder: Path) -> tuple[Path, str]:
    members = {f"leandojo_benchmark_4/random/{part}.json": LEANDOJO for part in ("train", "val")}
    path = archive(folder / "leandojo_benchmark_4.tar.gz", members)
    return path, hashlib.md5(path.read_bytes()).hexdigest()


def test_an_archive_is_fetched_and_gone_on_with(
    folder: Path, served: Callable[..., str], dojo: Callable[[str, str], SourceInfo]
) -> None:
    path, md5 = made(folder)
    info = dojo(served(path), md5)
    part = folder_of(info) / f"{path.name}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(path.read_bytes()[:100])
    told: list[int] = []
    record = fetch_source(info, None, None, Notes(), on_bytes=told.append)
    assert told[0] == 100, "what was here already"
    assert sum(told) == path.stat().st_size
    assert (record.rows, record.pinned) == (6, True)
    assert record.revision.startswith(f"md5 {md5} of http://")
    assert len(list(read_steps("leandojo"))) == 6
    assert sorted(p.name for p in folder_of(info).iterdir()) == [md5, "source.json"]
    with pytest.raises(InputError, match="has no other revisions"):
        fetch_source(info, None, "main", Notes())


def test_a_connection_that_ends_early_is_gone_on_with(
    folder: Path, served: Callable[..., str], dojo: Callable[[str, str], SourceInfo]
) -> None:
    path, md5 = made(folder)
    info = dojo(served(path, 50), md5)
    part = folder_of(info) / f"{path.name}.part"
    for size in (50, 100):
        with pytest.raises(NetworkError, match="bytes too early"):
            fetch_source(info, None, None, Notes())
        assert part.stat().st_size == size
    served(path)
    assert fetch_source(info, None, None, Notes()).pinned
    folder_of(info).joinpath("source.json").unlink()
    for begun in (path.read_bytes(), b"something else", b"x" * 10_000):
        part.write_bytes(begun)
        told: list[int] = []
        fetch_source(info, None, None, Notes(), again=True, on_bytes=told.append)
        assert sum(told) == path.stat().st_size


def test_an_archive_that_is_another(
    folder: Path, served: Callable[..., str], dojo: Callable[[str, str], SourceInfo]
) -> None:
    path, _ = made(folder)
    info = dojo(served(path), "0" * 32)
    with pytest.raises(CorruptError, match="is not what is pinned"):
        fetch_source(info, None, None, Notes())
    assert not list(folder_of(info).iterdir()), "nothing of it is kept"
    gone = dojo("http://127.0.0.1:9/leandojo_benchmark_4.tar.gz", "0" * 32)
    with pytest.raises(NetworkError, match=r"cannot fetch http://127\.0\.0\.1:9") as caught:
        fetch_source(gone, None, None, Notes())
    assert "--from PATH" in caught.value.hint


def test_a_copy_of_an_archive_is_known_by_its_checksum(
    folder: Path, dojo: Callable[[str, str], SourceInfo]
) -> None:
    path, md5 = made(folder)
    record = fetch_source(dojo("http://nowhere/a.tar.gz", md5), path, None, Notes())
    assert record.pinned
    assert len(list(read_steps("leandojo"))) == 6
    told: list[str] = []
    other = replace(dojo("http://nowhere/a.tar.gz", "0" * 32), rows=7)
    record = fetch_source(other, path, None, Notes(told.append))
    assert not record.pinned
    assert "has 6 rows, and should have 7" in told[0]
    assert open_source("leandojo").record == record
