"""Selection of the k smallest or largest with fewer comparisons than a whole sort takes.

Rows are sorted in blocks of k. Then two blocks at a time are merged, and the first k rows of both are kept, until one
block is left. For n rows this takes about n log2(k)^2 / 4 + n log2(k) comparisons, where sorting all takes n log2(n)^2
/ 4. Comparisons on which none of the k rows depends are left out (Knuth, volume 3, section 5.3.4). For k near n this
saves nothing: the way with fewer comparisons, this one or a whole sort, is taken. Where the session has orders
(`_orders`), they take the place of long selections.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate._sorting import _merge_exchange, _odd_even_merge, _orders
from quorate._source import at
from quorate._values._axes import row_axis
from quorate.errors import ShapeError

if TYPE_CHECKING:
    from quorate.array import SecretArray

__all__ = ["Selection", "first", "partitioned", "selection"]

#: An order makes about twice as many comparisons for each row, all in fewer rounds, and exchanges no rows.
_OF_AN_ORDER = 11
#: The comparators of more rows are made anew each time, since they take hundreds of bytes for each row.
_LONG = 1 << 16
#: The number of a wire: arrays whose elements are moved have fewer than 2^32.
_WIRE = np.uint32
_NO_WIRES = np.arange(0, dtype=_WIRE)

Wires = np.ndarray
Pairs = tuple[Wires, Wires]


@dataclasses.dataclass(frozen=True)
class Selection:
    """Comparators that put the first k rows in order.

    Attributes:
        layers: pairs of wires that are compared in parallel; the lower value goes to the first wire of a pair.
        order: the wires that hold the first k rows, in sorted order.
    """

    layers: tuple[Pairs, ...]
    order: Wires

    @property
    def comparisons(self) -> int:
        """The number of comparisons."""
        return sum(len(low) for low, _ in self.layers)


def selection(count: int, k: int) -> Selection:
    """Returns the fewest comparators that select the first k of `count` rows, of two ways to do it."""
    return _kept(count, k) if count <= _LONG else _selection(count, k)


@functools.lru_cache(maxsize=64)
def _kept(count: int, k: int) -> Selection:
    return _selection(count, k)


def _selection(count: int, k: int) -> Selection:
    if k == 0:
        return Selection((), np.arange(0))
    if k == 1:
        return Selection(tuple(_least(count)), np.arange(1))
    blocks = _pruned(*_tournament(count, k))
    if k <= count // 4:
        return blocks  # a sort takes more
    return min(_pruned(_all_sorted(count), np.arange(k)), blocks, key=lambda found: found.comparisons)


def _least(count: int) -> Iterator[Pairs]:
    """Yields the comparators of a sort on which the first row depends."""
    half = 1 << max(count - 1, 0).bit_length() >> 1
    while half > 0:
        low = np.arange(min(half, count - half), dtype=_WIRE)
        yield low, low + half
        count, half = half, half // 2


def _all_sorted(count: int) -> list[Pairs]:
    """Returns Batcher's merge exchange, which sorts all rows."""
    found = []
    for _, p, r, d in _merge_exchange.layers(count):
        rows = np.arange(max(count - d, 0), dtype=_WIRE)
        low = rows[(rows & p) == r]
        found.append((low, low + d))
    return found


def _tournament(count: int, k: int) -> tuple[list[Pairs], Wires]:
    """Returns the comparators that sort blocks of k rows, merge two at a time, and keep the first k of both."""
    # Blocks of k wires, and the last block if it is shorter.
    wires, whole = np.arange(count, dtype=_WIRE), count - count % k
    full: Any = wires[:whole].reshape(-1, k)
    short: Any = wires[whole:].reshape(1, -1)
    found = _beside([_in_each(full, _all_sorted(k)), _in_each(short, _all_sorted(short.size))])
    while len(full) > 1 or short.size:
        even = len(full) - len(full) % 2
        pairs = [full[:even].reshape(-1, 2 * k)]
        full = full[even:]
        if short.size and len(full):
            pairs.append(np.concatenate([full, short], axis=1))
            full, short = full[:0], short[:, :0]
        merges, merged = [], []
        for wires in pairs:
            layers, order = _odd_even_merge.layers(k, wires.shape[-1] - k)
            merges.append(_in_each(wires, layers))
            merged.append(wires[:, order[:k]])
        full = np.concatenate([*merged, full])
        found += _beside(merges)
    return found, full[0]


def _in_each(blocks: np.ndarray, layers: list[Pairs]) -> list[Pairs]:
    """Returns the comparators of one block on the wires of all blocks, each of which is a row."""
    return [(blocks[:, low].ravel(), blocks[:, high].ravel()) for low, high in layers]


def _beside(parts: list[list[Pairs]]) -> list[Pairs]:
    """Joins comparators of different wires: their layers run in parallel."""
    if len(parts) == 1:
        return parts[0]
    layers = itertools.zip_longest(*parts, fillvalue=(_NO_WIRES, _NO_WIRES))
    return [(np.concatenate([p[0] for p in side]), np.concatenate([p[1] for p in side])) for side in layers]


def _pruned(layers: list[Pairs], order: Wires) -> Selection:
    """Returns the selection without comparisons on which no wire in `order` depends."""
    wires = 1 + max([int(order.max()), *(int(high.max()) for _, high in layers if len(high))])
    wanted = np.zeros(wires, bool)
    wanted[order] = True
    kept = []
    for low, high in reversed(layers):
        needed = wanted[low] | wanted[high]
        if not needed.all():
            low, high = low[needed], high[needed]
        wanted[low] = wanted[high] = True
        if len(low):
            kept.append((low, high))
    return Selection(tuple(reversed(kept)), order)


def _comparisons(count: int, k: int) -> float:
    """Returns about the number of comparators that select the first k of `count` rows."""
    return count * min(math.log2(k) ** 2 / 4 + math.log2(k), math.log2(count) ** 2 / 4)


def first(rows: list[SecretArray], k: int, largest: bool, rest: bool) -> list[SecretArray]:
    """Returns the first k rows in order of the first array; with `rest`, all others follow in any order.

    Which of several equal rows come first is arbitrary, but always the same.
    """
    mpc, count = rows[0]._session, len(rows[0])
    if k > 0 and _comparisons(count, k) > _OF_AN_ORDER * count and _orders.serves(rows[0]):
        ordered = _orders.sort(rows[0], rows[1:], descending=largest)
        return ordered if rest else [row[:k] for row in ordered]
    chosen = selection(count, k)
    place = np.arange(count, dtype=_WIRE)  # where each wire's value stands
    last = _last_uses(chosen, count, rest)
    live, numbers, used = place.copy(), place.copy(), np.zeros(count, bool)
    for layer, (low, high) in enumerate(chosen.layers):
        live = live[last[live] > layer]
        used[low] = used[high] = True
        left = live[~used[live]]
        used[low] = used[high] = False
        lows, highs, lefts = place[low], place[high], place[left]
        pairs = [(row[lows], row[highs]) for row in rows]
        one, other = pairs[0]
        swap = one < other if largest else other < one
        for i, (row, (one, other)) in enumerate(zip(rows, pairs, strict=True)):
            bit = swap.reshape(*swap.shape, *(1 for _ in one.shape[swap.ndim :]))
            met = mpc.swap(bit, one, other)
            rows[i] = mpc.concatenate([*met, row[lefts]] if len(left) else met)
        place[low], place[high] = numbers[: len(low)], numbers[len(low) : 2 * len(low)]
        place[left] = numbers[2 * len(low) : len(rows[0])]
    wires = chosen.order
    if rest:
        wires = np.concatenate([wires, np.setdiff1d(np.arange(count), wires)])
    return [row[place[wires]] for row in rows]


def _last_uses(chosen: Selection, count: int, rest: bool) -> Wires:
    """Returns, for each wire, the last layer that uses its value."""
    end = len(chosen.layers) + 1
    if rest:
        return np.full(count, end, _WIRE)
    last = np.zeros(count, _WIRE)
    for layer, (low, high) in enumerate(chosen.layers):
        last[low] = last[high] = layer
    last[chosen.order] = end
    return last


def partitioned(what: str, rows: list[SecretArray], kth: Any) -> list[SecretArray]:
    """Returns the rows so that those at `kth` are in their sorted places, lower ones before and higher ones after them.

    Raises:
        ShapeError: there is no such position.
    """
    count = len(rows[0])
    named = [row_axis(what, k) for k in (kth if isinstance(kth, (list, tuple, np.ndarray)) else [kth])]
    if any(not -count <= k < count for k in named):
        raise ShapeError(at(f"{what}: kth {kth} is out of bounds for {count} elements"))
    if not named:
        return rows
    places = [k % count for k in named]
    below, above = max(places) + 1, count - min(places)
    if below <= above:
        return first(rows, below, largest=False, rest=True)
    return [row[::-1] for row in first(rows, above, largest=True, rest=True)]
