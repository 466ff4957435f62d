"""Proven ranges of secret integers, and dtypes that hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quorate import _source
from quorate._source import at
from quorate.dtypes import MOST_BITS, real
from quorate.dtypes import int as int_dtype
from quorate.errors import DtypeError

if TYPE_CHECKING:
    from quorate.array import SecretArray

__all__ = ["as_real", "in_room", "most_bits", "reach", "units", "within_dtype"]


def as_real(x: SecretArray) -> SecretArray:
    """Returns integers and bits as reals, in the width that their dtype or bounds take; fixed point as it is."""
    return x if x.dtype.kind == "fixed" else x.astype(real)


def within_dtype(x: SecretArray) -> SecretArray:
    """Returns the values with their dtype's range as their proven range, which holds for any values. Free."""
    return x._new(x._session._native.held(x._node, _source.line()))


def units(x: SecretArray) -> SecretArray:
    """Returns fixed point times 2^f as integers, bits as signed integers, and integers as they are. Local."""
    if x.dtype.kind == "fixed":
        return x._whole(2.0**-x.dtype.frac, "units")
    return x.astype(x._session._whole) if x.dtype.kind == "bit" else x


def reach(x: SecretArray) -> tuple[int, int]:
    """Returns the proven range of all values, by bounds or by the dtype, in units."""
    low, high = x._session._native.range(x._node)
    return int(low), int(high)


def most_bits(x: SecretArray) -> int:
    """Returns the bits of the session's widest dtype: its rings may have only 32 bits (`mac=48`), else up to 120."""
    bits = x._session._whole.bits
    return MOST_BITS if bits >= 64 else bits


def in_room(what: str, x: SecretArray, most: int, frac: int = real.frac) -> SecretArray:
    """Converts integers to a signed dtype that holds magnitudes up to `most`, also with `frac` fractional bits.

    Raises:
        DtypeError: no dtype holds them.
    """
    bits = most.bit_length() + 1
    if bits + frac > MOST_BITS:
        raise DtypeError(
            at(
                f"{what}: with {bits + frac} bits for the largest result that is possible, and dtypes have up to "
                f"{MOST_BITS}: state the largest magnitude of the inputs, mpc.input(..., bound=), or give numbers up "
                "to 2^26 as reals, mpc.input(..., dtype=qr.real)"
            )
        )
    x = within_dtype(x)
    return x if x.dtype.kind == "int" and x.dtype.bits >= bits else x.astype(int_dtype(max(bits, 2)))
