"""Compiles our REPL with a native Lean: to C by `lean`, and that to a program.

`leanc` comes with every release of Lean and brings its own C compiler. Another build of Lean may lack
it; then the system's own is tried. The program is linked with Lean's shared libraries, so it is small,
all workers share their pages, and the interpreter finds Lean's functions there by name. Its own
functions are not exported: a project could have one of the same name.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from burnqed.core.errors import SetupError
from burnqed.lean import repl
from burnqed.lean.native.found import NativeLean

MODULE = "BurnQedRepl"
SECONDS = 1200.0  # for each step, on a slow and busy machine
_ERROR = re.compile(rf"{MODULE}\.lean:(\d+):\d+: error:?(?:\([^)]*\):)? *(.*)")
_LIBRARIES = ("leanshared", "leanshared_1", "leanshared_2", "Init_shared")
_COMPILERS = ("cc", "gcc", "clang")
# As Lean's own. Without PIC the program would have copies of its variables, made before they are set.
_FLAGS = ("-O1", "-fPIC", "-fwrapv", "-fvisibility=hidden", "-DNDEBUG")


def to_c(lean: NativeLean, folder: Path) -> str:
    """Elaborate the REPL: `MODULE.olean` and `MODULE.c` in the folder.

    Returns Lean's first error in it, if there is one: then this Lean never can.
    """
    source = folder / f"{MODULE}.lean"
    source.write_text(repl.source(), encoding="utf-8")
    results = ("-o", str(folder / f"{MODULE}.olean"), "-c", str(folder / f"{MODULE}.c"))
    done = _run(lean, folder, str(lean.binary), "-R", str(folder), *results, str(source))
    if found := _ERROR.search(done.stdout):
        return f"{repl.place(int(found[1]))}: {found[2]}"
    if done.returncode or not (folder / f"{MODULE}.c").is_file():
        raise SetupError(
            f"Lean {lean.version} did not compile burn-qed's REPL: {_first_line(done)}",
            hint=f"check {lean.binary}, or use --toolchain embedded",
        )
    return ""


def link(lean: NativeLean, folder: Path, program: Path) -> tuple[str, list[str]]:
    """Make the program of the C file: which compiler did, and why others could not.

    Where none can, the compiler is "".
    """
    failed: list[str] = []
    for name, command, libraries in _compilers(lean):
        source, where = str(folder / f"{MODULE}.c"), f"-Wl,-rpath,{lean.libraries}"
        done = _run(lean, folder, *command, *_FLAGS, source, "-o", str(program), *libraries, where)
        if not done.returncode and program.is_file():
            return name, failed
        failed.append(f"{name}: {_first_line(done)}")
    return "", failed


def _compilers(lean: NativeLean) -> Iterator[tuple[str, Sequence[str], Sequence[str]]]:
    """The commands that may compile and link, and with which libraries."""
    there = [
        f"-l{name}"
        for name in _LIBRARIES
        if any((lean.libraries / f"lib{name}{suffix}").is_file() for suffix in (".so", ".dylib"))
    ]
    libraries = (f"-L{lean.libraries}", *there)
    leanc = lean.prefix / "bin" / "leanc"
    if leanc.is_file():
        yield "leanc", (str(leanc),), ("-leanshared", *libraries)
    known: set[Path] = set()
    for name in _COMPILERS:
        found = shutil.which(name)
        if there and found and (real := Path(found).resolve()) not in known:
            known.add(real)
            yield name, (found, "-w", f"-I{lean.prefix / 'include'}"), libraries


def _run(lean: NativeLean, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a step with the user's own environment, as `lake build` would."""
    env = {name: value for name, value in os.environ.items() if name != "LEAN_PATH"}
    try:
        return subprocess.run(
            command, cwd=folder, env=env | {"LEAN_SYSROOT": str(lean.prefix)}, text=True,
            stdin=subprocess.DEVNULL, capture_output=True, errors="replace", timeout=SECONDS,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"it took more than {SECONDS:g} s")
    except OSError as error:
        return subprocess.CompletedProcess(command, 1, "", f"it cannot be run: {error.strerror}")


def _first_line(done: subprocess.CompletedProcess[str]) -> str:
    """The line that says why, of all that was printed."""
    lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    said = [line for line in lines if "error" in line.lower()] or lines
    return said[0][:300] if said else f"exit code {done.returncode}, and it printed nothing"
