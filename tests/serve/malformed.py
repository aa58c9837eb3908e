"""Fifty messages that are no call of a tool of ours: a server of the protocol survives them."""

from __future__ import annotations

import json
from typing import Any


def _call(**params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).encode()


def _prove(**arguments: Any) -> bytes:
    return _call(name="prove", arguments=arguments)


NO_JSON = [
    b"hello", b"{", b"}", b"[", b"]]", b'{"jsonrpc": "2.0", "id": 1, "method": "pi', b"'", b'"', b"nul",
    b"\x00", b"\xff\xfe", b"\xc3(", b"{'a': 1}", b'{"a": 1,}', b"NaN", b"-1e400",
    b"[" * 100_000, b'{"a":' * 50_000, b"\x1b[31mred", b"GET / HTTP/1.1",
    b'{"jsonrpc": "2.0", "id": 1, "method": "\\ud800"}',
]  # fmt: skip
NO_MESSAGES = [
    b"0", b"null", b"true", b'"ping"', b"[]", b"{}", b"[1, 2]", b'{"jsonrpc": "2.0"}',
    b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', b'{"id": 1, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', b'{"jsonrpc": "2.0", "id": 1, "method": 5}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}',
    b'{"jsonrpc": "2.0", "id": true, "method": "ping", "params": "x"}',
    b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]',
]  # fmt: skip
REFUSED = [
    b'{"jsonrpc": "2.0", "id": 7, "method": "nothing/here"}',
    b'{"jsonrpc": "2.0", "id": 7, "method": ""}',
    b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call"}', _call(), _call(name=5), _call(name="none"),
    _call(name="prove", arguments=[]), _call(name="prove"), _prove(), _prove(text=5), _prove(text=""),
    _prove(text="True", mode="stream"), _prove(text="True", nodes=-1), _prove(text="True", seconds="x"),
]  # fmt: skip
MALFORMED = [*NO_JSON, *NO_MESSAGES, *REFUSED]
