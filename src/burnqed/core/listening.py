"""A socket to serve on."""

from __future__ import annotations

import socket

from burnqed.core.errors import InputError

_BACKLOG = 128  # connections that wait to be accepted


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        found = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        raise InputError(
            f"cannot listen on {host}, port {port}: {error}",
            hint="give another --port (0 takes a free one), or a --host of this machine",
        ) from error
    # Connections inherit this: otherwise a body waits 40 ms for the acknowledgement of its headers.
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def url_of(listens: socket.socket) -> str:
    """The address as a browser takes it."""
    host, port = listens.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
