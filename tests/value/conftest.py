"""A server without an encoder, for each test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # it loads torch
    from burnqed.value.server import EncodeServer


@pytest.fixture
def server() -> Iterator[EncodeServer]:
    from burnqed.value.server import EncodeServer

    with EncodeServer() as this:
        yield this
