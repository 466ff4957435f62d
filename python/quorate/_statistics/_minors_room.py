"""The bits that minors of matrices take, and inputs for which there is room."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from quorate._clear._steps import Step
from quorate._source import at
from quorate._statistics._ranges import reach, units, within_dtype
from quorate.dtypes import MOST_BITS, real
from quorate.errors import DtypeError

if TYPE_CHECKING:
    from quorate.array import SecretArray

__all__ = ["check_room", "magnitude", "whole_of"]

# Hints advise at least this many fractional bits of inputs.
_FEWEST_FRAC = 8

# Hints keep this magnitude of matrices, at the cost of fractional bits.
_USUAL = 8

# What a function of the mean over n rows gives, compared with that of the sum.
_OF_MEANS = {
    "inv": ", which is {n} times the inverse: divide it by {n} after reveal()",
    "solve": ", which has the same solution",
    "det": ", which is the determinant divided by {n}**{rows}",
}
_PUBLIC_RIGHT = ", which is {n} times the solution: divide it by {n} after reveal()"

# Operations that keep the size of what they work on, up to public summands.
_KEEPING = ("add", "sub", "neg", "astype", "to", "reshape", "gather", "assert_within", "behind", "concat", "broadcast")


def whole_of(x: SecretArray) -> SecretArray:
    """Returns integers, or fixed point times 2^f, with a proven range."""
    return within_dtype(units(x))


def magnitude(x: SecretArray) -> int:
    """Returns the largest magnitude that is proven, in units."""
    low, high = reach(x)
    return max(-low, high)


def check_room(what: str, *arrays: SecretArray) -> int:
    """Returns the largest magnitude of the computation of `numpy.linalg`'s function of a matrix, and a right side.

    Raises:
        DtypeError: there is no room for it; the message names inputs for which there is.
    """
    room = _Room.of(what, arrays)
    if room.bits() <= MOST_BITS:
        return max(room.most())
    frac = max(f for f, _, secret in room.parts if secret)
    most = room.secret_most()
    raise DtypeError(
        at(
            f"numpy.linalg.{what}: {room.rows} rows of magnitudes up to {most} with {frac} fractional bits take "
            f"{room.bits()} bits, and dtypes have up to {MOST_BITS}: {_instead(room, arrays)}"
        )
    )


@dataclasses.dataclass(frozen=True)
class _Room:
    """The size of the numbers that minors need.

    Attributes:
        what: the name of numpy's function.
        rows: the rows of the matrix.
        parts: for the matrix, and for a right side: fractional bits, the largest magnitude in units, and whether it is
            secret.
    """

    what: str
    rows: int
    parts: tuple[tuple[int, int, bool], ...]

    @staticmethod
    def of(what: str, arrays: Sequence[SecretArray]) -> _Room:
        parts = tuple((x.dtype.frac, magnitude(whole_of(x)), x._is_secret) for x in arrays)
        return _Room(what, len(arrays[0]), parts)

    def most(self) -> tuple[int, int]:
        """Returns the largest magnitudes of the matrix's determinant, and of the numbers that it divides."""
        (frac, of_a, _), *right = self.parts
        below, above = of_a**self.rows, 0
        if right:
            (other, of_b, _), minors = right[0], of_a ** (self.rows - 1)
            below, above = below << max(other - frac, 0), minors * of_b << max(frac - other, 0)
        return math.factorial(self.rows) * below, math.factorial(self.rows) * above

    def secret_most(self) -> int:
        """Returns the largest magnitude of secrets, rounded up to a whole number."""
        return max(-(-units >> frac) for frac, units, secret in self.parts if secret)

    def bits(self) -> int:
        """Returns the bits of the largest number. Quotients by 1 or more have fractional bits beside the dividend's."""
        below, above = (most.bit_length() + 1 for most in self.most())
        return max(below, above + real.frac + 1) if len(self.parts) > 1 else below + real.frac

    def limited(self, frac: int, bound: int | None) -> _Room:
        """Returns the room for secrets with up to `frac` fractional bits, clipped to `bound`."""
        return dataclasses.replace(
            self, parts=tuple(_limited(*part, frac, bound) if part[2] else part for part in self.parts)
        )

    def largest(self, frac: int, alike: bool = False) -> int:
        """Returns the largest bound for which there is room with `frac` fractional bits; 0 if there is none.

        It is that of secrets that are larger; with `alike`, all secrets are as large.
        """
        beyond = 1 << 4 * MOST_BITS
        parts = tuple((f, beyond if alike and secret else u, secret) for f, u, secret in self.parts)
        room = dataclasses.replace(self, parts=parts)

        def fits(bound: int) -> bool:
            return room.limited(frac, bound).bits() <= MOST_BITS

        found = 0
        for bit in range(MOST_BITS - 1, -1, -1):
            found += 1 << bit if fits(found + (1 << bit)) else 0
        return found


def _limited(frac: int, units: int, secret: bool, most_frac: int, bound: int | None) -> tuple[int, int, bool]:
    kept = min(frac, most_frac)
    units = -(-units >> frac - kept)
    return kept, units if bound is None else min(units, bound << kept), secret


def _instead(room: _Room, arrays: Sequence[SecretArray]) -> str:
    """Describes inputs for which there is room, or expressions of means, of clipped numbers, of fewer digits."""
    if not room.parts[0][2]:
        return "a is public: multiply by its inverse, np.linalg.inv(a) @ b"
    secret = [x for x, (_, _, is_secret) in zip(arrays, room.parts, strict=True) if is_secret]
    if all(_steps(x)[x._node].op == "input" for x in secret):
        return _inputs(room)
    count = _summed(arrays[0])
    exact = room.what != "inv" and all(frac == 0 for frac, _, _ in room.parts)
    if count == 1 or (exact and room.largest(0) >= _USUAL * count):
        return _expressions(room, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scaled = [x / count if is_secret else x for x, (_, _, is_secret) in zip(arrays, room.parts, strict=True)]
    said = _expressions(_Room.of(room.what, scaled), count)
    return f"a is a sum over {count} rows: take its mean{said}"


def _inputs(room: _Room) -> str:
    """Describes inputs that have room: with smaller bounds, or with fewer fractional bits."""
    frac, most = max(f for f, _, secret in room.parts if secret), room.secret_most()
    both = " for both a and b" if sum(secret for _, _, secret in room.parts) > 1 else ""
    said = []
    if (bound := room.largest(frac, alike=True)) >= 1:
        said.append(f"a bound up to mpc.input(..., bound={bound}){both}")
    fewer = next((f for f in range(frac - 1, _FEWEST_FRAC - 1, -1) if room.largest(f, alike=True) >= most), frac)
    if fewer < frac:
        said.append(f"fewer fractional bits, mpc.input(..., dtype=qr.{_fixed(most, fewer)}, bound={most}){both}")
    return "state " + " or ".join(said) if said else "solve smaller systems"


def _expressions(room: _Room, count: int) -> str:
    """Describes expressions that have room, of the matrix a, or of its mean over `count` rows."""
    frac, most = max(f for f, _, secret in room.parts if secret), room.secret_most()
    is_mean, both = count > 1, sum(secret for _, _, secret in room.parts) > 1
    after = ""
    if is_mean:
        of = _PUBLIC_RIGHT if room.what == "solve" and not both else _OF_MEANS[room.what]
        after = of.format(n=count, rows=room.rows)
    if room.bits() <= MOST_BITS:
        return f", {_expression(room, count, frac, None)}{after}"
    fracs = range(frac, min(frac, _FEWEST_FRAC) - 1, -1)
    kept = next((f for f in fracs if room.largest(f) >= min(_USUAL, most)), fracs[-1])
    said = []
    if 1 <= (bound := room.largest(kept)) < most:
        them = "a and b" if both else "it" if is_mean else "a"
        clipped = f"clip {them} to what the numbers can be, up to {bound}"
        said.append(f"{clipped}: {_expression(room, count, kept, bound)}")
    whole = next((f for f in fracs if room.limited(f, None).bits() <= MOST_BITS), None)
    if whole is not None:
        said.append(f"keep {whole} fractional bits: {_expression(room, count, whole, None)}")
    if not said:
        return "; solve smaller systems" if is_mean else "solve smaller systems"
    return (", and " if is_mean else "") + ", or ".join(said) + after


def _expression(room: _Room, count: int, frac: int, bound: int | None) -> str:
    """Returns numpy's function of the clipped and rounded operands."""
    said = []
    for name, (own, size, secret) in zip("ab", room.parts, strict=False):
        of, ends = (f"{name} / {count}", "()") if secret and count > 1 else (name, ("", ""))
        after = ""
        if secret and bound is not None and size > bound << own:
            after += f".clip({-bound}, {bound})"
            size = bound << own
        if secret and own > frac:
            after += f".astype(qr.{_fixed(-(-size >> own), frac)})"
        said.append(f"{ends[0]}{of}{ends[1]}{after}" if after else of)
    given = said[:1] if room.what == "inv" else said
    return f"np.linalg.{room.what}({', '.join(given)})"


def _fixed(bound: int, frac: int) -> str:
    bits = next((b for b in (8, 16, 32, 64) if b > (bound << frac).bit_length()), MOST_BITS)
    return f"fixed({bits}, {frac})"


def _steps(x: SecretArray) -> dict[int, Step]:
    found, _ = x._session._native.ancestors([x._node], [])
    return {step.node: step for step in map(Step.of, found)}


def _summed(x: SecretArray) -> int:
    """Returns the number of products or numbers that each element sums up; 1 if it is no sum, or a mean."""
    steps = _steps(x)
    most, left = 1, [x._node]
    while left:
        step = steps.get(left.pop())
        if step is None:
            continue
        if step.op in ("matmul", "sum"):
            most = max(most, step.numbers[2] if step.op == "matmul" else step.numbers[1])
        elif step.op in _KEEPING:
            left += step.inputs
    return most
