"""Files of a public repository at one commit.

Git checks what it fetches: a commit's name is a hash over all that is in it, so a pinned commit is a
checksum of every file.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from burnqed.core.errors import InputError, NetworkError, SetupError

_SECONDS = 600.0
# Where a hook of another repository calls us, git would use that one; and a pin is of what a commit
# holds, not of what a checkout says to read instead of it.
_NOT_OURS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")
_OURS = {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_REPLACE_OBJECTS": "1"}


def fetch_commit(url: str, commit: str, paths: Sequence[str]) -> dict[str, str]:
    """The text files of a commit that are these, or below these folders, by path."""
    with tempfile.TemporaryDirectory(prefix="burn-qed-") as folder:
        directory = Path(folder)
        _fetch(directory, url, commit)
        return read_commit(directory, commit, paths)


def _fetch(directory: Path, url: str, commit: str) -> None:
    """One commit and nothing before it, into an empty folder."""
    _git(directory, "init", "--quiet", "--bare")
    try:
        _git(directory, "fetch", "--quiet", "--depth", "1", url, commit)
    except InputError as error:
        raise NetworkError(
            f"cannot fetch {url} at {commit[:12]}: {error.message}",
            hint="where there is no network, give a copy with --from",
        ) from error


def export_commit(url: str, commit: str, paths: Sequence[str], folder: Path) -> Path:
    """An archive in this folder with those files of a commit that are these, or below these folders."""
    repository, archive = folder / "repository", folder / "commit.tar"
    repository.mkdir(parents=True)
    _fetch(repository, url, commit)
    _git(repository, "archive", "--format=tar", f"--output={archive}", commit, "--", *paths)
    return archive


def read_commit(repository: Path, commit: str, paths: Sequence[str]) -> dict[str, str]:
    """The same, from a repository that is here and has the commit."""
    listed = _git(repository, "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--", *paths)
    names = [name for name in listed.split("\0") if name]
    if not names:
        raise InputError(f"{repository} has no {', '.join(paths)} at {commit[:12]}")
    return {name: _git(repository, "cat-file", "blob", f"{commit}:{name}") for name in names}


def has_commit(repository: Path, commit: str) -> bool:
    """Whether a directory is a checkout that has this commit. Without git nobody can tell."""
    try:
        _git(repository, "cat-file", "-e", f"{commit}^{{commit}}")
    except (InputError, SetupError):
        return False
    return True


def _git(directory: Path, *arguments: str) -> str:
    command = ["git", "-C", str(directory), *arguments]
    environment = {k: v for k, v in os.environ.items() if k not in _NOT_OURS} | _OURS
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=_SECONDS, check=False, env=environment
        )
    except FileNotFoundError:
        raise SetupError("there is no git", hint="install git, or give a copy with --from") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"git took more than {_SECONDS:.0f} s") from None
    if done.returncode != 0:
        raise InputError(done.stderr.decode(errors="replace").strip() or "git failed")
    try:
        return done.stdout.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"git {arguments[0]}: what it printed is not text ({error})") from error
