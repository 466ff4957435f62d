"""Gradients by reverse mode against numerical differentiation, on every protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import quorate as qr
from protocols import FORMS, USUAL, Place, among, usual
from quorate.learn import gradient

X = np.array([[0.75, -1.5, 2.0], [1.25, 0.5, -0.25]])
W = np.array([[0.5, -1.0], [1.5, 0.25], [-0.75, 2.0]])
STEP = 2.0**-10


def softmax(z: np.ndarray) -> np.ndarray:
    powers = np.exp(z - z.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def sigmoid(z: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-z))


def relu(z: np.ndarray) -> np.ndarray:
    return np.maximum(z, 0)


Both = tuple[Callable[..., Any], Callable[..., Any]]

# Losses of two arrays, in secrets and in numpy.
EXACT: dict[str, Both] = {
    "sums": (lambda x, w: (x + 2 * x - x[0]).sum() + (-w).sum(), lambda x, w: (3 * x - x[0]).sum() - w.sum()),
    "products": (lambda x, w: ((x @ w) * x[:, :2] * 0.5).sum(), lambda x, w: ((x @ w) * x[:, :2] * 0.5).sum()),
    "mean": (lambda x, w: ((x @ w - 1.5) ** 2).mean(), lambda x, w: ((x @ w - 1.5) ** 2).mean()),
    "moves": (
        lambda x, w: (x.T.reshape(2, 3)[[0, 0, 1]] @ w)[:, [1, 1, 0]].sum(axis=1).sum(),
        lambda x, w: (x.T.reshape(2, 3)[[0, 0, 1]] @ w)[:, [1, 1, 0]].sum(axis=1).sum(),
    ),
    "public": (
        lambda x, w: (x @ np.full((3, 2), 0.1) / 2.5 * w[:2]).sum(),
        lambda x, w: (x @ np.full((3, 2), 0.1) / 2.5 * w[:2]).sum(),
    ),
    "choices": (
        lambda x, w: (qr.relu(x @ w).clip(0, 3) * w[0]).sum() + abs(x).sum(),
        lambda x, w: (relu(x @ w).clip(0, 3) * w[0]).sum() + abs(x).sum(),
    ),
}
EXACT["batches"] = (
    lambda x, w: (np.stack([x, 2 * x]) @ np.stack([w, w + 1])).sum(),
    lambda x, w: (np.stack([x, 2 * x]) @ np.stack([w, w + 1])).sum(),
)
EXACT["deviations"] = (
    lambda x, w: (x @ w).std() + (x * 2).std(axis=1, ddof=1).sum() + np.std(w, axis=0).sum(),
    lambda x, w: (x @ w).std() + (x * 2).std(axis=1, ddof=1).sum() + np.std(w, axis=0).sum(),
)
EXACT["remainders"] = (lambda x, w: (x % 4 * w[:2, :1]).sum(), lambda x, w: (x % 4 * w[:2, :1]).sum())
REAL: dict[str, Both] = {
    "sigmoid": (lambda x, w: qr.sigmoid(x @ w).sum(), lambda x, w: sigmoid(x @ w).sum()),
    "tanh": (lambda x, w: (qr.tanh(x @ w) * x[:, 1:]).sum(), lambda x, w: (np.tanh(x @ w) * x[:, 1:]).sum()),
    "softmax": (lambda x, w: (qr.softmax(x @ w) * x[:, 1:]).sum(), lambda x, w: (softmax(x @ w) * x[:, 1:]).sum()),
    "log loss": (
        lambda x, w: -qr.log(qr.softmax(x @ w)[:, 0]).mean(),
        lambda x, w: -np.log(softmax(x @ w)[:, 0]).mean(),
    ),
    "quotients": (
        lambda x, w: (x[:, :2] / (w[:2] * w[:2] + 1)).sum(),
        lambda x, w: (x[:, :2] / (w[:2] * w[:2] + 1)).sum(),
    ),
    "roots": (
        lambda x, w: (qr.sqrt(x * x + 1) + qr.rsqrt(x * x + 1)).sum() + qr.reciprocal(w * w + 1).sum(),
        lambda x, w: (np.sqrt(x * x + 1) + 1 / np.sqrt(x * x + 1)).sum() + (1 / (w * w + 1)).sum(),
    ),
    "powers": (
        lambda x, w: qr.exp(x.cumsum(axis=1)).sum() + w.sum(),
        lambda x, w: np.exp(x.cumsum(axis=1)).sum() + w.sum(),
    ),
}


def numerical(loss: Callable[..., Any], x: np.ndarray, w: np.ndarray) -> list[np.ndarray]:
    """Returns the gradient by central differences, one element at a time."""
    found = [np.zeros_like(x), np.zeros_like(w)]
    for which, array in enumerate((x, w)):
        for place in np.ndindex(*array.shape):
            moved = [[x.copy(), w.copy()] for _ in range(2)]
            moved[0][which][place] += STEP
            moved[1][which][place] -= STEP
            found[which][place] = (loss(*moved[0]) - loss(*moved[1])) / (2 * STEP)
    return found


@pytest.fixture(scope="module", params=[*USUAL, *FORMS], ids=str)
def mpc(request: pytest.FixtureRequest) -> Iterator[qr.Session]:
    with among(request.param) as session:
        yield session


@pytest.fixture(scope="module")
def three() -> Iterator[qr.Session]:
    with qr.local("rss") as session:
        yield session


def check(mpc: qr.Session, both: Both, dtype: qr.Dtype, tolerance: float = 2e-3) -> None:
    x, w = mpc.input(X, owner=0, dtype=dtype, bound=4), mpc.input(W, owner=1, dtype=dtype, bound=4)
    given = gradient(both[0](x, w), [x, w])
    assert [g.shape for g in given] == [X.shape, W.shape]
    for found, wanted in zip(mpc.reveal_all(*given), numerical(both[1], X, W), strict=True):
        assert np.allclose(found, wanted, atol=tolerance), (found, wanted)


@pytest.mark.parametrize("name", EXACT)
def test_gradients_are_those_of_numpy(mpc: qr.Session, name: str) -> None:
    check(mpc, EXACT[name], qr.fixed(64, 16))


@pytest.mark.filterwarnings("ignore::quorate.RangeWarning")
@pytest.mark.parametrize("dtype", [qr.fixed(64, 16), qr.real], ids=["stated", "real"])
@pytest.mark.parametrize("name", [*EXACT, *REAL])
def test_real_functions_and_dtypes(three: qr.Session, name: str, dtype: qr.Dtype) -> None:
    check(three, {**EXACT, **REAL}[name], dtype)


@pytest.mark.filterwarnings("error::quorate.RangeWarning")
@pytest.mark.parametrize("rows", [100, 10_000])
def test_gradients_of_deviations_keep_their_digits(three: qr.Session, rows: int) -> None:
    rng = np.random.default_rng(rows)
    values, weights = rng.normal(0, 1, (rows, 3)).clip(-4, 4), np.array([0.5, -0.25, 0.75])
    x, w = three.input(values, owner=0, bound=4), three.input(weights, owner=1, bound=4)
    [found] = gradient((x @ w).std(), [w])
    off = values - values.mean(axis=0)
    np.testing.assert_allclose(found.reveal(), off.T @ (off @ weights) / rows / (values @ weights).std(), atol=1e-4)


@pytest.mark.filterwarnings("error::quorate.RangeWarning")
def test_gradients_of_many_shares_keep_their_digits(mpc: qr.Session) -> None:
    check_shares(mpc, 40)


@pytest.mark.filterwarnings("error::quorate.RangeWarning")
@pytest.mark.parametrize("bound", [4, None])
@pytest.mark.parametrize("rows", [3_000, 10_000])
def test_gradients_of_thousands_of_shares_keep_their_digits(three: qr.Session, rows: int, bound: int | None) -> None:
    check_shares(three, rows, bound)


def check_shares(session: qr.Session, rows: int, bound: int | None = 4) -> None:
    rng = np.random.default_rng(rows)
    values, weights = rng.normal(0, 1, (rows, 3)).clip(-3.5, 3.5), np.array([0.5, -0.25, 0.75])
    x, w = session.input(values, owner=0, bound=bound), session.input(weights, owner=1, bound=bound)
    chosen = qr.softmax(x @ w)[0]
    p = softmax(values @ weights)
    right = values[0] - p @ values
    [of_log] = gradient(qr.log(chosen), [w])
    np.testing.assert_allclose(of_log.reveal(), right, atol=1e-3)
    if bound is None:  # slopes of the share itself are 1/n of that, for which the product with x has no room
        return
    [of_share] = gradient(chosen * rows, [w])
    np.testing.assert_allclose(of_share.reveal(), rows * p[0] * right, atol=1e-3 * max(1, rows * p[0]))


@pytest.mark.parametrize("floor", [lambda w: w.astype(qr.int(64)) * 2, lambda w: w // 1], ids=["astype", "//"])
def test_whole_numbers_that_were_rounded_have_no_derivative(three: qr.Session, floor: Callable[[Any], Any]) -> None:
    w = three.input(W, owner=1, bound=4)
    with pytest.raises(qr.DtypeError, match="has no derivative here"):
        gradient((floor(w).astype(qr.real) * w).sum(), [w])


CONVOLUTIONS: list[dict[str, Any]] = [
    {},
    {"padding": 1, "stride": 2},
    {"groups": 2, "padding": ((0, 2), (1, 0))},
    {"dilation": (2, 1), "stride": (1, 3)},
]


@pytest.mark.parametrize("lies", CONVOLUTIONS, ids=str)
@pytest.mark.parametrize("public", [None, "images", "filters"])
def test_gradients_of_convolutions(mpc: qr.Session, lies: dict[str, Any], public: str | None) -> None:
    """A convolution is linear in both: the change by a step in any direction is the gradient's product with it."""
    rng = np.random.default_rng(1)
    x = rng.integers(-16, 16, (2, 4, 5, 6)) / 8
    w = rng.integers(-16, 16, (4, 4 // lies.get("groups", 1), 2, 3)) / 8
    a = x if public == "images" else mpc.input(x, owner=0, dtype=qr.fixed(64, 16), bound=4)
    b = w if public == "filters" else mpc.input(w, owner=1, dtype=qr.fixed(64, 16), bound=4)
    made = qr.nn.conv2d(a, b, **lies)
    by = rng.integers(-8, 8, made.shape) / 4
    secret = [array for array in (a, b) if isinstance(array, qr.SecretArray)]
    found = mpc.reveal_all(*gradient((made * by).sum(), secret))
    for gradient_of, array in zip(found, [v for v, given in ((x, a), (w, b)) if given is not v], strict=True):
        moved = rng.integers(-4, 4, array.shape) / 4
        one, other = (moved, b) if array is x else (a, moved)
        fixed = [mpc.input(v, owner=0, dtype=qr.fixed(64, 16)) if v is moved else v for v in (one, other)]
        change = (qr.nn.conv2d(*fixed, **lies) * by).sum().reveal()
        assert abs((gradient_of * moved).sum() - change) < 0.01


def test_gradients_of_the_largest(mpc: qr.Session) -> None:
    x = np.array([[[[1.0, 5.0, 2.0, 2.0], [3.0, 4.0, 2.0, 1.0]]]])
    a = mpc.input(x, owner=0, dtype=qr.fixed(64, 16), bound=8)
    [pooled] = gradient((qr.nn.max_pool2d(a, 2) * np.array([2.0, 3.0])).sum(), [a])
    assert pooled.reveal().tolist() == [[[[0, 2, 3, 0], [0, 0, 0, 0]]]]
    [least] = gradient(a.reshape(2, 4).min(axis=1).sum(), [a])
    assert least.reveal().tolist() == [[[[1, 0, 0, 0], [0, 0, 0, 1]]]]


@pytest.mark.parametrize("deviation", [0.1, 1.0, 300.0])
def test_lines_that_are_normalised_have_gradients(deviation: float) -> None:
    rng = np.random.default_rng(0)
    x, by = rng.normal(size=(2, 5)) * deviation, rng.normal(size=(2, 5))

    def loss(z: np.ndarray) -> float:
        centred = z - z.mean(axis=-1, keepdims=True)
        return float((centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 2**-16) * by).sum())

    wanted, step = np.zeros_like(x), 1e-5 * deviation
    for place in np.ndindex(*x.shape):
        moved = np.zeros_like(x)
        moved[place] = step
        wanted[place] = (loss(x + moved) - loss(x - moved)) / (2 * step)
    with qr.local("rss") as mpc:
        a = mpc.input(x, owner=0)
        [found] = gradient((qr.nn.layer_norm(a) * by).sum(), [a])
        assert np.abs(found.reveal() - wanted).max() < 2**-10 * np.abs(wanted).max() + 2**-15


PROVING = [usual("spdz2k"), *FORMS]
"""Where a range that rests on a stated bound is proven before anything goes by it."""


def quotients_by_bounded(a: Any, b: Any) -> Any:
    """By an input of one owner, and by what is made of inputs of two."""
    return (a / b).sum() + (a / (a * a + b)).sum()


@pytest.mark.parametrize("dtype", [qr.fixed(64, 16), qr.real], ids=["stated", "real"])
@pytest.mark.parametrize("place", PROVING, ids=str)
def test_gradients_go_through_proofs_of_bounds(place: Place, dtype: qr.Dtype) -> None:
    x, y = np.array([0.75, -1.5, 2.0]), np.array([0.75, 1.5, 3.25])
    by_x = 1 / y + (y - x * x) / (x * x + y) ** 2
    by_y = -x / y**2 - x / (x * x + y) ** 2
    with among(place) as mpc:
        a = mpc.input(x, owner=0, dtype=dtype, bound=4)
        b = mpc.input(y, owner=1, dtype=dtype, bound=(0.5, 4))
        loss = quotients_by_bounded(a, b)
        steps = [step["op"] for step in mpc._native.ancestors([loss._node], [])[0]]
        # The divisor b is its own proof; that of the sum is behind those of both.
        assert (steps.count("assert_within"), steps.count("behind")) == (2, 1)
        value, *found = mpc.reveal_all(loss, *gradient(loss, [a, b]))
    assert value == pytest.approx(quotients_by_bounded(x, y), abs=2e-3)
    for given, wanted in zip(found, [by_x, by_y], strict=True):
        assert np.allclose(given, wanted, atol=2e-3), (given, wanted)


def test_along_is_the_gradient_of_what_comes_after(three: qr.Session) -> None:
    x, w, y = three.input(X, owner=0), three.input(W, owner=1), np.array([[1, 0], [0, 1]])
    scores = x @ w
    [given] = gradient(scores, [w], along=qr.softmax(scores) - y)
    wanted = numerical(lambda x, w: -(np.log(softmax(x @ w)) * y).sum(), X, W)[1]
    assert np.allclose(given.reveal(), wanted, atol=1e-3)


def test_a_parameter_is_a_variable_of_its_own(three: qr.Session) -> None:
    x = three.input(X, owner=0)
    y = x * 2
    loss = (x * y).sum()
    by_x, by_y = gradient(loss, [x, y])
    assert np.allclose(by_x.reveal(), 2 * X, atol=1e-3)
    assert np.allclose(by_y.reveal(), X, atol=1e-3)
    assert np.allclose(gradient(loss, [x])[0].reveal(), 4 * X, atol=1e-3)
    assert np.allclose(gradient(y, [y], along=x)[0].reveal(), X)


def test_a_loss_that_was_revealed_has_a_gradient(three: qr.Session) -> None:
    x, w = three.input(X, owner=0), three.input(W, owner=1)
    loss = ((x @ w) ** 2).mean()
    loss.reveal()
    [given] = gradient(loss, [w])
    assert np.allclose(given.reveal(), numerical(lambda x, w: ((x @ w) ** 2).mean(), X, W)[1], atol=1e-3)


def test_a_mean_of_many_keeps_its_bits(three: qr.Session) -> None:
    x = np.full(1 << 12, 3.0)
    w = three.input([0.5], owner=1)
    [given] = gradient((three.input(x, owner=0) * w).mean(), [w])
    assert abs(given.reveal()[0] - 3.0) < 1e-4


@pytest.mark.parametrize(
    ("loss", "named"),
    [
        (lambda x: np.sort(x, axis=1).sum(), "has no derivative"),
        (lambda x: qr.gelu(x).sum(), "gelu of"),
        (lambda x: x.astype(qr.int(64)).astype(qr.fixed(64, 16)).sum(), "astype of"),
        (lambda x: (x // 2).sum(), "floor_div of"),
    ],
)
def test_operations_without_a_derivative_are_named(
    three: qr.Session, loss: Callable[[qr.SecretArray], qr.SecretArray], named: str
) -> None:
    x = three.input(X, owner=0)
    with pytest.raises(qr.DtypeError, match=named):
        gradient(loss(x), [x])


def test_other_arguments_are_refused(three: qr.Session) -> None:
    x, w = three.input(X, owner=0), three.input(W, owner=1)
    whole = three.input([1, 2], owner=0)
    with pytest.raises(qr.ShapeError, match="sum it up"):
        gradient(x @ w, [w])
    with pytest.raises(qr.ShapeError, match="along= has shape"):
        gradient(x @ w, [w], along=x)
    with pytest.raises(qr.ConfigError, match="does not depend on parameter 1"):
        gradient(x.sum(), [x, w])
    with pytest.raises(qr.ConfigError, match="by comparisons only"):
        gradient((x > 0).astype(qr.fixed(64, 16)).sum(), [x])
    with pytest.raises(qr.DtypeError, match="fixed point"):
        gradient(x.sum(), [whole])
    with pytest.raises(qr.DtypeError, match="secret arrays"):
        gradient(x.sum(), [W])  # type: ignore[list-item]
    with qr.local("rss") as other, pytest.raises(qr.ConfigError, match="different sessions"):
        gradient(x.sum(), [other.input(X, owner=0)])


def test_gradients_of_a_strict_program_are_proven_to_fit() -> None:
    with qr.local("rss", strict=True) as mpc:
        x, w = mpc.input(X, owner=0, bound=4), mpc.input(W, owner=1, bound=4)
        scores = x @ w
        [given] = gradient(scores, [w], along=qr.sigmoid(scores))
        assert np.allclose(given.reveal(), X.T @ sigmoid(X @ W), atol=1e-3)


def test_the_gradient_of_a_choice_has_the_bits_of_what_is_chosen(three: qr.Session) -> None:
    """The factor of a mean or of a penalty is not rounded to 16 fractional bits, though the choice is of ones."""
    w = three.input(np.array([1.5, -2.0]), owner=0, dtype=qr.fixed(64, 24), bound=4)
    [found] = qr.learn.gradient(abs(w).sum() * 5e-6, [w])
    assert np.abs(found.reveal() - [5e-6, -5e-6]).max() <= 2.0**-24


@pytest.mark.parametrize("place", USUAL, ids=str)
def test_gradients_go_through_what_stays_a_factor(place: Place) -> None:
    with among(place) as mpc:
        x, w = mpc.input(X, owner=0, bound=4), mpc.input(W, owner=1, bound=4)
        [given] = gradient((x @ w.as_factor()).sum(), [w])
        assert np.allclose(given.reveal(), X.sum(axis=0)[:, None] * np.ones(W.shape[1:]), atol=1e-3)


def test_slopes_do_not_need_the_steps_of_arrays_that_were_run_long_ago() -> None:
    with qr.local("rss") as mpc:
        raw = mpc.input(X, owner=0, bound=4)
        x = (raw - 1.0) * 0.5 + 0.25
        x = x * x
        shown = x.reveal()
        del raw
        one = mpc.input([1.0], owner=0, bound=2)
        for factor in range(20_000):
            one * (factor / 7)
        for _ in range(2):
            one.reveal()
        w = mpc.input(W, owner=1, bound=2)
        [slope] = gradient((x @ w).sum(), [w])
        assert np.allclose(slope.reveal(), np.tile(shown.sum(axis=0)[:, None], 2), atol=1e-3)


@pytest.mark.parametrize("place", USUAL, ids=str)
def test_a_gradient_that_is_a_step_of_the_loss_stays(place: Place) -> None:
    with among(place) as mpc:
        x, w = (mpc.input([1.5], owner=owner, bound=4) for owner in (0, 1))
        [given] = gradient(((x + x) * w).sum(), [w])
        assert np.allclose((x + w).reveal(), [3.0], atol=1e-3)
        del x
        assert np.allclose((w + w).reveal(), [3.0], atol=1e-3)
        assert np.allclose(given.reveal(), [3.0], atol=1e-3)


def test_gradients_do_not_go_behind_quotients_of_data_that_is_gone(three: qr.Session) -> None:
    dtype = qr.fixed(64, 16)
    a, b = (three.input(v, owner=0, dtype=dtype, bound=bound) for v, bound in (([3.0], 4), ([600.0], (512, 1024))))
    x = a / b
    shown = x.reveal()
    del a, b
    w = three.input([2.0], owner=1, dtype=dtype, bound=4)
    (w + w).reveal()
    [given] = gradient((x * w).sum(), [w])
    assert np.allclose(given.reveal(), shown, atol=1e-3)
    assert np.allclose(x.reveal(), shown)
