"""A server without an encoder, for each test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from burnqed.value.server import EncodeServer


@pytest.fixture
def server() -> Iterator[EncodeServer]:
    with EncodeServer() as this:
        yield this
