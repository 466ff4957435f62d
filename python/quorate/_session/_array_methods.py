"""Methods of a session that take several arrays, or one array and public numbers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from quorate import _source
from quorate._sorting._orders import sort as sort_rows
from quorate._source import at
from quorate._statistics._counts import Groups
from quorate._statistics._joins import Joined, SortedGroups, join, sorted_groups
from quorate._values._axes import lined_up, row_axis
from quorate.array import SecretArray, operand
from quorate.circuits import Circuit
from quorate.dtypes import Dtype, check
from quorate.errors import DtypeError, InputWarning, ShapeError

if TYPE_CHECKING:
    from quorate._quorate import Built
    from quorate.session import Session

__all__ = ["ArrayMethods"]


class ArrayMethods:
    """The methods of `Session` that compute on arrays."""

    def _session(self) -> Session:
        return cast("Session", self)

    def _array(self, built: Built) -> SecretArray:
        return SecretArray(self._session(), built)

    def where(self, condition: Any, x: Any, y: Any) -> SecretArray:
        """Returns x where the condition's bit is 1, y elsewhere; 1 round after the condition.

        Rounds: rss 1, aby 1, spdz2k 1, pika 1.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([3, -5], owner=0)
            ...     print(mpc.where(x < 0, 0, x).reveal())
            [3 0]
        """
        bit, one, other = (operand(self._session(), value, "where") for value in (condition, x, y))
        return self._array(self._session()._native.select(bit, one, other, _source.line()))

    def swap(self, condition: Any, x: Any, y: Any) -> tuple[SecretArray, SecretArray]:
        """Returns x and y, or y and x where the condition's bit is 1. It costs as much as one `where`.

        Rounds: rss 1, aby 1, spdz2k 1, pika 1.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x, y = mpc.input([3, -5], owner=0), mpc.input([1, 2], owner=1)
            ...     low, high = mpc.swap(y < x, x, y)
            ...     print(low.reveal(), high.reveal())
            [ 1 -5] [3 2]
        """
        one = self.where(condition, y, x)
        first, second = (operand(self._session(), value, "swap") for value in (x, y))
        return one, self._array(self._session()._native.other(first, second, one._node, _source.line()))

    def minimum(self, x: Any, y: Any) -> SecretArray:
        """Returns the smaller of x and y, element by element; a comparison and 1 round.

        Rounds: rss 10, aby 7, spdz2k 8, pika 8.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.minimum(mpc.input([3, -5], owner=0), 0).reveal())
            [ 0 -5]
        """
        return self._smaller("minimum", x, y, x, y)

    def maximum(self, x: Any, y: Any) -> SecretArray:
        """Returns the larger of x and y, element by element; a comparison and 1 round.

        Rounds: rss 10, aby 7, spdz2k 8, pika 8.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.maximum(mpc.input([3, -5], owner=0), 0).reveal())
            [3 0]
        """
        return self._smaller("maximum", x, y, y, x)

    def _smaller(self, what: str, x: Any, y: Any, one: Any, other: Any) -> SecretArray:
        """Returns `one` where x < y, `other` elsewhere."""
        if not isinstance(x, SecretArray) and not isinstance(y, SecretArray):
            raise DtypeError(at(f"{what}: neither operand is secret; use numpy's, or mpc.constant"))
        return self.where(x < y if isinstance(x, SecretArray) else y > x, one, other)

    def one_hot(self, index: SecretArray, depth: int) -> SecretArray:
        """Returns bits along a new last axis of size `depth`: 1 at position `index`, all 0 where it is out of range.

        It takes `depth` tests for equality for each element, in parallel. At most one bit is 1, so range analysis
        proves that `one_hot(i, n) @ x` lies between the smallest and the largest of 0 and the elements of x.

        Rounds: rss 7, aby 6, spdz2k 6, pika 6.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.one_hot(mpc.input([2, 0], owner=0), 3).reveal().astype(int))
            [[0 0 1]
             [1 0 0]]
        """
        if not isinstance(index, SecretArray) or index.dtype.kind == "fixed":
            raise DtypeError(at("one_hot takes a secret array of integers"))
        if isinstance(depth, bool) or not isinstance(depth, (int, np.integer)) or depth < 0:
            raise ShapeError(at(f"one_hot: depth must be a whole number from 0 on, not {depth!r}"))
        whole = index.astype(self._session()._whole) if index.dtype.kind == "bit" else index
        whole = self._places(whole)
        most = (1 << (whole.dtype.bits - (whole.dtype.kind == "int"))) - 1
        known = min(int(depth), most + 1)
        hot = whole.reshape(*whole.shape, 1) == np.arange(known)
        if known == depth:
            return hot
        return self.concatenate([hot, np.zeros((*whole.shape, int(depth) - known), bool)], axis=-1)

    def _places(self, index: SecretArray) -> SecretArray:
        """Returns the positions. Where parties may cheat, their owners prove stated bounds."""
        proven = self._array(self._session()._native.places(index._node, _source.line()))
        return index if proven._node == index._node else proven

    def take(self, x: Any, index: SecretArray, axis: int | None = None) -> SecretArray:
        """Returns elements at secret positions along an axis, or of the flattened array; 0 for positions out of range.

        Every position is compared with all n positions of the axis, and a product with the resulting bits selects the
        element: work grows with n for each position. Negative positions are out of range. Range analysis proves that
        results lie between the smallest and the largest of 0 and the elements.

        Use axis=0 for the rows of a matrix. Without `axis=` positions count in the flattened array, as in `numpy.take`;
        for arrays of several axes an `InputWarning` says so.

        Rounds: rss 9, aby 8, spdz2k 8, pika 8.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x, i = mpc.input([30, 10, 20], owner=0), mpc.input([2, 0], owner=1)
            ...     print(mpc.take(x, i).reveal())
            [20 30]
        """
        if not isinstance(x, SecretArray):
            x = self._session().constant(x)
        if axis is None and x.ndim > 1:
            self._say_flattened(x)
        lined, _ = lined_up("take", x, axis)
        count, rest = len(lined), lined.shape[1:]
        hot = self.one_hot(index, count).reshape(index.size, count)
        picked = hot @ lined.reshape(count, math.prod(rest))
        if x.dtype.kind == "bit":
            picked = picked != 0
        picked = picked.reshape(*index.shape, *rest)
        picked = self._array(self._session()._native.like_column(picked._node, x._node, _source.line()))
        if axis is None or axis % x.ndim == 0:
            return picked
        at_front = list(range(index.ndim))
        moved = [index.ndim + d for d in range(len(rest))]
        place = axis % x.ndim
        return picked.transpose(*moved[:place], *at_front, *moved[place:])

    def _say_flattened(self, x: SecretArray) -> None:
        """Warns, once for each line, that positions count in the flattened array."""
        file, line = _source.line()
        told = f"{file} take", line
        if told in self._session()._told:
            return
        self._session()._told.add(told)
        text = at(
            f"take: positions count in the flattened array, as in numpy, since no axis is named for shape {x.shape}: "
            "write axis=0 for rows, or x.reshape(-1) where the flattened array is meant"
        )
        warnings.warn_explicit(text, InputWarning, file, line)

    def concatenate(self, arrays: Sequence[Any], axis: int = 0) -> SecretArray:
        """Joins arrays along an existing axis. Local.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x, y = mpc.input([1, 2], owner=0), mpc.input([3], owner=1)
            ...     print(mpc.concatenate([x, y, [4]]).reveal())
            [1 2 3 4]
        """
        return self._join(arrays, axis, stack=False)

    def stack(self, arrays: Sequence[Any], axis: int = 0) -> SecretArray:
        """Stacks arrays along a new axis. Local.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x, y = mpc.input([1, 2], owner=0), mpc.input([3, 4], owner=1)
            ...     print(mpc.stack([x, y], axis=1).reveal())
            [[1 3]
             [2 4]]
        """
        return self._join(arrays, axis, stack=True)

    def _join(self, arrays: Sequence[Any], axis: int, stack: bool) -> SecretArray:
        what = "stack" if stack else "concatenate"
        parts = [operand(self._session(), array, what) for array in arrays]
        if not any(isinstance(array, SecretArray) for array in arrays):
            raise DtypeError(at(f"{what}: none of the arrays is secret; use numpy's, or mpc.constant"))
        return self._array(self._session()._native.join(parts, row_axis(what, axis), stack, _source.line()))

    def shuffle(self, *arrays: SecretArray, axis: int = 0) -> SecretArray | tuple[SecretArray, ...]:
        """Permutes the rows of all arrays along an axis by one uniformly random order, which stays secret.

        The arrays may differ in dtype and in their other axes. Under "rss", three parties send four elements for every
        element in two rounds: two of them party 1, one each the others. Five and seven parties take 10 and 35 rounds,
        in each of which a party sends t elements for every element.

        Rounds: rss 2, aby 2, spdz2k 41, pika 2.

        Returns:
            The array, or a tuple of arrays where several are given.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([3, 1, 2], owner=0)
            ...     y, late = mpc.shuffle(x, x > 1)
            ...     print(sorted(y.reveal().tolist()), late.sum().reveal())
            [1, 2, 3] 2
        """
        if not arrays or not all(isinstance(x, SecretArray) for x in arrays):
            raise DtypeError(at("shuffle takes secret arrays: public numbers become some by mpc.constant"))
        lined = [lined_up("shuffle", x, row_axis("shuffle", axis)) for x in arrays]
        nodes = [operand(self._session(), x, "shuffle") for x, _ in lined]
        parts = map(self._array, self._session()._native.shuffle(nodes, _source.line()))
        moved = tuple(back(part) for part, (_, back) in zip(parts, lined, strict=True))
        return moved[0] if len(moved) == 1 else moved

    def sort(
        self,
        keys: SecretArray,
        *others: SecretArray,
        axis: int = 0,
        stable: bool = True,
        descending: bool = False,
    ) -> tuple[SecretArray, ...]:
        """Sorts keys along an axis, and puts other arrays in the same order.

        Each of the others has the shape of the keys, or that shape and further axes: rows move together. It is about as
        deep as the `sort` of an array.

        Rounds: rss 150, aby 120, spdz2k 495, pika 121 for 1000 elements.

        Args:
            keys: the keys to sort by.
            others: arrays that move with the keys.
            axis: the axis to sort along, one of the keys' axes.
            stable: whether equal keys keep their order. This takes three times as many comparisons where parties may
                cheat, and nothing otherwise.
            descending: whether the largest keys come first.

        Returns:
            The sorted keys, then the others.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     age, name = mpc.input([40, 7, 21], owner=0), mpc.input([1, 2, 3], owner=1)
            ...     print(*mpc.reveal_all(*mpc.sort(age, name)))
            [ 7 21 40] [2 3 1]
        """
        if not all(isinstance(x, SecretArray) for x in (keys, *others)):
            raise DtypeError(at("sort takes secret arrays: public numbers become some by mpc.constant"))
        axis = row_axis("sort", axis)
        if not -keys.ndim <= axis < keys.ndim:
            raise ShapeError(at(f"sort: axis {axis} is out of bounds for keys of dimension {keys.ndim}"))
        axis %= keys.ndim
        for x in others:
            if x.shape[: keys.ndim] != keys.shape:
                raise ShapeError(at(f"sort: shape {x.shape} does not begin with that of the keys, {keys.shape}"))
        lined = [lined_up("sort", x, axis) for x in (keys, *others)]
        arrays = [x for x, _ in lined]
        ordered = sort_rows(arrays[0], arrays[1:], stable=stable, descending=descending)
        return tuple(back(x) for x, (_, back) in zip(ordered, lined, strict=True))

    def group_by(self, keys: SecretArray, groups: int) -> Groups:
        """Groups elements by secret keys from 0 to `groups` - 1. The result has `sum`, `mean` and `size` of each group.

        Each key is compared with each group, once for all later calls; a sum is then a product of matrices. Keys out of
        range are in no group; a `RangeWarning` says so where they are possible.

        Rounds: rss 9, aby 8, spdz2k 8, pika 8. This is for sums in 8 groups.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     town = mpc.input([1, 0, 1, 1], owner=0, dtype=qr.uint(2), bound=2)
            ...     income = mpc.input([20, 50, 30, 40], owner=1)
            ...     by_town = mpc.group_by(town, 3)
            ...     print(by_town.size().reveal(), by_town.sum(income).reveal(), by_town.mean(income).reveal())
            [1 3 0] [50 90  0] [50. 30.  0.]
        """
        if not isinstance(keys, SecretArray) or keys.dtype.kind == "fixed":
            raise DtypeError(at("group_by takes a secret array of integers as keys"))
        if isinstance(groups, bool) or not isinstance(groups, (int, np.integer)) or groups < 1:
            raise ShapeError(at(f"group_by: groups must be a whole number from 1 on, not {groups!r}"))
        return Groups(self._session(), keys, int(groups))

    def join(self, left: SecretArray, right: SecretArray, *values: SecretArray, missing: int | None = -1) -> Joined:
        """Left join: looks up each key of the left side on the right side, and returns the values of the matching row.

        Keys are secret integers along one axis. `values` belong to the keys of the right side, which should be
        distinct; the bit `unique` of the result says whether they are. Only both sizes are disclosed. It takes two
        sorts of all rows and, between them, log2(rows) selections (`where`) one after another.

        Args:
            left: the keys to look up.
            right: the keys to look them up in.
            values: arrays with a value for each key of the right side.
            missing: the number that stands for an unknown key, as -1 does in the codes of pandas. It matches nothing,
                not even itself, and may occur more than once. With None every number is a key. Keys that cannot be that
                number, such as `qr.uint`, cost nothing for it; others take a test for equality each.

        Rounds: rss 216, aby 169, spdz2k 440, pika 170. This is for 100 keys on each side.

        Returns:
            `matched` and `values`, a row for each key of the left side and in its order, and the bit `unique`.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     bought, customer = mpc.input([7, 9, 7], owner=0), mpc.input([5, 7], owner=1)
            ...     found = mpc.join(bought, customer, mpc.input([31, 44], owner=1))
            ...     print(found.matched.reveal().astype(int), found.values[0].reveal(), found.unique.reveal())
            [1 0 1] [44  0 44] True
        """
        return join(left, right, values, missing)

    def group_sums(self, keys: SecretArray, *values: SecretArray) -> SortedGroups:
        """Sums values by secret keys; the number of groups stays secret.

        The result has a row for each element. One row of each group holds its sum, and the others are 0. Where the
        number of groups is public, `group_by` costs less. It takes a sort, then log2(rows) selections (`where`) one
        after another.

        Rounds: rss 115, aby 94, spdz2k 238, pika 95. This is for 100 elements.

        Returns:
            `counts` (whether a row holds a group), `keys`, `sizes` and `sums`, by ascending key.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     key, spent = mpc.input([700, -9, 700], owner=0), mpc.input([1, 2, 3], owner=1)
            ...     by_key = mpc.group_sums(key, spent)
            ...     print(by_key.keys.reveal(), by_key.sums[0].reveal(), by_key.counts.sum().reveal())
            [ -9   0 700] [2 0 4] 2
        """
        return sorted_groups(keys, values)

    def run_circuit(self, circuit: Circuit, *bits: Any) -> SecretArray | list[SecretArray]:
        r"""Runs a Boolean circuit on secret bits and returns its outputs.

        The last axis of each array holds the wires of one input of the circuit, in the file's order; the axes before it
        broadcast and are the batch. Arrays are `qr.bit`; public 0s and 1s may take the place of some.

        Rounds and bytes:
            The number of rounds is the number of ANDs on the circuit's longest path, for any batch. For each AND of
            each circuit in the batch a party sends online: rss 1 bit (to each of t parties, n = 2t + 1), aby 2 bits,
            spdz2k 2 bits (to each of the others), pika 2 bits. Where the planner takes garbled circuits (aby), there
            are two messages in all.

        Raises:
            ShapeError: the number of inputs or the length of a last axis is wrong, or leading axes do not broadcast.
            DtypeError: an array does not consist of bits.

        Example:
            >>> import quorate as qr
            >>> both = qr.Circuit.from_text("1 3\n2 1 1\n1 1\n\n2 1 0 1 2 AND\n")
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([[True], [False]], owner=0)
            ...     print(mpc.run_circuit(both, x, [1]).reveal())
            [[ True]
             [False]]
        """
        session = self._session()
        if not isinstance(circuit, Circuit):
            raise DtypeError(at("run_circuit takes a circuit first: qr.Circuit.from_bristol(path)"))
        if not any(isinstance(array, SecretArray) for array in bits):
            raise DtypeError(at("run_circuit: none of the inputs is secret; use circuit.evaluate"))
        operands = [operand(session, array, "run_circuit") for array in bits]
        outputs = self._array(session._native.circuit(circuit._native, operands, _source.line()))
        split: SecretArray | list[SecretArray] = circuit._split(outputs)
        return split

    def from_bits(self, bits: SecretArray, dtype: Dtype) -> SecretArray:
        """Returns numbers from their bits along the last axis, lowest first; the inverse of `bits()`. 1 round.

        The last axis has an element for each bit of the dtype. For fixed point they are the bits of x 2^f.

        Rounds: rss 1, aby 1, spdz2k 1, pika 1.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([5, -1], owner=0, dtype=qr.int(4))
            ...     print(mpc.from_bits(x.bits()[:, ::-1], qr.uint(4)).reveal())
            [10 15]
        """
        if not isinstance(bits, SecretArray):
            raise DtypeError(at("from_bits takes a secret array of bits"))
        parts = check(dtype).parts
        return self._array(self._session()._native.compose(bits._node, parts, _source.line()))
