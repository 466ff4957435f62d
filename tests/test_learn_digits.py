"""Gradients of sums over many records keep their digits: against the clear gradient, over losses drawn at random.

The clear gradient is taken by the complex step, f'(x) = Im f(x + ih) / h, which is exact to float64: W. Squire and
G. Trapp, Using Complex Variables to Estimate Derivatives of Real Functions, SIAM Review 40, 1998.

Sums of up to 10^6 records are of few records that are repeated, so that functions are taken of few. With every record
its own the same losses run by hand: `QUORATE_RECORDS=100000 pytest tests/test_learn_digits.py -k by_hand`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import quorate as qr
from protocols import FORMS, USUAL, Place
from quorate.learn import gradient

Terms = Callable[[Any, Any, Any], Any]

# The number of own records in a run by hand.
BY_HAND = int(os.environ.get("QUORATE_RECORDS", "0"))


class Clear:
    """The functions of a program on numpy's arrays of complex numbers."""

    exp, log, sqrt, tanh = np.exp, np.log, np.sqrt, np.tanh

    @staticmethod
    def sigmoid(x: Any) -> Any:
        return 1 / (1 + np.exp(-x))

    @staticmethod
    def rsqrt(x: Any) -> Any:
        return 1 / np.sqrt(x)

    @staticmethod
    def reciprocal(x: Any) -> Any:
        return 1 / x

    @staticmethod
    def clip(x: Any, low: float, high: float) -> Any:
        return np.where(x.real < low, low, np.where(x.real > high, high, x))


class Secret:
    """The functions of a program on secret arrays."""

    exp, log, sqrt, tanh, sigmoid, rsqrt, reciprocal = (
        qr.exp,
        qr.log,
        qr.sqrt,
        qr.tanh,
        qr.sigmoid,
        qr.rsqrt,
        qr.reciprocal,
    )

    @staticmethod
    def clip(x: Any, low: float, high: float) -> Any:
        return x.clip(low, high)


# Terms of each record: above 0, so that sums have logarithms and roots. `z` is a score, `t` a weight from 0.5 to 1.5.
POSITIVE: dict[str, Terms] = {
    "exp": lambda f, z, t: f.exp(z),
    "squares": lambda f, z, t: z * z + 0.25,
    "sigmoid": lambda f, z, t: f.sigmoid(z),
    "softplus": lambda f, z, t: f.clip(f.log(f.exp(z) + 1.0), 0.01, 5),
    "tanh": lambda f, z, t: f.tanh(z) + 1.5,
    "weighed": lambda f, z, t: f.exp(z) * t,
    "inverse": lambda f, z, t: t / (z * z + 1.0),
    "roots": lambda f, z, t: f.sqrt(z * z + 1.0),
}
ANY: dict[str, Terms] = {
    **POSITIVE,
    "score": lambda f, z, t: z,
    "products": lambda f, z, t: z * t,
    "cubes": lambda f, z, t: z * z * z,
}

# Terms of sums over all records: p and q are positive, s is any.
WHOLE: dict[str, Callable[..., Any]] = {
    "log": lambda f, p, q, s: f.log(p),
    "ratio": lambda f, p, q, s: s / p,
    "root": lambda f, p, q, s: f.sqrt(p),
    "root of a ratio": lambda f, p, q, s: f.sqrt(p / q),
    "over a norm": lambda f, p, q, s: s / f.sqrt(p),
    "log of a ratio": lambda f, p, q, s: f.log(p / q) * 0.7,
    "inverse root": lambda f, p, q, s: f.rsqrt(p) * s,
    "inverse": lambda f, p, q, s: f.reciprocal(p) * s,
    "difference": lambda f, p, q, s: f.log(p) - 0.5 * f.log(q),
    "product": lambda f, p, q, s: f.log(p) * f.log(q),
    "ratio and penalty": lambda f, p, q, s: s / p + f.log(q),
}


class Loss:
    """A loss drawn at random."""

    def __init__(self, rng: np.random.Generator, records: int, few: int = 64) -> None:
        own, few = records <= few, min(records, few)
        self.x = (rng.normal(size=(few, 2)) + rng.uniform(-0.5, 0.5, 2)).clip(-4, 4)
        self.t = rng.uniform(0.5, 1.5, few)
        self.w = rng.uniform(-1, 1, 2)
        self.places = None if own else rng.integers(0, few, records)
        positive, any_ = list(POSITIVE), list(ANY)
        self.terms = [str(rng.choice(positive)), str(rng.choice(positive)), str(rng.choice(any_))]
        self.whole = str(rng.choice(list(WHOLE)))

    def __repr__(self) -> str:
        records = len(self.x) if self.places is None else len(self.places)
        return f"{self.whole} of {', '.join(self.terms)}, {records} records"

    def __call__(self, f: Any, x: Any, t: Any, w: Any) -> Any:
        z, t = f.clip(x @ w, -4, 4), f.clip(t, 0.5, 1.5)
        made = {name: {**POSITIVE, **ANY}[name](f, z, t) for name in self.terms}
        sums = [(h if self.places is None else h[self.places]).sum() for h in (made[name] for name in self.terms)]
        return WHOLE[self.whole](f, *sums)


def clear(loss: Callable[..., Any], x: np.ndarray, t: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Returns the gradient by w, in the clear."""
    found = np.zeros(len(w))
    for place in range(len(w)):
        moved = w.astype(complex)
        moved[place] += 1e-40j
        found[place] = loss(Clear, x.astype(complex), t.astype(complex), moved).imag / 1e-40
    return found


def check(mpc: qr.Session, loss: Any) -> None:
    """Checks that gradients agree within a thousandth of the largest slope."""
    x, t = mpc.input(loss.x, owner=0, bound=4), mpc.input(loss.t, owner=0, bound=1.5)
    w = mpc.input(loss.w, owner=1, bound=1)
    wanted = clear(loss, loss.x, loss.t, loss.w)
    [found] = gradient(loss(Secret, x, t, w), [w])
    off = np.abs(found.reveal() - wanted).max()
    assert off < 1e-3 * np.abs(wanted).max() + 2**-20, (loss, found.reveal(), wanted)


@pytest.mark.filterwarnings("error::quorate.RangeWarning")
@pytest.mark.parametrize("seed", range(12))
def test_losses_drawn_at_random_have_the_clear_gradient(seed: int) -> None:
    rng = np.random.default_rng(seed)
    records = int(10 ** rng.uniform(seed / 2, (seed + 1) / 2)) if seed >= 2 else 10 + seed
    with qr.local("rss") as mpc:
        check(mpc, Loss(rng, records))


@pytest.mark.skipif(not BY_HAND, reason="with QUORATE_RECORDS alone")
@pytest.mark.parametrize("whole", [*WHOLE, "partial likelihood"])
def test_records_of_their_own_by_hand(whole: str) -> None:
    loss = Loss(np.random.default_rng(0), BY_HAND, few=BY_HAND)
    loss.whole, loss.terms = whole, ["exp", "softplus", "products"]
    with qr.local("rss") as mpc:
        check(mpc, loss if whole in WHOLE else Likelihood(loss))


class Likelihood(Loss):
    """Cox's partial likelihood of records that are ordered by their times, all of which had their event."""

    def __init__(self, loss: Loss) -> None:
        self.__dict__ = loss.__dict__

    def __call__(self, f: Any, x: Any, t: Any, w: Any) -> Any:
        z = f.clip(x @ w, -4, 4)
        return (z - f.log(f.exp(z).cumsum())).sum()


@pytest.mark.parametrize("place", [*USUAL, *FORMS], ids=str)
def test_every_family_keeps_the_digits(place: Place) -> None:
    with qr.local(place.protocol, parties=place.parties, **dict(place.options)) as mpc:
        loss = Loss(np.random.default_rng(5), 1_000_000, few=6)
        loss.whole, loss.terms = "ratio and penalty", ["exp", "squares", "products"]
        check(mpc, loss)
        check(mpc, Likelihood(Loss(np.random.default_rng(6), 12)))


def test_the_partial_likelihood_of_hundreds() -> None:
    with qr.local("rss") as mpc:
        check(mpc, Likelihood(Loss(np.random.default_rng(7), 800, few=800)))


@pytest.mark.parametrize("dtype", [qr.real, qr.fixed(64, 16)], ids=["real", "stated"])
@pytest.mark.parametrize("records", [10_000, 100_000])
def test_the_logarithm_of_a_sum_of_powers(records: int, dtype: qr.Dtype) -> None:
    x = np.random.default_rng(0).normal([0.5, -0.25], 1, (100, 2)).clip(-4, 4)
    with qr.local("rss") as mpc:
        rows = mpc.input(x, owner=0, dtype=dtype, bound=4)
        w = mpc.input([0.0, 0.0], owner=1, dtype=dtype, bound=2)
        powers = qr.exp((rows @ w).clip(-4, 4))[np.arange(records) % 100]
        [found] = gradient(qr.log(powers.sum()), [w])
        assert found.dtype.bits == 64
        assert np.abs(found.reveal() - x.mean(axis=0)).max() < 2e-4


def share_of(f: Any, z: Any, places: np.ndarray, by_function: bool) -> Any:
    """Returns the share of one record in the powers of all."""
    if by_function:
        return qr.softmax(z[places])[0]
    powers = f.exp(z)
    return powers[0] / powers[places].sum()


def slopes_of_a_share(x: np.ndarray, w: np.ndarray, places: np.ndarray) -> np.ndarray:
    powers = np.exp(x @ w)
    shares = powers[places] / powers[places].sum()
    return np.asarray(shares[0] * (x[0] - shares @ x[places]))


@pytest.mark.filterwarnings("error::quorate.RangeWarning")
@pytest.mark.parametrize("records", [100, 10_000, 1_000_000])
@pytest.mark.parametrize("by_function", [False, True], ids=["ratio", "softmax"])
def test_the_share_of_one_record_among_many(records: int, by_function: bool) -> None:
    x, w = np.random.default_rng(11).normal(size=(50, 3)).clip(-3, 3), np.array([0.5, -0.25, 0.75])
    places = np.arange(records if not by_function else min(records, 100_000)) % 50
    with qr.local("rss") as mpc:
        rows, weights = mpc.input(x, owner=0, bound=4), mpc.input(w, owner=1, bound=1)
        [found] = gradient(share_of(Secret, (rows @ weights).clip(-8, 8), places, by_function), [weights])
        wanted = slopes_of_a_share(x, w, places)
        assert np.abs(found.reveal() - wanted).max() < 1e-3 * np.abs(wanted).max()


@pytest.mark.filterwarnings("error::quorate.RangeWarning")
@pytest.mark.parametrize("place", [*USUAL, *FORMS], ids=str)
@pytest.mark.parametrize(("count", "bound"), [(5, 1.0), (32, 0.05), (33, 1.0), (400, 0.05), (400, None)])
def test_slopes_of_many_shares_at_once(place: Place, count: int, bound: float | None) -> None:
    """With a stated bound, a share is proven to be small, and sums of shares times slopes are not."""
    rng = np.random.default_rng(count)
    with qr.local(place.protocol, parties=place.parties, **dict(place.options)) as mpc:
        z, slopes = rng.uniform(-1, 1, count) * (bound or 1), rng.uniform(0.5, 1, count)
        shares = np.exp(z) / np.exp(z).sum()
        for size in (1.0, 1e3):
            x, c = mpc.input(z, owner=0, bound=bound), slopes * size
            [found] = gradient((qr.softmax(x) * c).sum(), [x])
            wanted = shares * (c - shares @ c)
            assert np.abs(found.reveal() - wanted).max() < 1e-3 * np.abs(wanted).max(), (count, bound, size)


def test_a_gradient_in_a_stated_dtype_that_a_function_takes_is_told_what_works() -> None:
    rng = np.random.default_rng(8)
    z, c = rng.uniform(-1, 1, 1000), rng.uniform(0.5, 1, 1000)
    shares = np.exp(z) / np.exp(z).sum()
    with qr.local("rss") as mpc:
        with pytest.warns(qr.RangeWarning, match="leave dtype= of the inputs out, so that results grow"):
            x = mpc.input(z, owner=0, bound=1, dtype=qr.fixed(64, 16))
            gradient((qr.softmax(x) * c).sum(), [x])[0].reveal()
        with warnings.catch_warnings():
            warnings.simplefilter("error", qr.RangeWarning)
            x = mpc.input(z, owner=0, bound=1)
            found = gradient((qr.softmax(x) * c).sum(), [x])[0].reveal()
        wanted = shares * (c - shares @ c)
        assert np.abs(found - wanted).max() < 1e-3 * np.abs(wanted).max()


def test_slopes_that_no_bound_leaves_room_for_are_named_and_the_advice_works() -> None:
    x, w = np.random.default_rng(12).normal(size=(20_000, 3)).clip(-3, 3), np.array([0.5, -0.25, 0.75])
    wanted = slopes_of_a_share(x, w, np.arange(len(x)))
    with qr.local("rss") as mpc:
        weights = mpc.input(w, owner=1)

        def found(rows: Any) -> Any:
            powers = qr.exp((rows @ weights).clip(-8, 8))
            return gradient((powers / powers.sum())[0], [weights])[0]

        with pytest.warns(qr.RangeWarning, match=r"slopes of matmul .*: state bound= of the inputs, or clip what is"):
            found(mpc.input(x, owner=0))
        with warnings.catch_warnings():
            warnings.simplefilter("error", qr.RangeWarning)
            found(mpc.input(x, owner=0).clip(-4, 4))
            followed = found(mpc.input(x, owner=0, bound=4)).reveal()
        assert np.abs(followed - wanted).max() < 1e-3 * np.abs(wanted).max()


SMALL = np.array([[3e-5, -1e-5], [2e-5, 4e-5], [-5e-5, 1e-5]])
LINE = np.arange(1.0, 7.0).reshape(2, 3)

# Small public numbers of a large x of shape (2, 3), and the gradient by x.
SCALED: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "multiples": (lambda x: (x * SMALL.T).sum() * 1e4, SMALL.T * 1e4),
    "multiples of multiples": (lambda x: (x * SMALL.T * 20 * SMALL.T * 50).sum() * 1e5, SMALL.T**2 * 1e8),
    "finer results": (lambda x: ((x * 1e-5) * 1e-5 / 7).sum() * 1e9, np.full((2, 3), 0.1 / 7)),
    "matrices": (lambda x: (x @ SMALL).sum() * 1e4, np.tile(SMALL.sum(axis=1), (2, 1)) * 1e4),
    "two ways": (lambda x: (x * SMALL.T).sum() * 1e4 + x.sum() / 2**10, SMALL.T * 1e4 + 2.0**-10),
    "choices": (lambda x: qr.relu(x * SMALL.T + 20.0).sum() * 1e4, SMALL.T * 1e4),
    "quotients": (lambda x: (x / (1e5 / LINE)).sum() * 1e4, LINE / 10),
    "means of means": (lambda x: ((x * 1e-3).mean() * 1e-2).reshape(1).mean() * 6e5, np.ones((2, 3))),
}


@pytest.mark.parametrize("name", SCALED)
def test_small_public_numbers_keep_their_digits(name: str) -> None:
    loss, wanted = SCALED[name]
    with qr.local("rss") as mpc:
        x = mpc.input(np.full((2, 3), 1e5), owner=0, bound=2e5)
        [found] = gradient(loss(x), [x])
        assert np.abs(found.reveal() - wanted).max() < 1e-3


def test_a_gradient_without_room_says_so_and_the_advice_works() -> None:
    rng = np.random.default_rng(3)
    x, t = rng.normal(size=(40, 2)).clip(-4, 4), rng.uniform(0.5, 1.5, 40)
    places = np.arange(20_000) % 40

    def loss(f: Any, x: Any, t: Any, w: Any) -> Any:
        z = f.clip(x @ w, -4, 4)
        p, q, r = ((h * t)[places].sum() for h in (f.exp(z), z * z + 0.5, z + 5.0))
        return f.sqrt(p / q) / r * 1e5

    w = np.array([0.5, -0.5])
    with qr.local("rss") as mpc:
        rows, weights = mpc.input(x, owner=0, bound=4), mpc.input(t, owner=0, bound=1.5)
        secret = mpc.input(w, owner=1, bound=1)
        with pytest.warns(qr.RangeWarning, match=r"lose digits.*x.clip\(low, high\)"):
            gradient(loss(Secret, rows, weights, secret), [secret])
        with warnings.catch_warnings():
            warnings.simplefilter("error", qr.RangeWarning)
            [found] = gradient(loss(Secret, rows, weights.clip(0.5, 1.5), secret), [secret])
        wanted = clear(loss, x, t, w)
        assert np.abs(found.reveal() - wanted).max() < 1e-3 * np.abs(wanted).max() + 2**-14


@pytest.mark.parametrize(
    ("stated", "words", "followed"),
    [
        ({"dtype": qr.fixed(64, 16)}, "nothing says how large what is divided by may be", {}),
        ({"dtype": qr.fixed(64, 16)}, r"or state one with 32, qr\.fixed\(96, 32\)", {"dtype": qr.fixed(96, 32)}),
        (
            {"dtype": qr.fixed(64, 16), "bound": 2},
            r"fixed\(64, 16\) has no room for more: leave dtype= of",
            {"bound": 2},
        ),
    ],
)
def test_a_ratio_of_sums_in_a_stated_dtype_says_so_and_the_advice_works(
    stated: dict[str, Any], words: str, followed: dict[str, Any]
) -> None:
    rng = np.random.default_rng(4)
    x, t, w = rng.uniform(0.5, 1.5, (5_000, 2)), rng.uniform(0.5, 1.5, 5_000), np.array([0.5, 0.25])
    wanted = x.sum(axis=0) / t.sum()

    def found(how: dict[str, Any]) -> Any:
        rows, sizes, weights = (mpc.input(v, owner=0, **how) for v in (x, t, w))
        return gradient((rows @ weights).sum() / sizes.sum(), [weights])[0]

    with qr.local("rss", check=False) as mpc:
        with pytest.warns(qr.RangeWarning, match=rf"gradient: slopes of divide .* lose digits, .*{words}"):
            before = found(stated).reveal()
        assert np.abs(before - wanted).max() > 0.01
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "gradient", qr.RangeWarning)
            after = found(followed).reveal()
        assert np.abs(after - wanted).max() < 1e-3


def test_slopes_that_lose_nothing_stay_as_they_are() -> None:
    """A program without small slopes has the gradient that it had, without a shift."""
    with qr.local("rss") as mpc:
        x, w = mpc.input(np.ones((4, 2)), owner=0, bound=4), mpc.input([0.5, 1.0], owner=1, bound=2)
        scores = qr.sigmoid(x @ w)
        [found] = gradient((scores * scores).mean(), [w])
        steps = [step["op"] for step in mpc._native.ancestors([found._node], [])[0]]
        assert "matmul" in steps
        assert not {"shl", "shr", "divide"} & set(steps)
