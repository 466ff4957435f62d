"""Arithmetic on limbs is that of Python's integers mod 2^bits."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate_client import limbs

WIDTHS = st.integers(33, 192)


@st.composite
def words_of(draw: Any, count: st.SearchStrategy[int]) -> tuple[int, int, list[list[int]]]:
    """Returns a width, limbs for it, and lists of as many words, with many ones and zeros in them."""
    bits, n = draw(WIDTHS), draw(count)
    most = (1 << bits) - 1
    word = st.integers(0, most) | st.sampled_from([0, 1, most, most - 1, most >> 1, 1 << (bits - 1)])
    return bits, -(-bits // 32), [draw(st.lists(word, min_size=n, max_size=n)) for _ in range(3)]


def test_integers_come_back() -> None:
    numbers = [0, 1, (1 << 96) - 1, 1 << 95, 0x123456789ABCDEF0FEDCBA98]
    words = limbs.from_ints(numbers, 3)
    assert (words.dtype, words.shape) == (np.dtype("<u4"), (5, 3))
    assert words[4].tolist() == [0xFEDCBA98, 0x9ABCDEF0, 0x12345678]
    assert limbs.to_ints(words) == numbers
    assert limbs.to_ints(words[::2]) == numbers[::2]
    assert limbs.from_ints([], 3).shape == (0, 3)
    with pytest.raises(OverflowError):
        limbs.from_ints([1 << 96], 3)


@given(words_of(st.integers(0, 9)), st.integers(1, 3))
@settings(max_examples=100, deadline=None)
def test_sums_and_products_are_exact(drawn: Any, fewer: int) -> None:
    bits, width, (a, b, c) = drawn
    first, second, third = (limbs.from_ints(one, width) for one in (a, b, c))
    ring = 1 << bits
    assert limbs.to_ints(limbs.added(first, second, bits)) == [(x + y) % ring for x, y in zip(a, b, strict=True)]
    less = second[:, :fewer].copy()
    short = [y % (1 << 32 * fewer) for y in b]
    assert limbs.to_ints(limbs.added(first, less, bits)) == [(x + y) % ring for x, y in zip(a, short, strict=True)]
    product = limbs.multiplied(first, second, third, bits)
    assert limbs.to_ints(product) == [(x * y + z) % ring for x, y, z in zip(a, b, c, strict=True)]
    assert limbs.equal(first, second).tolist() == [x == y for x, y in zip(a, b, strict=True)]
    assert limbs.to_ints(first) == a  # arguments stay
    assert limbs.to_ints(third) == c


@given(words_of(st.integers(1, 5)), st.integers(0, (1 << 128) - 1))
@settings(max_examples=100, deadline=None)
def test_one_factor_goes_with_all_words_or_with_a_row(drawn: Any, factor: int) -> None:
    bits, width, (a, b, c) = drawn
    first, third, one = limbs.from_ints(a, width), limbs.from_ints(c, width), limbs.from_ints([factor], 4)[0]
    wanted = [(x * factor + z) % (1 << bits) for x, z in zip(a, c, strict=True)]
    assert limbs.to_ints(limbs.multiplied(first, one, third, bits)) == wanted
    # A row for each word, with two words alike: shape (n, 2, limbs), factors of shape (n, 1, limbs).
    twice, addends = np.stack([first, first], axis=1), np.stack([third, third], axis=1)
    rows = limbs.multiplied(twice, limbs.from_ints(b, width)[:, None], addends, bits)
    wanted = [(x * y + z) % (1 << bits) for x, y, z in zip(a, b, c, strict=True)]
    assert limbs.to_ints(rows[:, 0]) == limbs.to_ints(rows[:, 1]) == wanted


@given(st.integers(0, 4), st.integers(1, 4), st.integers(0, 6), st.integers(1, 64), WIDTHS, st.randoms())
@settings(max_examples=100, deadline=None)
def test_combinations_are_exact(rows: int, sums: int, m: int, w: int, bits: int, random: Any) -> None:
    width = -(-bits // 32)
    numbers = [[random.choice((random.getrandbits(bits), (1 << bits) - 1)) for _ in range(m)] for _ in range(rows)]
    chi = [[random.choice((random.getrandbits(w), (1 << w) - 1, 0)) for _ in range(m)] for _ in range(sums)]
    words = limbs.from_ints([x for row in numbers for x in row], width).reshape(rows, m, width)
    found = limbs.combined(np.array(chi, np.uint64).reshape(sums, m), words, bits)
    assert found.shape == (rows, sums, width)
    wanted = [sum(c * x for c, x in zip(some, row, strict=True)) % (1 << bits) for row in numbers for some in chi]
    assert limbs.to_ints(found.reshape(-1, width)) == wanted


@pytest.mark.parametrize(("rows", "m", "bits", "w"), [(1, 1 << 20, 192, 64), (3, 5000, 186, 41), (9000, 3, 99, 1)])
def test_long_combinations_do_not_overflow(rows: int, m: int, bits: int, w: int) -> None:
    """All ones are the largest products and sums, over many pieces of words and rows."""
    width = -(-bits // 32)
    words = np.broadcast_to(limbs.from_ints([(1 << bits) - 1], width)[0], (rows, m, width))
    found = limbs.combined(np.full((2, m), (1 << w) - 1, np.uint64), words, bits)
    wanted = m * ((1 << w) - 1) * ((1 << bits) - 1) % (1 << bits)
    assert limbs.to_ints(found.reshape(-1, width)) == [wanted] * (2 * rows)


def test_long_arrays_are_worked_on_in_pieces() -> None:
    count = 3 * limbs._CHUNK + 5
    generator = np.random.default_rng(1)
    words = generator.integers(0, 1 << 32, (count, 6), np.uint32)
    limbs.clear(words, 186)
    addends, factor = words[::-1].copy(), (1 << 83) - 5
    product = limbs.multiplied(words, limbs.from_ints([factor], 4)[0], addends, 186)
    total = limbs.added(words, addends, 186)
    a, c = limbs.to_ints(words), limbs.to_ints(addends)
    assert limbs.to_ints(product) == [(x * factor + z) % (1 << 186) for x, z in zip(a, c, strict=True)]
    assert limbs.to_ints(total) == [(x + z) % (1 << 186) for x, z in zip(a, c, strict=True)]
    factors = limbs.from_ints([x % (1 << 128) for x in c], 4)
    product = limbs.multiplied(words, factors, addends, 186)
    assert limbs.to_ints(product) == [(x * (z % (1 << 128)) + z) % (1 << 186) for x, z in zip(a, c, strict=True)]


@pytest.mark.parametrize("bits", [33, 63, 64, 65, 96, 99, 186])
def test_unused_bits_are_cleared_and_seen(bits: int) -> None:
    width = -(-bits // 32)
    words = np.full((3, width), 0xFFFFFFFF, np.uint32)
    assert limbs.is_clear(words, bits) == (bits % 32 == 0)
    limbs.clear(words, bits)
    assert limbs.to_ints(words) == [(1 << bits) - 1] * 3
    assert limbs.is_clear(words, bits)
    for bit in range(bits, 32 * width):
        words = limbs.from_ints([0, 1 << bit, 0], width)
        assert not limbs.is_clear(words, bits)


def test_memory_is_that_of_the_results() -> None:
    words = np.ones((1 << 18, 6), np.uint32)  # 6 MiB
    chi = np.full((2, 1 << 18), 1, np.uint64)
    key = limbs.from_ints([5], 4)[0]
    tracemalloc.start()
    limbs.multiplied(words, key, words, 186)
    limbs.added(words, words[:, :2], 186)
    limbs.combined(chi, words[None], 186)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert words.nbytes <= peak < words.nbytes + (2 << 20)
