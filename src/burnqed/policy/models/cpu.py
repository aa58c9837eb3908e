"""What this CPU can compute besides float32: tried once, in a process of its own.

Half precision on a CPU goes through oneDNN, which takes the best instructions that the CPU claims. In
a virtual machine the CPU may claim AMX and not be let use it; who tries dies by SIGILL. So a process is
started that tries (`cpu_probe`). If it dies, oneDNN is held to a lower instruction set, and if nothing
helps, float32 is used. The answer is kept in the cache; a later start reads a file.

oneDNN reads its limit once, when it is first used, so this comes before torch does anything.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from burnqed.core.cache import cache_root, lock
from burnqed.core.errors import InfrastructureError, SetupError
from burnqed.core.files import publish

FORMATS = ("bfloat16", "float16")
LIMIT = "ONEDNN_MAX_CPU_ISA"
SECONDS = 120.0  # torch alone may take a while to load from a slow disk
LOADED = "loaded"  # what the program says first
# `-P`: what lies beside the program must not be found in the place of packages.
PROBE = (sys.executable, "-P", str(Path(__file__).with_name("cpu_probe.py")), *FORMATS)

# oneDNN's names, from high to low; the first is all but AMX.
_LOWER = ("AVX512_CORE_FP16", "AVX512_CORE_BF16", "AVX512_CORE", "AVX2")
# What else decides which instructions are used, if somebody sets it.
_DECIDING = (LIMIT, "DNNL_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY", "MKL_ENABLE_INSTRUCTIONS")
_OWN = _DECIDING[:2]
# Of /proc/cpuinfo, here and on ARM.
_TELLING = {
    "vendor_id", "cpu family", "model", "model name", "stepping", "microcode", "flags",
    "features", "cpu implementer", "cpu variant", "cpu part", "cpu revision",
}  # fmt: skip
_KEPT = 32  # answers in the file: a machine that is started again asks again


@dataclass(frozen=True, slots=True)
class Ability:
    """The formats that work, what oneDNN must be held to for that, and how the first try failed."""

    formats: tuple[str, ...] = FORMATS
    limit: str | None = None
    trouble: str = ""


@cache
def settle() -> Ability:
    """Find out, and hold oneDNN to what works, in this process and in those that it starts."""
    try:
        found = known()
    except SetupError as error:  # no torch, or none that can be loaded: whoever loads it will say so
        return Ability((), None, error.message)
    if found.limit is None:
        return found
    if "torch" in sys.modules:
        late = f"and torch was loaded before {LIMIT}={found.limit} could be set"
        return Ability((), None, f"{found.trouble}, {late}")
    os.environ[LIMIT] = found.limit
    return found


def usable(dtype: str) -> tuple[str, str]:
    """What to compute in on the CPU when this is asked for, and a sentence if that is not plain."""
    if dtype not in FORMATS:
        return dtype, ""
    ability = settle()
    if dtype not in ability.formats:
        return "float32", f"this CPU cannot compute in {dtype} ({ability.trouble}): float32 is used"
    if ability.limit is None:
        return dtype, ""
    return dtype, (
        f"this CPU claims more than it can do ({ability.trouble}): in {dtype} no more is used of it "
        f"than {ability.limit}"
    )


def known() -> Ability:
    """The answer in the cache, or else one that is found now and kept."""
    path, key = _file(), _key()
    found = _read(path).get(key)
    if found is not None:
        return found
    try:
        held = lock(path)  # of several processes that start together one tries
    except SetupError:
        return probe()
    try:
        return _read(path).get(key) or look()
    finally:
        held.release()


def look() -> Ability:
    """Try, whatever was known, and keep the answer."""
    found = probe()
    path, key = _file(), _key()
    kept = {**{other: one for other, one in _read(path).items() if other != key}, key: found}
    last = list(kept.items())[-_KEPT:]
    with suppress(InfrastructureError):  # then the next start tries again
        publish(path, json.dumps({other: asdict(one) for other, one in last}, indent=1) + "\n")
    return found


def probe(command: Sequence[str] | None = None, seconds: float | None = None) -> Ability:
    """Run the program that tries, with less and less allowed until everything works.

    A limit that the user has set is left alone. What does not end in time is not tried again.
    """
    own = any(os.environ.get(name) for name in _OWN)
    lower = () if own or platform.machine() not in ("x86_64", "AMD64") else _LOWER
    first = best = _try(command or PROBE, None, seconds or SECONDS)
    for limit in lower:
        if first.late or len(best.formats) == len(FORMATS):
            break
        this = _try(command or PROBE, limit, seconds or SECONDS)
        if len(this.formats) > len(best.formats):
            best = this
        if this.late:
            break
    return Ability(best.formats, best.limit, first.trouble)


@dataclass(frozen=True, slots=True)
class _Tried:
    limit: str | None
    formats: tuple[str, ...]
    trouble: str = ""
    late: bool = False


def _try(command: Sequence[str], limit: str | None, seconds: float) -> _Tried:
    try:
        child = subprocess.Popen(
            command, env=os.environ if limit is None else {**os.environ, LIMIT: limit},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, errors="replace", start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise SetupError(f"cannot start {command[0]}: {error.strerror}") from error
    late = False
    try:
        said, wrong = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        late = True
        os.killpg(child.pid, signal.SIGKILL)
        said, wrong = child.communicate()
    finally:
        if child.poll() is None:  # we are interrupted
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    words, code = said.split(), child.returncode
    formats = tuple(name for name in FORMATS if name in words)
    last = (wrong.strip().splitlines() or [f"exit code {code}"])[-1][:200]
    if late:
        return _Tried(limit, formats, f"trying it did not end within {seconds:g} s", late)
    if code < 0:
        return _Tried(limit, formats, f"trying it ended by {_signal(-code)}")
    if LOADED not in words:
        raise SetupError(f"torch cannot be loaded: {last}", hint="pip install 'burn-qed[models]'")
    return _Tried(limit, formats, "" if len(formats) == len(FORMATS) else last)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


# -------------------------------------------------------------------------------- what is kept


def _file() -> Path:
    return cache_root() / "cpu.json"


def _key() -> str:
    """All that decides the answer: the CPU as it shows itself since its start, torch, settings."""
    try:
        torch = version("torch")
    except PackageNotFoundError:
        raise SetupError("torch is not installed", hint="pip install 'burn-qed[models]'") from None
    given = [f"{name}={os.environ.get(name, '')}" for name in _DECIDING]
    parts = [torch, platform.machine(), platform.release(), _boot(), *_processor(), *given]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _boot() -> str:
    """Another one after each start: the same flags may be another host's."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return platform.node()


def _processor() -> list[str]:
    """Model and flags of the first one. The file is long, and slow to read, where there are many."""
    lines = []
    with suppress(OSError), Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if not line.strip():
                break
            if line.split(":")[0].strip().lower() in _TELLING:
                lines.append(line.strip())
    return lines


def _read(path: Path) -> dict[str, Ability]:
    """What was found before; what nobody can read is found again."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {key: _ability(**one) for key, one in content.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _ability(formats: list[str], limit: str | None, trouble: str) -> Ability:
    if not set(formats) <= set(FORMATS) or limit not in (None, *_LOWER) or not isinstance(trouble, str):
        raise ValueError("not what was written")
    return Ability(tuple(formats), limit, trouble)
