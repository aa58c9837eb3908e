"""The kernel's seal, by itself: a Python behind it tries what Lean is not to do."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from burnqed.lean import guard
from burnqed.lean.process import LaunchSpec, Limits, guarded

KNOWN = sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")
SEALS = KNOWN and Path("/proc/sys/kernel/seccomp/actions_avail").exists()
needs_seal = pytest.mark.skipif(not SEALS, reason="this kernel has no seals")
LIMITS = Limits(stack_kb=8_000)


def behind(
    code: str, *, sealed: bool, may_write: bool = True, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """What becomes of a program whose attempt is followed by `through`."""
    program = f"import ctypes, os, socket, subprocess, threading\n{code}\nprint('through')"
    command = (sys.executable, "-I", "-S", "-B", "-c", program)
    spec = LaunchSpec(command, {}, cwd, sealed=sealed, may_write=may_write)
    return subprocess.run(
        guarded(spec, LIMITS), env={}, cwd=cwd, capture_output=True, text=True, timeout=60, check=False
    )


ATTEMPTS = {
    "a socket": "socket.socket()",
    "a socket of this machine": "socket.socket(socket.AF_UNIX)",
    "a pair of sockets": "socket.socketpair()",
    "a fork": "os.fork() or os._exit(0)",
    "a process": "subprocess.run(['/bin/true'])",
    "a process, without vfork": "subprocess._USE_VFORK = False\nsubprocess.run(['/bin/true'])",
    "another program": "os.execv('/bin/echo', ['echo', 'through'])",
    "a signal to the parent": "os.kill(os.getppid(), 0)",
    "a hand in the parent": "os.close(os.pidfd_open(os.getppid()))",
}


@needs_seal
@pytest.mark.parametrize("what", ATTEMPTS)
def test_the_kernel_refuses(what: str) -> None:
    free = behind(ATTEMPTS[what], sealed=False)
    assert free.stdout == "through\n", (free.stdout, free.stderr)
    held = behind(ATTEMPTS[what], sealed=True)
    assert held.stdout == ""
    assert "PermissionError" in held.stderr


CHANGES = {
    "a new file": "open('new', 'w')",
    "more in a file": "open('there', 'a')",
    "a file, emptied": "os.truncate('there', 0)",
    "a file, emptied as it is read": "os.open('there', os.O_RDONLY | os.O_TRUNC)",
    "a file without a name": "os.open('.', os.O_TMPFILE | os.O_RDWR)",
    "another name": "os.rename('there', 'elsewhere')",
    "a second name": "os.link('there', 'elsewhere')",
    "a symbolic link": "os.symlink('there', 'elsewhere')",
    "no file": "os.unlink('there')",
    "a folder": "os.mkdir('folder')",
    "no folder": "os.rmdir('empty')",
    "a pipe with a name": "os.mkfifo('pipe')",
    "other rights": "os.chmod('there', 0o777)",
    "other times": "os.utime('there')",
    "an attribute": "os.setxattr('there', 'user.a', b'1')",
}


@needs_seal
@pytest.mark.parametrize("what", CHANGES)
def test_a_shut_one_changes_no_file(what: str, tmp_path: Path) -> None:
    for name in ("free", "sealed", "shut"):
        (tmp_path / name / "empty").mkdir(parents=True)
        (tmp_path / name / "there").write_text("as it was")
    free = behind(CHANGES[what], sealed=False, cwd=tmp_path / "free")
    if "Operation not supported" in free.stderr:
        pytest.skip("this file system has no such thing")
    assert free.stdout == "through\n", free.stderr
    may = behind(CHANGES[what], sealed=True, cwd=tmp_path / "sealed")
    assert may.stdout == "through\n", may.stderr
    shut = behind(CHANGES[what], sealed=True, may_write=False, cwd=tmp_path / "shut")
    assert shut.stdout == ""
    assert "PermissionError" in shut.stderr
    assert sorted(path.name for path in (tmp_path / "shut").iterdir()) == ["empty", "there"]
    assert (tmp_path / "shut" / "there").read_text() == "as it was"


@needs_seal
def test_a_shut_one_reads() -> None:
    code = f"print(open({__file__!r}).readline())\nos.listdir('/')\nos.stat('/')"
    read = behind(code, sealed=True, may_write=False).stdout.split("\n")
    assert read[0] == Path(__file__).read_text(encoding="utf-8").split("\n")[0]
    assert read[-2] == "through"
    assert behind(ATTEMPTS["a socket"], sealed=True, may_write=False).stdout == ""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the kernel counts otherwise")
def test_the_kernel_refuses_memory_far_beyond_the_limit() -> None:
    program = "import mmap\nmmap.mmap(-1, 3 * 2**30, mmap.MAP_PRIVATE)\nprint('through')"
    for bounded, said in ((False, "through\n"), (True, "")):
        spec = LaunchSpec((sys.executable, "-I", "-S", "-c", program), {}, bounded=bounded)
        out = subprocess.run(
            guarded(spec, Limits(stack_kb=8_000, memory_bytes=2**29)),
            env={}, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert out.stdout == said, out.stderr
        assert ("Cannot allocate memory" in out.stderr) == bounded


@needs_seal
def test_new_ways_to_the_same_are_as_in_an_older_kernel() -> None:
    """A ring of requests could open sockets, and `clone3` hides its flags from a filter."""
    for number in (425, 435):  # io_uring_setup, clone3: the same on all machines
        code = f"libc = ctypes.CDLL(None, use_errno=True)\nlibc.syscall({number}, 0, 0)\n"
        held = behind(code + "print(ctypes.get_errno())", sealed=True)
        assert held.stdout.split() == ["38", "through"], held.stderr


@needs_seal
def test_threads_and_signals_to_oneself_go_on() -> None:
    code = "t = threading.Thread(target=os.getpid)\nt.start()\nt.join()\nos.kill(os.getpid(), 0)"
    assert behind(code, sealed=True).stdout == "through\n"


@needs_seal
def test_threads_are_held_too() -> None:
    code = "t = threading.Thread(target=socket.socket)\nt.start()\nt.join()"
    assert "PermissionError" in behind(code, sealed=True).stderr


@pytest.mark.parametrize("sealed", [False, True])
def test_a_program_that_is_not_there_is_named(sealed: bool) -> None:
    spec = LaunchSpec(("/no/such/program",), {}, sealed=sealed)
    out = subprocess.run(guarded(spec, LIMITS), capture_output=True, text=True, check=False)
    assert out.returncode == 1
    assert "cannot run /no/such/program: No such file" in out.stderr


def test_where_the_kernel_takes_no_seal_it_goes_without() -> None:
    """A filter that the kernel does not accept stands for a system that forbids them."""
    code = (
        f"import importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('guard', {str(Path(guard.__file__))!r})\n"
        f"guard = importlib.util.module_from_spec(spec)\n"
        f"spec.loader.exec_module(guard)\n"
        f"guard.orders = lambda pid, program, shut: bytes(8)\n"
        f"program = 'import socket; socket.socket(); print(7)'\n"
        f"guard.become([sys.executable, '-I', '-S', '-c', program], False)\n"
    )
    out = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert out.stdout == "7\n", out.stderr


def test_what_is_not_sealed_is_left_alone() -> None:
    """Such as Pantograph's own REPL."""
    spec = LaunchSpec((sys.executable, "-c", "0"), {})
    assert "open" in guarded(spec, LIMITS)
    assert str(os.getpid()) in guarded(spec, LIMITS)
