"""Random programs: what Quorate reveals equals an independent computation with Python's integers.

A program is a list of steps over earlier values, drawn by hypothesis. The oracle below computes with exact integers,
wraps to k bits, and shares no code with the package.
"""

from __future__ import annotations

import dataclasses
import fractions
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import quorate as qr
from protocols import FORMS, USUAL, Place, among, places
from quorate._families import FAMILIES

SHAPES: list[tuple[int, ...]] = [(), (1,), (3,), (2, 3), (2, 1), (1, 3), (0, 3), (4, 2, 3)]
WAYS = ["T", "ravel", "index", "set", "stack", "concatenate", "reverse", "matmul", "factor"]


@dataclasses.dataclass
class Value:
    """The value of a step: exact units (value * 2^f) as Python integers, and its type."""

    units: np.ndarray
    k: int  # 1 for bits
    f: int = 0

    def __post_init__(self) -> None:
        self.units = exact(self.units)  # operations of numpy on a single object give the object

    @property
    def bit(self) -> bool:
        return self.k == 1

    def shown(self) -> np.ndarray:
        """Returns the value as a reveal returns it."""
        if self.bit:
            return self.units.astype(bool)
        return self.units.astype(np.int64) / 2.0**self.f if self.f else self.units.astype(np.int64)


def exact(values: Any) -> np.ndarray:
    """An array of Python integers."""
    array = np.asarray(values, dtype=object)
    return np.array(np.frompyfunc(int, 1, 1)(array), dtype=object) if array.size else array


def wrap(units: Any, k: int) -> np.ndarray:
    half = 1 << (k - 1)
    return exact((exact(units) + half) % (1 << k) - half)


def floor_shift(units: np.ndarray, by: int) -> np.ndarray:
    return exact(units // (1 << by))


def number(k: int, f: int, units: Any) -> Value:
    return Value(wrap(units, k), k, f)


def bits(truth: Any) -> Value:
    return Value(exact(np.asarray(truth, dtype=bool).astype(int)), 1)


@dataclasses.dataclass
class Drawer:
    """Draws the steps of one program and does each of them twice."""

    data: Any
    mpc: qr.Session
    k: int
    f: int
    bounded: bool
    pool: list[tuple[qr.SecretArray, Value]] = dataclasses.field(default_factory=list)

    def draw(self, strategy: st.SearchStrategy[Any]) -> Any:
        return self.data.draw(strategy)

    @property
    def dtype(self) -> qr.Dtype:
        return qr.fixed(self.k, self.f) if self.f else qr.int(self.k)

    def values(self, shape: tuple[int, ...], bound: int | None = None) -> np.ndarray:
        """Draws units: any numbers, with the ends of the range more often than by chance."""
        low, high = (-(1 << (self.k - 1)), (1 << (self.k - 1)) - 1) if bound is None else (-bound, bound)
        edges = sorted({low, min(low + 1, high), max(-1, low), 0, min(1, high), max(high - 1, low), high})
        one = st.one_of(st.sampled_from(edges), st.integers(low, high))
        count = int(np.prod(shape))
        return exact(np.array(self.draw(st.lists(one, min_size=count, max_size=count)), dtype=object).reshape(shape))

    def input(self) -> None:
        shape = self.draw(st.sampled_from(SHAPES))
        owner = self.draw(st.integers(0, self.mpc.parties - 1))
        if self.draw(st.integers(0, 3)) == 0:
            truth = np.array(self.draw(st.lists(st.booleans(), min_size=int(np.prod(shape)), max_size=24)))
            truth = np.resize(truth.astype(bool), shape) if np.prod(shape) else np.zeros(shape, bool)
            self.pool.append((self.mpc.input(truth, owner=owner), bits(truth)))
            return
        bound = None
        if self.bounded:
            bits_of_bound = self.draw(st.integers(0, self.k - 2))
            bound = self.draw(st.integers(0, (1 << bits_of_bound)))
            bound = min(bound, (1 << (self.k - 1)) - 1)
        units = self.values(shape, bound)
        if self.f:
            units = wrap([int(u) for u in units.ravel()], self.k).reshape(shape)
            units = exact([held_by_a_float(u) for u in units.ravel()]).reshape(shape)
        given_values = units.astype(np.int64) if not self.f else units.astype(np.float64) / 2.0**self.f
        stated = None if bound is None else (bound / 2.0**self.f if self.f else bound)
        secret = self.mpc.input(given_values, owner=owner, dtype=self.dtype, bound=stated)
        self.pool.append((secret, Value(units, self.k, self.f)))

    def pick(self, wanted: Any = lambda _: True) -> tuple[qr.SecretArray, Value] | None:
        found = [entry for entry in self.pool if wanted(entry[1])]
        return self.draw(st.sampled_from(found)) if found else None

    def pair(self, wanted: Any) -> tuple[tuple[qr.SecretArray, Value], tuple[qr.SecretArray, Value]] | None:
        one = self.pick(wanted)
        if one is None:
            return None

        def fits(other: Value) -> bool:
            try:
                np.broadcast_shapes(one[1].units.shape, other.units.shape)
            except ValueError:
                return False
            return bool(wanted(other)) and (other.bit == one[1].bit)

        other = self.pick(fits)
        return None if other is None else (one, other)

    def keep(self, secret: qr.SecretArray, value: Value) -> None:
        assert secret.shape == value.units.shape
        self.pool.append((secret, value))

    # ---- steps -----------------------------------------------------------------------------------------------------

    def arithmetic(self) -> None:
        pair = self.pair(lambda v: not v.bit)
        if pair is None:
            return
        (x, a), (y, b) = pair
        op = self.draw(st.sampled_from(["+", "-", "*", "neg", "public +", "public *"]))
        k, f = max(a.k, b.k), a.f  # a clipped value may have a bit more
        if op in ("+", "-"):
            self.keep(
                x + y if op == "+" else x - y, number(k, f, a.units + b.units if op == "+" else a.units - b.units)
            )
        elif op == "*":
            self.keep(x * y, number(k, f, floor_shift(wrap(a.units * b.units, k), f)))
        elif op == "neg":
            self.keep(-x, number(a.k, f, -a.units))
        else:
            c = self.draw(st.integers(-2, 1))
            # In fixed point a public integer is exact, and is multiplied without truncation.
            if op == "public +" and not -(1 << (a.k - 1)) <= c << f < 1 << (a.k - 1):
                return
            self.keep(
                x + c if op == "public +" else c * x,
                number(a.k, f, a.units + (c << f) if op == "public +" else a.units * c),
            )

    def comparison(self) -> None:
        pair = self.pair(lambda v: not v.bit)
        if pair is None:
            return
        (x, a), (y, b) = pair
        op = self.draw(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]))
        clear = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal,
                 "!=": np.not_equal}[op]  # fmt: skip
        secret = {"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y, "==": x == y, "!=": x != y}[op]
        self.keep(secret, bits(clear(a.units, b.units)))

    def logic(self) -> None:
        pair = self.pair(lambda v: v.bit)
        if pair is None:
            return
        (x, a), (y, b) = pair
        p, q = a.units.astype(bool), b.units.astype(bool)
        op = self.draw(st.sampled_from(["&", "|", "^", "~", "*", "<", "=="]))
        table = {"&": (x & y, p & q), "|": (x | y, p | q), "^": (x ^ y, p ^ q), "~": (~x, ~p), "*": (x * y, p & q),
                 "<": (x < y, ~p & q), "==": (x == y, p == q)}  # fmt: skip
        secret, clear = table[op]
        self.keep(secret, bits(clear))

    def choice(self) -> None:
        condition = self.pick(lambda v: v.bit)
        pair = self.pair(lambda v: True)
        if condition is None or pair is None:
            return
        (c, p), (x, a), (y, b) = condition, *pair
        try:
            np.broadcast_shapes(p.units.shape, a.units.shape, b.units.shape)
        except ValueError:
            return
        chosen = exact(np.where(p.units.astype(bool), a.units, b.units))
        self.keep(self.mpc.where(c, x, y), Value(chosen, max(a.k, b.k), a.f))

    def extreme(self) -> None:
        entry = self.pick(lambda v: not v.bit and v.units.size > 0)
        if entry is None:
            return
        x, a = entry
        # Extremes compare by differences, whose sign is right within half the range.
        axis = self.draw(st.sampled_from([None, *range(a.units.ndim)]))
        name = self.draw(st.sampled_from(["max", "min", "sum", "argmax"]))
        if name == "argmax":
            place = np.argmax(a.units.astype(np.int64), axis=axis)
            self.others.append((x.argmax(axis=axis), np.asarray(place)))
            return
        secret = getattr(x, name)(axis=axis)
        clear = getattr(np, {"sum": "sum", "max": "amax", "min": "amin"}[name])(a.units, axis=axis)
        self.keep(secret, number(a.k, a.f, clear))

    others: list[tuple[qr.SecretArray, np.ndarray]] = dataclasses.field(default_factory=list)

    def shift(self) -> None:
        entry = self.pick(lambda v: not v.bit)
        if entry is None:
            return
        x, a = entry
        by = self.draw(st.integers(0, a.k - 1))
        if self.draw(st.booleans()):
            self.keep(x << by, number(a.k, a.f, a.units * (1 << by)))
        else:
            self.keep(x >> by, number(a.k, a.f, a.units // (1 << by)))

    def layout(self) -> None:
        entry = self.pick()
        if entry is None:
            return
        x, a = entry
        what = self.draw(st.sampled_from(WAYS))
        if what == "factor":
            self.keep(x.as_factor(), a)
        elif what == "T":
            self.keep(x.T, dataclasses.replace(a, units=a.units.T))
        elif what == "ravel":
            self.keep(x.reshape(-1), dataclasses.replace(a, units=a.units.reshape(-1)))
        elif what == "stack":
            self.keep(self.mpc.stack([x, x]), dataclasses.replace(a, units=np.stack([a.units, a.units])))
        elif what == "matmul" and not a.bit and a.units.ndim >= 1:
            other = np.swapaxes(a.units, -1, -2) if a.units.ndim > 1 else a.units
            raw = wrap(np.matmul(a.units, other), a.k)
            y = x.transpose(*range(a.units.ndim - 2), a.units.ndim - 1, a.units.ndim - 2) if a.units.ndim > 1 else x
            self.keep(x @ y, number(a.k, a.f, floor_shift(raw, a.f)))
        elif a.units.ndim and what == "concatenate":
            self.keep(
                self.mpc.concatenate([x, x[:1]]), dataclasses.replace(a, units=np.concatenate([a.units, a.units[:1]]))
            )
        elif a.units.ndim and what == "reverse":
            self.keep(x[::-1], dataclasses.replace(a, units=a.units[::-1]))
        elif a.units.ndim and len(a.units) and what == "index":
            i = self.draw(st.integers(-len(a.units), len(a.units) - 1))
            self.keep(x[i], dataclasses.replace(a, units=exact(a.units[i])))
        elif a.units.ndim and len(a.units) and what == "set":
            changed = a.units.copy()
            changed[0] = changed[-1]
            self.keep(x.at[0].set(x[-1]), dataclasses.replace(a, units=changed))

    def convert(self) -> None:
        entry = self.pick(lambda v: v.bit)
        if entry is not None and self.k - 1 > self.f:
            x, a = entry
            self.keep(x.astype(self.dtype), Value(exact(a.units * (1 << self.f)), self.k, self.f))

    # ---- whole quotients, order, bits ------------------------------------------------------------------------------

    def division(self) -> None:
        entry = self.pick(lambda v: not v.bit)
        if entry is None:
            return
        x, a = entry
        most = (1 << (a.k - 1) >> a.f) - 1  # any remainder fits
        if most < 1:
            return
        count = 1 if a.units.ndim == 0 else a.units.shape[-1]
        one = st.one_of(st.sampled_from([1, min(2, most), most, -1, -most]), st.integers(1, most))
        divisors = np.array(self.draw(st.lists(one, min_size=count, max_size=count)), dtype=np.int64)
        by: Any = int(divisors[0]) if a.units.ndim == 0 or (count and self.draw(st.booleans())) else divisors
        scaled = exact(by) * (1 << a.f)
        whole = exact(a.units // scaled)
        self.keep(x % by, Value(a.units - whole * scaled, a.k, a.f))
        self.keep(x // by, number(a.k, a.f, wrap(whole, a.k) * (1 << a.f)))

    def secret_division(self) -> None:
        pair = self.pair(lambda v: not v.bit and v.f == 0)
        if pair is None:
            return
        (x, a), (y, b) = pair
        p, q = np.broadcast_arrays(a.units, b.units)
        p, zero, q = exact(p), q == 0, exact(np.where(q == 0, 1, q))
        k = max(a.k, b.k)
        clear = [wrap(exact(np.where(zero, 0, whole)), k) for whole in (p // q, p % q)]
        quotient, rest = divmod(x, y) if self.draw(st.booleans()) else (x // y, x % y)
        self.keep(quotient, number(k, 0, clear[0]))
        self.keep(rest, number(k, 0, clear[1]))

    def exchange(self) -> None:
        condition, pair = self.pick(lambda v: v.bit), self.pair(lambda v: True)
        if condition is None or pair is None:
            return
        (c, p), (x, a), (y, b) = condition, *pair
        try:
            np.broadcast_shapes(p.units.shape, a.units.shape, b.units.shape)
        except ValueError:
            return
        swapped = p.units.astype(bool)
        for secret, sides in zip(self.mpc.swap(c, x, y), ((b, a), (a, b)), strict=True):
            self.keep(secret, Value(exact(np.where(swapped, sides[0].units, sides[1].units)), max(a.k, b.k), a.f))

    def order(self) -> None:
        entry = self.pick(lambda v: v.units.ndim > 0)
        if entry is None:
            return
        x, a = entry
        axis = self.draw(st.integers(-a.units.ndim, a.units.ndim - 1))
        clear = exact(np.sort(a.units.astype(np.int64), axis))
        what = self.draw(st.sampled_from(["sort", "argsort", "shuffle", "by key"]))
        if what == "argsort":
            self.others.append((x.argsort(axis), np.argsort(a.units.astype(np.int64), axis, kind="stable")))
        elif what == "by key":
            low, high = self.mpc.sort(x, ~x if a.bit else x >> 1, axis=axis)
            self.keep(low, dataclasses.replace(a, units=clear))
            self.keep(high, dataclasses.replace(a, units=1 - clear if a.bit else clear // 2))
        else:
            mixed = self.mpc.shuffle(x, axis=axis) if what == "shuffle" and a.units.ndim == 1 else x
            self.keep(mixed.sort(axis), dataclasses.replace(a, units=clear))

    def unsigned(self) -> None:
        pair = self.pair(lambda v: not v.bit and v.f == 0)
        if pair is None:
            return
        (x, a), (y, b) = pair
        u, v = x.astype(qr.uint(a.k)), y.astype(qr.uint(a.k))
        p, q = (exact(value.units % (1 << a.k)) for value in (a, b))
        d = self.draw(st.integers(1, (1 << a.k) - 1))
        what = self.draw(st.sampled_from(["<", ">=", "max", "//", "%", ">>", "reveal"]))
        if what in ("<", ">="):
            self.keep(u < v if what == "<" else u >= v, bits(p < q if what == "<" else p >= q))
        elif what == "reveal":
            self.others.append((u - v, exact(exact(p - q) % (1 << a.k)).astype(np.uint64)))
        else:
            by = min(d, a.k - 1)
            secret, clear = {
                "max": lambda: (self.mpc.maximum(u, v), np.maximum(p, q)), "//": lambda: (u // d, p // d),
                "%": lambda: (u % d, p % d), ">>": lambda: (u >> by, p // (1 << by)),
            }[what]()  # fmt: skip
            self.keep(secret.astype(self.dtype), number(self.k, 0, clear))

    def decompose(self) -> None:
        entry = self.pick(lambda v: not v.bit)
        if entry is None:
            return
        x, a = entry
        digits = exact(a.units[..., None] // (1 << exact(np.arange(a.k))) % 2)
        by = self.draw(st.integers(0, a.k - 1))
        turned = exact((np.roll(digits, by, -1) * (1 << exact(np.arange(a.k)))).sum(-1))
        whole, moved = x.bits(), [(i - by) % a.k for i in range(a.k)]
        self.keep(self.mpc.from_bits(whole[..., moved], x.dtype), number(a.k, a.f, turned))
        if a.units.size <= 3:
            self.keep(whole, bits(digits))

    def reach(self) -> None:
        """Magnitudes, limits, running sums, means, extremes of bits."""
        entry = self.pick(lambda v: v.units.size > 0)
        if entry is None:
            return
        x, a = entry
        axis = self.draw(st.sampled_from([None, *range(-a.units.ndim, a.units.ndim)]))
        if a.bit:
            name = self.draw(st.sampled_from(["max", "min"]))
            self.keep(getattr(x, name)(axis), bits(getattr(np, name)(a.units, axis)))
            return
        what = self.draw(st.sampled_from(["abs", "clip", "cumsum", "argmin", "mean", "wide sum"]))
        if what == "abs":
            self.keep(abs(x), number(a.k, a.f, abs(a.units)))
        elif what == "clip":
            low, high = sorted(exact(self.values((2,))).tolist())
            low, high = ((v >> 53 << 53 if abs(v) >= 1 << 53 else v) for v in (low, high)) if a.f else (low, high)
            ends = (low / 2.0**a.f, high / 2.0**a.f) if a.f else (low, high)
            # An end at the lowest number of a dtype counts as one with one more bit.
            clipped = x.clip(*ends)
            assert clipped.dtype.bits in (a.k, a.k + 1), clipped
            self.keep(clipped, number(clipped.dtype.bits, a.f, np.minimum(np.maximum(a.units, low), high)))
        elif what == "cumsum":
            self.keep(x.cumsum(axis), number(a.k, a.f, np.cumsum(a.units, axis)))
        elif what == "argmin":
            self.others.append((x.argmin(axis), np.asarray(np.argmin(a.units.astype(np.int64), axis))))
        elif what == "mean" and a.f:
            count = a.units.size if axis is None else a.units.shape[axis]
            self.keep(x.mean(axis), number(a.k, a.f, exact(wrap(a.units.sum(axis), a.k) // count)))
        elif what == "wide sum" and not a.f:
            total = wrap(a.units.sum(axis), 64).astype(np.int64)
            self.others.append((x.sum(axis, dtype=qr.int(64)), total))

    def table(self) -> None:
        entry = self.pick(lambda v: not v.bit)
        if entry is None:
            return
        x, a = entry
        least, most = -(1 << (a.k - 1)), (1 << (a.k - 1)) - 1
        count = min(self.draw(st.integers(1, 40)), 1 << a.k)
        first = self.draw(st.one_of(st.integers(-count, 0), st.integers(least, most)))
        first = min(max(first, least), most - count + 1)
        first = first >> 12 << 12 if a.f and abs(first) >= 1 << 52 else first
        entries = np.resize(self.values((self.draw(st.integers(1, count)),)), count)
        entries = exact([v if abs(v) < 1 << 52 else v >> 12 << 12 for v in entries.tolist()]) if a.f else entries
        unit = fractions.Fraction(1, 1 << a.f)
        given_entries = entries.astype(np.float64) / 2.0**a.f if a.f else entries
        domain = (first * unit, (first + count) * unit)
        # numpy makes a single number beyond 64 bits an int.
        places = np.asarray(np.clip(a.units - first, 0, count - 1)).astype(int)
        if self.draw(st.booleans()):
            truth = entries % 2 == 1
            found = qr.lookup(x, truth.astype(bool), domain)
            self.keep(found, bits(truth[places]))
            return
        found = qr.lookup(x, given_entries, domain, dtype=qr.fixed(self.k, a.f) if a.f else qr.int(self.k))
        self.keep(found, number(self.k, a.f, entries[places]))

    # ---- reveals ---------------------------------------------------------------------------------------------------

    def reveal(self) -> None:
        entry = self.pick()
        if entry is not None:
            check(entry[0].reveal(), entry[1])

    def reveal_to_one(self) -> None:
        entry = self.pick()
        if entry is not None:
            party = st.integers(0, self.mpc.parties - 1)
            check(entry[0].reveal(to=self.draw(party | st.sets(party, min_size=1))), entry[1])

    def drop(self) -> None:
        if len(self.pool) > 1:
            self.pool.pop(self.draw(st.integers(0, len(self.pool) - 1)))

    def reveal_rest(self) -> None:
        secrets = [x for x, _ in self.pool] + [x for x, _ in self.others]
        values = self.mpc.reveal_all(*secrets)
        for value, (_, wanted) in zip(values, self.pool, strict=False):
            check(value, wanted)
        for value, (_, place) in zip(values[len(self.pool) :], self.others, strict=True):
            np.testing.assert_array_equal(value, place)


def check(value: Any, wanted: Value) -> None:
    shown = wanted.shown()
    assert np.shape(value) == shown.shape
    assert np.asarray(value).dtype == shown.dtype
    np.testing.assert_array_equal(value, shown)


def held_by_a_float(units: int) -> int:
    """Returns the number, or one of a smaller magnitude that a float64 holds: every bound of the first holds for it."""
    size = abs(units)
    return units if size < 1 << 52 else (size >> 12 << 12) * (1 if units > 0 else -1)


STEPS = [
    "input", "arithmetic", "arithmetic", "comparison", "logic", "choice", "extreme", "shift", "layout", "layout",
    "convert", "division", "secret_division", "exchange", "order", "unsigned", "decompose", "reach", "table", "reveal",
    "reveal_to_one", "drop",
]  # fmt: skip


def mixes(place: Place) -> list[str]:
    """Returns the sharings that the planner may use there: its own choice, each alone, and some together."""
    there = FAMILIES[place.protocol].sharings
    pairs = ["+".join(pair) for pair in itertools.combinations(there, 2)]
    return ["auto", "auto", *(there if len(there) > 2 else there[1:]), *pairs] if place in USUAL else ["auto"]


def run(data: Any, place: Place, k: int, f: int, bounded: bool) -> None:
    with among(place, sharings=data.draw(st.sampled_from(mixes(place)))) as mpc:
        drawer = Drawer(data, mpc, k, f, bounded)
        drawer.input()
        drawer.input()
        for step in data.draw(st.lists(st.sampled_from(STEPS), min_size=4, max_size=16)):
            getattr(drawer, step)()
        drawer.reveal_rest()


SETTINGS = settings(deadline=None, suppress_health_check=list(HealthCheck), print_blob=True, derandomize=False)


@pytest.mark.parametrize("place", USUAL, ids=str)
@settings(SETTINGS, max_examples=30)
@given(data=st.data(), k=st.integers(2, 64), bounded=st.booleans())
def test_integers(place: Place, data: Any, k: int, bounded: bool) -> None:
    run(data, place, k, 0, bounded)


@pytest.mark.parametrize("place", [*(place for place in places() if place not in USUAL), *FORMS], ids=str)
@settings(SETTINGS, max_examples=8)
@given(data=st.data(), k=st.sampled_from([2, 3, 8, 31, 32, 33, 63, 64]), bounded=st.booleans())
def test_integers_among_more_parties(place: Place, data: Any, k: int, bounded: bool) -> None:
    run(data, place, k, 0, bounded)


@pytest.mark.parametrize("place", USUAL, ids=str)
@settings(SETTINGS, max_examples=15)
@given(data=st.data(), k=st.integers(3, 64), bounded=st.booleans())
def test_fixed_point(place: Place, data: Any, k: int, bounded: bool) -> None:
    run(data, place, k, data.draw(st.integers(1, min(k - 1, 30))), bounded)


@pytest.mark.parametrize("place", FORMS, ids=str)
@settings(SETTINGS, max_examples=8)
@given(data=st.data(), k=st.sampled_from([8, 31, 32, 64]), bounded=st.booleans())
def test_fixed_point_of_other_forms(place: Place, data: Any, k: int, bounded: bool) -> None:
    run(data, place, k, data.draw(st.integers(1, min(k - 1, 30))), bounded)
