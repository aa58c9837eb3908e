"""Whether another process holds a lock on a file, without touching the lock.

To try a lock is to hold it for a moment, and a run that begins in that moment would refuse to start.
So this reads the kernel's list.
"""

from __future__ import annotations

import os
from pathlib import Path

_LIST = Path("/proc/locks")


def is_locked(path: Path) -> bool:
    """Whether a process holds a lock on the file; False where that cannot be known."""
    try:
        about = path.stat()
        lines = _LIST.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return False
    device = about.st_dev
    file = f"{os.major(device):02x}:{os.minor(device):02x}:{about.st_ino}"
    # `1: FLOCK ADVISORY WRITE 4711 fe:00:2146313 0 EOF`; `->` in the second column only waits.
    return any(file in words and words[1] != "->" for words in map(str.split, lines))
