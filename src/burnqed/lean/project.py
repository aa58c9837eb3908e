"""A lake project: where its root is, what `lake` says of it, and which of its modules are built.

What a text needs of a project is asked of Lake itself, by the request that editors make when they open
a file (`lake setup-file`). It gives the options, and says whether imports are built and up to date.
Nothing is built here.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnqed.core.errors import ConfigError, InputError, SetupError
from burnqed.lean.source_file import read_source
from burnqed.lean.statement import Source, split_header

LAKEFILES = ("lakefile.lean", "lakefile.toml")
PIN = "lean-toolchain"
ASK_SECONDS = 600.0  # `lake env` may have to fetch a toolchain first
_NO_BUILD = 3  # `lake --no-build`, where something would have to be built
_VARIABLES = ("LEAN_PATH", "LEAN_SYSROOT", "LEAN_SRC_PATH", "PATH", "LD_LIBRARY_PATH")
# Options that must not reach a search or a judge: they turn off checks, or turn the warning that a
# declaration uses `sorry` into an error.
_LEFT_OUT = re.compile(r"debug\..*|warningAsError|Elab\.async")
_FAILED = re.compile(r"(?m)^- (\S+)")
_MANY = 3  # modules that a message names


def is_project(folder: Path) -> bool:
    return any((folder / name).is_file() for name in LAKEFILES)


def project_of(path: Path) -> Path | None:
    """The root of the lake project that a file or folder is in, if it is in one.

    A package below `.lake/packages` is part of the project that it was fetched for: there are its
    dependencies, and there it was built.
    """
    here = path.resolve()
    for folder in (here, *here.parents):
        if folder.name == ".lake" and is_project(folder.parent):
            return folder.parent
    return next((folder for folder in (here, *here.parents) if is_project(folder)), None)


def pin_of(folder: Path) -> tuple[Path, str] | None:
    """The `lean-toolchain` file that elan goes by in a folder, and what it asks for."""
    for place in (folder, *folder.parents):
        with_pin = place / PIN
        if with_pin.is_file():
            return with_pin, with_pin.read_text(encoding="utf-8", errors="replace").strip()
    return None


@dataclass(frozen=True, slots=True)
class Project:
    """`env` are the variables of `lake env` that a Lean needs to find the project's modules.

    `library` is the folder of Lean's own.
    """

    root: Path
    lake: Path
    library: Path
    env: Mapping[str, str]

    # ------------------------------------------------------------------------- its modules

    def built(self, module: str) -> Path | None:
        """The compiled module: of the project, of one of its packages, or of Lean itself."""
        name = _path_of(module, ".olean")
        places = (*self._folders("LEAN_PATH"), self.library)
        return next((place / name for place in places if (place / name).is_file()), None)

    def source(self, module: str) -> Path | None:
        """The source of a module of the project, or of one of its packages."""
        name = _path_of(module, ".lean")
        places = (place / name for place in self._folders("LEAN_SRC_PATH"))
        return next((path for path in places if path.is_file()), None)

    def modules(self) -> dict[str, Path]:
        """The project's own built modules, not those of its packages, with their sources."""
        sources = list(self._own("LEAN_SRC_PATH"))
        found: dict[str, Path] = {}
        for folder in self._own("LEAN_PATH"):
            for olean in sorted(folder.rglob("*.olean")):
                inside = olean.relative_to(folder).with_suffix("")
                for place in sources:
                    source = place / inside.with_name(f"{inside.name}.lean")
                    if source.is_file():
                        found[_module_of(inside)] = source
                        break
        return found

    def tops(self) -> tuple[str, ...]:
        """The project's own built modules that none of the others imports: with them all are loaded."""
        found = self.modules()
        below: set[str] = set()
        for path in found.values():
            with suppress(InputError):
                below.update(split_header(read_source(path)).imports)
        tops = tuple(module for module in sorted(found) if module not in below)
        if not tops:
            raise SetupError(
                f"nothing of the lake project {self.root} is built",
                hint=f"run `lake build` in {self.root}, or name a module with --import",
            )
        return tops

    @property
    def identity(self) -> str:
        """Its name, and a digest of what it is: its own built modules, and the packages it takes.

        Where it lies is no part of it, so a run may go on with a copy.
        """
        digest = hashlib.sha256()
        files = [*self.modules().values(), self.root / "lake-manifest.json"]
        for path in files:
            content = path.read_bytes() if path.is_file() else b""
            name = path.relative_to(self.root) if path.is_relative_to(self.root) else path.name
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
        return f"{self.root.name} {digest.hexdigest()[:16]}"

    def module_at(self, path: Path) -> str | None:
        """The module that a file of the project's own sources is, built or not."""
        place = path.resolve()
        if any(place.is_relative_to(other) for other in self._packages()):
            return None
        for folder in self._own("LEAN_SRC_PATH"):
            if place.is_relative_to(folder):
                return _module_of(place.relative_to(folder).with_suffix(""))
        return None

    def _folders(self, variable: str) -> list[Path]:
        # Lake may print them relative to the root.
        parts = self.env.get(variable, "").split(os.pathsep)
        return [(self.root / part).resolve() for part in parts if part]

    def _own(self, variable: str) -> Iterator[Path]:
        others = list(self._packages())
        for folder in self._folders(variable):
            below = folder.is_relative_to(self.root.resolve())
            if below and not any(folder.is_relative_to(other) for other in others):
                yield folder

    def _packages(self) -> Iterator[Path]:
        """Where packages lie: those that Lake fetched, and those beside or in the project."""
        manifest = _read_json(self.root / "lake-manifest.json")
        yield (self.root / str(manifest.get("packagesDir") or ".lake/packages")).resolve()
        for package in manifest.get("packages") or ():
            if isinstance(package, dict) and package.get("type") == "path":
                folder = (self.root / str(package.get("dir", ""))).resolve()
                if folder != self.root.resolve():
                    yield folder

    # -------------------------------------------------------------------- what a text needs

    def setup(self, modules: Sequence[str], file: Path | None = None) -> tuple[str, ...]:
        """The options of a text with these imports, as `--name=value`.

        They are those of the library that the file is of; without a file, of the project. Raises
        `SetupError` where an import is not built or has changed since, with what helps.
        """
        self._refuse_strangers(modules)
        place = (self.root / "burn-qed.lean" if file is None else file).resolve()
        flags = {"importAll": False, "isExported": True, "isMeta": False}
        header = {"isModule": False, "imports": [{"module": name, **flags} for name in modules]}
        done = self._run("setup-file", str(place), json.dumps(header), "--no-build")
        if done.returncode:
            self._refuse(done, modules)
        return tuple(options_of(done.stdout))

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = (str(self.lake), *arguments)
        try:
            return subprocess.run(
                command, cwd=self.root, capture_output=True, text=True, timeout=ASK_SECONDS,
                check=False, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SetupError(f"cannot run {command[0]}: {error}", hint="it comes with Lean") from error

    def _refuse_strangers(self, modules: Sequence[str]) -> None:
        for module in modules:
            if self.built(module) is None and self.source(module) is None:
                fix = f"`lake update` in {self.root} fetches packages" if _is_mathlib(module) else ""
                raise InputError(
                    f"the lake project {self.root} has no module {module}",
                    hint=fix or f"its packages are those that {self._lakefile} requires",
                )

    def _refuse(self, done: subprocess.CompletedProcess[str], modules: Sequence[str]) -> None:
        said = f"{done.stderr}\n{done.stdout}"
        absent = [module for module in modules if self.built(module) is None]
        if done.returncode == _NO_BUILD or absent:
            stale = list(dict.fromkeys(_FAILED.findall(said)))
            names = absent or stale or list(modules)
            shown = ", ".join(names[:_MANY]) + (", …" if len(names) > _MANY else "")
            what = "not built" if absent else "not up to date: it was changed since it was built"
            raise SetupError(
                f"{shown} of the lake project {self.root} is {what}", hint=self._fix(names, modules)
            )
        errors = [line for line in said.splitlines() if line.startswith("error")]
        told = errors[0] if errors else said.strip() or f"exit code {done.returncode}"
        raise SetupError(
            f"`lake setup-file` failed in {self.root}: {told}",
            hint=f"`lake build` in {self.root} says more",
        )

    def _fix(self, names: Sequence[str], modules: Sequence[str]) -> str:
        if any(_is_mathlib(name) for name in names):
            return f"run `lake exe cache get` in {self.root}, which fetches Mathlib's built modules"
        wanted = " ".join(name for name in modules if not _is_core(name))
        return f"run `lake build {wanted}`".rstrip() + f" in {self.root}"

    @property
    def _lakefile(self) -> Path:
        found = (self.root / name for name in LAKEFILES)
        return next((path for path in found if path.is_file()), self.root)


def load(root: Path, prefix: Path, lake: Path) -> Project:
    """A project, as its Lake sees it. `prefix` is where its Lean is."""
    if not is_project(root):
        above = project_of(root)
        hint = f"the project around it is {above}" if above else "it has no lakefile"
        raise ConfigError(f"{root} is not a lake project", hint=hint)
    library = prefix / "lib" / "lean"
    done = Project(root, lake, library, {})._run("env")
    if done.returncode:
        said = [line for line in (done.stderr or done.stdout).strip().splitlines() if line]
        errors = [line for line in said if line.startswith("error")] or said[-1:]
        raise SetupError(
            f"`lake env` failed in {root}: {errors[0] if errors else done.returncode}",
            hint=f"`lake build` in {root} says more",
        )
    pairs = (line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    return Project(root, lake, library, {name: value for name, value in pairs if name in _VARIABLES})


def header_option(source: Source, name: str, more: Sequence[str] = ()) -> tuple[str, ...]:
    """What has our REPL read a text of the module system as one, with what its imports make public.

    Nothing for other texts, which see all of what they import. `more` is imported besides.
    """
    if not source.of_modules:
        return ()
    written = zip(source.flags, source.imports, strict=True)
    imports = [*(f"{flags}:{module}" for flags, module in written), *(f"p:{one}" for one in more)]
    return (f"--burnqed.header={','.join([name, 'p:Init', *imports])}",)


def options_of(said: str) -> Iterator[str]:
    """Lean's options in what `lake setup-file` prints. Of an older Lake's answer too."""
    try:
        told: Any = json.loads(said.strip().splitlines()[-1])
        options = dict(told.get("options") or told.get("setupOptions") or {})
    except (ValueError, IndexError, AttributeError, TypeError) as error:
        raise SetupError(
            f"`lake setup-file` says something else: {said[:200]!r}", hint="this Lake is not known here"
        ) from error
    for name, value in options.items():
        name = str(name).removeprefix("weak.")
        if not _LEFT_OUT.fullmatch(name):
            yield f"--{name}={str(value).lower() if isinstance(value, bool) else value}"


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _parts(module: str) -> list[str]:
    return [part.strip("«»") for part in re.findall(r"«[^»]*»|[^.«»]+", module)]


def _path_of(module: str, suffix: str) -> Path:
    *folders, last = _parts(module)
    return Path(*folders, last + suffix)


def _module_of(inside: Path) -> str:
    parts = inside.parts
    return ".".join(part if re.fullmatch(r"[^\W\d][\w'!?]*", part) else f"«{part}»" for part in parts)


def _is_core(module: str) -> bool:
    return _parts(module)[0] in ("Init", "Std", "Lean", "Lake")


def _is_mathlib(module: str) -> bool:
    return _parts(module)[0] == "Mathlib"
