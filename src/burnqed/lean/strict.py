"""The fields of a reply, as the types that they must have.

A reply of any other shape is a `ProtocolError` that shows it, because a guess here would turn into a
wrong proof or a lost one somewhere else.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from burnqed.core.errors import ProtocolError

T = TypeVar("T")


def strictly(read: Callable[[dict[str, Any]], T], reply: dict[str, Any]) -> T:
    """What `read` makes of a reply."""
    try:
        return read(reply)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        head = json.dumps(reply, ensure_ascii=False)[:300]
        raise ProtocolError(f"unexpected reply ({type(error).__name__} {error}): {head}") from error


def _of(kind: type[T]) -> Callable[[Any], T]:
    def check(value: Any) -> T:
        # type(), not isinstance(): True is an int to the latter.
        if type(value) is not kind:
            raise TypeError(f"{value!r:.50} is no {kind.__name__}")
        return value

    return check


a_str, an_int, a_bool, a_list, a_dict = _of(str), _of(int), _of(bool), _of(list), _of(dict)


def tuple_of(read: Callable[[Any], T], values: Any) -> tuple[T, ...]:
    return tuple(map(read, a_list(values)))
