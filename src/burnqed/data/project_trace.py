"""Files of a lake project, each traced as a module of its own: with what it imports, and no more."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from burnqed.core.errors import InputError
from burnqed.data.lean_sources import read_text
from burnqed.data.trace import FileTracer, SourceFile, digest_of
from burnqed.lean.project import Project, header_option
from burnqed.lean.statement import split_header


class ProjectTracer(FileTracer):
    """`options` are Lean's for each library of the project, by the first part of its modules' names."""

    def __init__(self, project: Project, options: Mapping[str, tuple[str, ...]]) -> None:
        self._project = project
        self._options = options
        self._modules = project.modules()
        self._digests: dict[Path, str] = {}

    def digest(self, path: Path) -> str:
        """Of the file, and of the project's files that it imports, directly or not."""
        path = path.resolve()
        if path not in self._digests:
            self._digests[path] = ""  # of a file that imports itself
            found = hashlib.sha256(digest_of(path).encode())
            with suppress(InputError):
                for module in split_header(read_text(path)).imports:
                    source = self._modules.get(module)
                    found.update(self.digest(source).encode() if source else b"")
            self._digests[path] = found.hexdigest()
        return self._digests[path]

    def read(self, path: Path, name: str, digest: str, loaded: frozenset[str]) -> SourceFile:
        source = split_header(read_text(path))
        absent = next((one for one in source.imports if self._project.built(one) is None), None)
        if absent is not None:
            raise InputError(f"it imports {absent}, which is not built: `lake build {absent}`")
        module = self._project.module_at(path)
        return SourceFile(
            name,
            digest,
            source.imports,
            source.body,
            options=self._options.get(library_of(module), ()),
            header=header_option(source, module or "_unknown"),
        )


def library_of(module: str | None) -> str:
    """What the module of a file is part of, as far as its name says."""
    return (module or "").partition(".")[0]
