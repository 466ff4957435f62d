"""Divisions of fixed point by secrets, as divisions of whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quorate._source import at
from quorate.dtypes import MOST_BITS
from quorate.errors import DtypeError

if TYPE_CHECKING:
    from quorate.array import SecretArray
    from quorate.session import Session

__all__ = ["whole_operands"]


def whole_operands(op: str, session: Session, x: Any, y: Any) -> tuple[Any, Any]:
    """Returns the operands of x // y or x % y by a secret, if both are integers.

    Raises:
        DtypeError: one is fixed point; the message names the expression in whole multiples of 2^-f.
    """
    from quorate.array import SecretArray

    arrays = [v if isinstance(v, SecretArray) else session.constant(v) for v in (x, y)]
    if any(v.dtype.kind == "fixed" for v in arrays):
        secret = [isinstance(v, SecretArray) for v in (x, y)]
        raise DtypeError(at(f"{op} of fixed point takes a public divisor{_by_units(op, arrays, secret)}"))
    return x, y


def _by_units(op: str, arrays: list[SecretArray], secret: list[bool]) -> str:
    frac = max(v.dtype.frac for v in arrays)
    shown, width = [], 64
    for name, is_secret, array in zip("xy", secret, arrays, strict=True):
        low, high = (int(end) << frac - array.dtype.frac for end in array._session._native.range(array._node))
        bits = max(high.bit_length(), (-low - 1).bit_length()) + 1
        width = next((w for w in (width, 96, 120) if w >= max(width, bits)), MOST_BITS + 1)
        text = name if is_secret else f"mpc.constant({name})"
        if array.dtype.kind == "fixed" and not array.dtype.grows and is_secret:
            text += f".astype(qr.fixed({min(array.dtype.bits + frac, MOST_BITS)}, {array.dtype.frac}))"
        shown.append((text, array.dtype.kind == "fixed"))
    if width + (max(frac, 16) if op == "%" else 0) > MOST_BITS:
        return ": state bound= of the inputs, so that their units fit 64 bits"
    whole = f"astype(qr.int({width}))"
    a, b = (f"({v} * 2**{frac}).{whole}" if fixed else f"({v}.{whole} * 2**{frac})" for v, fixed in shown)
    found = f"{a} {op} {b}"
    if op == "%":
        fine = f".astype(qr.fixed({width + frac}, {frac}))" if frac > 16 else ""
        found = f"({found}){fine} / 2**{frac}"
    return f"; by a secret one, divide whole multiples of 2**-{frac}: {found}"
