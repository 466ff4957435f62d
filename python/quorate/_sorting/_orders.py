"""Sorting by secret keys: by opened comparisons of shuffled rows where all parties follow the protocol, by a network of
comparators elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from quorate import _source
from quorate._sorting import _merge_exchange

if TYPE_CHECKING:
    from quorate.array import SecretArray

__all__ = ["positions", "serves", "sort"]

#: Lanes along the sorted axis, each of which has an order of its own. Networks sort all lanes at once.
_MOST_LANES = 16
#: Fewer rows are sorted by a network, which compares fewer pairs of them.
_FEWEST_ROWS = 5


def sort(
    keys: SecretArray,
    others: Sequence[SecretArray] = (),
    *,
    stable: bool = False,
    descending: bool = False,
) -> list[SecretArray]:
    """Returns the keys sorted along axis 0, and the other arrays in the same order; with `stable`, equal keys keep
    theirs.
    """
    if not serves(keys):
        rows = _merge_exchange.sort(keys, list(others), stable, descending)
        return [rows[0], *rows[2:]] if stable else rows
    return _ordered(keys, [keys, *others], descending)


def positions(keys: SecretArray, descending: bool) -> SecretArray:
    """Returns the positions that sort the keys along axis 0, as int(64); equal keys keep their order."""
    if not serves(keys):
        return _merge_exchange.sort(keys, [], True, descending)[1]
    return _ordered(keys, [_merge_exchange.places(keys)], descending)[0]


def _ordered(keys: SecretArray, columns: list[SecretArray], descending: bool) -> list[SecretArray]:
    """Returns the columns in the order of the keys, each lane in an order of its own."""
    lanes = math.prod(keys.shape[1:])
    if lanes == 1:
        return _in_order(keys, columns, descending)
    flat = [x.reshape(len(x), lanes, *x.shape[keys.ndim :]) for x in columns]
    lane_keys = keys.reshape(len(keys), lanes)
    in_lanes = [_in_order(lane_keys[:, lane], [x[:, lane] for x in flat], descending) for lane in range(lanes)]
    both = zip(columns, zip(*in_lanes, strict=True), strict=True)
    return [keys._session.stack(list(found), axis=1).reshape(x.shape) for x, found in both]


def serves(keys: SecretArray) -> bool:
    """Returns whether these keys are sorted by opened comparisons of shuffled rows.

    Under `max_memory` they are not: networks run in pieces.
    """
    lanes, session = math.prod(keys.shape[1:]), keys._session
    few = 1 <= lanes <= _MOST_LANES and len(keys) >= _FEWEST_ROWS
    return few and session._options.max_memory is None and session._native.can_order(keys._node)


def _in_order(key: SecretArray, columns: list[SecretArray], descending: bool) -> list[SecretArray]:
    built = key._session._native.order([x._node for x in columns], key._node, descending, _source.line())
    return [x._new(node) for x, node in zip(columns, built, strict=True)]
