"""An operation crosses from Python to Rust once: one call builds a node, and returns it with its shape and dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import quorate as qr
from quorate._values._public_numbers import as_numbers, pack, packed


class Counting:
    """A native session that notes the names of the attributes that are used."""

    def __init__(self, native: Any) -> None:
        self.native = native
        self.used: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.used.append(name)
        return getattr(self.native, name)


class Given(NamedTuple):
    """The session and the operands of the operations below."""

    mpc: qr.Session
    calls: Counting
    x: qr.SecretArray
    y: qr.SecretArray
    real: qr.SecretArray
    bit: qr.SecretArray
    few: qr.SecretArray


@pytest.fixture(scope="module")
def given() -> Iterator[Given]:
    with qr.local("rss") as mpc:
        mpc._native = calls = Counting(mpc._native)  # type: ignore[assignment]
        x = mpc.input(np.arange(12).reshape(3, 4), owner=0, bound=50)
        y = mpc.input(np.ones((3, 4), int), owner=1, bound=9)
        real = mpc.input(np.ones((3, 4)), owner=1, bound=9)
        bit = mpc.input(np.ones((3, 4), bool), owner=2)
        few = mpc.input([1, 2, 0], owner=0, bound=3)
        yield Given(mpc, calls, x, y, real, bit, few)


ONCE: dict[str, Callable[[Given], Any]] = {
    "input": lambda g: g.mpc.input([1, 2], owner=0),
    "trusted input": lambda g: g.mpc.input([1, 2], owner=0, bound=2, bound_check="trusted"),
    "constant": lambda g: g.mpc.constant([1, 2]),
    "x + y": lambda g: g.x + g.y,
    "x + 1": lambda g: g.x + 1,
    "1 - x": lambda g: 1 - g.x,
    "x - real": lambda g: g.x - g.real,
    "x + numpy": lambda g: g.x + np.arange(4),
    "x + big": lambda g: g.x + 2**70,
    "x * y": lambda g: g.x * g.y,
    "x * 2.5": lambda g: g.x * 2.5,
    "real * 0.1": lambda g: g.real * 0.1,
    "bit * real": lambda g: g.bit * g.real,
    "-x": lambda g: -g.x,
    "~x": lambda g: ~g.x,
    "~bit": lambda g: ~g.bit,
    "bit & bit": lambda g: g.bit & g.bit,
    "bit ^ True": lambda g: g.bit ^ True,
    "x << 1": lambda g: g.x << 1,
    "x >> 1": lambda g: g.x >> 1,
    "x ** 2": lambda g: g.x**2,
    "x / 2": lambda g: g.x / 2,
    "x / y": lambda g: g.x / g.y,
    "x // 3": lambda g: g.x // 3,
    "x // y": lambda g: g.x // g.y,
    "x % y": lambda g: g.x % g.y,
    "x < y": lambda g: g.x < g.y,
    "x >= 2.5": lambda g: g.x >= 2.5,
    "x == 3": lambda g: g.x == 3,
    "x != y": lambda g: g.x != g.y,
    "x @ numpy": lambda g: g.x @ np.ones((4, 2), int),
    "dot": lambda g: g.few.dot(g.few),
    "x[1]": lambda g: g.x[1],
    "x[:, 1:3]": lambda g: g.x[:, 1:3],
    "x[None, ..., -1]": lambda g: g.x[None, ..., -1],
    "x.at[0].set(5)": lambda g: g.x.at[0].set(5),
    "sum": lambda g: g.x.sum(),
    "sum(axis=0)": lambda g: g.x.sum(axis=0),
    "sum of bits": lambda g: g.bit.sum(),
    "mean(axis=0)": lambda g: g.real.mean(axis=0),
    "max": lambda g: g.x.max(),
    "min(axis=1)": lambda g: g.x.min(axis=1),
    "argmax": lambda g: g.x.argmax(),
    "cumsum": lambda g: g.x.cumsum(axis=0),
    "reshape": lambda g: g.x.reshape(4, 3),
    "ravel": lambda g: g.x.ravel(),
    "T": lambda g: g.x.T,
    "astype": lambda g: g.x.astype(qr.int(32)),
    "astype(real)": lambda g: g.x.astype(qr.real),
    "round": lambda g: g.real.round(),
    "bits": lambda g: g.x.bits(),
    "from_bits": lambda g: g.mpc.from_bits(g.bit, qr.uint(4)),
    "to": lambda g: g.x.to("B"),
    "where": lambda g: g.mpc.where(g.bit, g.x, g.y),
    "where(0.5)": lambda g: g.mpc.where(g.bit, g.real, 0.5),
    "concatenate": lambda g: g.mpc.concatenate([g.x, g.y]),
    "stack": lambda g: g.mpc.stack([g.x, np.zeros((3, 4), int)]),
    "assert_one_hot": lambda g: g.few.assert_one_hot(),
    "as_factor": lambda g: g.x.as_factor(),
    "sigmoid": lambda g: qr.sigmoid(g.real),
    "softmax": lambda g: qr.softmax(g.real),
    "np.add": lambda g: np.add(g.x, g.y),
    "np.sum": lambda g: np.sum(g.x, axis=0),
    "np.where": lambda g: np.where(g.bit, g.x, g.y),
    "np.expand_dims": lambda g: np.expand_dims(g.x, 0),
}

# Operations that take several calls.
_PARTS = "it consists of several operations, each of which builds one node"
_ASKS = "it depends on the proven range of an operand"
SEVERAL: dict[str, tuple[Callable[[Given], Any], list[str], str]] = {
    "x % 3": (lambda g: g.x % 3, ["floor_div", "remainder"], _PARTS),
    "abs": (lambda g: abs(g.x), ["binary", "unary", "select"], _PARTS),
    "maximum": (lambda g: g.mpc.maximum(g.x, 0), ["binary", "select"], _PARTS),
    "swap": (lambda g: g.mpc.swap(g.bit, g.x, g.y), ["select", "other"], _PARTS),
    "sum(where=)": (lambda g: g.x.sum(where=g.bit), ["select", "reduce"], _PARTS),
    "at[].add": (lambda g: g.x.at[0].add(5), ["gather", "binary", "set_at"], _PARTS),
    "one_hot": (lambda g: g.mpc.one_hot(g.few, 4), ["places", "reshape", "binary"], _PARTS),
    "shuffle": (
        lambda g: g.mpc.shuffle(g.x, g.y),
        ["transpose", "transpose", "shuffle", "transpose", "transpose"],
        _PARTS,
    ),
    "7 // x": (lambda g: 7 // g.few, ["constant", "int_divide"], "the public dividend becomes an array first"),
    "mean of integers": (lambda g: g.few.mean(), ["reshape", "range", "held", "reduce", "cast", "divide"], _ASKS),
}


def calls_of(given: Given, operation: Callable[[Given], Any]) -> list[str]:
    """Returns the native calls of an operation and of the release of its result."""
    given.calls.used.clear()
    operation(given)
    return given.calls.used.copy()


@pytest.mark.parametrize("name", ONCE)
def test_an_operation_takes_one_native_call(given: Given, name: str) -> None:
    assert len(calls_of(given, ONCE[name])) == 1


@pytest.mark.parametrize("name", SEVERAL)
def test_operations_of_several_calls_are_known(given: Given, name: str) -> None:
    operation, calls, _ = SEVERAL[name]
    assert calls_of(given, operation) == calls


def test_an_answer_describes_the_array(given: Given) -> None:
    built = given.x + given.real
    _, node, shape, parts, is_secret = given.calls.native.array(built._node)
    assert (node, shape, is_secret) == (built._node, (3, 4), True)
    assert qr.dtypes.Dtype.of(parts) == built.dtype
    assert built.dtype.grows and parts[0] == "real"
    assert given.mpc.constant(1)._is_secret is False


NUMBERS = [
    0,
    -1,
    2**63 - 1,
    -(2**63),
    2**63,
    2**70,
    True,
    False,
    0.1,
    -0.0,
    1e300,
    float("inf"),
    np.int8(-3),
    np.float32(0.1),
]


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_single_numbers_are_packed_as_arrays_are(number: Any) -> None:
    assert packed(number, "test") == pack(as_numbers(number, "test"))


def test_what_is_no_number_is_refused_with_its_name() -> None:
    for wrong, error in ((2**130, qr.RangeError), ("3", qr.DtypeError), (None, qr.DtypeError), (1j, qr.DtypeError)):
        with pytest.raises(error, match="test"):
            packed(wrong, "test")
