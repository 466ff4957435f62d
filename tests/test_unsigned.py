"""Unsigned integers against Python's own, wrapped to their bits."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import quorate as qr
from protocols import among, places

PLENTY = settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module", params=places(), ids=str)
def mpc(request: pytest.FixtureRequest) -> Iterator[qr.Session]:
    with among(request.param) as session:
        yield session


def same(revealed: Any, wanted: Any, kind: Any = np.uint64) -> None:
    wanted = np.asarray(wanted).astype(kind)
    assert np.shape(revealed) == wanted.shape
    assert np.asarray(revealed).dtype == wanted.dtype
    np.testing.assert_array_equal(revealed, wanted)


def numbers(k: int, size: int = 6) -> st.SearchStrategy[np.ndarray]:
    top = (1 << k) - 1
    one = st.one_of(st.sampled_from(sorted({0, min(1, top), top >> 1, (top >> 1) + 1 & top, top})), st.integers(0, top))
    return st.lists(one, min_size=size, max_size=size).map(lambda v: np.array(v, dtype=object))


COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


@PLENTY
@given(data=st.data(), k=st.integers(1, 64), bounded=st.booleans())
def test_arithmetic_and_order(mpc: qr.Session, data: Any, k: int, bounded: bool) -> None:
    reach = data.draw(st.integers(1, k)) if bounded else k
    a, b = data.draw(numbers(reach)), data.draw(numbers(reach))
    stated = (1 << reach) - 1 if bounded else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qr.RangeWarning)
        x, y = (mpc.input(v, owner=p, dtype=qr.uint(k), bound=stated) for p, v in enumerate((a, b)))
        mask, by = (1 << k) - 1, data.draw(st.integers(0, k - 1))
        secret = [x + y, x - y, x * y, -x, x << by, x >> by, ~x, x & y, x | y, x ^ y, x.sum(), x.cumsum(), x.max()]
        secret += [
            x.min(),
            x.sort(),
            mpc.maximum(x, y),
            mpc.where(x < y, x, y),
            abs(x),
            mpc.from_bits(x.bits(), x.dtype),
        ]
    clear = [a + b, a - b, a * b, -a, a << by, a >> by, ~a, a & b, a | b, a ^ b, a.sum(), np.cumsum(a), a.max()]
    clear += [a.min(), np.sort(a), np.maximum(a, b), np.minimum(a, b), a, a]
    revealed = mpc.reveal_all(*secret, x.argmax(), x.argmin(), x.argsort(), *(op(x, y) for op in COMPARISONS))
    for value, wanted in zip(revealed, clear, strict=False):
        same(value, np.asarray(wanted, object) & mask)
    rest = revealed[len(clear) :]
    for place, wanted in zip(rest, (a.argmax(), a.argmin(), np.argsort(a, kind="stable")), strict=False):
        same(place, wanted, np.int64)
    for bit, op in zip(rest[3:], COMPARISONS, strict=True):
        same(bit, op(a, b), bool)


@PLENTY
@given(data=st.data(), k=st.integers(1, 64), other=st.integers(2, 64))
def test_conversions(mpc: qr.Session, data: Any, k: int, other: int) -> None:
    a = data.draw(numbers(k))
    x = mpc.input(a, owner=0, dtype=qr.uint(k))
    signed = x.astype(qr.int(other))
    frac = data.draw(st.integers(0, other - 1))
    pairs = [
        (x.astype(qr.uint(other)), a & ((1 << other) - 1)),
        (signed, wrapped(a, other)),
        (signed.astype(qr.uint(k)), wrapped(a, other) & ((1 << k) - 1)),
        (signed.astype(qr.uint(64)), wrapped(a, other) & ((1 << 64) - 1)),
    ]
    whole = x.astype(qr.fixed(other, frac))
    revealed = mpc.reveal_all(*(secret for secret, _ in pairs), whole, whole.astype(qr.uint(64)))
    for value, (secret, wanted) in zip(revealed, pairs, strict=False):
        same(value, wanted, np.int64 if secret.dtype.kind == "int" else np.uint64)
    units = wrapped(a << frac, other)
    same(revealed[-2], units.astype(np.int64) / 2.0**frac, np.float64)
    same(revealed[-1], (units >> frac) & ((1 << 64) - 1))


def wrapped(values: Any, k: int) -> np.ndarray:
    half = 1 << (k - 1)
    return np.asarray((np.asarray(values) + half) % (1 << k) - half)


def test_products_and_positions(mpc: qr.Session) -> None:
    a = np.random.default_rng(1).integers(0, 1 << 64, (3, 4), dtype=np.uint64)
    x = mpc.input(a, owner=0, dtype=qr.uint(64))
    same((x @ x.T).reveal(), a @ a.T)
    same((x.dot(a[0])).reveal(), a.dot(a[0]))
    same((x * np.uint64(2**64 - 1)).reveal(), a * np.uint64(2**64 - 1))
    index = np.array([2, 0, 2])
    i = mpc.input(index, owner=1, dtype=qr.uint(2))
    same(mpc.one_hot(i, 6).reveal(), np.eye(6)[index], bool)
    same(mpc.take(x, i, axis=0).reveal(), a[index])
    same((x * (x > 2**63)).reveal(), a * (a > 2**63))
    same(x.at[0].set(x[1]).T.reveal()[:, 0], a[1])
    same(mpc.input(a.sum(), owner=mpc.parties - 1, dtype=qr.uint(64)).reveal(), a.sum())


def test_what_does_not_fit_is_refused(mpc: qr.Session) -> None:
    x = mpc.input([5], owner=0, dtype=qr.uint(8))
    for bad in (-1, 256):
        with pytest.raises(qr.RangeError, match=r"uint\(8\), which holds 0 to 255"):
            mpc.input([bad], owner=0, dtype=qr.uint(8))
        assert (x + bad).reveal() == 5 + bad  # in a dtype that holds both
    with pytest.raises(qr.RangeError, match=r"qr\.uint\(64\)"):
        mpc.input([2**63, 1], owner=0)
    with pytest.raises(qr.RangeError, match=r"uint\(64\)"):
        mpc.input([2**64, 1], owner=0, dtype=qr.uint(64))
    assert (x + mpc.input([1], owner=0)).reveal() == 6
    assert (x * 0.5).reveal() == 2.5
    with pytest.raises(qr.RangeError, match="bound"):
        mpc.input([1], owner=0, dtype=qr.uint(8), bound=256)
    for bits in (0, 121):
        with pytest.raises(qr.DtypeError, match="1 to 120"):
            qr.uint(bits)
    with pytest.raises(qr.DtypeError, match=r"qr\.uint\(1\)"):
        qr.int(1)


def test_ranges_are_followed() -> None:
    with warnings.catch_warnings(), qr.local("rss") as mpc:
        warnings.simplefilter("error")
        x = mpc.input([7], owner=0, dtype=qr.uint(8), bound=100)
        (x + x) + 55
        x.astype(qr.int(8))
        with pytest.warns(qr.RangeWarning, match="sub"):
            x - 1
        with pytest.warns(qr.RangeWarning, match="astype"):
            x.astype(qr.int(7))
    with qr.local("rss") as mpc:
        full, small = (mpc.input([7], owner=0, dtype=qr.uint(64), bound=b) for b in (None, 2**62))
        assert mpc.explain(small < small).online.bytes_sent < mpc.explain(full < full).online.bytes_sent


def test_bits_make_numbers_again(mpc: qr.Session) -> None:
    rng = np.random.default_rng(2)
    bits = rng.integers(0, 2, (2, 3, 9)) > 0
    b = mpc.input(bits, owner=1)
    unsigned = (bits * (1 << np.arange(9))).sum(-1)
    same(mpc.from_bits(b, qr.uint(9)).reveal(), unsigned)
    same(mpc.from_bits(b, qr.int(9)).reveal(), wrapped(unsigned, 9), np.int64)
    same(mpc.from_bits(b, qr.fixed(9, 3)).reveal(), wrapped(unsigned, 9) / 8, np.float64)
    same(mpc.from_bits(b[..., :1], qr.bit).reveal(), bits[..., 0], bool)
    same(mpc.from_bits(mpc.constant(bits), qr.uint(9)).reveal(), unsigned)
    with pytest.raises(qr.ShapeError, match="8 bits along the last axis"):
        mpc.from_bits(b, qr.int(8))
    with pytest.raises(qr.ShapeError, match="needs 1 bit "):
        mpc.from_bits(b[0, 0, 0], qr.bit)
    with pytest.raises(qr.DtypeError, match="takes bits"):
        mpc.from_bits(b.sum(-1), qr.int(8))
    with pytest.raises(qr.DtypeError, match="secret"):
        mpc.from_bits(bits, qr.int(9))  # type: ignore[arg-type]


def test_negative_divisors_say_what_converting_does() -> None:
    with qr.local("rss") as mpc:
        x = mpc.input(np.array([5], np.uint64), owner=0, dtype=qr.uint(64))
        for divide in (lambda: x // -3, lambda: x % -3):
            with pytest.raises(qr.RangeError, match=r"// or % .*x.astype\(qr.int\(65\)\)"):
                divide()
        with pytest.raises(qr.RangeError, match=r"x.astype\(qr.int\(9\)\)\) \(at"):
            x.astype(qr.uint(8)) // -3
