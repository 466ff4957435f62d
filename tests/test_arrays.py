"""Every array operation equals numpy's, including its conventions."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import quorate as qr
from protocols import stated

ARITHMETIC = [operator.add, operator.sub, operator.mul]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
LOGIC = [operator.and_, operator.or_, operator.xor]


@pytest.fixture(scope="module")
def mpc() -> Iterator[qr.Session]:
    with stated("rss", parties=3) as session:
        yield session


def grid(*shape: int) -> np.ndarray:
    """Returns small integers of both signs, with equal ones among them."""
    return (np.arange(int(np.prod(shape))) * 7 % 11 - 5).reshape(shape)


def same(revealed: Any, wanted: Any) -> None:
    """Checks that values, shapes and kinds of numbers are equal."""
    wanted = np.asarray(wanted)
    assert np.shape(revealed) == wanted.shape
    assert np.asarray(revealed).dtype == wanted.dtype
    np.testing.assert_array_equal(revealed, wanted)


# ---- elementwise ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ARITHMETIC + COMPARISONS)
@pytest.mark.parametrize(
    "shapes",
    [((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((2, 1, 3), (4, 1)), ((), (3,)), ((), ()), ((1,), (5,))],
    ids=str,
)
def test_two_arrays_broadcast(mpc: qr.Session, op: Callable[..., Any], shapes: tuple[tuple[int, ...], ...]) -> None:
    a, b = grid(*shapes[0]), grid(*shapes[1])[..., ::-1] if shapes[1] else np.array(2)
    x, y = mpc.input(a, owner=0), mpc.input(b, owner=1)
    wanted = op(a, b)
    for left, right in ((x, y), (x, b), (a, y), (x, b.tolist())):
        result = op(left, right)
        assert isinstance(result, qr.SecretArray)
        assert result.shape == np.shape(wanted)
        same(result.reveal(), wanted)


@pytest.mark.parametrize("op", ARITHMETIC + COMPARISONS)
@pytest.mark.parametrize("scalar", [3, -2, np.int64(4), np.int8(-1), True, 0], ids=repr)
def test_public_scalars_on_both_sides(mpc: qr.Session, op: Callable[..., Any], scalar: Any) -> None:
    a = grid(7)
    x = mpc.input(a, owner=2)
    same(op(x, scalar).reveal(), op(a, int(scalar)))
    same(op(scalar, x).reveal(), op(int(scalar), a))


@pytest.mark.parametrize("op", LOGIC)
def test_logic_on_bits(mpc: qr.Session, op: Callable[..., Any]) -> None:
    a, b = np.array([[True], [False]]), np.array([True, False, True])
    x, y = mpc.input(a, owner=0), mpc.input(b, owner=1)
    for left, right in ((x, y), (x, b), (a, y), (x, [1, 0, 1])):
        same(op(left, right).reveal(), op(a, b))
    same((~x).reveal(), ~a)
    same((~~x).reveal(), a)
    same((x ^ x).reveal(), a ^ a)


@pytest.mark.parametrize("op", COMPARISONS)
def test_bits_compare_as_numbers(mpc: qr.Session, op: Callable[..., Any]) -> None:
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])
    x, y = mpc.input(a, owner=0), mpc.input(b, owner=1)
    for left, right in ((x, y), (x, b), (a, y)):
        same(op(left, right).reveal(), op(a, b))


def test_bits_count_as_integers(mpc: qr.Session) -> None:
    a, b = np.array([True, True, False]), np.array([True, False, False])
    n = np.array([5, -7, 9])
    x, y, z = mpc.input(a, owner=0), mpc.input(b, owner=1), mpc.input(n, owner=2)
    same((x + y).reveal(), a.astype(int) + b)
    same((x - y).reveal(), a.astype(int) - b)
    same((x * y).reveal(), a & b)
    same((x * z).reveal(), a * n)
    same((x + 3).reveal(), a + 3)
    same((-x).reveal(), -a.astype(int))
    same(x.sum().reveal(), a.sum())
    same(x.astype(qr.int(9)).reveal(), a.astype(int))
    assert x.astype(qr.int(9)).dtype == qr.int(9)
    assert x.astype(qr.bit) is x
    same(x.astype(qr.fixed(20, 4)).reveal(), a.astype(float))


def test_signs_and_shifts(mpc: qr.Session) -> None:
    a = np.array([[5, -5, 0], [1, -1, 1000003]])
    x = mpc.input(a, owner=0)
    same((-x).reveal(), -a)
    same((+x).reveal(), a)
    for by in (0, 1, 3, np.int64(10), 63):
        same((x << by).reveal(), a << by)
        same((x >> by).reveal(), a >> by)


@pytest.mark.parametrize("k", [2, 3, 8, 17, 31, 32, 33, 63, 64])
def test_the_ends_of_the_range(mpc: qr.Session, k: int) -> None:
    low, high = -(1 << (k - 1)), (1 << (k - 1)) - 1
    a = np.array([low, low + 1, -1, 0, 1, high - 1, high], dtype=object)
    x = mpc.input(a.astype(np.int64), owner=0, dtype=qr.int(k))
    pairs = x.reshape(-1, 1), x
    for op in COMPARISONS:
        same(op(*pairs).reveal(), op(a.reshape(-1, 1), a).astype(bool))
        same(op(x, low).reveal(), op(a, low).astype(bool))
    for op in ARITHMETIC:
        exact = op(a.reshape(-1, 1), a)
        same(op(*pairs).reveal(), wrapped(exact, k))
    same((-x).reveal(), wrapped(-a, k))
    same(x.max().reveal(), np.int64(high))
    same(x.argmax().reveal(), np.int64(a.argmax()))


def wrapped(values: np.ndarray, k: int) -> np.ndarray:
    """Wraps Python integers into the range of k bits."""
    values = np.vectorize(int, otypes=[object])(values)
    return ((values + (1 << (k - 1))) % (1 << k) - (1 << (k - 1))).astype(np.int64)


# ---- choice --------------------------------------------------------------------------------------------------------


def test_where_takes_every_kind_of_operand(mpc: qr.Session) -> None:
    c, a, b = np.array([[True], [False]]), grid(3), grid(2, 3) + 100
    conditions = [mpc.input(c, owner=0), c, c.tolist(), mpc.constant(c)]
    for condition in conditions:
        for left in (mpc.input(a, owner=1), a, a.tolist()):
            for right in (mpc.input(b, owner=2), b):
                same(mpc.where(condition, left, right).reveal(), np.where(c, a, b))
    x = mpc.input(a, owner=1)
    same(mpc.where(x > 0, x, 0).reveal(), np.where(a > 0, a, 0))
    same(mpc.where(x > 0, 1, -1).reveal(), np.where(a > 0, 1, -1))
    same(mpc.where(True, x, 0).reveal(), a)
    same(mpc.where(x < 0, x > -3, [True, False, True]).reveal(), np.where(a < 0, a > -3, [True, False, True]))
    same(mpc.where(x < 0, x < -3, x).reveal(), np.where(a < 0, a < -3, a))
    same(mpc.where(x < 0, 0.5, mpc.input(a / 2, owner=0)).reveal(), np.where(a < 0, 0.5, a / 2))


def test_extremes_and_their_ties(mpc: qr.Session) -> None:
    a = np.array([[3, 7, 7, -2], [5, 5, 5, 5], [-9, -9, -10, -9]])
    x = mpc.input(a, owner=0)
    for axis in (None, 0, 1, -1, np.int64(0)):
        for name in ("max", "min", "sum", "argmax"):
            for keep in (False, True):
                wanted = getattr(a, name)(axis=axis, keepdims=keep)
                same(getattr(x, name)(axis=axis, keepdims=keep).reveal(), wanted)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13])
def test_extremes_of_any_number(mpc: qr.Session, count: int) -> None:
    a = np.random.default_rng(count).integers(-4, 4, (count, 6, 2))
    x = mpc.input(a, owner=1, dtype=qr.int(20))
    for axis in (0, 1, 2, None):
        same(x.max(axis=axis).reveal(), a.max(axis=axis))
        same(x.min(axis=axis).reveal(), a.min(axis=axis))
        same(x.argmax(axis=axis).reveal(), a.argmax(axis=axis))


# ---- products ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (3,)),
        ((5, 2, 3), (5, 3, 4)), ((4, 1, 2, 3), (5, 3, 2)), ((3,), (5, 3, 2)), ((2, 3), (5, 3, 2)), ((1, 1), (1, 1)),
    ],
    ids=str,
)  # fmt: skip
def test_matrix_products(mpc: qr.Session, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    a, b = grid(*left), grid(*right)
    x, y = mpc.input(a, owner=0), mpc.input(b, owner=1)
    for one, other in ((x, y), (x, b), (a, y)):
        same((one @ other).reveal(), a @ b)
    p, q = mpc.input(a / 4, owner=0, dtype=qr.fixed(40, 8)), mpc.input(b / 8, owner=1, dtype=qr.fixed(40, 8))
    same((p @ q).reveal(), np.floor((a @ b) / 32 * 256) / 256)


def test_a_batch_of_products_takes_the_rounds_of_one() -> None:
    with stated("rss") as mpc:
        x, y = mpc.input(grid(50, 2, 3), owner=0), mpc.input(grid(50, 3, 2), owner=1)
        assert mpc.explain(x @ y).online.rounds == 3


def test_dot(mpc: qr.Session) -> None:
    a, b = grid(2, 3), grid(3, 2)
    x = mpc.input(a, owner=0)
    same(x.dot(b).reveal(), a.dot(b))
    same(x.dot(mpc.input(b, owner=1)).reveal(), a.dot(b))
    same(x.dot(3).reveal(), a.dot(3))
    same(x[0].dot(x[1]).reveal(), a[0].dot(a[1]))


# ---- layout --------------------------------------------------------------------------------------------------------

KEYS: list[Any] = [
    0, -1, np.int64(2), slice(None), slice(1, 3), slice(None, None, -1), slice(3, 0, -2), slice(5, 2), ...,
    (slice(None), 1), (..., 0), (None, 1), (slice(None), None, slice(1, 4, 2)), (0, 1), (0, 1, 2), (..., None, -1),
    [2, 0, 2], np.array([[0, 1], [2, 2]]), (np.array([0, 2]), np.array([1, 1])), (slice(None), [3, 1]), (),
    np.array([True, False, True]), np.zeros(3, bool), ([0, 2], slice(None), [0, 1]),
    (slice(None), np.array([True, False, False, True])), [], np.array([], int), True, False,
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=repr)
@pytest.mark.parametrize("kind", [np.int64, np.bool_, np.float64], ids=lambda k: k.__name__)
def test_indexing(mpc: qr.Session, key: Any, kind: Any) -> None:
    a = grid(3, 4, 5) > 0 if kind is np.bool_ else grid(3, 4, 5).astype(kind)
    x = mpc.input(a, owner=0)
    picked = x[key]
    assert picked.shape == a[key].shape
    same(picked.reveal(), a[key])


def test_a_public_mask_of_the_whole_array(mpc: qr.Session) -> None:
    a = grid(3, 4)
    x = mpc.input(a, owner=0)
    same(x[a > 0].reveal(), a[a > 0])
    same(x.at[a > 0].set(9).reveal(), np.where(a > 0, 9, a))


@pytest.mark.parametrize("key", [k for k in KEYS if not isinstance(k, bool)], ids=repr)
def test_setting_makes_a_copy(mpc: qr.Session, key: Any) -> None:
    a = grid(3, 4, 5)
    x = mpc.input(a, owner=0)
    wanted = a.copy()
    wanted[key] = 100
    same(x.at[key].set(100).reveal(), wanted)
    other = grid(*a[key].shape) + 200
    wanted[key] = other
    if not repeats(a, key):
        same(x.at[key].set(mpc.input(other, owner=1)).reveal(), wanted)
    same(x.reveal(), a)


def repeats(a: np.ndarray, key: Any) -> bool:
    places = np.arange(a.size).reshape(a.shape)[key]
    return np.unique(places).size < np.size(places)


def test_form(mpc: qr.Session) -> None:
    a = grid(2, 3, 4)
    x = mpc.input(a, owner=0)
    same(x.T.reveal(), a.T)
    same(x.transpose().reveal(), a.T)
    same(x.transpose(1, 0, 2).reveal(), a.transpose(1, 0, 2))
    same(x.transpose((-1, 0, 1)).reveal(), a.transpose((-1, 0, 1)))
    for shape in ((6, 4), (-1,), (4, -1), (2, -1, 2), (24, 1)):
        same(x.reshape(shape).reveal(), a.reshape(shape))
        same(x.reshape(*shape).reveal(), a.reshape(shape))
    same(x.ravel().reveal(), a.ravel())
    same(x.flatten().reveal(), a.flatten())
    same(x[0, 0, 0].reshape(1, 1).reveal(), a[:1, 0, :1])
    assert (x.ndim, x.size, x.shape, len(x)) == (a.ndim, a.size, a.shape, len(a))


def test_iteration_and_unpacking(mpc: qr.Session) -> None:
    a = grid(3, 2)
    x = mpc.input(a, owner=0)
    for secret, row in zip(x, a, strict=True):
        same(secret.reveal(), row)
    first, *_ = x
    same(first.reveal(), a[0])
    same(sum(x).reveal(), a.sum(axis=0))
    same(x[0, 0].reveal(), a[0, 0])
    assert isinstance(x[0, 0].reveal(), np.int64)
    with pytest.raises(TypeError):
        iter(x[0, 0])
    with pytest.raises(TypeError):
        len(x[0, 0])


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_joining(mpc: qr.Session, axis: int) -> None:
    a, b = grid(2, 3, 4), grid(2, 3, 4) + 50
    x, y = mpc.input(a, owner=0), mpc.input(b, owner=1)
    same(mpc.concatenate([x, y, a], axis=axis).reveal(), np.concatenate([a, b, a], axis=axis))
    same(mpc.stack([x, b, y], axis=axis).reveal(), np.stack([a, b, b], axis=axis))
    same(mpc.concatenate([x > 0, y > 50], axis=axis).reveal(), np.concatenate([a > 0, b > 50], axis=axis))
    same(mpc.concatenate((x, y[..., :0]), axis=2).reveal(), a)


def test_augmented_assignment_rebinds(mpc: qr.Session) -> None:
    a = grid(4)
    x = before = mpc.input(a, owner=0)
    x += 1
    x *= x
    same(x.reveal(), (a + 1) ** 2)
    same(before.reveal(), a)
    clear = a.copy()
    clear += 0
    with pytest.raises(TypeError):
        clear += before


def test_copies_are_the_same_array(mpc: qr.Session) -> None:
    x = mpc.input([1, 2], owner=0)
    for copied in (copy.copy(x), copy.deepcopy([x])[0]):
        assert copied is x
        del copied
    same(x.reveal(), [1, 2])


# ---- fixed point ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "f"), [(64, 16), (64, 20), (32, 8), (40, 1), (16, 4), (20, 0), (63, 30)])
def test_fixed_point_rounds_down_exactly(mpc: qr.Session, k: int, f: int) -> None:
    rng = np.random.default_rng(k * 100 + f)
    reach = 1 << min((k - 1 + f) // 2, 24)
    u, v = rng.integers(-reach, reach, (2, 200))
    exact, other_exact = u.astype(object), v.astype(object)
    x = mpc.input(u / 2**f, owner=0, dtype=qr.fixed(k, f))
    y = mpc.input(v / 2**f, owner=1, dtype=qr.fixed(k, f))
    product = wrapped(np.array([int(p) >> f for p in wrapped((exact * other_exact), k)], dtype=object), k)
    for one, other in ((x, y), (x, v / 2**f), (u / 2**f, y)):
        same((one * other).reveal(), product / 2**f)
    same((x + y).reveal(), wrapped(exact + other_exact, k) / 2**f)
    same((x - v / 2**f).reveal(), wrapped(exact - other_exact, k) / 2**f)
    same((x * 3).reveal(), wrapped(exact * 3, k) / 2**f)
    same((x >> 2).reveal(), (u >> 2) / 2**f)
    for op in COMPARISONS:
        same(op(x, y).reveal(), op(u, v))
    same(x.max().reveal(), u.max() / 2**f)
    same(x.sum().reveal(), wrapped(np.array([exact.sum()]), k)[0] / 2**f)


def test_public_reals_round_to_the_nearest(mpc: qr.Session) -> None:
    values = [0.3, -0.3, 1 / 3, 2.5 / 256, 3.5 / 256, -0.001]
    x = mpc.input(values, owner=0, dtype=qr.fixed(32, 8))
    same(x.reveal(), np.round(np.array(values) * 256) / 256)
    same((x * 0 + values).reveal(), np.round(np.array(values) * 256) / 256)


def test_dtypes_follow_the_values(mpc: qr.Session) -> None:
    assert mpc.input([1, 2], owner=0).dtype == qr.int(64)
    assert mpc.input(np.uint8([1, 2]), owner=0).dtype == qr.int(64)
    assert mpc.input([1.5], owner=0).dtype == qr.fixed(64, 16)
    assert mpc.input(np.float32([1.5]), owner=0).dtype == qr.fixed(64, 16)
    assert mpc.input([True], owner=0).dtype == qr.bit
    assert (mpc.input([1], owner=0, dtype=qr.int(8)) > 0).dtype == qr.bit
    assert mpc.input([[1, 2]], owner=0).argmax(axis=1).dtype == qr.int(64)
    assert mpc.input([1, 2], owner=0, dtype=qr.fixed(32, 4)).dtype == qr.fixed(32, 4)
    same(mpc.input([1, 2], owner=0, dtype=qr.fixed(32, 4)).reveal(), [1.0, 2.0])
    same(mpc.input([0, 1], owner=0, dtype=qr.bit).reveal(), [False, True])


# ---- nothing at all ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4)], ids=str)
@pytest.mark.parametrize("dtype", [qr.int(64), qr.int(7), qr.fixed(32, 8), qr.bit], ids=str)
def test_empty_arrays(mpc: qr.Session, shape: tuple[int, ...], dtype: qr.Dtype) -> None:
    a = np.zeros(shape, bool if dtype == qr.bit else int)
    x, y = mpc.input(a, owner=0, dtype=dtype), mpc.input(a, owner=1, dtype=dtype)
    assert x.reveal().shape == shape
    for op in [*ARITHMETIC, *COMPARISONS] if dtype != qr.bit else [*COMPARISONS, *LOGIC]:
        assert op(x, y).reveal().shape == shape
        assert op(x, a).reveal().shape == shape
    assert mpc.where(x == y, x, y).reveal().shape == shape
    assert x.T.reveal().shape == shape[::-1]
    assert x.reshape(-1).reveal().shape == (0,)
    assert mpc.concatenate([x, y], axis=0).reveal().shape == np.concatenate([a, a]).shape
    assert x.sum().reveal() == 0
    for axis in range(len(shape)):
        assert x.sum(axis=axis).reveal().shape == a.sum(axis=axis).shape
        if shape[axis]:
            assert x.max(axis=axis).reveal().shape == a.max(axis=axis).shape
            assert x.argmax(axis=axis).reveal().shape == a.argmax(axis=axis).shape
        else:
            with pytest.raises(qr.ShapeError, match="empty"):
                x.max(axis=axis)
    if dtype != qr.bit:
        assert (x >> 1).reveal().shape == shape
        product = x.reshape(shape[-1] if len(shape) == 1 else shape) @ np.zeros((shape[-1], 2), int)
        assert product.reveal().shape == (a @ np.zeros((shape[-1], 2), int)).shape


def test_an_empty_batch_of_products(mpc: qr.Session) -> None:
    x, y = mpc.input(np.zeros((0, 2, 3), int), owner=0), mpc.input(np.zeros((0, 3, 2), int), owner=1)
    assert (x @ y).reveal().shape == (0, 2, 2)
    inner = mpc.input(np.zeros((2, 0), int), owner=0)
    same((inner @ mpc.input(np.zeros((0, 3), int), owner=1)).reveal(), np.zeros((2, 3), int))
    batch = mpc.input(np.zeros((4, 2, 0), int), owner=0)
    same((batch @ mpc.input(np.zeros((4, 0, 3), int), owner=1)).reveal(), np.zeros((4, 2, 3), int))


# ---- lives of arrays -----------------------------------------------------------------------------------------------


def test_what_was_forgotten_is_not_needed_again() -> None:
    with stated() as mpc:
        a, b = grid(6), grid(6)[::-1].copy()
        x, y = mpc.input(a, owner=0), mpc.input(b, owner=1)
        not_less = x >= y  # a negation of a comparison that users have no array of
        same(not_less.reveal(), a >= b)
        del x, y
        same((~not_less).reveal(), a < b)
        same((~~not_less).reveal(), a >= b)
        same((not_less < True).reveal(), a < b)
        same((not_less != mpc.input(a > 0, owner=0)).reveal(), (a >= b) != (a > 0))


def test_parts_of_arrays_outlive_them() -> None:
    with stated() as mpc:
        a = grid(4, 3)
        x = mpc.input(a, owner=0)
        part, turned, reshaped = x[1], x.T, x.reshape(3, 4)
        del x
        same(part.reveal(), a[1])
        del part
        same((turned * 2).reveal(), a.T * 2)
        same(reshaped.reveal(), a.reshape(3, 4))
        same(reshaped.T.reveal(), a.reshape(3, 4).T)


def test_an_array_that_was_never_revealed_keeps_what_it_needs() -> None:
    with stated() as mpc:
        a = grid(5)
        x = mpc.input(a, owner=0)
        squares = x * x
        later = squares + x
        same(squares.reveal(), a * a)
        del squares, x
        same(mpc.constant([1, 2]).reveal(), [1, 2])
        same(later.reveal(), a * a + a)
        same(later.reveal(), a * a + a)


def test_memory_of_dropped_arrays_is_given_back() -> None:
    with stated() as mpc:
        x = mpc.input(np.arange(200_000), owner=0)
        for _ in range(30):
            x = x + x * 0
            x.reveal()
        same(x[:3].reveal(), [0, 1, 2])


def test_constants_come_and_go() -> None:
    with stated() as mpc:
        x = mpc.input([1, 2], owner=0)
        for _ in range(3):
            c = mpc.constant([5, 6])
            same((x + c).reveal(), [6, 8])
            same(c.reveal(), [5, 6])
            del c


def test_revealing_nothing_and_the_same_twice(mpc: qr.Session) -> None:
    assert mpc.reveal_all() == []
    x = mpc.input([3, 4], owner=0)
    one, other = mpc.reveal_all(x, x)
    same(one, [3, 4])
    same(other, [3, 4])
    one[0] = 9  # results are the user's own
    same(other, [3, 4])
    same(x.reveal(), [3, 4])


def test_inputs_are_copied(mpc: qr.Session) -> None:
    a = np.array([1, 2, 3])
    x = mpc.input(a, owner=0)
    a[:] = 0
    same(x.reveal(), [1, 2, 3])


def test_callables_give_inputs(mpc: qr.Session) -> None:
    same(mpc.input(lambda: [1, 2], owner=0).reveal(), [1, 2])
    same(mpc.input(lambda: np.ones((2, 2)), owner=1, shape=(2, 2), dtype=qr.fixed(20, 3)).reveal(), np.ones((2, 2)))


def test_what_is_picked_is_added_to(mpc: qr.Session) -> None:
    x = mpc.input(grid(3, 4), owner=0)
    wanted = grid(3, 4)
    wanted[[2, 0]] += 5
    same(x.at[[2, 0]].add(5).reveal(), wanted)
    wanted[:, 1] += grid(3)
    same(x.at[[2, 0]].add(5).at[:, 1].add(mpc.input(grid(3), owner=1)).reveal(), wanted)
    with pytest.raises(qr.ShapeError, match="picked twice"):
        x.at[[0, 0]].add(1)
    with pytest.raises(qr.ShapeError, match="pick elements first"):
        x.at.add(1)
