"""Ranges that are proven elsewhere than in the graph."""

from __future__ import annotations

from typing import Any

from quorate import _source


def stated(x: Any, bits: int, low: int | None = None) -> Any:
    """The same array, of which it is proven that units are at most 2^bits in magnitude, or at least `low`."""
    return between(x, -(1 << bits) if low is None else low, 1 << bits)


def between(x: Any, low: int, high: int) -> Any:
    """The same array, of which it is proven that units lie between `low` and `high`."""
    return x._new(x._session._native.stated(x._node, low, high, _source.line()))
