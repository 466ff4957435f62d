"""Modular exponentiation with a secret base, exponent or modulus.

Source: square-and-multiply, as in section VI-A of aby. Deviation: it begins with the lowest bit of the exponent, so
that the square and the product of a step do not depend on each other and run in parallel. Each bit is then one modular
product deep. With public base and modulus the squares are public, and the factors are multiplied as a tree.
Model: that of the session. Every step is done for every bit: nothing is revealed, and timing depends on sizes alone.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from quorate._source import at
from quorate._values._public_numbers import as_numbers
from quorate.array import SecretArray
from quorate.dtypes import bit as bit_dtype
from quorate.dtypes import uint
from quorate.errors import DtypeError, RangeError, ShapeError
from quorate.session import Session

__all__ = ["powmod"]

MOST_BITS = 32
"""The most bits of a modulus; products of residues take twice as many."""


def powmod(mpc: Session, base: Any, exponent: Any, modulus: Any) -> SecretArray:
    """Computes base to the power of exponent modulo modulus, element by element. Each of the three is secret or public.

    It equals Python's `pow(base, exponent, modulus)`, and is 0 where the modulus is 0. The three arguments broadcast.

    Args:
        mpc: a session.
        base: a secret array of `qr.uint(k)` or bits, or public whole numbers from 0 on; up to 64 bits.
        exponent: of the same types as base. Fewer bits are cheaper: each bit takes two modular products.
        modulus: of the same types as base, up to 32 bits. Modular products are computed with twice its bits.

    Returns:
        A secret array with the bits of the largest modulus.

    Rounds and bytes:
        It is one modular product deep for each bit of the exponent, and one more for the base. Where base and modulus
        are public, it is only log2(bits of the exponent) products deep. A product modulo a secret w-bit number takes
        about w (1 + log2 w) rounds, modulo a public one about 30. A bit of a public exponent that is 0 in all elements
        costs only a square. Online (`mpc.explain` has the offline phase, too), with an exponent of 8 bits, modulo a
        secret number of 32 bits: rss 1960 rounds, 12 kB; aby 1937 rounds, 26 kB; spdz2k 1951 rounds, 26 kB; pika 1939
        rounds, 23 kB; and modulo a public one of 17 bits: rss 196 rounds, 1.2 kB; aby 157 rounds, 1.8 kB; spdz2k 188
        rounds, 4.4 kB; pika 176 rounds, 1.3 kB.

    Raises:
        RangeError: a public number is negative or has too many bits.
        DtypeError: a secret number has a sign or too many bits; or all three are public.
        ShapeError: the shapes of the three do not broadcast.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     x = mpc.input([3, 10], owner=0, dtype=qr.uint(8))
        ...     d = mpc.input([5, 7], owner=1, dtype=qr.uint(3))
        ...     print(qr.apps.powmod(mpc, x, d, 11).reveal(), qr.apps.powmod(mpc, 2, d, x).reveal())
        [ 1 10] [2 8]
    """
    given = [_number(mpc, *named) for named in (("base", base), ("exponent", exponent), ("modulus", modulus))]
    if not any(isinstance(number, SecretArray) for number in given):
        raise DtypeError(at("powmod: base, exponent and modulus are all public; use Python's pow"))
    try:
        shape = np.broadcast_shapes(*(number.shape for number in given))
    except ValueError:
        shapes = ", ".join(str(number.shape) for number in given)
        raise ShapeError(at(f"powmod: shapes {shapes} of base, exponent and modulus do not broadcast")) from None
    field = _Residues.of(mpc, given[2], _bits(given[0]))
    power = _power(field, given[0], given[1])
    narrow = power.astype(uint(field.bits))
    return narrow if narrow.shape == shape else narrow + np.zeros(shape, np.int64)


Number = SecretArray | np.ndarray


def _number(mpc: Session, what: str, value: Any) -> Number:
    if isinstance(value, SecretArray):
        mpc._operand(value, "powmod")
        if value.dtype.kind not in ("uint", "bit"):
            hint = f"x.astype(qr.uint({value.dtype.bits}))" if value.dtype.kind == "int" else "dtype=qr.uint(k)"
            raise DtypeError(at(f"powmod: {what} must have no sign: {hint}, not {value.dtype}"))
        return value.astype(uint(1)) if value.dtype == bit_dtype else value
    numbers = as_numbers(value, "powmod")
    if numbers.dtype.kind not in "iu":
        raise DtypeError(at(f"powmod: {what} must be whole numbers"))
    if numbers.size and int(numbers.min()) < 0:
        raise RangeError(at(f"powmod: {what} {int(numbers.min())} is negative; reduce it first"))
    return numbers.astype(object)


def _bits(number: Number) -> int:
    """Returns the number of bits that the largest element may have, at least one."""
    if isinstance(number, SecretArray):
        return number.dtype.bits
    return max(int(number.max()).bit_length(), 1) if number.size else 1


@dataclasses.dataclass(frozen=True)
class _Residues:
    """Arithmetic modulo a modulus, on integers of twice its bits.

    Attributes:
        modulus: secret, or public numbers from 1 on. A public 0 is replaced by 1, modulo which all results are 0.
        bits: the bits of the modulus.
        one: 1 modulo the modulus.
    """

    mpc: Session
    modulus: Number
    bits: int
    one: Number

    @staticmethod
    def of(mpc: Session, modulus: Number, base_bits: int) -> _Residues:
        bits = _bits(modulus)
        if bits > MOST_BITS:
            error = DtypeError if isinstance(modulus, SecretArray) else RangeError
            raise error(at(f"powmod: a modulus of {bits} bits; products take twice as many: at most {MOST_BITS}"))
        if not isinstance(modulus, SecretArray):
            public = np.asarray(np.maximum(modulus, 1), object)
            return _Residues(mpc, public, bits, np.asarray(np.minimum(public - 1, 1), object))
        # The remainder proves to range analysis that the modulus has `bits` bits.
        wide = modulus.astype(uint(2 * bits)) % (1 << bits)
        return _Residues(mpc, wide, bits, (modulus > 1).astype(uint(2 * bits)))

    def reduced(self, number: Number) -> SecretArray:
        """Returns a number of any bits as a residue; the number or the modulus is secret."""
        bits = _bits(number)
        width = uint(max(bits, 2 * self.bits))
        wide = number.astype(width) if isinstance(number, SecretArray) else self.mpc.constant(number, width)
        return self._left(wide, bits)

    def _left(self, number: SecretArray, quotient_bits: int) -> SecretArray:
        """Returns the remainder, as a residue."""
        if not isinstance(self.modulus, SecretArray):
            return (number % self.modulus.astype(np.uint64)).astype(uint(2 * self.bits))
        modulus = self.modulus.astype(number.dtype)
        return number._int_divided("remainder", number, modulus, quotient_bits).astype(uint(2 * self.bits))

    def times(self, x: SecretArray, y: SecretArray) -> SecretArray:
        """Returns the product of residues; its quotient by the modulus is below the modulus."""
        return self._left(x * y, self.bits)


def _power(field: _Residues, base: Number, exponent: Number) -> SecretArray:
    """Returns the power as a residue, in twice the modulus's bits."""
    mpc, wide = field.mpc, uint(2 * field.bits)
    digits = _digits(exponent)
    one = field.one if isinstance(field.one, SecretArray) else mpc.constant(field.one, wide)
    if not isinstance(base, SecretArray) and not isinstance(field.modulus, SecretArray):
        factors = []
        for digit in digits:
            square = base % field.modulus
            factors.append(mpc.where(digit, mpc.constant(square, wide), one))
            base = square * square
        return _product(field, factors)
    square = field.reduced(base)
    power: SecretArray | None = None
    for place, digit in enumerate(digits):
        if isinstance(digit, SecretArray) or digit.any():
            longer = square if power is None else field.times(power, square)
            every = not isinstance(digit, SecretArray) and digit.all()
            power = longer if every else mpc.where(digit, longer, one if power is None else power)
        if place + 1 < len(digits):
            square = field.times(square, square)
    return one if power is None else power


def _digits(exponent: Number) -> list[Any]:
    """Returns the bits of all elements from the lowest on, secret or public."""
    if isinstance(exponent, SecretArray):
        bits = exponent.bits()
        return [bits[..., place] for place in range(exponent.dtype.bits)]
    return [np.asarray(exponent >> place & 1, bool) for place in range(_bits(exponent))]


def _product(field: _Residues, factors: list[SecretArray]) -> SecretArray:
    """Returns the product of all factors, multiplied as a tree."""
    while len(factors) > 1:
        pairs = [field.times(x, y) for x, y in zip(factors[0::2], factors[1::2], strict=False)]
        factors = pairs + factors[2 * len(pairs) :]
    return factors[0]
