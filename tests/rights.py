"""Permissions that hold for root as well, so that tests of them mean the same to everybody."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

_VERSION = 0x20080522  # of the kernel's structure: two words of each set
_OVERRIDE = 1 << 1  # CAP_DAC_OVERRIDE: to write whatever the permissions say


@contextmanager
def bound_by_permissions() -> Iterator[None]:
    """Root may not write to what is read-only meanwhile; nor may anybody else, ever."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; then the same of the upper half

    def call(name: str) -> None:
        if getattr(libc, name)(header, sets):
            raise OSError(ctypes.get_errno(), name)

    call("capget")
    before = sets[0]
    sets[0] = before & ~_OVERRIDE
    call("capset")
    try:
        yield
    finally:
        sets[0] = before
        call("capset")
