"""The addresses of model servers, as settings name them."""

from __future__ import annotations


def urls_of(given: str) -> tuple[str, ...]:
    """The addresses in a list with commas."""
    return tuple(dict.fromkeys(part for one in given.split(",") if (part := one.strip())))
