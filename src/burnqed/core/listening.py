"""A socket that a server of ours listens on, and its address."""

from __future__ import annotations

import ipaddress
import socket

from burnqed.core.errors import InputError

_BACKLOG = 128  # connections that wait to be accepted


def listen(host: str, port: int) -> socket.socket:
    """Raises `InputError` if somebody else has the port, or the host is not of this machine."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        raise InputError(
            f"cannot listen on {host}, port {port}: {error}",
            hint="give another --port (0 takes a free one), or a --host of this machine",
        ) from error
    # Connections inherit this: otherwise a body waits 40 ms for the acknowledgement of its headers.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def url_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_local(listening: socket.socket) -> bool:
    """Whether only programs on this machine reach it."""
    return ipaddress.ip_address(listening.getsockname()[0]).is_loopback
