"""Usual statistics of usual data are right by default; random programs of any magnitude are right or refused."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate as qr
from deploying import Deployment
from quorate._families import FAMILIES

RECORDS = 40
UNIT = 2.0**-16


def _data(name: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return {
        "incomes": lambda: np.exp(rng.normal(10.6, 0.8, RECORDS)).round(2),
        "prices in cents": lambda: rng.integers(49, 250_000, RECORDS).astype(float),
        "heights": lambda: rng.normal(1.72, 0.09, RECORDS).round(3),
        "kelvin": lambda: rng.normal(288.0, 11.0, RECORDS).round(2),
        "balances": lambda: rng.uniform(-1e7, 1e7, RECORDS).round(2),
        "small": lambda: rng.uniform(0.5e-3, 2e-3, RECORDS),
        "large": lambda: rng.uniform(1e6, 6e7, RECORDS).round(),
    }[name]()


DATA = ("incomes", "prices in cents", "heights", "kelvin", "balances", "small", "large")


def _variance(x: Any) -> Any:
    d = x - x.mean()
    return (d * d).mean()


def _covariance(x: Any, y: Any) -> Any:
    return ((x - x.mean()) * (y - y.mean())).mean()


def _slope(x: Any, y: Any) -> Any:
    n = x.shape[0]
    return (n * (x * y).sum() - x.sum() * y.sum()) / (n * (x * x).sum() - x.sum() * x.sum())


def _root(x: Any) -> Any:
    if isinstance(x, Rounded):
        return Rounded(np.sqrt(np.maximum(x.values, 0)), x.rng)
    return np.sqrt(x) if isinstance(x, (float, np.generic, np.ndarray)) else qr.sqrt(x)


# Each on (x, y), and how much its result moves if every input moves by `u`: the stated resolution.
STATISTICS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda x, y: x.sum(),
    "mean": lambda x, y: x.mean(),
    "sum of squares": lambda x, y: (x * x).sum(),
    "dot": lambda x, y: x.dot(y),
    "variance": lambda x, y: _variance(x),
    "standard deviation": lambda x, y: _root(_variance(x)),
    "covariance": _covariance,
    "correlation": lambda x, y: _covariance(x, y) / _root(_variance(x) * _variance(y)),
    "correlation by roots": lambda x, y: _covariance(x, y) / (_root(_variance(x)) * _root(_variance(y))),
    "slope by normal equations": _slope,
    "slope by centring": lambda x, y: _covariance(x, y) / _variance(x),
    "intercept": lambda x, y: y.mean() - _covariance(x, y) / _variance(x) * x.mean(),
    "root mean square": lambda x, y: _root((x * x).mean()),
    "mean squared difference": lambda x, y: ((x - y) * (x - y)).mean(),
    "largest": lambda x, y: x.max(),
    "range": lambda x, y: x.max() - x.min(),
    "share above the mean": lambda x, y: (x > x.mean()).sum(),
    "ratio of means": lambda x, y: x.mean() / y.mean(),
    "weighted mean": lambda x, y: (x * y).sum() / y.sum(),
    "running sum": lambda x, y: x.cumsum(),
    "a tenth": lambda x, y: (x * 0.1).sum(),
}


class Rounded:
    """Numbers whose results are off by some units each, as in fixed point."""

    def __init__(self, values: Any, rng: np.random.Generator, off: bool = True) -> None:
        self.rng = rng
        self.values = np.asarray(values, float) + (4 * UNIT * rng.choice([-1, 1]) if off else 0.0)
        self.shape = self.values.shape

    def _of(self, other: Any, compute: Callable[[Any, Any], Any], off: bool = True) -> Rounded:
        theirs = other.values if isinstance(other, Rounded) else other
        return Rounded(compute(self.values, theirs), self.rng, off)

    def __add__(self, other: Any) -> Rounded:
        return self._of(other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Rounded:
        return self._of(other, lambda a, b: a - b)

    def __mul__(self, other: Any) -> Rounded:
        return self._of(other, lambda a, b: a * b)

    def __rmul__(self, other: Any) -> Rounded:
        return self * other

    def __truediv__(self, other: Any) -> Rounded:
        return self._of(other, lambda a, b: a / b)

    def __gt__(self, other: Any) -> Rounded:
        return self._of(other, lambda a, b: a > b, off=False)

    def dot(self, other: Any) -> Rounded:
        return self._of(other, lambda a, b: a.dot(b))

    def __getattr__(self, name: str) -> Callable[[], Rounded]:
        return lambda: Rounded(getattr(self.values, name)(), self.rng)


def _resolution(of: Callable[[Any, Any], Any], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Returns how far the result moves if inputs and all intermediate results are off by some units."""
    exact = np.asarray(of(x, y), float)
    rng = np.random.default_rng(1)
    moved = [of(Rounded(x, rng), Rounded(y, rng)).values for _ in range(16)]
    return np.max([np.abs(m - exact) for m in moved], axis=0) + 4 * UNIT


def on_the_grid(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Two columns of data, rounded as inputs are."""
    place = DATA.index(name)
    first, second = (np.rint(_data(name, 7 * place + column) / UNIT) * UNIT for column in range(2))
    return first, second


def _is_right(of: Callable[[Any, Any], Any], got: Any, x: np.ndarray, y: np.ndarray) -> bool:
    meant = np.asarray(of(x, y), float)
    return bool((np.abs(got - meant) <= np.maximum(1e-6 * np.abs(meant), _resolution(of, x, y))).all())


@pytest.mark.parametrize("protocol", FAMILIES)
def test_usual_statistics_of_usual_data_are_right(protocol: str) -> None:
    refused, wrong, checked = [], [], 0
    # All data with one family; differences among families do not depend on the data.
    names = DATA if protocol == "rss" else DATA[list(FAMILIES).index(protocol) % 3 :: 3]
    for name in names:
        x, y = on_the_grid(name)
        with qr.local(protocol) as mpc, warnings.catch_warnings():
            warnings.simplefilter("ignore", qr.RangeWarning)  # values of 10^-3 lose bits, with a warning
            warnings.filterwarnings("error", ".*saturation", qr.RangeWarning)  # a divisor that is rounded to 0
            a, b = mpc.input(x, owner=0), mpc.input(y, owner=1)
            for statistic, of in STATISTICS.items():
                checked += 1
                try:
                    got = np.asarray(of(a, b).reveal(), float)
                except (qr.RangeError, qr.RangeWarning) as error:
                    refused.append((name, statistic, str(error)))
                    continue
                if not _is_right(of, got, x, y):
                    wrong.append((name, statistic, got, of(x, y)))
    assert not wrong
    assert len(refused) <= checked // 10, refused
    assert checked == len(names) * len(STATISTICS) > 0


APART = """
sys.path.insert(0, {tests!r})
import json, warnings
from test_statistics import STATISTICS, on_the_grid
warnings.simplefilter("ignore", qr.RangeWarning)
for name in {names!r}:
    columns = on_the_grid(name)
    a, b = (mpc.input(c if mpc.me == p else None, owner=p, shape=c.shape, dtype=qr.real) for p, c in enumerate(columns))
    results = mpc.reveal_all(*(of(a, b) for of in STATISTICS.values()))
    print(json.dumps([np.asarray(result, float).tolist() for result in results]))
"""


def test_they_are_right_where_no_process_has_all_data(tmp_path: Path) -> None:
    names = ["incomes", "kelvin", "balances"]
    deployment = Deployment(tmp_path)
    try:
        ended = deployment.run(deployment.script(APART.format(tests=str(Path(__file__).parent), names=names)))
    finally:
        deployment.stop()
    assert [e.status for e in ended] == [0, 0, 0], ended
    assert len({e.out for e in ended}) == 1
    for name, line in zip(names, ended[0].out.splitlines(), strict=True):
        x, y = on_the_grid(name)
        for (statistic, of), got in zip(STATISTICS.items(), json.loads(line), strict=True):
            assert _is_right(of, got, x, y), (name, statistic, got, of(x, y))


def test_the_statistic_that_was_wrong() -> None:
    with qr.local("rss") as mpc:
        s = mpc.input([65000.0, 120000.0, 30000.0, 48000.0, 250000.0], owner=0)
        d = s - s.mean()
        assert abs((d * d).mean().reveal() - 6339040000) < 1e-6 * 6339040000


def _program(rng: np.random.Generator, arrays: list[Any], steps: list[tuple[str, int, int, float]]) -> Any:
    """Returns the last of some steps, on secrets or on numpy's arrays."""
    made = list(arrays)
    for op, i, j, c in steps:
        x, y = made[i % len(made)], made[j % len(made)]
        made.append(
            {
                "add": lambda x=x, y=y: x + y,
                "sub": lambda x=x, y=y: x - y,
                "mul": lambda x=x, y=y: x * y,
                "sum": lambda x=x: x + x.sum(),
                "mean": lambda x=x: x - x.mean(),
                "dot": lambda x=x, y=y: x + x.dot(y),
                "times": lambda x=x, c=c: x * c,
                "plus": lambda x=x, c=c: x + c,
            }[op]()
        )
    return made[-1]


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_are_right_or_refused(seed: int) -> None:
    rng = np.random.default_rng(seed)
    magnitude = 10.0 ** rng.uniform(-6, 12)
    size = int(rng.integers(1, 5))
    x, y = (rng.uniform(-magnitude, magnitude, size) for _ in range(2))
    kind = rng.choice(["real", "fixed(64, 16)", "fixed(96, 16)", "int(32)", "int(64)", "int(100)", "uint(64)"])
    names = ["add", "sub", "mul", "sum", "dot", "plus"] + (["mean", "times"] if "int" not in kind else [])

    def draw() -> tuple[str, int, int, float]:
        name, (i, j) = str(rng.choice(names)), rng.integers(0, 9, 2)
        return name, int(i), int(j), float(rng.integers(-9, 10**6))

    steps = [draw() for _ in range(int(rng.integers(1, 5)))]
    if "int" in kind:
        x, y = np.rint(x), np.rint(y)
        x, y = (np.abs(v) if kind.startswith("u") else v for v in (x, y))
        steps = [(op, i, j, int(abs(c))) for op, i, j, c in steps]  # type: ignore[misc]
    else:
        x, y = (np.rint(v / UNIT) * UNIT for v in (x, y))
    dtype = None if kind == "real" else eval(f"qr.{kind}")  # from the list above
    protocol = list(FAMILIES)[seed % len(FAMILIES)]
    whole = "int" in kind
    with qr.local(protocol) as mpc, warnings.catch_warnings():
        warnings.simplefilter("ignore", qr.RangeWarning)
        try:
            values = [[int(v) for v in x], [int(v) for v in y]] if whole else [x, y]
            arrays = [mpc.input(v, owner=i, dtype=dtype) for i, v in enumerate(values)]
            got = _program(rng, arrays, steps).reveal()
        except (qr.RangeError, qr.DtypeError):
            return
    if whole:
        exact = _program(rng, [np.array([int(v) for v in a], object) for a in (x, y)], steps)
        assert [int(v) for v in np.ravel(got)] == [int(v) for v in np.ravel(exact)], steps
        return
    meant = np.asarray(_program(rng, [x, y], steps), float)
    moved = [
        np.asarray(_program(rng, [x + UNIT * rng.choice([-1, 1], size), y + UNIT * rng.choice([-1, 1], size)], steps))
        for _ in range(8)
    ]
    sizes = [np.abs(x), np.abs(y)]
    upwards = {"sub": "add", "mean": "sum"}
    bound = np.abs(np.asarray(_program(rng, sizes, [(upwards.get(s[0], s[0]), s[1], s[2], abs(s[3])) for s in steps])))
    slack = 8 * np.max([np.abs(m - meant) for m in moved], axis=0) + 64 * UNIT + 1e-9 * bound
    assert (np.abs(got - meant) <= slack).all(), (kind, steps, got, meant)


def test_averages_of_what_is_bounded_fit_its_dtype() -> None:
    values = np.array([30000.0, 29999.5, 30000.0])
    with qr.local("rss") as mpc, warnings.catch_warnings():
        warnings.simplefilter("error")
        x = mpc.input(values, owner=0, dtype=qr.fixed(32, 16), bound=30000)
        for sign in (1, -1):
            assert abs(np.average(sign * x, weights=[0.37, 0.59, 0.11]).reveal() - sign * 29999.7243) < 1e-3
