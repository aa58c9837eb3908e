"""Files brought here from where they are published: the Hugging Face hub, or an archive."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

from burnqed.core.errors import CorruptError, InputError, NetworkError, SetupError

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
    import urllib.error
    import urllib.request

    part = path.with_name(f"{path.name}.part")
    here = part.stat().st_size if part.is_file() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={here}-"} if here else {})
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as reply:
            goes_on = here > 0 and reply.status == 206
            advance(here if goes_on else 0)
            with part.open("ab" if goes_on else "wb") as file:
                while block := reply.read(_BLOCK):
                    file.write(block)
                    advance(len(block))
    except urllib.error.HTTPError as error:
        if error.code == 416:  # nothing is left to fetch, or what is here is no part of it
            pass
        else:
            raise NetworkError(f"cannot fetch {url}: {error}", hint=_OFFLINE) from error
    except (OSError, urllib.error.URLError) as error:
        reason = getattr(error, "reason", None) or error
        raise NetworkError(f"cannot fetch {url}: {reason}", hint=_OFFLINE) from error
    found = md5_of(part)
    if found != md5:
        part.unlink()
        raise CorruptError(f"{url} is not what is pinned: its MD5 is {found}, not {md5}")
    part.replace(path)


def md5_of(path: Path) -> str:
    digest = hashlib.md5(usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


_OFFLINE = "where there is no network, give a copy: --from PATH, or SOURCE=PATH where it is used"


def _no_client(repository: str) -> SetupError:
    return SetupError(
        f"{repository} is on the Hugging Face hub, which needs huggingface_hub",
        hint="pip install 'burn-qed[data]', or give a copy: --from PATH",
    )


def _no_answer(repository: str, error: Exception) -> NetworkError:
    said = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
    return NetworkError(f"the hub did not give {repository}: {said}", hint=_OFFLINE)
