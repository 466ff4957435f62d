"""Secret arrays, which behave like numpy's; nothing is computed before something is revealed."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from quorate import _source
from quorate._arrays._derived import Derived
from quorate._arrays._indexing import positions, strided
from quorate._arrays._rearrangement import Rearrangement
from quorate._arrays._replacement import Picked
from quorate._arrays._sort_methods import SortMethods
from quorate._arrays._summaries import Summaries
from quorate._arrays._text_comparison import coded
from quorate._arrays._unit_division import whole_operands
from quorate._arrays._unsupported import Unsupported
from quorate._display._name_hints import no_attribute
from quorate._source import at
from quorate._values._axes import Axes, one_axis, whole_axis
from quorate._values._public_numbers import packed
from quorate.dtypes import Dtype, check
from quorate.errors import ConfigError, DtypeError

if TYPE_CHECKING:
    from quorate._quorate import Built
    from quorate._session._requests import Request
    from quorate.session import Session

__all__ = ["SecretArray"]


class SecretArray(Summaries, Rearrangement, SortMethods, Derived, Unsupported):
    """An array whose values no party sees.

    Made by `Session.input`, `Session.constant` and by operations. It has numpy's operators, slicing, broadcasting and
    reductions; comparisons return arrays of bits. `reveal` runs the program.

    In these docstrings k is the number of bits of a dtype, f the number of its fractional bits, and n the number of
    elements along an axis. A unit is 2^-f. A truncation drops fractional bits of a product and rounds the result, which
    takes rounds of its own. "log2(n) comparisons deep" means that log2(n) comparisons run one after another, and all
    others beside them.

    `Rounds:` gives the online rounds of an operation with each protocol, for numbers of 64 bits without bounds: `rss`
    with three parties, `spdz2k` with two, `aby` without garbled circuits, `pika` with edaBits.

    Counts and positions are int(64), or int(32) where the session has no wider rings (`mac=48`).

    Attributes:
        shape: as in numpy.
        dtype: `qr.int(k)`, `qr.uint(k)`, `qr.fixed(k, f)` or `qr.bit`.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss", parties=3) as mpc:
        ...     x = mpc.input([[1, 2], [3, 4]], owner=0)
        ...     print((x @ x.T).reveal())
        [[ 5 11]
         [11 25]]
    """

    __slots__ = ("_hold", "_is_secret", "_node", "_session", "dtype", "shape")
    __array_priority__ = 1000
    __pandas_priority__ = 5000  # pandas then calls our reflected operators

    def __init__(self, session: Session, built: Built) -> None:
        self._session = session
        # The node's value is kept as long as something refers to `_hold`.
        self._hold, self._node, self.shape, parts, self._is_secret = built
        self.dtype = Dtype.of(parts)

    def __copy__(self) -> SecretArray:
        return self

    def __deepcopy__(self, _: Any) -> SecretArray:
        return self

    def __reduce_ex__(self, _: Any) -> NoReturn:
        raise TypeError("a secret array lives in its session and cannot be pickled: reveal it first")

    def __repr__(self) -> str:
        return f"SecretArray(shape={self.shape}, dtype={self.dtype})"

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without axes: its shape is ()")
        return self.shape[0]

    def __iter__(self) -> Iterator[SecretArray]:
        if not self.shape:
            raise TypeError("an array without axes cannot be iterated over: its shape is ()")
        return (self[i] for i in range(len(self)))

    # ---- building -------------------------------------------------------------------------------------------------

    def _operand(self, other: Any, what: str) -> Any:
        return operand(self._session, other, what)

    def _new(self, built: Built) -> SecretArray:
        return SecretArray(self._session, built)

    def _binary(self, op: str, x: Any, y: Any) -> SecretArray:
        native, y = self._session._native, coded(op, x, y)
        return self._new(native.binary(op, self._operand(x, op), self._operand(y, op), _source.line()))

    def __add__(self, other: Any) -> SecretArray:
        """Adds secrets and public numbers; `-` subtracts. Local.

        Operands convert to the narrowest dtype that holds both; a public number counts by its value.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print((mpc.input([3, -5], owner=0) + 1).reveal())
            [ 4 -4]
        """
        return self._binary("add", self, other)

    def __radd__(self, other: Any) -> SecretArray:
        return self._binary("add", other, self)

    def __sub__(self, other: Any) -> SecretArray:
        return self._binary("sub", self, other)

    def __rsub__(self, other: Any) -> SecretArray:
        return self._binary("sub", other, self)

    def __mul__(self, other: Any) -> SecretArray:
        """Multiplies. Products of fixed point are rounded down to a multiple of 2^-f.

        A product with a public real that is no multiple of 2^-f, such as 0.1, is within 2^-f of the exact product. It
        is within 2^(1 - f) where no ring holds the product, as for fixed(120, 40) without a bound.

        Rounds: rss 11, aby 9, spdz2k 10, pika 10. This is for secret fixed point; products of integers take 1.
        """
        return self._binary("mul", self, other)

    def __rmul__(self, other: Any) -> SecretArray:
        return self._binary("mul", other, self)

    def __truediv__(self, other: Any) -> SecretArray:
        """Divides. Quotients of integers are reals; `//` gives whole quotients.

        A quotient that does not fit saturates: it becomes the largest number of the dtype, with the quotient's sign. A
        quotient by a secret 0 saturates, too, and 0 / 0 is 0.

        Quotients by secrets are exact, rounded towards 0, or within 4 units if they are proven to be short. Above 64
        bits they are within 4 units or 2^-28 of the quotient; with more than 16 fractional bits, within a unit or 2^-50
        of the quotient; whichever is more (docs/accuracy.md). Quotients by public numbers are rounded down, and in one
        case towards 0 (docs/numbers.md has a table). If the public number is no multiple of 2^-f (0.1), they are
        rounded to the nearest unit. Small quotients of `qr.real` get more fractional bits.

        Rounds: rss 63, aby 54, spdz2k 54, pika 54. This is for quotients by secrets; quotients by public numbers take
        one or two truncations.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print((mpc.input([3.0, -5.0], owner=0) / 0.1).reveal())
            [ 30. -50.]
        """
        return self._divide(self, other)

    def __rtruediv__(self, other: Any) -> SecretArray:
        return self._divide(other, self)

    def _divide(self, x: Any, y: Any) -> SecretArray:
        """Divides x by y, either of which may be public; `__truediv__` states the error.

        Quotients by public reals that the dtype does not hold are within 2^-f of the quotient by the number itself.
        """
        native = self._session._native
        return self._new(native.divide(self._operand(x, "divide"), self._operand(y, "divide"), _source.line()))

    def __floordiv__(self, other: Any) -> SecretArray:
        """Divides and rounds towards minus infinity, exactly, as numpy does. Integers may be divided by secrets, too.

        `x // y` and `x % y` are 0 where a secret y is 0. Only the lowest number divided by -1 does not fit, and wraps.

        Rounds and bytes depend on the divisor. A public power of two takes a truncation. Any other public number takes
        a conversion into a ring of about twice the bits, a truncation there and, for numbers of 64 bits, a comparison.
        It takes the truncation alone where stated bounds prove that products fit the dtype. Where only two quotients
        are possible, it takes one comparison. `%` by public numbers costs as much as `//`.

        A secret divisor of w bits takes 1 + log2(w) rounds for each bit of the quotient, and about log2(k) + 4 more.
        `%` by secrets takes 2 rounds more than `//`. Bounds on the operands reduce all of this.

        Rounds: rss 466, aby 465, spdz2k 465, pika 465. This is for secret divisors of 64 bits.

        Raises:
            RangeError: a public divisor is zero, or negative for unsigned integers; a remainder may not fit the dtype.
            DtypeError: fixed point is divided by a secret, for which there is `/`; or integers are divided by a real.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([7, -7], owner=0)
            ...     print((x // 3).reveal(), (x % 3).reveal(), (x // [-2, 10]).reveal())
            ...     y = mpc.input([2, 0], owner=1)
            ...     print((x // y).reveal(), (x % y).reveal())
            [ 2 -3] [1 2] [-4 -1]
            [3 0] [1 0]
        """
        if self._divides_secretly(other):
            return self._int_divided("quotient", self, other)
        whole = self._whole(other, "//")
        return whole if self.dtype.kind != "fixed" else whole.astype(self.dtype)

    def __mod__(self, other: Any) -> SecretArray:
        if self._divides_secretly(other):
            return self._int_divided("remainder", self, other)
        return self._left(self._whole(other, "%"), other)

    def __divmod__(self, other: Any) -> tuple[SecretArray, SecretArray]:
        if self._divides_secretly(other):
            return self._both(self, other)
        whole = self._whole(other, "divmod")
        return whole if self.dtype.kind != "fixed" else whole.astype(self.dtype), self._left(whole, other)

    def __rfloordiv__(self, other: Any) -> SecretArray:
        return self._int_divided("quotient", other, self)

    def __rmod__(self, other: Any) -> SecretArray:
        return self._int_divided("remainder", other, self)

    def __rdivmod__(self, other: Any) -> tuple[SecretArray, SecretArray]:
        return self._both(other, self)

    def _both(self, x: Any, y: Any) -> tuple[SecretArray, SecretArray]:
        """Returns quotients by secret numbers, and the remainders that follow from them."""
        whole = self._int_divided("quotient", x, y)
        left = x - whole * y
        return whole, self._session.where(y == 0, 0, left)

    def _divides_secretly(self, other: Any) -> bool:
        """Whether the divisor is secret."""
        if not isinstance(other, SecretArray):
            return False
        self._operand(other, "//")  # an array of another session is refused
        return other._is_secret

    def _int_divided(self, give: str, x: Any, y: Any, quotient_bits: int | None = None) -> SecretArray:
        """Returns the quotient or the remainder of integers by a secret divisor; `give` is "quotient" or "remainder".

        With `quotient_bits` the caller promises that quotients by divisors other than 0 are below 2^quotient_bits in
        magnitude.
        """
        native, what = self._session._native, "%" if give == "remainder" else "//"
        one, other = (self._operand(v, what) for v in whole_operands(what, self._session, x, y))
        return self._new(native.int_divide(give, one, other, quotient_bits, _source.line()))

    def _whole(self, other: Any, what: str) -> SecretArray:
        """Returns the quotient by a public number, rounded towards minus infinity, as an integer."""
        native = self._session._native
        return self._new(native.floor_div(self._node, self._operand(other, what), _source.line()))

    def _left(self, whole: SecretArray, other: Any) -> SecretArray:
        """Returns the remainder that belongs to the quotient `whole`, with the sign of the divisor. Local."""
        native = self._session._native
        return self._new(native.remainder(self._node, whole._node, self._operand(other, "%"), _source.line()))

    def __neg__(self) -> SecretArray:
        return self._new(self._session._native.unary("neg", self._node, _source.line()))

    def __pos__(self) -> SecretArray:
        return self

    def __invert__(self) -> SecretArray:
        if self.dtype.kind == "int":
            return -1 - self
        if self.dtype.kind == "uint":
            return ((1 << self.dtype.bits) - 1) - self
        return self._new(self._session._native.unary("not", self._node, _source.line()))

    def __and__(self, other: Any) -> SecretArray:
        """Returns the AND of bits, in 1 round. `|` takes 1 round, too; `^` and `~` are local.

        Integers are combined bit by bit, which first takes `bits()`.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([3, -5], owner=0)
            ...     print(((x > 0) & (x < 9)).reveal())
            [ True False]
        """
        return self._binary("and", self, other)

    def __rand__(self, other: Any) -> SecretArray:
        return self._binary("and", other, self)

    def __or__(self, other: Any) -> SecretArray:
        return self._binary("or", self, other)

    def __ror__(self, other: Any) -> SecretArray:
        return self._binary("or", other, self)

    def __xor__(self, other: Any) -> SecretArray:
        return self._binary("xor", self, other)

    def __rxor__(self, other: Any) -> SecretArray:
        return self._binary("xor", other, self)

    def __lt__(self, other: Any) -> SecretArray:
        """Compares exactly and returns bits, as do `<=`, `>` and `>=`. Comparing with 0 or a power of two costs less.

        Rounds: rss 9, aby 6, spdz2k 7, pika 7. `pika` compares by dealt keys, in 1 round, where that is predicted to be
        faster.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x, y = mpc.input([3, -5], owner=0), mpc.input([1, 2], owner=1)
            ...     print((x < y).reveal())
            [False  True]
        """
        return self._binary("lt", self, other)

    def __le__(self, other: Any) -> SecretArray:
        return self._binary("le", self, other)

    def __gt__(self, other: Any) -> SecretArray:
        return self._binary("gt", self, other)

    def __ge__(self, other: Any) -> SecretArray:
        return self._binary("ge", self, other)

    def __eq__(self, other: object) -> SecretArray:  # type: ignore[override]
        """Returns bits that say whether elements are equal; `!=` returns the opposite. Secret arrays are not hashable.

        Rounds: rss 7, aby 6, spdz2k 6, pika 6.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print((mpc.input([3, -5], owner=0) == 3).reveal())
            [ True False]
        """
        return self._binary("eq", self, other)

    def __ne__(self, other: object) -> SecretArray:  # type: ignore[override]
        return self._binary("ne", self, other)

    def __hash__(self) -> NoReturn:  # type: ignore[override]
        raise TypeError("secret arrays are unhashable: == gives secret bits; use id(x) to tell arrays apart")

    def __matmul__(self, other: Any) -> SecretArray:
        """Multiplies matrices in 1 round. Each result of fixed point is then truncated, which takes further rounds.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([[3, 1], [2, 5]], owner=0)
            ...     print((x @ [1, 10]).reveal())
            [13 52]
        """
        native = self._session._native
        return self._new(native.matmul(self._node, self._operand(other, "@"), _source.line()))

    def __rmatmul__(self, other: Any) -> SecretArray:
        native = self._session._native
        return self._new(native.matmul(self._operand(other, "@"), self._node, _source.line()))

    def __lshift__(self, bits: Any) -> SecretArray:
        return self._shift(bits, left=True)

    def __rshift__(self, bits: Any) -> SecretArray:
        return self._shift(bits, left=False)

    def _shift(self, bits: Any, left: bool) -> SecretArray:
        if not isinstance(bits, numbers.Integral):
            raise DtypeError(at("<< and >> take a public whole number of bits"))
        return self._new(self._session._native.shift(self._node, left, int(bits), _source.line()))

    def dot(self, other: Any, *, dtype: Dtype | None = None) -> SecretArray:
        """Returns numpy's dot product, in one multiplication round.

        Results wrap in the dtype of the operands, as with `@`; with `dtype=` secret operands convert to that dtype
        first. Results of fixed point are then truncated. With `rss` bytes grow with the number of results, with the
        other protocols with the size of the operands.

        Rounds: rss 1, aby 1, spdz2k 1, pika 1.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([[3, 1], [2, 5]], owner=0)
            ...     print(x[0].dot(x[1]).reveal())
            11
        """
        x, y = self._typed(dtype), other._typed(dtype) if isinstance(other, SecretArray) else other
        return self._new(self._session._native.dot(x._node, self._operand(y, "dot"), _source.line()))

    # ---- reductions -----------------------------------------------------------------------------------------------

    def _reduce(self, op: str, axis: Any, keepdims: bool) -> SecretArray:
        if isinstance(axis, tuple) and not op.startswith("arg"):
            return one_axis(op, self, axis, keepdims, lambda rows: getattr(rows, op)(-1))
        native = self._session._native
        return self._new(native.reduce(op, self._node, whole_axis(op, axis), bool(keepdims), _source.line()))

    def sum(
        self, axis: Axes = None, keepdims: bool = False, *, dtype: Any = None, initial: Any = None, where: Any = True
    ) -> SecretArray:
        """Returns the sum over one, several or all axes. Local; for bits it counts the ones as int(64), in 1 round.

        Narrow integers are *not* promoted as in numpy: the sum has the elements' dtype and wraps in its k bits. A local
        session raises `RangeError` where it would wrap. With `dtype=` the elements convert first (`astype`, with its
        cost), as in numpy. `where=`, public or secret bits, selects the elements that count; `initial` is added.

        Rounds: rss 1, aby 1, spdz2k 1, pika 1. This is for bits; sums of numbers are local.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([100, 100], owner=0, dtype=qr.int(8))
            ...     print(x.sum(dtype=qr.int(64)).reveal())
            200
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([[3, 1], [2, 5]], owner=0)
            ...     print(x.sum(axis=0).reveal(), (x > 2).sum().reveal())
            [5 6] 2
        """
        total = self._typed(dtype)._which(where, 0)._reduce("sum", axis, keepdims)
        return total if initial is None else total + initial

    def max(self, axis: Axes = None, keepdims: bool = False) -> SecretArray:
        """Returns the maximum; log2(n) comparisons deep. For bits it is 1 if any is 1, and takes log2(n) rounds.

        Rounds: rss 100, aby 70, spdz2k 80, pika 80 for 1000 elements.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([[3, 1], [2, 5]], owner=0)
            ...     print(x.max().reveal(), x.max(axis=1).reveal())
            5 [3 5]
        """
        if self.dtype.kind == "bit" and not isinstance(axis, tuple):
            return self._folded("max", operator.or_, axis, keepdims)
        return self._reduce("max", axis, keepdims)

    def min(self, axis: Axes = None, keepdims: bool = False) -> SecretArray:
        """Returns the minimum; log2(n) comparisons deep. For bits it is 1 if all are 1, and takes log2(n) rounds.

        Rounds: rss 100, aby 70, spdz2k 80, pika 80 for 1000 elements.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([[3, 1], [2, 5]], owner=0)
            ...     print(x.min().reveal(), x.min(axis=1).reveal())
            1 [1 2]
        """
        if self.dtype.kind == "bit" and not isinstance(axis, tuple):
            return self._folded("min", operator.and_, axis, keepdims)
        return self._reduce("min", axis, keepdims)

    def astype(self, dtype: Any) -> SecretArray:
        """Converts the elements to another dtype.

        Numbers convert into each other; bits become 0 and 1. Where fractional bits are dropped, the result is rounded
        *towards minus infinity*: -2.5 becomes -3, where numpy's `astype(int)` gives -2. A local session warns of this,
        and so does `shadow=True`. A value that does not fit raises `RangeError` in a local session. In a deployment it
        wraps, as in numpy, and a `RangeWarning` names the lines where that is possible.

        Conversions to fewer bits are local, those to more take about log2(k) rounds. Dropping fractional bits takes a
        truncation.

        Rounds: rss 9, aby 7, spdz2k 8, pika 8. This is for a conversion from 64 bits to 96.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     late = mpc.input([3, 1], owner=0) > 2
            ...     print((late.astype(qr.int(8)) * 7).reveal())
            [7 0]
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.input([2.5, -2.5], owner=0).astype(qr.int(20)).reveal())
            [ 2 -3]
        """
        wanted = check(dtype)
        if wanted == self.dtype and wanted.grows == self.dtype.grows:
            return self
        return self._new(self._session._native.cast(self._node, wanted.parts, _source.line()))

    def _typed(self, dtype: Any) -> SecretArray:
        """Returns the array, converted where `dtype=` names a dtype."""
        return self if dtype is None else self.astype(dtype)

    def __getitem__(self, key: Any) -> SecretArray:
        steps = strided(self, key)
        if steps is not None:
            return self._new(self._session._native.strided(self._node, *steps, _source.line()))
        places = positions(self, key)
        index = np.ascontiguousarray(places).tobytes()
        return self._new(self._session._native.gather(self._node, index, places.shape, _source.line()))

    @property
    def at(self) -> Picked:
        """Picks elements to replace: `x.at[i].set(v)` is a copy of x with some elements replaced.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([[3, 1], [2, 5]], owner=0)
            ...     print(x.at[:, 0].set([8, 9]).reveal().tolist())
            [[8, 1], [9, 5]]
        """
        return Picked(self)

    def __getattr__(self, name: str) -> NoReturn:
        raise no_attribute(self, name)

    def __array_function__(self, function: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        from quorate._numpy._functions import call_function

        return call_function(function, args, kwargs)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from quorate._numpy._functions import call_ufunc

        return call_ufunc(ufunc, method, inputs, kwargs)

    def reveal(self, to: int | Sequence[int] | None = None, *, units: bool = False) -> Any:
        """Runs the program and opens this array.

        Rounds: rss 1, aby 1, spdz2k 6, pika 1. `spdz2k` checks all opened values of a run before it hands out results.

        Args:
            to: the party, or the parties, that learn it; None for all. Others get None; a local session gets the value.
            units: whether fixed point is returned as exact integers, the numbers times 2^f. Otherwise it is returned as
                float64, which has 53 bits; a `RangeWarning` says where a number of a stated dtype has more.

        Returns:
            A numpy array of int64, uint64, float64 or bool. Integers of more than 64 bits are Python's integers. An
            array without axes gives a numpy scalar.

        Raises:
            RangeError: in a local session, an intermediate value leaves its dtype. The message says where, by how much,
                and what to do.
            ProgramMismatch, PeerLost, PeerTimeout, RunAborted: the run ended early. Values that earlier runs computed
                are kept.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([3, 1], owner=0)
            ...     print((2 * x).reveal(), x.sum().reveal(to=1))
            [6 2] 4
        """
        return self._session.reveal_all(self, to=to, units=units)[0]

    def reveal_async(self, to: int | Sequence[int] | None = None, *, units: bool = False) -> Request[Any]:
        """Asks for this array as `reveal` does, and does not wait: `await z.reveal_async()`. See `Session.run_async`.

        Rounds: rss 1, aby 1, spdz2k 6, pika 1. Arguments and values are those of `reveal`.
        """
        return self._session._asked([self], to, units, "reveal_async", lambda values: values[0])


def operand(session: Session, value: Any, what: str) -> Any:
    """Returns an operand for the native module: the number of a secret array's node, or packed public numbers.

    Raises:
        ConfigError: the array is of another session.
    """
    if isinstance(value, SecretArray):
        if value._session is not session:
            raise ConfigError(at(f"{what}: the arrays belong to different sessions"))
        return value._node
    if what == "mul" and isinstance(value, np.matrix):
        raise DtypeError(
            at("* of numpy.matrix is a product of matrices: write np.asarray(m) @ x, or np.asarray(m) * x")
        )
    return packed(value, what)
