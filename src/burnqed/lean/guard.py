"""Become a Lean process that cannot outlive its parent and, if sealed, reaches no other process.

Run as `python -I -S guard.py STACK_KB MEMORY PARENT_PID open|sealed|shut -- command…`. It prepares
itself and then becomes the command (exec), so it adds no process. It uses only the standard library,
because nothing else is importable here, and few imports, because every worker pays for them.

The stack: Lean recurses deeply, and the usual soft limit of 8 MB is too small.

The memory: unless 0, the bytes that the process may ask for. Files that it only reads do not count.

The parent: Linux kills this process when its parent ends, even by SIGKILL, which no handler or `atexit`
in the parent can catch. Two limits of this:

- It is tied to the parent *thread* that started us. asyncio starts processes from the thread of its
  loop, and without that thread nobody could talk to us anyway. But a pool must be used from one loop,
  and `pool.run_sync` runs in the calling thread to the end.
- It does not hold for children of this process. So a launch command must be Lean itself, or a script
  that ends in `exec`, not a wrapper that waits.

On other systems, if the parent is killed, an idle REPL ends at the end of its input.

The seal: on Linux the kernel refuses a sealed command sockets, new processes, other programs and access
to other processes, for good (seccomp). A shut one is also refused every change of a file or of the
system. Not every machine allows a seal: `burn-qed doctor` tests it.
"""

import os
import resource
import struct
import sys

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_SIGKILL = 9  # importing the module `signal` takes as long as all others together
_SECCOMP = {"x86_64": 317, "aarch64": 277}  # the call's number, on machines that there are orders for
_FILTER = 1  # SECCOMP_SET_MODE_FILTER
# Older kernels slow a filtered process down, so that it cannot guess other memory of its own process.
# Ours holds nobody else's.
_SPEC_ALLOW = 4

# The classic BPF of the kernel's filters, and what a filter sees of a call.
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN, _SKIP = 0x20, 0x15, 0x35, 0x45, 0x06, 0x05
_NUMBER, _MACHINE, _ARGUMENT = 0, 4, 16
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_EPERM, _ENOSYS = 1, 38
_THREAD = 0x10000  # CLONE_THREAD
_WRITES = 0x243  # O_WRONLY, O_RDWR, O_CREAT, O_TRUNC
_X32 = 0x40000000  # a second set of numbers on x86-64, for the same calls

# Calls by their numbers on each machine.
#   never: socket socketpair connect bind listen accept accept4, fork vfork, ptrace process_vm_readv
#          process_vm_writev pidfd_open pidfd_getfd, execveat, tkill rt_sigqueueinfo rt_tgsigqueueinfo
#          pidfd_send_signal
#   unknown, as if to an older kernel, so that the caller does without: clone3 io_uring_setup openat2
#   own: kill tgkill, to oneself
# Of a shut one also:
#   changing: truncate creat; rename* mkdir* rmdir link* unlink* symlink* mknod*; chmod* chown* utime*;
#             *setxattr* *removexattr*; open_by_handle_at, which takes no path
#   system: mount umount2 pivot_root chroot, fsopen to fspick, mount_setattr; swap* reboot set*name
#           *_module kexec_* acct quotactl*; clocks; bpf perf_event_open userfaultfd setns unshare; keys
_CALLS = {
    0xC000003E: {  # x86-64
        "never": (
            41, 53, 42, 49, 50, 43, 288, 57, 58, 101, 310, 311, 434, 438, 322, 200, 129, 297, 424,
        ),
        "unknown": (435, 425, 437), "own": (62, 234), "clone": (56,), "execve": (59,),
        "changing": (
            76, 85, 82, 264, 316, 83, 258, 84, 86, 265, 87, 263, 88, 266, 133, 259, 90, 91, 268, 452,
            92, 93, 94, 260, 132, 235, 261, 280, 188, 189, 190, 197, 198, 199, 463, 466, 304,
        ),
        "system": (
            165, 166, 155, 161, *range(428, 434), 442, 167, 168, 169, 170, 171, 175, 176, 313, 246,
            320, 163, 179, 443, 159, 164, 227, 305, 321, 298, 323, 308, 272, 248, 249, 250, 172, 173,
        ),
    },
    0xC00000B7: {  # aarch64
        "never": (
            198, 199, 203, 200, 201, 202, 242, 117, 270, 271, 434, 438, 281, 130, 138, 240, 424,
        ),
        "unknown": (435, 425, 437), "own": (129, 131), "clone": (220,), "execve": (221,),
        "changing": (
            45, 38, 276, 34, 37, 35, 36, 33, 52, 53, 452, 54, 55, 88, 5, 6, 7, 14, 15, 16, 463, 466,
            265,
        ),
        "system": (
            40, 39, 41, 51, *range(428, 434), 442, 224, 225, 142, 161, 162, 105, 106, 273, 104, 294,
            89, 60, 443, 112, 170, 171, 266, 280, 241, 282, 268, 97, 217, 218, 219,
        ),
    },
}  # fmt: skip
# open and openat, which a shut one may use for reading, and which of their arguments says so.
_OPENS = {0xC000003E: ((2, 1), (257, 2)), 0xC00000B7: ((56, 2),)}


def raise_stack_limit(kilobytes: int) -> None:
    """Raise the soft limit as far as the hard one allows; never lower it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    wanted = kilobytes * 1024
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_STACK, (wanted, hard))


def limit_memory(size: int) -> None:
    """Have the kernel refuse more memory than this, unless it is 0. Never raise a limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if size and (hard == resource.RLIM_INFINITY or hard > size):
        resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def die_with_parent(parent: int, how: int = _SIGKILL) -> None:
    """Ask the kernel for a signal when the parent ends, and end now if it already has."""
    if sys.platform == "linux":
        import ctypes

        if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, how, 0, 0, 0):
            sys.exit(f"guard: prctl: {os.strerror(ctypes.get_errno())}")
    # The parent may have ended before the request above; then no signal will ever come.
    if os.getppid() != parent:
        sys.exit("guard: the parent is gone")


def orders(pid: int, program: int, shut: bool) -> bytes:
    """The filter for the process `pid`, which may only become the program named at that address.

    No other program can use the address: later code lives elsewhere and cannot know it.
    """

    def step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
        return struct.pack("HBBI", code, yes, no, value)

    def give(value: int) -> bytes:
        return step(_RETURN, value)

    allow, refuse, unknown = give(_ALLOW), give(_ERROR | _EPERM), give(_ERROR | _ENOSYS)

    def demand(numbers: tuple[int, ...], *conditions: bytes) -> bytes:
        """Allow these calls if all conditions hold, each a load and a comparison."""
        test = b"".join(conditions) + allow + refuse
        return b"".join(step(_EQUAL, n, 0, len(test) // 8) + test for n in numbers)

    def argument(compare: int, value: int, half: int, left: int) -> bytes:
        """Continue if half of the first argument compares; else jump `left` steps, to the refusal."""
        return step(_LOAD, _ARGUMENT + 4 * half) + step(compare, value, 0, left + 1)

    program_low = argument(_EQUAL, program & 0xFFFFFFFF, 0, 2)
    program_high = argument(_EQUAL, program >> 32, 1, 0)
    whole = b""
    for machine, calls in _CALLS.items():
        never = (*calls["never"], *calls["changing"], *calls["system"]) if shut else calls["never"]
        here = step(_LOAD, _NUMBER) + step(_AT_LEAST, _X32, 0, 1) + refuse
        here += b"".join(step(_EQUAL, n, 0, 1) + refuse for n in never)
        here += b"".join(step(_EQUAL, n, 0, 1) + unknown for n in calls["unknown"])
        for number, flags in _OPENS[machine] if shut else ():
            writes = step(_LOAD, _ARGUMENT + 8 * flags) + step(_ANY_BIT, _WRITES, 1, 0)
            here += demand((number,), writes)
        here += demand(calls["own"], argument(_EQUAL, pid, 0, 0))
        here += demand(calls["clone"], argument(_ANY_BIT, _THREAD, 0, 0))
        here += demand(calls["execve"], program_low, program_high) + allow
        whole += step(_LOAD, _MACHINE) + step(_EQUAL, machine, 1, 0)
        whole += step(_SKIP, len(here) // 8) + here
    return whole + refuse  # calls of another architecture, such as a 32-bit one


def become(command: list[str], shut: bool) -> None:
    """Exec a program, given by its path, behind the seal if possible."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    path = ctypes.create_string_buffer(os.fsencode(command[0]))
    seccomp = _SECCOMP.get(os.uname().machine) if sys.platform == "linux" else None
    if seccomp is not None:
        code = orders(os.getpid(), ctypes.addressof(path), shut)
        steps = ctypes.create_string_buffer(code, len(code))
        program = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(steps))
        # If either is refused, there is no seal, and the program runs without.
        if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0:
            libc.syscall(seccomp, _FILTER, _SPEC_ALLOW, program)
    libc.execv(path, (ctypes.c_char_p * (len(command) + 1))(*map(os.fsencode, command), None))
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def main(arguments: list[str]) -> None:
    stack_kb, memory, parent, seal, separator, *command = arguments
    if separator != "--" or not command or seal not in ("open", "sealed", "shut"):
        sys.exit("usage: guard.py STACK_KB MEMORY PARENT_PID open|sealed|shut -- command…")
    # Otherwise a crashing Lean would write a core file of gigabytes into the working folder.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    raise_stack_limit(int(stack_kb))
    limit_memory(int(memory))
    die_with_parent(int(parent))
    try:
        if seal != "open":
            become(command, seal == "shut")
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"guard: cannot run {command[0]}: {error.strerror}")


if __name__ == "__main__":
    main(sys.argv[1:])
