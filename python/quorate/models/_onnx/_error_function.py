"""The error function on secret arrays.

For w >= 0, erf(w) is 1 - (a1 t + a2 t^2 + ... + a5 t^5) e^(-w^2) with t = 1 / (1 + p w), within 1.5e-7. For w < 0 it is
-erf(-w). Beyond 4 it is 1, within 2e-8.

**Source**: Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26.
"""

from __future__ import annotations

from typing import Any

from quorate import functions

UNITS = 24
"""The error, in units of the last of 16 fractional bits.

The multiple p w is off by 1.25 units and the inverse by 2, and the polynomial's slope in t is at most 3.45: 11.2 units.
Its own products and constants add 8, the power of e 3, the last product 1.
"""

_P = 0.3275911
_A = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
_MOST = 4.0


def erf(mpc: Any, x: Any) -> Any:
    """Returns the error function of each element of `qr.fixed(64, 16)`, within `UNITS`."""
    is_positive = x > 0
    w = mpc.minimum(mpc.where(is_positive, x, -x), _MOST)
    t = functions.reciprocal(w * _P + 1.0)
    total = t * _A[4] + _A[3]
    for addend in _A[2::-1]:
        total = total * t + addend
    made = 1.0 - total * t * functions.exp(-(w * w))
    return mpc.where(is_positive, made, -made)
