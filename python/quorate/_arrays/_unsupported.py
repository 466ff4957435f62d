"""Operations of numpy's arrays that secret arrays refuse. Each message says what to write instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from quorate._source import at
from quorate.errors import DtypeError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["NO_INDEX", "Unsupported"]

# The message for a secret index.
NO_INDEX = (
    "an index must be public: write mpc.take(x, i, axis=0) for secret positions, and mpc.where(bits, x, 0) for secret "
    "truth values, which keeps the elements that count"
)


class Unsupported:
    """Conversions of secrets into plain values, and changes in place."""

    __slots__ = ()

    def __rpow__(self, _: Any) -> NoReturn:
        raise DtypeError(at("a secret is no exponent: qr.exp, or apps.powmod for whole numbers"))

    def __rlshift__(self, _: Any) -> NoReturn:
        raise DtypeError(at("<< and >> take a public whole number of bits"))

    __rrshift__ = __rlshift__

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise TypeError("secret arrays do not change in place: write x = x.at[i].set(v)")

    def __bool__(self) -> NoReturn:
        raise TypeError("a secret cannot decide a branch: select with mpc.where(c, x, y), or reveal it first")

    def __int__(self) -> NoReturn:
        raise TypeError("a secret cannot become an int: keep computing on it (mpc.where selects), or reveal it first")

    def __float__(self) -> NoReturn:
        raise TypeError("a secret cannot become a float: keep computing on it (mpc.where selects), or reveal it first")

    def __index__(self) -> NoReturn:
        raise TypeError(
            "a secret cannot be an index: mpc.take(values, i, axis=0) picks by secret positions, or reveal it first"
        )

    def __format__(self, spec: str) -> str:
        if spec:
            raise TypeError(f"a secret cannot be written as {spec!r}: reveal it first, as in {{x.reveal():{spec}}}")
        return repr(self)

    if TYPE_CHECKING:  # numpy's stubs ask for it in arguments of functions that secret arrays implement themselves

        def __array__(self) -> np.ndarray[Any, np.dtype[Any]]: ...

    else:

        def __array__(self, *_: Any, **__: Any) -> NoReturn:
            raise TypeError(
                "a secret cannot become a numpy array: select with mpc.where, or call reveal() on it first; a masked "
                "array is filled before it meets a secret, m.filled(0) * x"
            )
