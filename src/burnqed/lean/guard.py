"""Become a Lean process that cannot outlive its parent.

Run as `python -I -S guard.py STACK_KB PARENT_PID -- command…`; it prepares itself and then *is* the
command (exec), so no process is added. Standard library only, because nothing else is importable
here, and few imports, because every worker pays for them.

The stack: Lean recurses deeply, and where the soft limit is the usual 8 MB it dies of it.

The parent: Linux kills this process when its parent ends, by SIGKILL too, which no handler or
`atexit` in the parent could do. Two things to know about that promise:

- It is tied to the parent *thread* that started us. asyncio starts processes from the thread that
  runs the loop, and with that thread gone nobody could talk to us anyway, so this is what we want;
  but a pool must be used from one loop, and `pool.run_sync` runs in the calling thread to the end.
- It holds for this process, not for children of its own. A launch command must therefore be Lean
  itself, or a script that ends in `exec`, not a wrapper that waits.

Elsewhere than on Linux a parent that is killed leaves an idle REPL to end by the end of its input.
"""

import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1


def raise_stack_limit(kilobytes: int) -> None:
    """Raise the soft limit as far as the hard one allows; never lower it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    wanted = kilobytes * 1024
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_STACK, (wanted, hard))


def die_with_parent(parent: int, how: signal.Signals = signal.SIGKILL) -> None:
    """Ask the kernel for a signal when the parent ends, and end now if it already has."""
    if sys.platform == "linux":
        import ctypes

        if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, how, 0, 0, 0):
            sys.exit(f"guard: prctl: {os.strerror(ctypes.get_errno())}")
    # The parent may have ended before the request above; then no signal will ever come.
    if os.getppid() != parent:
        sys.exit("guard: the parent is gone")


def main(arguments: list[str]) -> None:
    stack_kb, parent, separator, *command = arguments
    if separator != "--" or not command:
        sys.exit("usage: guard.py STACK_KB PARENT_PID -- command…")
    # A crashing Lean would otherwise write gigabytes of core file into the working folder.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    raise_stack_limit(int(stack_kb))
    die_with_parent(int(parent))
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"guard: cannot run {command[0]}: {error.strerror}")


if __name__ == "__main__":
    main(sys.argv[1:])
