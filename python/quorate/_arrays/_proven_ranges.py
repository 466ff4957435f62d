"""Ranges that Python code states because it proves them; the graph's own analysis does not."""

from __future__ import annotations

from typing import Any

from quorate import _source


def stated(x: Any, bits: int, low: int | None = None) -> Any:
    """Returns the array with a proven range: units from -2^bits, or from `low`, to 2^bits."""
    return between(x, -(1 << bits) if low is None else low, 1 << bits)


def between(x: Any, low: int, high: int) -> Any:
    """Returns the array with a proven range: units from `low` to `high`."""
    return x._new(x._session._native.stated(x._node, low, high, _source.line()))
