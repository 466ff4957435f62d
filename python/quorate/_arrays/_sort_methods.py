"""Methods of secret arrays that sort all or some of their elements."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any, cast

from quorate._sorting import _merge_exchange, _orders, _selection
from quorate._source import at
from quorate._values._axes import lined_up, row_axis
from quorate.errors import ShapeError

if TYPE_CHECKING:
    from quorate.array import SecretArray

__all__ = ["SortMethods"]


class SortMethods:
    """The sorting and selection methods of `SecretArray`."""

    __slots__ = ()

    def _in_order(self) -> SecretArray:
        return cast("SecretArray", self)

    def sort(self, axis: int | None = -1, *, descending: bool = False, kind: Any = None) -> SecretArray:
        """Returns a sorted copy along an axis, ascending by default.

        `axis=None` flattens. numpy's `kind` does not change the result, and is ignored.

        With "rss", "aby" and semi-honest "pika", rows are shuffled in secret, and comparisons of shuffled rows are
        opened: they are independent of the data, since no party has the permutation. This is about 1.4 log2(n)
        comparisons deep. Where parties may cheat, and in some other cases (docs/arrays.md, costs of sorting), which
        elements are compared depends on the length alone (Batcher's merge exchange), and it is about log2(n)^2 / 2
        comparisons deep.

        Rounds: rss 150, aby 120, spdz2k 440, pika 121 for 1000 elements.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([3, -5, 7, 0], owner=0)
            ...     print(x.sort().reveal(), x.sort(descending=True).reveal())
            [-5  0  3  7] [ 7  3  0 -5]
        """
        keys, restore = lined_up("sort", self._in_order(), axis)
        return restore(_orders.sort(keys, descending=descending)[0])

    def argsort(self, axis: int | None = -1, *, descending: bool = False, kind: Any = None) -> SecretArray:
        """Returns the positions that sort an axis, as int(64).

        The order is stable: equal elements keep their order. numpy's `kind` is ignored. Where parties may cheat, it
        takes three times as many comparisons as `sort`; otherwise as many.

        Rounds: rss 150, aby 120, spdz2k 495, pika 121 for 1000 elements.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([3, -5, 3, 0], owner=0)
            ...     print(x.argsort().reveal(), x.argsort(descending=True).reveal())
            [1 3 0 2] [0 2 3 1]
        """
        keys, restore = lined_up("argsort", self._in_order(), axis)
        return restore(_orders.positions(keys, descending))

    def topk(self, k: Any, axis: int = -1, *, largest: bool = True) -> tuple[SecretArray, SecretArray]:
        """Returns the k largest (or smallest) elements of an axis in order, and their positions, as int(64).

        Rounds: rss 450, aby 315, spdz2k 360, pika 360 for 1000 elements. This is for k = 10.

        Which of several equal elements are taken is arbitrary, but the same in every run. It takes about n (log2(k)^2 /
        4 + log2(k)) comparisons, and is log2(k)^2 / 2 + log2(n / k) log2(2k) comparisons deep. Sorting all takes n
        log2(n)^2 / 4 comparisons, which is also the cost for k near n. Where all parties follow the protocol, long
        selections are sorts by opened comparisons. Positions cost nothing if they are not used.

        Raises:
            ShapeError: k is not from 0 to the size of the axis.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     values, places = mpc.input([3, -5, 7, 0], owner=0).topk(2)
            ...     print(values.reveal(), places.reveal())
            [7 3] [2 0]
        """
        x = self._in_order()
        rows, restore = lined_up("topk", x, row_axis("topk", axis))
        if isinstance(k, bool) or not isinstance(k, numbers.Integral) or not 0 <= int(k) <= len(rows):
            raise ShapeError(at(f"topk: k is a whole number from 0 to the {len(rows)} elements of the axis, not {k!r}"))
        places = _merge_exchange.places(rows)
        values, picked = _selection.first([rows, places], int(k), largest=bool(largest), rest=False)
        return restore(values), restore(picked)

    def partition(self, kth: Any, axis: int | None = -1) -> SecretArray:
        """Returns a copy in which the element at position `kth` is the one that sorting would put there.

        No larger elements stand before it, and no smaller ones after it. `kth` counts from 0, and may be several
        numbers. It costs as much as a `topk` of the elements up to it, or of those from it on, whichever are fewer.

        Rounds: rss 450, aby 315, spdz2k 360, pika 360 for 1000 elements. This is for the tenth smallest.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.input([3, -5, 7, 0], owner=0).partition(0)[0].reveal())
            -5
        """
        rows, restore = lined_up("partition", self._in_order(), axis)
        return restore(_selection.partitioned("partition", [rows], kth)[0])

    def argpartition(self, kth: Any, axis: int | None = -1) -> SecretArray:
        """Returns the positions that `partition` an axis, as int(64). It takes as many comparisons as `partition`.

        Rounds: rss 450, aby 315, spdz2k 360, pika 360 for 1000 elements. This is for the tenth smallest.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.input([3, -5, 7, 0], owner=0).argpartition(1)[:2].reveal())
            [1 3]
        """
        rows, restore = lined_up("argpartition", self._in_order(), axis)
        return restore(_selection.partitioned("argpartition", [rows, _merge_exchange.places(rows)], kth)[1])
