"""Files brought here from where they are published: the Hugging Face hub, or an archive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from burnqed.core.errors import CorruptError, InputError, NetworkError, SetupError
from burnqed.data.sources.files import checksum

_SECONDS = 60.0  # without a byte
_BLOCK = 1 << 20


def resolve(repository: str, revision: str) -> str:
    """The commit that a branch, a tag or the beginning of a commit's name stands for."""
    try:
        from huggingface_hub import HfApi
        from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError
    except ImportError as error:
        raise _no_client(repository) from error
    try:
        commit = HfApi().dataset_info(repository, revision=revision).sha
    except RevisionNotFoundError as error:
        raise InputError(f"{repository} has no revision {revision} on the hub") from error
    except RepositoryNotFoundError as error:
        raise NetworkError(f"the hub has no data set {repository}", hint=_OFFLINE) from error
    except Exception as error:  # the hub's client lets through what its HTTP library raises
        raise _no_answer(repository, error) from error
    if not commit:
        raise NetworkError(f"the hub does not say which commit {revision} of {repository} is")
    return commit


def download(repository: str, commit: str, files: Sequence[str], folder: Path) -> None:
    """The files that these patterns name, at one commit. What is here already is not fetched again."""
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise _no_client(repository) from error
    try:
        snapshot_download(
            repository,
            repo_type="dataset",
            revision=commit,
            allow_patterns=list(files),
            local_dir=folder,
        )
    except Exception as error:
        raise _no_answer(repository, error) from error


def download_file(url: str, md5: str, path: Path, advance: Callable[[int], None]) -> None:
    """One file. What an earlier attempt left is gone on with; what is not the file is not kept."""
    part = path.with_name(f"{path.name}.part")
    begun = part.stat().st_size if part.is_file() else 0
    _append(url, part, begun, advance)
    if begun and checksum(part, "md5") != md5:  # what was begun is of something else
        advance(-part.stat().st_size)
        part.unlink()
        _append(url, part, 0, advance)
    found = checksum(part, "md5")
    if found != md5:
        part.unlink()
        raise CorruptError(f"{url} is not what is pinned: its MD5 is {found}, not {md5}")
    part.replace(path)


def _append(url: str, part: Path, begun: int, advance: Callable[[int], None]) -> None:
    """Fetch what is behind the first `begun` bytes; all of it where the server cannot begin there."""
    import urllib.error
    import urllib.request
    from http.client import HTTPException

    request = urllib.request.Request(url, headers={"Range": f"bytes={begun}-"} if begun else {})
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as reply:
            goes_on = begun > 0 and reply.status == 206
            advance(begun if goes_on else 0)
            left = int(reply.headers.get("Content-Length") or 0)
            with part.open("ab" if goes_on else "wb") as file:
                while block := reply.read(_BLOCK):
                    file.write(block)
                    advance(len(block))
                    left -= len(block)
            if left > 0:
                raise OSError(f"the connection ended {left} bytes too early")
    except urllib.error.HTTPError as error:
        error.close()
        if error.code != 416:  # there is nothing behind what is here already
            raise NetworkError(f"cannot fetch {url}: {error}", hint=_OFFLINE) from error
        advance(begun)
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise NetworkError(f"cannot fetch {url}: {reason}", hint=_OFFLINE) from error


_OFFLINE = "where there is no network, give a copy: --from PATH, or SOURCE=PATH where it is used"


def _no_client(repository: str) -> SetupError:
    return SetupError(
        f"{repository} is on the Hugging Face hub, which needs huggingface_hub",
        hint="pip install 'burn-qed[data]', or give a copy: --from PATH",
    )


def _no_answer(repository: str, error: Exception) -> NetworkError:
    said = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
    return NetworkError(f"the hub did not give {repository}: {said}", hint=_OFFLINE)
