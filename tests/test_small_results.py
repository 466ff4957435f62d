"""Small results keep their digits where ranges prove that they are small, and are warned of where they lose them."""

from __future__ import annotations

import re
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate as qr
from deploying import ended_of
from quorate._families import FAMILIES

SHARE = 2.0**-8


def _kept(got: Any, wanted: Any, share: float = SHARE) -> bool:
    """Returns whether the array has all but this share of itself."""
    got, wanted = np.asarray(got, float), np.asarray(wanted, float)
    return bool(np.abs(got - wanted).sum() <= share * np.abs(wanted).sum())


@pytest.mark.parametrize("name", FAMILIES)
def test_a_quotient_of_integers_keeps_its_digits(name: str) -> None:
    with qr.local(name) as mpc, warnings.catch_warnings():
        warnings.simplefilter("error", qr.errors.RangeWarning)
        x, y = mpc.input([7, -7, 6], owner=0), mpc.input([1_250_000, 1_250_000, 3], owner=1)
        assert ((x / y) * 100_000).reveal() == pytest.approx([0.56, -0.56, 200_000], rel=2**-13)


def test_whole_quotients_are_whole() -> None:
    with qr.local("rss") as mpc:
        x, y = mpc.input([6, -35, 10**12, 3, 0], owner=0), mpc.input([3, 7, 10**6, 4, 9], owner=1)
        assert (x / y).reveal().tolist() == [2.0, -5.0, 10**6, 0.75, 0.0]


@pytest.mark.parametrize("whole", [True, False])
def test_shares_of_a_total_keep_their_digits(whole: bool) -> None:
    rows = 10**5
    counts = np.random.default_rng(1).integers(1, 100, rows)
    with qr.local("rss") as mpc, warnings.catch_warnings():
        warnings.simplefilter("error", qr.errors.RangeWarning)
        h = mpc.input(counts if whole else counts.astype(float), owner=0)
        shares = h[:40] / h.sum()
        assert shares.reveal() == pytest.approx(counts[:40] / counts.sum(), rel=2**-10)
        squares = shares.clip(0, 1) ** 2
        assert squares.reveal() == pytest.approx((counts[:40] / counts.sum()) ** 2, rel=2**-8)


def test_a_mean_by_weights_of_a_thousandth() -> None:
    values = np.random.default_rng(2).uniform(-1, 1, 1000)
    with qr.local("rss") as mpc:
        x = mpc.input(values, owner=0, bound=1)
        assert (x / 1000).reveal() == pytest.approx(values / 1000, abs=2**-26)
        assert (x * 0.001).reveal() == pytest.approx(values / 1000, abs=2**-26)
        assert (x / 1000).sum().reveal() == pytest.approx(values.mean(), abs=2**-20)


def test_products_of_small_factors() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.uniform(-0.01, 0.01, (2, 200))
    with qr.local("rss") as mpc:
        x, y = mpc.input(a, owner=0, bound=0.01), mpc.input(b, owner=1, bound=0.01)
        assert _kept((x * y).reveal(), a * b, 2**-12)
        assert _kept((x @ y).reveal(), a @ b, 2**-12)
        assert _kept((x * y * x).reveal(), a * b * a, 2**-12)


def _operations(a: np.ndarray, b: np.ndarray) -> dict[str, tuple[Any, np.ndarray]]:
    size = float(np.abs(b).max())
    return {
        "x * y": (lambda x, y: x * y, a * b),
        "x / y": (lambda x, y: x / y, a / b),
        "x @ y": (lambda x, y: x @ y, a @ b),
        "x * c": (lambda x, y: x * size, a * size),
        "x / c": (lambda x, y: x / size, a / size),
        "1 / y": (lambda x, y: 1 / y, 1 / b),
        "reciprocal": (lambda x, y: qr.reciprocal(y), 1 / b),
        "sqrt": (lambda x, y: qr.sqrt(y), np.sqrt(b)),
        "rsqrt": (lambda x, y: qr.rsqrt(y), 1 / np.sqrt(b)),
        "x * x * y": (lambda x, y: x * x * y, a * a * b),
        "(x + y) / y": (lambda x, y: (x + y) / y, (a + b) / b),
    }


def _drawn(rng: np.random.Generator, of_x: int, of_y: int, count: int = 12) -> tuple[np.ndarray, np.ndarray]:
    a = rng.choice([-1, 1], count) * rng.uniform(0.5, 1, count) * 10.0**of_x
    return a, rng.uniform(0.5, 1, count) * 10.0**of_y


def _right_or_named(name: str, pairs: list[tuple[int, int]], only: tuple[str, ...] = ()) -> tuple[int, int]:
    """Returns the numbers of results that were right, and of those that were warned of or refused."""
    rng = np.random.default_rng(4)
    right = named = 0
    for of_x, of_y in pairs:
        a, b = _drawn(rng, of_x, of_y)
        for what, (operation, wanted) in _operations(a, b).items():
            if only and what not in only:
                continue
            with qr.local(name) as mpc, warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                x, y = mpc.input(a, owner=0, bound=10.0**of_x), mpc.input(b, owner=1, bound=10.0**of_y)
                try:
                    got = operation(x, y).reveal()
                except (qr.errors.RangeError, qr.errors.DtypeError):
                    named += 1
                    continue
            if said:
                named += 1
                continue
            assert _kept(got, wanted), f"{what} of 1e{of_x} and 1e{of_y}: {got}, not {wanted}"
            right += 1
    return right, named


def test_results_of_every_magnitude_are_right_or_named() -> None:
    right, named = _right_or_named(
        "rss", [(of_x, of_y) for of_x in range(-9, 10, 3) for of_y in {of_x, -of_x, 6 - abs(of_x)}]
    )
    assert right > 10 * named, f"{named} of {right + named} results are named"


@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "rss"])
def test_results_of_some_magnitudes_are_right_or_named_in_every_family(name: str) -> None:
    right, named = _right_or_named(name, [(-9, -6), (-3, 9)], ("x * y", "x / y", "rsqrt"))
    assert right > named


@pytest.mark.parametrize(("bits", "frac"), [(96, 40), (120, 60), (64, 24), (64, 40)])
@pytest.mark.filterwarnings("ignore:reveal")
def test_functions_of_dtypes_with_many_fractional_bits(bits: int, frac: int) -> None:
    values = np.array([0.5, 1.5, 3.0, 0.001, 7.25])
    dtype = qr.fixed(bits, frac)
    with qr.local("rss") as mpc:
        values = np.rint(values * 2.0**20) / 2.0**20
        x, y = mpc.input(values, owner=0, dtype=dtype), mpc.input(values[::-1].copy(), owner=1, dtype=dtype)
        for got, wanted in [
            (x / y, values / values[::-1]),
            (1 / x, 1 / values),
            (qr.reciprocal(x), 1 / values),
            (qr.sqrt(x), np.sqrt(values)),
            (qr.rsqrt(x), 1 / np.sqrt(values)),
        ]:
            assert got.dtype == dtype
            assert got.reveal() == pytest.approx(wanted, rel=2**-27, abs=4 * 2.0**-frac)
        assert qr.log(x).reveal() == pytest.approx(np.log(values), abs=2**-26 + 2.0**-frac)
        assert (x / x).reveal() == pytest.approx(np.ones(5), rel=0, abs=0 if frac < 50 else 2**-50)
        half = qr.lookup(x.clip(0, 1), lambda v: v / 2, domain=(0, 1), input_bits=8)
        assert half.reveal()[0] == pytest.approx(0.25, abs=2**-8)


@pytest.mark.parametrize("function", [qr.exp, qr.sigmoid, qr.tanh, qr.gelu, qr.softmax])
def test_functions_of_few_fractional_bits_say_what_to_do(function: Any) -> None:
    values = np.array([0.5, -1.5, 3.0])
    with qr.local("rss") as mpc:
        x = mpc.input(values, owner=0, dtype=qr.fixed(96, 40))
        with pytest.raises(qr.errors.DtypeError, match="convert first") as error:
            function(x)
        bits, frac = map(int, re.findall(r"x\.astype\(qr\.fixed\((\d+), (\d+)\)\)", str(error.value))[0])
        followed = function(x.astype(qr.fixed(bits, frac))).reveal()
        plain = function(mpc.input(values, owner=0)).reveal()
    assert followed == pytest.approx(plain, abs=2**-15)


def test_a_real_with_more_fractional_bits_is_an_argument_of_every_function() -> None:
    values = np.random.default_rng(5).uniform(-0.02, 0.02, 20)
    with qr.local("rss") as mpc:
        x = mpc.input(values, owner=0, bound=0.02)
        assert x.dtype.frac > 16
        assert qr.exp(x).reveal() == pytest.approx(np.exp(values), abs=2**-14)
        assert qr.sigmoid(x).reveal() == pytest.approx(1 / (1 + np.exp(-values)), abs=2**-15)
        assert mpc.concatenate([x, x + 5]).reveal() == pytest.approx(np.concatenate([values, values + 5]), abs=2**-20)
        assert (x < 0.0001).reveal().tolist() == (values < 0.0001).tolist()


def _exactly(values: np.ndarray, by: Fraction, dtype: qr.Dtype) -> list[Fraction]:
    """Products with a number, in units, of what the values are in the dtype."""
    return [Fraction(round(Fraction(v) * 2**dtype.frac)) * by for v in values]


@pytest.mark.parametrize("name", FAMILIES)
def test_wide_numbers_times_public_ones_are_right_to_two_units(name: str) -> None:
    """No ring holds 120 bits times the digits of a double: they are multiplied in two parts."""
    dtype, values = qr.fixed(120, 40), np.array([1.0, -2.5, 12_345.678, 1e22, -6e23, 2.0**-40])
    with qr.local(name, check=False) as mpc, warnings.catch_warnings():
        warnings.simplefilter("error", qr.errors.RangeWarning)
        x = mpc.input(values, owner=0, dtype=dtype)
        given = {Fraction(c): x * c for c in (0.3, -0.7, 1e-20)} | {1 / Fraction(-0.3): x / -0.3}
        assert {got.dtype for got in given.values()} == {dtype}
        for c, got in given.items():
            for exact, units in zip(_exactly(values, c, dtype), got.reveal(units=True), strict=True):
                # What is divided may be saturated.
                assert abs(int(units) - exact) <= 2 or abs(exact) >= 2**119, (c, units)


def test_products_with_public_numbers_in_the_largest_ring_there_is() -> None:
    """With short keys rings have 32 bits, as many as the numbers."""
    values = np.array([1.5, -20_000.25, 12_345.5])
    with qr.local("spdz2k", mac=48, check=False) as mpc:
        x = mpc.input(values, owner=0, dtype=qr.fixed(32, 16))
        assert (x * 0.3).reveal() == pytest.approx(values * 0.3, abs=2 * 2**-16)
        assert (x / 3.7).reveal() == pytest.approx(values / 3.7, abs=2 * 2**-16)


@pytest.mark.parametrize("shadow", [False, True])
def test_a_public_factor_of_which_nothing_is_left_is_named(shadow: bool) -> None:
    values = np.array([12.5, -3.25, 8.0])
    with qr.local("rss", shadow=shadow) as mpc:
        x = mpc.input(values, owner=0, dtype=qr.fixed(64, 16), bound=16)
        with pytest.warns(qr.errors.RangeWarning, match=r"where the exact result is") as said:
            assert (x * 1e-7).reveal().tolist() == [0.0, 0.0, 0.0]
        message = str(said[0].message)
        k = int(re.findall(r"by 2\*\*(\d+) first", message)[0])
        with warnings.catch_warnings():
            warnings.simplefilter("error", qr.errors.RangeWarning)
            assert _kept((x * 2**k * 1e-7).reveal() / 2**k, values * 1e-7)
            for bits, frac in re.findall(r"x\.astype\(qr\.fixed\((\d+), (\d+)\)\)", message):
                assert _kept((x.astype(qr.fixed(int(bits), int(frac))) * 1e-7).reveal(), values * 1e-7)


@pytest.mark.parametrize("frac", [40, 60])
def test_logarithms_with_many_fractional_bits_are_within_what_is_proven(frac: int) -> None:
    """The first argument is the one at which most is lost."""
    values = np.array(
        [1 + 2.0**-16 - 2.0**-32, 1.0, 1 + 2.0**-24 - 2.0**-32, 1.4375 + 2.0**-16 - 2.0**-32, 3e5, 2.0**-30]
    )
    with qr.local("rss") as mpc:
        found = qr.log(mpc.input(values, owner=0, dtype=qr.fixed(120, frac))).reveal()
    off = np.abs(found - np.log(values))
    assert off.max() <= 2**-22.9
    assert off[0] > 2**-24, "the bound is nearly reached"


# Each loses digits, as no bound is stated for small values; with the fix that the message advises.
A, B = np.array([0.004, -0.0065, 0.005]), np.array([0.003, 0.0041, 0.0055])


def _large(mpc: qr.Session, values: np.ndarray) -> qr.SecretArray:
    return mpc.input(values, owner=0, dtype=qr.fixed(64, 16))


def _times(x: qr.SecretArray, factor: float) -> qr.SecretArray:
    return x if factor == 1 else x * factor


def _far(y: qr.SecretArray) -> qr.SecretArray:
    return y + 10**5


LOSING = {
    "product": lambda mpc, x, y, k: _times(x, 2**k) * y,
    "quotient": lambda mpc, x, y, k: _times(x, 2**k) / _far(y),
    "by a public number": lambda mpc, x, y, k: _times(x, 2**k) / 30_000,
    "reciprocal": lambda mpc, x, y, k: qr.reciprocal(_times(_large(mpc, A * 10**7), 2**-k)),
    "rsqrt": lambda mpc, x, y, k: qr.rsqrt(_times(_large(mpc, B * 10**11), 4**-k)),
    "of a stated dtype": lambda mpc, x, y, k: _times(_large(mpc, A), 2**k) / _large(mpc, B * 10**6),
}
FIRST = {
    "product": "multiply a factor by 2",
    "reciprocal": "divide its argument by 2",
    "rsqrt": "divide its argument by 4",
}
RIGHT = {
    "product": A * B,
    "quotient": A / (B + 10**5),
    "by a public number": A / 30_000,
    "reciprocal": 1 / (A * 10**7),
    "rsqrt": 1 / np.sqrt(B * 10**11),
    "of a stated dtype": A / (B * 10**6),
}


@pytest.mark.parametrize("what", LOSING)
@pytest.mark.parametrize("shadow", [False, True])
def test_what_loses_digits_is_named_and_the_advice_works(what: str, shadow: bool) -> None:
    wanted = RIGHT[what]
    with qr.local("rss", shadow=shadow) as mpc:
        x, y = mpc.input(A, owner=0), mpc.input(B, owner=1)
        with pytest.warns(qr.errors.RangeWarning, match=r"where the exact result is") as said:
            got = LOSING[what](mpc, x, y, 0).reveal()
        assert not _kept(got, wanted)
        assert len(said) == 1
        message = str(said[0].message)
        k = int(re.findall(r"by [24]\*\*(\d+) first", message)[0])
        assert f"{FIRST.get(what, 'multiply what is divided by 2')}**{k} first" in message
        assert f"divide results by 2**{k} again" in message
        with warnings.catch_warnings():
            warnings.simplefilter("error", qr.errors.RangeWarning)
            followed = LOSING[what](mpc, x, y, k).reveal() / 2**k
    assert _kept(followed, wanted)


def _softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max())
    return powers / powers.sum()


# Functions whose results are small as a whole: arguments, numpy's results, and how messages say it.
FUNCTIONS: dict[str, tuple[np.ndarray, Any, Any]] = {
    "exp": (np.array([-13.5, -12.0, -15.25]), qr.exp, np.exp),
    "sigmoid": (np.array([-13.5, -12.0, -15.25]), qr.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    "softmax": (np.random.default_rng(3).normal(0, 1, 3000).clip(-3, 3), qr.softmax, _softmax),
    "softmax of one large": (np.append(np.random.default_rng(3).normal(0, 0.1, 9999), 8.0), qr.softmax, _softmax),
    "far exp": (np.array([-100.0, -101.5, -103.0]), qr.exp, np.exp),
}
INSTEAD = {
    "exp": re.compile(r"add ([\d.]+) to its argument, which multiplies results by 2\*\*(\d+)"),
    "sigmoid": re.compile(r"compute (qr\.exp\(.*) \* qr\.sigmoid\(abs\(x\)\), which is 2\*\*(\d+) times as large"),
    "softmax": re.compile(r"compute h = (qr\.exp\(.*\)) and h \* 2\*\*(\d+) / h\.sum\(\), with the axis"),
}


@pytest.mark.parametrize("what", FUNCTIONS)
@pytest.mark.parametrize("shadow", [False, True])
@pytest.mark.parametrize("dtype", [qr.real, qr.fixed(64, 16)], ids=str)
def test_functions_whose_results_are_all_small_are_named_and_the_advice_works(
    what: str, shadow: bool, dtype: Any
) -> None:
    values, function, clear = FUNCTIONS[what]
    with qr.local("rss", shadow=shadow) as mpc:
        x = mpc.input(values, owner=0, dtype=dtype)
        with pytest.warns(qr.errors.RangeWarning, match=r"where the exact result is") as said:
            got = function(x).reveal()
        assert not _kept(got, clear(values))
        assert len(said) == 1
        form = next(name for name in INSTEAD if name in what)
        [(advised, bits)] = INSTEAD[form].findall(str(said[0].message))
        assert f"divide results by 2**{bits} again where they are large" in str(said[0].message)
        with warnings.catch_warnings():
            warnings.simplefilter("error", qr.errors.RangeWarning)
            if form == "exp":
                followed = qr.exp(x + float(advised))
            elif form == "sigmoid":
                followed = eval(advised, {"qr": qr, "np": np, "x": x}) * qr.sigmoid(abs(x))
            else:
                h = eval(advised, {"qr": qr, "x": x})
                followed = h * 2 ** int(bits) / h.sum()
            found = followed.reveal() / 2 ** int(bits)
    assert _kept(found, clear(values))


@pytest.mark.parametrize("shadow", [False, True])
@pytest.mark.parametrize("argument", [-650.0, -700.0, -720.0, -744.0, -800.0, [-720.0, -721.5]], ids=str)
def test_the_least_powers_are_named_where_a_double_has_them(shadow: bool, argument: Any) -> None:
    with qr.local("rss", shadow=shadow) as mpc, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", qr.errors.RangeWarning)
        assert not np.any(qr.exp(mpc.input(argument, owner=0)).reveal())
        assert not np.any(qr.sigmoid(mpc.input(argument, owner=0)).reveal() > 2**-15)
    named = [message for one in said if "where the exact result is" in (message := str(one.message))]
    assert bool(named) == bool(np.any(np.exp(argument) > 0)), named


@pytest.mark.parametrize("shadow", [False, True])
@pytest.mark.parametrize(
    ("function", "clear"),
    [(qr.tanh, np.tanh), (qr.gelu, lambda x: x / 2 + x * x / np.sqrt(2 * np.pi))],
    ids=["tanh", "gelu"],
)
def test_arguments_that_functions_round_are_named_and_the_advice_works(shadow: bool, function: Any, clear: Any) -> None:
    values = np.array([0.7123, -1.5432, 1.8765]) / 4096
    with qr.local("rss", shadow=shadow) as mpc:
        x = mpc.input(values * 4096, owner=0, bound=2, dtype=qr.real) / 4096
        with pytest.warns(qr.errors.RangeWarning, match="functions take 16 fractional bits") as said:
            got = function(x).reveal()
        assert not _kept(got, clear(values))
        assert len(said) == 1
        [advised] = re.findall(r"compute (x .*) where x is so small", str(said[0].message))
        with warnings.catch_warnings():
            warnings.simplefilter("error", qr.errors.RangeWarning)
            assert _kept(eval(advised, {"x": x}).reveal(), clear(values))
            # Functions that are not small where their arguments are lose nothing.
            for other in (qr.exp, qr.sigmoid, qr.softmax):
                other(x).reveal()


@pytest.mark.parametrize("shadow", [False, True])
def test_logarithms_of_numbers_near_1_are_named_and_the_advice_works(shadow: bool) -> None:
    values = np.array([0.7123, -1.5432, 1.8765]) / 4096
    with qr.local("rss", shadow=shadow) as mpc:
        x = mpc.input(values * 4096, owner=0, bound=2) / 4096 + 1
        with pytest.warns(qr.errors.RangeWarning, match="where the exact result is") as said:
            got = qr.log(x).reveal()
        assert not _kept(got, np.log(1 + values))
        [(z, advised)] = re.findall(r"compute z = (x - 1) and (z .*) where x is so near to 1", str(said[0].message))
        with warnings.catch_warnings():
            warnings.simplefilter("error", qr.errors.RangeWarning)
            assert _kept(eval(advised, {"z": eval(z, {"x": x})}).reveal(), np.log(1 + values))


@pytest.mark.parametrize("shadow", [False, True])
def test_many_small_numbers_beside_a_large_one_are_named_and_the_advice_works(shadow: bool) -> None:
    x, y = np.full(100, 0.0125), np.array([0.01] * 99 + [20_000.0])
    with qr.local("rss", shadow=shadow) as mpc:
        a, b = mpc.input(x, owner=0, bound=1), mpc.input(y, owner=1)
        with pytest.warns(qr.errors.RangeWarning, match=r"multiply a factor by 2\*\*(\d+) first") as said:
            (a * b).reveal()
        bits = int(re.findall(r"by 2\*\*(\d+) first", str(said[0].message))[0])
        with warnings.catch_warnings():
            warnings.simplefilter("error", qr.errors.RangeWarning)
            found = (a * 2**bits * b).reveal() / 2**bits
    assert np.abs(found / (x * y) - 1).max() < SHARE


SMALL = np.random.default_rng(9).uniform(0.001, 0.009, 200)

# Lines that lose digits in one of their steps, and the largest magnitude that the advice asks for.
COMPOSED = {
    "variance": (lambda x: x.var(), SMALL.var(), 0.0091),
    "power": (lambda x: (x**3).sum(), (SMALL**3).sum(), 0.0091),
    "product": (lambda x: x[:3].prod(), SMALL[:3].prod(), 0.0091),
}


@pytest.mark.parametrize("what", COMPOSED)
@pytest.mark.parametrize("shadow", [False, True])
def test_a_line_of_several_steps_is_told_what_works(what: str, shadow: bool) -> None:
    of, wanted, most = COMPOSED[what]
    with qr.local("rss", shadow=shadow) as mpc:
        x = mpc.input(SMALL, owner=0)
        with pytest.warns(qr.errors.RangeWarning, match=r"x\.clip\(low, high\) or bound= of the inputs") as said:
            of(x).reveal()
        assert not any("2**" in str(warning.message) for warning in said)
        with warnings.catch_warnings():
            warnings.simplefilter("error", qr.errors.RangeWarning)
            assert of(x.clip(0, most)).reveal() == pytest.approx(wanted, rel=0.02)


@pytest.mark.parametrize("bound", [None, 1])
@pytest.mark.parametrize("shadow", [False, True])
def test_a_mean_of_rare_events_is_named_and_one_of_terms_that_cancel_is_not(bound: float | None, shadow: bool) -> None:
    rare = np.zeros((20_000, 2))
    rare[0] = 1
    with qr.local("rss", shadow=shadow) as mpc:
        x = mpc.input(rare, owner=0, bound=bound)
        with pytest.warns(qr.errors.RangeWarning, match="gives .* where the exact result is") as said:
            got = x.mean(axis=0).reveal()
        assert not _kept(got, np.full(2, 1 / 20_000))
        found = re.findall(r"x\.astype\(qr\.fixed\((\d+), (\d+)\)\)$", re.sub(r" \(at .*", "", str(said[0].message)))
        bits, frac = map(int, found[0])
        with warnings.catch_warnings():
            warnings.simplefilter("error", qr.errors.RangeWarning)
            assert _kept(x.astype(qr.fixed(bits, frac)).mean(axis=0).reveal(), np.full(2, 1 / 20_000))
            cancels = np.random.default_rng(2).normal(0, 1, 4000).clip(-4, 4)
            mpc.input(cancels - cancels.mean(), owner=0, bound=8).mean().reveal()


@pytest.mark.parametrize("w", [[1e-6, 2e-6], [3e-5, -7e-7], [1e-9, 5e-9]], ids=str)
def test_small_public_weights_keep_their_digits(w: list[float]) -> None:
    x = np.array([[1.0, 2.0], [-3.5, 0.75]])
    with qr.local("rss") as mpc, warnings.catch_warnings():
        warnings.simplefilter("error", qr.errors.RangeWarning)
        secret = mpc.input(x, owner=0, bound=4)
        assert _kept((secret @ np.array(w)).reveal(), x @ np.array(w))
        assert _kept((np.array(w) @ secret).reveal(), np.array(w) @ x)


def test_a_range_that_keeps_bits_for_what_does_not_occur_is_to_be_clipped() -> None:
    values = np.random.default_rng(8).uniform(1, 2, 200)
    wanted = float(((values / values.sum()) ** 2).sum())
    with qr.local("rss") as mpc:
        x = mpc.input(values, owner=0)
        shares = x / x.sum()
        with pytest.warns(qr.errors.RangeWarning, match=r"x\.clip\(low, high\)"):
            (shares**2).sum().reveal()
        with warnings.catch_warnings():
            warnings.simplefilter("error", qr.errors.RangeWarning)
            assert (shares.clip(0, 1) ** 2).sum().reveal() == pytest.approx(wanted, rel=SHARE)


def test_a_stated_dtype_is_named_with_one_that_keeps_the_digits() -> None:
    a, b = np.array([0.004, -0.0065, 0.005]), np.array([0.003, 0.0041, 0.0055])
    with qr.local("rss") as mpc:
        x, y = (mpc.input(v, owner=0, dtype=qr.fixed(64, 16)) for v in (a, b))
        with pytest.warns(qr.errors.RangeWarning, match=r"x\.astype\(qr\.fixed") as said:
            got = (x * y).reveal()
        assert (x * y).dtype == qr.fixed(64, 16)
        assert not _kept(got, a * b)
        bits, frac = map(int, re.findall(r"x\.astype\(qr\.fixed\((\d+), (\d+)\)\)", str(said[0].message))[0])
        with warnings.catch_warnings():
            warnings.simplefilter("error", qr.errors.RangeWarning)
            x, y = (mpc.input(v, owner=0).astype(qr.fixed(bits, frac)) for v in (a, b))
            assert _kept((x * y).reveal(), x.reveal() * y.reveal())


@pytest.mark.parametrize("shadow", [False, True])
def test_small_numbers_beside_others_are_not_named(shadow: bool) -> None:
    values = np.array([1e-4, *np.linspace(1, 40, 40)])
    with qr.local("rss", shadow=shadow) as mpc, warnings.catch_warnings():
        warnings.simplefilter("error", qr.errors.RangeWarning)
        x = mpc.input(values, owner=0)
        (x * x).reveal()
        (x / 7).reveal()
        (x - x[::-1] + 2.0**-14).mean().reveal()
        qr.softmax(mpc.input([20.0, 0.0, -5.0], owner=0)).reveal()
        qr.exp(mpc.input([-20.0, -30.0, 0.0], owner=0)).reveal()
        qr.sigmoid(mpc.input([-20.0, -30.0, -1.0], owner=0)).reveal()
        p = qr.sigmoid(mpc.input(np.linspace(-9, 9, 30), owner=0))
        (p * (1 - p)).reveal()


def test_a_deployment_names_a_quotient_of_few_bits_once(tmp_path: Path) -> None:
    ended = ended_of(
        tmp_path,
        "x = mpc.input(np.full(3, 0.5), owner=0, dtype=qr.fixed(64, 16), bound=1)\n"
        "for _ in range(3):\n"
        "    y = x / 1000\n"
        "y.reveal()\n",
    )
    assert [(e.status, e.err.count("gives nothing larger than")) for e in ended] == [(0, 1)] * 3, ended


@pytest.mark.parametrize("rows", [3_000, 10_000])
def test_inverses_of_normal_equations_are_right(rows: int) -> None:
    rng = np.random.default_rng(6)
    data = np.column_stack([np.ones(rows), rng.normal(0, 1, rows).round(3), rng.normal(1, 2, rows).round(3)])
    data = np.clip(data, -10, 10)
    with qr.local("rss") as mpc, warnings.catch_warnings():
        warnings.simplefilter("error", qr.errors.RangeWarning)
        x = mpc.input(data, owner=0, bound=10)
        inverse = np.linalg.inv(x.T @ x).reveal()
    assert inverse == pytest.approx(np.linalg.inv(data.T @ data), rel=1e-3, abs=1e-8)


EXPRESSION = re.compile(r"np\.linalg\.\w+\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)(?: @ b)?")
TIMES = re.compile(r"which is (\d+) times the (?:inverse|solution): divide it by \1 after reveal")
POWER = re.compile(r"which is the determinant divided by (\d+)\*\*(\d+)")


def follow_expressions(what: str, given: dict[str, Any], right: Any) -> str:
    """Follows all expressions of the message, as they stand, if there is one: none is refused or warned of."""
    try:
        getattr(np.linalg, what)(*given.values())
        return ""
    except qr.errors.DtypeError as refused:
        said = str(refused)
    expressions = EXPRESSION.findall(said)
    assert expressions, said
    for expression in expressions:
        found = np.asarray(eval(expression, {"np": np, "qr": qr, **given}).reveal(), float)
        for times in TIMES.findall(said):
            found = found / int(times)
        for base, power in POWER.findall(said):
            found = found * float(base) ** int(power)
        fine = re.findall(r"fixed\(\d+, (\d+)\)", expression)
        near = max(2 ** (3.0 - int(fine[0])), 1e-3) if fine else 1e-3
        np.testing.assert_allclose(found, right, rtol=0, atol=near * np.abs(right).max(), err_msg=said)
    return said


def follow_normal_equations(rows: int, columns: int, bound: int | None, whole: bool, mean: bool) -> list[str]:
    rng = np.random.default_rng(columns)
    data = np.column_stack([np.ones(rows), rng.normal(0, 1, (rows, columns - 1)).clip(-3.9, 3.9)])
    target = data @ np.linspace(-1, 1, columns) / columns + rng.normal(0, 0.1, rows)
    if whole:
        data, target = np.rint(data).astype(int), np.rint(target).astype(int)
    squares, per = data.T @ data, rows if mean else 1
    with qr.local("rss") as mpc, warnings.catch_warnings():
        warnings.simplefilter("error", qr.errors.RangeWarning)
        x, y = mpc.input(data, owner=0, bound=bound), mpc.input(target, owner=0, bound=bound)
        a, b = (x.T @ x / rows, x.T @ y / rows) if mean else (x.T @ x, x.T @ y)
        said = [
            follow_expressions("inv", {"a": a}, np.linalg.inv(squares / per)),
            follow_expressions("solve", {"a": a, "b": b}, np.linalg.solve(squares, data.T @ target)),
            follow_expressions("solve", {"a": a, "b": np.ones(columns)}, np.linalg.inv(squares / per).sum(axis=1)),
            follow_expressions("det", {"a": a}, np.linalg.det(squares / per)),
        ]
    assert not (mean and any("mean" in one for one in said)), "a mean is advised for a mean"
    return said


@pytest.mark.parametrize(
    ("columns", "mean"), [(2, False), (3, False), (3, True), (4, False), (5, False), (5, True), (6, False)]
)
@pytest.mark.parametrize(("rows", "bound"), [(1_000, 4), (3_000, 8), (10_000, 100), (10_000, None)])
@pytest.mark.parametrize("whole", [False, True], ids=["reals", "integers"])
def test_systems_without_room_name_expressions_that_are_right(
    rows: int, columns: int, bound: int | None, whole: bool, mean: bool
) -> None:
    follow_normal_equations(rows, columns, bound, whole, mean)


def test_inverses_name_means_and_clipped_matrices_and_they_are_right() -> None:
    said = " ".join(follow_normal_equations(1_000, 5, 8, False, False))
    for part in ("take its mean", "clip it to", "or keep", "times the inverse", "times the solution", "divided by"):
        assert part in said
    rng = np.random.default_rng(0)
    public, values = rng.normal(0, 1, (9, 9)) + 4 * np.eye(9), rng.normal(0, 1, 9)
    with qr.local("rss") as mpc:
        b = mpc.input(values, owner=0)
        assert "is public" in follow_expressions("solve", {"a": public, "b": b}, np.linalg.solve(public, values))
