"""Real functions of secret fixed point, with at most 16 fractional bits (`log`, `sqrt`, `rsqrt`, `reciprocal`: 60).

All compute by exact integer arithmetic, so every run and every number of parties gives the same results. Errors are
absolute, in units of 2^-f, for any argument of the domain; outside it a function returns the value that it states.
Where range analysis proves that no argument lies in the domain, or that no result fits the dtype, building the program
fails with `RangeError`. Rounds do not depend on the number of elements, except for `softmax`, whose rounds are stated
for rows of 10. Where an argument is proven to have few possible values it is looked up, in 2 to 24 rounds, and the
result is the nearest unit (docs/accuracy.md). Bytes are in docs/reference/rounds.md.
"""

from __future__ import annotations

from typing import Any

from quorate import _source
from quorate._source import at
from quorate._values._axes import row_axis
from quorate.array import SecretArray
from quorate.errors import DtypeError

__all__ = ["exp", "gelu", "log", "reciprocal", "relu", "rsqrt", "sigmoid", "softmax", "sqrt", "tanh"]


def _secret(name: str, x: Any) -> SecretArray:
    if not isinstance(x, SecretArray):
        raise DtypeError(at(f"{name} takes a secret array: for public numbers use numpy's, or mpc.constant"))
    return x


def _real(name: str, x: Any) -> SecretArray:
    x = _secret(name, x)
    return x._new(x._session._native.real(name, x._node, _source.line()))


def sigmoid(x: SecretArray) -> SecretArray:
    """Returns 1 / (1 + e^-x), within 1.5 units of 2^-f for every x.

    Rounds: rss 25, aby 22, spdz2k 23, pika 23.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     print(qr.sigmoid(mpc.input([0.0, 2.0], owner=0)).reveal().round(3))
        [0.5   0.881]
    """
    return _real("sigmoid", x)


def tanh(x: SecretArray) -> SecretArray:
    """Returns the hyperbolic tangent, within 1.5 units of 2^-f for every x.

    Rounds: rss 25, aby 22, spdz2k 23, pika 23.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     print(qr.tanh(mpc.input([-0.5, 2.0], owner=0)).reveal().round(3))
        [-0.462  0.964]
    """
    return _real("tanh", x)


def gelu(x: SecretArray) -> SecretArray:
    """Returns x P(z <= x) for a standard normal z, within 1.5 units of 2^-f for every x.

    Rounds: rss 25, aby 22, spdz2k 23, pika 23.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     print(qr.gelu(mpc.input([-1.0, 2.0], owner=0)).reveal().round(3))
        [-0.159  1.954]
    """
    return _real("gelu", x)


def exp(x: SecretArray) -> SecretArray:
    """Returns e^x, within 1.5 units of 2^-f for x <= 8; the dtype's largest number where it does not fit.

    For larger x the error is at most 1 unit plus 2^-27 of the result.

    Rounds: rss 28, aby 26, spdz2k 26, pika 26.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     print(qr.exp(mpc.input([0.0, -1.0, 3.0], owner=0)).reveal().round(3))
        [ 1.     0.368 20.086]
    """
    return _real("exp", x)


def log(x: SecretArray) -> SecretArray:
    """Returns the natural logarithm, within 1 unit of 2^-f for every x > 0; the dtype's lowest number elsewhere.

    Where a unit is less than 2^-22.9, the error is at most 2^-22.9.

    Rounds: rss 33, aby 30, spdz2k 31, pika 31.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     print(qr.log(mpc.input([1.0, 0.5, 100.0], owner=0)).reveal().round(3))
        [ 0.    -0.693  4.605]
    """
    return _real("log", x)


def sqrt(x: SecretArray) -> SecretArray:
    """Returns the square root, within 2 units of 2^-f for every x >= 0; 0 where x is negative.

    Above 64 bits, or with more than 16 fractional bits, it is within 2 units or 2^-28 of the root, whichever is more.

    Rounds: rss 45, aby 41, spdz2k 42, pika 42. A quarter fewer where x is proven to be below 2^(62 - 2f).

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     print(qr.sqrt(mpc.input([2.25, 100.0], owner=0)).reveal())
        [ 1.5 10. ]
    """
    return _real("sqrt", x)


def rsqrt(x: SecretArray) -> SecretArray:
    """Returns 1 / sqrt(x), within 1.1 units of 2^-f for every x > 0; the dtype's largest number elsewhere.

    With more than 16 fractional bits, it is within 2 units or 2^-28 of the result, whichever is more.

    Rounds: rss 33, aby 31, spdz2k 31, pika 31.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     print(qr.rsqrt(mpc.input([4.0, 0.25], owner=0)).reveal().round(3))
        [0.5 2. ]
    """
    return _real("rsqrt", x)


def reciprocal(x: SecretArray) -> SecretArray:
    """Returns 1 / x, within 1.1 units of 2^-f.

    Where the result does not fit, it is the dtype's largest number with the sign of x; for 0 it is the largest number.
    With more than 16 fractional bits, the error is at most 2 units or 2^-28 of the result, whichever is more.

    Rounds: rss 35, aby 33, spdz2k 33, pika 33.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     print(qr.reciprocal(mpc.input([4.0, -0.5], owner=0)).reveal())
        [ 0.25 -2.  ]
    """
    return _real("reciprocal", x)


def relu(x: SecretArray) -> SecretArray:
    """Returns x where it is positive, 0 elsewhere, exactly; also for integers. It takes a comparison and 1 round.

    Rounds: rss 10, aby 7, spdz2k 8, pika 8.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     print(qr.relu(mpc.input([-1.5, 2.0], owner=0)).reveal())
        [0. 2.]
    """
    x = _secret("relu", x)
    return x._session.where(x > 0, x, 0)


def softmax(x: SecretArray, axis: int = -1) -> SecretArray:
    """Returns e^x over its sum along an axis, within 1 unit of 2^-f, no matter how far apart the elements are.

    This holds for up to 2^(35 - f) elements along the axis; each 2^(36 - f) more add a unit to the error.

    Rounds: rss 110, aby 92, spdz2k 97, pika 97.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     print(qr.softmax(mpc.input([1.0, 2.0, 3.0], owner=0)).reveal().round(3))
        [0.09  0.245 0.665]
    """
    x = _secret("softmax", x)
    return x._new(x._session._native.softmax(x._node, row_axis("softmax", axis), _source.line()))
