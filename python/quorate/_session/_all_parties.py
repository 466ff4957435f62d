"""The value of `mpc.me` in a local session, which runs every party."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

__all__ = ["Everyone"]


class Everyone:
    """The value of `mpc.me` where all parties are in this process. It equals the number of each party.

    `values if mpc.me == 0 else None` therefore gives party 0's values in a local session as in a deployment, and `if
    mpc.me == 1: print(result)` prints in both. It is not a number: operations that need one raise `TypeError`.

    >>> me = Everyone(3)
    >>> me == 0, me == 2, me != 2, me == 3
    (True, True, False, False)
    """

    __array_ufunc__ = None  # numpy's numbers then call our comparison

    def __init__(self, parties: int) -> None:
        self._parties = parties

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Everyone):
            return self._parties == other._parties
        whole = isinstance(other, (int, np.integer)) and not isinstance(other, bool)
        return whole and 0 <= int(other) < self._parties  # type: ignore[call-overload]

    def __repr__(self) -> str:
        return f"every party, 0 to {self._parties - 1}"

    def _refuse(self, *_: Any) -> NoReturn:
        raise TypeError(
            f"in a local session every party is here, so mpc.me is {self!r} and no number: compare it with each "
            "party's (mpc.me == 0), and tell local sessions by mpc.is_local"
        )

    def __format__(self, spec: str) -> str:
        raise TypeError(
            f"in a local session every party is here, so mpc.me is {self!r}: a text with it, such as a file's name, is "
            'no party\'s. Say for each party what is its own, such as "party0.csv" if mpc.me == 0 else None, and tell '
            "local sessions by mpc.is_local; for a message take {mpc.me!r}"
        )

    __hash__ = __index__ = __int__ = __bool__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse  # type: ignore[assignment]
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __mod__ = _refuse
