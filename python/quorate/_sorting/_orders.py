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

__all__ = ["sort"]

#: Lanes along the sorted axis, each of which has an order of its own. Networks sort all lanes at once.
_MOST_LANES = 16
#: Fewer rows are sorted by a network, which compares fewer pairs of them.
_FEWEST_ROWS = 5
#: Bytes for each row under which `max_memory` leaves room for an order, which does not run in pieces.
_BYTES_PER_ROW = 1024
#: The bits of the widest ring, for keys with places and a spare bit.
_MOST_BITS = 126


def sort(
    keys: SecretArray,
    others: Sequence[SecretArray] = (),
    *,
    stable: bool = False,
    places: bool = False,
    descending: bool = False,
) -> list[SecretArray]:
    """Returns the keys sorted along axis 0, and the other arrays in the same order.

    With `stable`, equal keys keep their order. With `places` they do, too, and the second array of the result is their
    former positions, as int(64).
    """
    lanes = math.prod(keys.shape[1:])
    if not (_has_orders(keys) and 1 <= lanes <= _MOST_LANES and len(keys) >= _FEWEST_ROWS):
        rows = _merge_exchange.sort(keys, list(others), stable or places, descending)
        return rows if places or not stable else [rows[0], *rows[2:]]
    columns = [keys, *([_merge_exchange.places(keys)] if places else []), *others]
    if lanes == 1:
        return _in_order(keys, columns, descending)
    flat = [x.reshape(len(x), lanes, *x.shape[keys.ndim :]) for x in columns]
    in_lanes = [_in_order(flat[0][:, lane], [x[:, lane] for x in flat], descending) for lane in range(lanes)]
    both = zip(columns, zip(*in_lanes, strict=True), strict=True)
    return [keys._session.stack(list(found), axis=1).reshape(x.shape) for x, found in both]


def _has_orders(keys: SecretArray) -> bool:
    """Returns whether the session opens comparisons of shuffled rows: it depends on the family, on the widest ring, and
    on `max_memory`, under which networks run in pieces.
    """
    limit = keys._session._options.max_memory
    has_room = limit is None or len(keys) * _BYTES_PER_ROW <= limit
    wide = keys.dtype.bits + len(keys).bit_length() + 1
    return keys._session._native.orders() and has_room and wide <= _MOST_BITS


def _in_order(key: SecretArray, columns: list[SecretArray], descending: bool) -> list[SecretArray]:
    built = key._session._native.order([x._node for x in columns], key._node, descending, _source.line())
    return [x._new(node) for x, node in zip(columns, built, strict=True)]
