"""The dtypes of secret numbers: `int(k)`, `uint(k)`, `fixed(k, f)`, `real` and `bit`."""

from __future__ import annotations

import builtins
import dataclasses
import functools
from typing import Any

from quorate._source import at
from quorate.errors import DtypeError

__all__ = ["MOST_BITS", "Dtype", "bit", "fixed", "int", "real", "uint"]

# The largest number of bits of a dtype.
MOST_BITS = 120

# The most fractional bits of results that grow, and the widths that dtypes usually have.
MOST_FRACTIONAL_BITS = 60
USUAL_WIDTHS = (64, 96, MOST_BITS)


@dataclasses.dataclass(frozen=True)
class Dtype:
    """A type of secret numbers. Made by `int`, `uint`, `fixed` or as `bit`.

    Attributes:
        kind: "int", "uint", "fixed" or "bit".
        bits: width in bits, including the sign.
        frac: fractional bits (0 unless fixed).
        grows: for fixed point, whether the width was left open, as in `real`: results then get the bits that they need.
            Comparing dtypes ignores it.
    """

    kind: str
    bits: builtins.int
    frac: builtins.int = 0
    grows: bool = dataclasses.field(default=False, compare=False)

    @staticmethod
    @functools.cache
    def of(parts: tuple[str, builtins.int, builtins.int]) -> Dtype:
        """Makes a dtype from the native module's parts."""
        kind, bits, frac = parts
        return Dtype("fixed", bits, frac, grows=True) if kind == "real" else Dtype(kind, bits, frac)

    def __repr__(self) -> str:
        if self.kind == "bit":
            return "bit"
        return f"fixed({self.bits}, {self.frac})" if self.kind == "fixed" else f"{self.kind}({self.bits})"

    @property
    def parts(self) -> tuple[str, builtins.int, builtins.int]:
        """The dtype in the form that the native module takes."""
        return "real" if self.grows else self.kind, self.bits, self.frac


def _checked(what: str, bits: Any, least: builtins.int) -> builtins.int:
    if isinstance(bits, bool) or not isinstance(bits, builtins.int):
        raise DtypeError(at(f"{what} takes whole numbers of bits, not {bits!r}"))
    if not least <= bits <= MOST_BITS:
        hint = "; one bit without a sign is qr.uint(1), or qr.bit" if bits == 1 else ""
        raise DtypeError(at(f"{what} does not take {bits}: choose {least} to {MOST_BITS} bits{hint}"))
    return bits


def int(bits: builtins.int = 64) -> Dtype:
    """Returns the dtype of two's complement integers of 2 to 120 bits.

    >>> int(20)
    int(20)
    """
    return Dtype("int", _checked("int(k)", bits, 2))


def uint(bits: builtins.int = 64) -> Dtype:
    """Returns the dtype of unsigned integers of 1 to 120 bits: 0 to 2^bits - 1.

    >>> uint(32)
    uint(32)
    """
    return Dtype("uint", _checked("uint(k)", bits, 1))


def fixed(bits: builtins.int = 64, frac: builtins.int = 16) -> Dtype:
    """Returns the dtype of fixed point: two's complement of `bits` bits (at most 120), `frac` of them after the point.

    Results have the operands' dtype, and a warning names results that may leave it. Results of `real` get the bits that
    they need.

    >>> fixed(32, 8)
    fixed(32, 8)
    """
    width = _checked("fixed(k, f)", bits, 2)
    if isinstance(frac, bool) or not isinstance(frac, builtins.int) or not 0 <= frac < width:
        raise DtypeError(at(f"fixed({bits}, {frac!r}): the fractional bits must lie between 0 and {width - 1}"))
    return Dtype("fixed", width, frac)


bit = Dtype("bit", 1)
"""The dtype of bits: results of comparisons, and Boolean inputs. In arithmetic a bit counts as the number 0 or 1."""

real = Dtype("fixed", 64, 16, grows=True)
"""The default dtype of real inputs: 16 bits after the point, magnitudes up to 2^26 or `bound=`.

Inputs have 64 bits; results get the bits that their proven range takes, up to 120. Inputs with a `bound=` below 1/16,
and results whose proven range is as small, get more bits after the point, up to 60.
"""


def check(dtype: Any) -> Dtype:
    """Returns the dtype that a user named.

    Raises:
        DtypeError: it is not one of Quorate's dtypes.
    """
    if isinstance(dtype, Dtype):
        return dtype
    if any(dtype is maker for maker in (int, uint, fixed)):
        made: Dtype = dtype()
        raise DtypeError(at(f"qr.{made.kind} makes dtypes and is none itself: say how many bits, as in qr.{made!r}"))
    raise DtypeError(
        at(f"dtype {dtype!r} is not one of Quorate's: use qr.int(k), qr.uint(k), qr.fixed(k, f), qr.real or qr.bit")
    )
