"""The cost of each operation on every protocol: the table of the docs and the figures in docstrings, by dry runs."""

from __future__ import annotations

import functools
import inspect
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate as qr
from quorate import functions, nn
from quorate._families import FAMILIES
from quorate._session._array_methods import ArrayMethods

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "rounds.md"

#: Choices that depend on predicted seconds, fixed here.
PINNED: dict[str, dict[str, Any]] = {"aby": {"sharings": "A+B"}, "pika": {"comparisons": "edabits"}}
#: Further columns of a family.
MORE: dict[str, dict[str, dict[str, Any]]] = {
    "rss": {"rss, 5": {"parties": 5}},
    "pika": {"pika, malicious": {"malicious": True}},
}
#: The columns: the name of each, and its session.
COLUMNS: dict[str, dict[str, Any]] = {
    column: {"protocol": family, **options}
    for family in FAMILIES
    for column, options in {family: PINNED.get(family, {}), **MORE.get(family, {})}.items()
}

N = 1000


class Operands:
    """Integers x and y, fixed point f and g, bits b and c: inputs of no owner, and of unknown range."""

    def __init__(self, mpc: qr.Session) -> None:
        def made(values: Any, dtype: qr.Dtype | None = None) -> Any:
            pairs = [[mpc.input(values, owner=owner, dtype=dtype) for owner in (0, 1)] for _ in range(2)]
            return [one & other if one.dtype.kind == "bit" else one * other for one, other in pairs]

        self.mpc, self.ones = mpc, np.ones(N, np.int64)
        self.x, self.y = made(np.ones(N, np.int64), qr.int(64))
        self.f, self.g = made(np.ones(N), qr.fixed(64, 16))
        self.b, self.c = made(np.ones(N, bool))


def _images(f: Any) -> Any:
    """Returns ten channels of 10 x 10."""
    return f.reshape(1, 10, 10, 10)


#: The number of elements of an operation, if not all.
FEWER = {"`x // y`": 10, "`f / g`": 10} | {
    f"`mpc.{call}` of 100": 100 for call in ("take(x, y)", "join(x, y)", "group_sums(x, y)")
}

#: For each line of the table, the function whose docstring has its figures, and the operation.
OPERATIONS: dict[str, tuple[Any, Any]] = {
    "`mpc.input(values, owner=0)`": (qr.Session.input, lambda o: o.mpc.input(np.ones(N, np.int64), owner=0)),
    "`x.reveal()` of an input, with all checks": (qr.SecretArray.reveal, lambda o: o.mpc.input(o.ones, owner=0)),
    "`x * y` of integers": (None, lambda o: o.x * o.y),
    "`f * g` of fixed point": (qr.SecretArray.__mul__, lambda o: o.f * o.g),
    "`x.dot(y)`, `x @ y`": (qr.SecretArray.dot, lambda o: o.x.dot(o.y)),
    "`b & c`, <code>b &#124; c</code>": (None, lambda o: o.b & o.c),
    "`x < y`": (qr.SecretArray.__lt__, lambda o: o.x < o.y),
    "`x < 0`": (None, lambda o: o.x < 0),
    "`x == y`": (qr.SecretArray.__eq__, lambda o: o.x == o.y),
    "`mpc.where(b, x, y)`": (ArrayMethods.where, lambda o: o.mpc.where(o.b, o.x, o.y)),
    "`mpc.swap(b, x, y)`": (ArrayMethods.swap, lambda o: o.mpc.swap(o.b, o.x, o.y)),
    "`mpc.minimum(x, y)`": (ArrayMethods.minimum, lambda o: o.mpc.minimum(o.x, o.y)),
    "`mpc.maximum(x, y)`": (ArrayMethods.maximum, lambda o: o.mpc.maximum(o.x, o.y)),
    "`x.clip(0, 9)`": (qr.SecretArray.clip, lambda o: o.x.clip(0, 9)),
    "`x.max()` of 1000": (qr.SecretArray.max, lambda o: o.x.max()),
    "`x.min()` of 1000": (qr.SecretArray.min, lambda o: o.x.min()),
    "`x.argmax()` of 1000": (qr.SecretArray.argmax, lambda o: o.x.argmax()),
    "`x.argmin()` of 1000": (qr.SecretArray.argmin, lambda o: o.x.argmin()),
    "`x.ptp()` of 1000": (qr.SecretArray.ptp, lambda o: o.x.ptp()),
    "`x.sort()` of 1000": (qr.SecretArray.sort, lambda o: o.x.sort()),
    "`x.argsort()` of 1000": (qr.SecretArray.argsort, lambda o: o.x.argsort()),
    "`mpc.sort(x, y)` of 1000": (ArrayMethods.sort, lambda o: o.mpc.sort(o.x, o.y)),
    "`mpc.sort(x, y, stable=False)`": (None, lambda o: o.mpc.sort(o.x, o.y, stable=False)),
    "`x.topk(10)` of 1000": (qr.SecretArray.topk, lambda o: o.x.topk(10)),
    "`x.partition(9)` of 1000": (qr.SecretArray.partition, lambda o: o.x.partition(9)),
    "`x.argpartition(9)` of 1000": (qr.SecretArray.argpartition, lambda o: o.x.argpartition(9)),
    "`mpc.group_by(x, 8).sum(y)`": (ArrayMethods.group_by, lambda o: o.mpc.group_by(o.x, 8).sum(o.y)),
    "`mpc.join(x, y)` of 100": (ArrayMethods.join, lambda o: o.mpc.join(o.x[:100], o.y[:100]).matched),
    "`mpc.group_sums(x, y)` of 100": (ArrayMethods.group_sums, lambda o: o.mpc.group_sums(o.x[:100], o.y[:100]).sums),
    "`f.quantile(0.3)` of 1000": (qr.SecretArray.quantile, lambda o: o.f.quantile(0.3)),
    "`f.median()` of 1000": (qr.SecretArray.median, lambda o: o.f.median()),
    "`mpc.shuffle(x)`": (ArrayMethods.shuffle, lambda o: o.mpc.shuffle(o.x)),
    "`mpc.one_hot(x, 10)`": (ArrayMethods.one_hot, lambda o: o.mpc.one_hot(o.x, 10)),
    "`mpc.take(x, y)` of 100": (ArrayMethods.take, lambda o: o.mpc.take(o.x[:100], o.y[:100])),
    "`x.prod()` of 1000": (qr.SecretArray.prod, lambda o: o.x.prod()),
    "`x.cumprod()` of 1000": (qr.SecretArray.cumprod, lambda o: o.x.cumprod()),
    "`x ** 3`": (qr.SecretArray.__pow__, lambda o: o.x**3),
    "`b.sum()`": (qr.SecretArray.sum, lambda o: o.b.sum()),
    "`b.cumsum()`": (qr.SecretArray.cumsum, lambda o: o.b.cumsum()),
    "`b.any()` of 1000": (qr.SecretArray.any, lambda o: o.b.any()),
    "`b.all()` of 1000": (qr.SecretArray.all, lambda o: o.b.all()),
    "`f.mean()`": (qr.SecretArray.mean, lambda o: o.f.mean()),
    "`f.var()`": (qr.SecretArray.var, lambda o: o.f.var()),
    "`f.std()`": (qr.SecretArray.std, lambda o: o.f.std()),
    "`f.round()`": (qr.SecretArray.round, lambda o: o.f.round()),
    "`x // 8`": (None, lambda o: o.x // 8),
    "`x // 10`": (None, lambda o: o.x // 10),
    "`x // y`": (qr.SecretArray.__floordiv__, lambda o: o.x[:10] // o.y[:10]),
    "`f / g`": (qr.SecretArray.__truediv__, lambda o: o.f[:10] / o.g[:10]),
    "`x.astype(qr.int(96))`": (qr.SecretArray.astype, lambda o: o.x.astype(qr.int(96))),
    "`b.astype(qr.int(64))`": (None, lambda o: o.b.astype(qr.int(64))),
    "`x.bits()`": (qr.SecretArray.bits, lambda o: o.x.bits()),
    "`mpc.from_bits(b, qr.uint(50))`": (
        ArrayMethods.from_bits,
        lambda o: o.mpc.from_bits(o.b.reshape(20, 50), qr.uint(50)),
    ),
    "`qr.relu(f)`": (functions.relu, lambda o: qr.relu(o.f)),
    "`qr.sigmoid(f)`": (functions.sigmoid, lambda o: qr.sigmoid(o.f)),
    "`qr.tanh(f)`": (functions.tanh, lambda o: qr.tanh(o.f)),
    "`qr.gelu(f)`": (functions.gelu, lambda o: qr.gelu(o.f)),
    "`qr.exp(f)`": (functions.exp, lambda o: qr.exp(o.f)),
    "`qr.log(f)`": (functions.log, lambda o: qr.log(o.f)),
    "`qr.sqrt(f)`": (functions.sqrt, lambda o: qr.sqrt(o.f)),
    "`qr.rsqrt(f)`": (functions.rsqrt, lambda o: qr.rsqrt(o.f)),
    "`qr.reciprocal(f)`": (functions.reciprocal, lambda o: qr.reciprocal(o.f)),
    "`qr.softmax(f)` of 10": (functions.softmax, lambda o: qr.softmax(o.f.reshape(100, 10))),
    "`qr.nn.relu6(f)`": (None, lambda o: nn.relu6(o.f)),
    "`qr.nn.leaky_relu(f)`": (None, lambda o: nn.leaky_relu(o.f)),
    "`qr.nn.prelu(f, g)`": (None, lambda o: nn.prelu(o.f, o.g)),
    "`qr.nn.silu(f)`": (None, lambda o: nn.silu(o.f)),
    "`qr.nn.elu(f)`": (None, lambda o: nn.elu(o.f)),
    "`qr.nn.hard_sigmoid(f)`": (None, lambda o: nn.hard_sigmoid(o.f)),
    "`qr.nn.hard_swish(f)`": (None, lambda o: nn.hard_swish(o.f)),
    "`qr.nn.linear(f, g)` of 25 x 40 by 40 x 25": (None, lambda o: nn.linear(o.f.reshape(25, 40), o.g.reshape(25, 40))),
    "`qr.nn.conv1d(f, g)` of 5": (None, lambda o: nn.conv1d(o.f.reshape(1, 10, 100), o.g[:500].reshape(10, 10, 5))),
    "`qr.nn.conv2d(f, g)` of 3 x 3": (None, lambda o: nn.conv2d(_images(o.f), o.g[:900].reshape(10, 10, 3, 3))),
    "`qr.nn.conv_transpose2d(f, g)`, strides of 2": (
        None,
        lambda o: nn.conv_transpose2d(_images(o.f), o.g[:900].reshape(10, 10, 3, 3), stride=2),
    ),
    "`qr.nn.max_pool2d(f, 2)`": (None, lambda o: nn.max_pool2d(_images(o.f), 2)),
    "`qr.nn.avg_pool2d(f, 3)`": (None, lambda o: nn.avg_pool2d(_images(o.f), 3)),
    "`qr.nn.global_avg_pool2d(f)`": (None, lambda o: nn.global_avg_pool2d(_images(o.f))),
    "`qr.nn.batch_norm(f, g, h)`, all secret": (
        None,
        lambda o: nn.batch_norm(_images(o.f), o.g[:10], o.g[10:20]),
    ),
    "`qr.nn.layer_norm(f)` of lines of 50": (None, lambda o: nn.layer_norm(o.f.reshape(20, 50))),
    "`qr.nn.attention(f, g, g)` of 25 x 40": (
        None,
        lambda o: nn.attention(o.f.reshape(25, 40), o.g.reshape(25, 40), o.g.reshape(25, 40)),
    ),
    "`qr.nn.embedding(x, g)` of 100 rows": (None, lambda o: nn.embedding(o.x[:10], o.g.reshape(100, 10))),
    "`qr.nn.lstm(f, g, h)` of 5 steps": (
        None,
        lambda o: nn.lstm(o.f.reshape(5, 20, 10), o.g[:400].reshape(40, 10), o.g[400:800].reshape(40, 10))[0],
    ),
    "`qr.nn.gru(f, g, h)` of 5 steps": (
        None,
        lambda o: nn.gru(o.f.reshape(5, 20, 10), o.g[:300].reshape(30, 10), o.g[300:600].reshape(30, 10))[0],
    ),
    "`qr.lookup(x, table)` of 256": (qr.lookup, lambda o: qr.lookup(o.x, np.arange(256) % 7)),
}


def _cost(operands: Operands, name: str) -> tuple[int, float]:
    """Returns online rounds of an operation alone, and bytes of the busiest party per element."""
    operation = OPERATIONS[name][1]
    made = operation(operands)
    results = [made] if isinstance(made, qr.SecretArray) else list(made)
    # An opening belongs to the line of its operand.
    shown = [~result if result.dtype.kind == "bit" else -result for result in results]
    plan = operands.mpc.explain(*shown)
    here = f"{Path(__file__).name}:{operation.__code__.co_firstlineno}"
    line = next(each for each in plan.lines if each.line == here)
    rounds, sent = line.rounds, max(line.bytes_sent)
    if "reveal" in name:
        rounds = plan.online.rounds - rounds
        sent = max(all_ - own for all_, own in zip(plan.online.bytes_sent, line.bytes_sent, strict=True))
    return rounds, sent / FEWER.get(name, N)


@functools.cache
def measured(column: str) -> dict[str, tuple[int, float]]:
    """Returns rounds and bytes of all operations on one protocol."""
    with warnings.catch_warnings(), qr.local(**COLUMNS[column]) as mpc:
        warnings.simplefilter("ignore", qr.RangeWarning)
        operands = Operands(mpc)
        return {name: _cost(operands, name) for name in OPERATIONS}


def _cell(rounds: int, sent: float) -> str:
    return f"{rounds}, {sent:,.0f}" if sent >= 9.95 else f"{rounds}, {sent:.2g}"


def table() -> str:
    """Returns the table of the page: rounds, and bytes per element, of all operations on all protocols."""
    rows = [f"| operation | {' | '.join(COLUMNS)} |", f"|---|{'---|' * len(COLUMNS)}"]
    rows += [f"| {name} | {' | '.join(_cell(*measured(c)[name]) for c in COLUMNS)} |" for name in OPERATIONS]
    return "\n".join(rows) + "\n"


@functools.cache
def page() -> dict[str, dict[str, str]]:
    """Returns the cells of the page's table, by operation and protocol."""
    found = re.search(r"\| operation \|.*\n\|---.*\n(?:\|.*\n)+", PAGE.read_text(encoding="utf-8"))
    assert found, f"{PAGE.name} has no table"
    lines = [line.strip("| ").rsplit(" | ", len(COLUMNS)) for line in found.group(0).splitlines() if "---" not in line]
    assert lines[0][1:] == list(COLUMNS), f"{PAGE.name} has other columns"
    return {name: dict(zip(COLUMNS, cells, strict=True)) for name, *cells in lines[1:]}


def stated(name: str) -> str:
    """Returns the sentence of an operation's docstring, with the page's figures."""
    figures = ", ".join(f"{family} {page()[name][family].partition(', ')[0]}" for family in FAMILIES)
    return f"Rounds: {figures}{' for 1000 elements' if name.endswith('of 1000') else ''}."


NUMBER = re.compile(r"\d[\d,.]*(?<=\d)")


def are_alike(one: str, other: str) -> bool:
    """Returns whether two texts are equal except for numbers that differ by less than 1 %.

    A family's planner may decide by measured seconds, so that two plans may be equally good.
    """
    numbers = ([float(n.replace(",", "")) for n in NUMBER.findall(text)] for text in (one, other))
    return NUMBER.sub("#", one) == NUMBER.sub("#", other) and next(numbers) == pytest.approx(next(numbers), rel=0.01)


@pytest.mark.parametrize("column", COLUMNS)
def test_the_table_of_the_docs_is_what_is_so(column: str) -> None:
    assert list(page()) == list(OPERATIONS)
    decides = "sharings" in COLUMNS[column]
    for name, (rounds, sent) in measured(column).items():
        said, cell = page()[name][column], _cell(rounds, sent)
        is_so = said == cell or (decides and are_alike(said, cell))
        assert is_so, f"{name}, {column}: {cell}; write it anew: .venv/bin/python tests/test_rounds.py"


@pytest.mark.parametrize("name", [name for name, (of, _) in OPERATIONS.items() if of is not None])
def test_docstrings_have_the_rounds_of_every_protocol(name: str) -> None:
    assert stated(name) in " ".join(inspect.getdoc(OPERATIONS[name][0]).split()), stated(name)


def test_every_method_says_what_it_costs() -> None:
    """It states rounds, or that the method is local."""
    looked = 0
    for owner in (qr.SecretArray, ArrayMethods, functions):
        names = functions.__all__ if owner is functions else [n for n in dir(owner) if not n.startswith("_")]
        for name in names:
            text = inspect.getdoc(getattr(owner, name)) or ""
            # A property of the program, not an operation.
            if name in ("dtype", "shape", "ndim", "size", "at"):
                continue
            looked += 1
            assert re.search(r"\bRounds\b|\brounds\b|\bLocal\b", text), f"{owner.__name__}.{name}"
    assert looked >= 50


if __name__ == "__main__":
    import conftest  # noqa: F401 (where tests run)

    PAGE.write_text(PAGE.read_text(encoding="utf-8").partition("| operation |")[0] + table(), encoding="utf-8")
    for operation, (of, _) in OPERATIONS.items():
        if of is not None and stated(operation) not in " ".join((inspect.getdoc(of) or "").split()):
            print(f"{of.__qualname__}: {stated(operation)}")
