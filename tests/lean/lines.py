"""Requests by hand: those that the package itself does not make."""

import json
from typing import Any


def request_line(command: str, **fields: Any) -> str:
    return f"{command} {json.dumps(fields, ensure_ascii=False)}"


def stat() -> str:
    """What the package never asks: how many states there are."""
    return request_line("stat")
