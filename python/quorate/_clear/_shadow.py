"""The shadow: every operation of a run is repeated in numpy, and the first that differs is reported.

Each operation is checked by itself, on the protocol's own operands, so that the first one that differs is at fault.
Integers of any size are exact here: a result that wraps in the ring differs from the shadow's.
"""

from __future__ import annotations

import math
import threading
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate._clear import _operations
from quorate._clear._integers import exact, limits
from quorate._clear._steps import Step
from quorate._values._public_numbers import unpack
from quorate.dtypes import MOST_FRACTIONAL_BITS, USUAL_WIDTHS, Dtype
from quorate.errors import RangeWarning, ShadowError

if TYPE_CHECKING:
    from quorate.session import Session

__all__ = ["Shadow"]

_LONGEST_LIST = 4


class Shadow:
    """The shadow of a session: the values of all nodes that were run, in ring units."""

    def __init__(self, session: Session, rounds_either_way: bool) -> None:
        self._session = session
        self._lock = threading.RLock()  # one run after the other: each compares with what those before it opened
        self._either_way = rounds_either_way
        self._given: dict[int, np.ndarray] = {}
        self._dtypes: dict[int, Dtype] = {}
        self._known: dict[int, np.ndarray] = {}
        self._shuffles: dict[int, Step] = {}
        self._sums: dict[int, Step] = {}
        self._arguments: dict[int, str] = {}  # arguments of functions whose results are as small as these, by node
        self._lines: dict[int, tuple[str, int]] = {}
        self._used: set[tuple[int, tuple[str, int]]] = set()  # steps, and the lines that compute with their results

    def give(self, node: int, values: np.ndarray) -> None:
        """Records the values of an input as its owner gave them."""
        self._given[node] = values.copy()

    def run(self, targets: list[tuple[int, int | None]], progress: Any, units: bool = False) -> list[np.ndarray]:
        """Runs the program of `targets`, opens every intermediate value, and compares each with numpy's.

        Returns:
            The targets' values, in the user's units or, with `units`, in ring units.

        Raises:
            ShadowError: a result differs from numpy's; it reports the first operation that does.
        """
        with self._lock:
            return self._run(targets, progress, units)

    def _run(self, targets: list[tuple[int, int | None]], progress: Any, units: bool) -> list[np.ndarray]:
        native = self._session._native
        wanted = [node for node, _ in targets]
        found, _ = native.ancestors(wanted, [*self._known, *self._shuffles])
        steps = [Step.of(raw) for raw in found]
        self._shuffles.update({step.node: step for step in steps if step.op in ("shuffle", "order")})
        steps = [step for step in steps if step.node not in self._shuffles]  # its results are the nodes of op "part"
        secret = [step for step in steps if step.units is None]
        opened = [(step.node, None) for step in secret]
        values = native.run([*targets, *opened], progress, True)[len(targets) :]
        results = {}
        for step, value in zip(secret, values, strict=True):
            kind, data = value or ("?", b"")  # a local session gets every value
            results[step.node] = exact(unpack(kind, data).reshape(step.shape))
        self._sums.update({step.node: step for step in steps if step.op == "sum"})
        self._arguments.update({step.inputs[0]: step.op for step in steps if step.op in ("tanh", "gelu")})
        # An input belongs to no operation of its line; a conversion has its operand's.
        for step in secret:
            self._used.update((node, step.line) for node in step.inputs)
            if step.op == "astype" and step.inputs[0] in self._lines:
                self._lines[step.node] = self._lines[step.inputs[0]]
            elif step.op not in ("input", "astype"):
                self._lines[step.node] = step.line
        for step in steps:
            result = step.units if step.units is not None else results[step.node]
            if step.units is None:
                self._compare(step, result)
            self._known[step.node], self._dtypes[step.node] = result, step.dtype
        return [self._shown(node, units) for node in wanted]

    def _shown(self, node: int, in_units: bool) -> np.ndarray:
        units, dtype = self._known[node], self._dtypes[node]
        if dtype.kind == "fixed" and not in_units:
            shown = units.astype(np.float64) / 2.0**dtype.frac
        elif dtype.bits > 64:
            shown = units.astype(object)
        else:
            shown = units.astype({"bit": np.bool_, "uint": np.uint64}.get(dtype.kind, np.int64))
        return shown if shown.shape else shown[()]

    def _compare(self, step: Step, result: np.ndarray) -> None:
        shuffle = self._shuffles.get(step.inputs[0]) if step.op == "part" else None
        inputs = step.inputs if shuffle is None else [shuffle.inputs[step.numbers[0]]]
        operands = [(self._known[i], self._dtypes[i]) for i in inputs]
        given = self._given.get(step.node)
        if given is not None:
            span = _operations.encoded(given, step.dtype)
        elif shuffle is not None and shuffle.op == "order":
            key = self._known[shuffle.inputs[-1]]
            span = _operations.Span.exactly(_operations.ordered(operands[0][0], key, bool(shuffle.numbers[1])))
        elif shuffle is not None:
            span = _operations.shuffled(operands[0][0], result, shuffle.numbers[0])
        elif step.op == "input":
            return  # its values were given as units, without reals to compare with
        else:
            span = _operations.span(step, operands, self._either_way)
        if span.saturates:
            file, line = step.line
            if (f"{file} shadow", line) not in self._session._told:
                self._session._told.add((f"{file} shadow", line))
                text = f"{step.what}: {span.saturates}; the result is the stated saturation, numpy's is not"
                warnings.warn_explicit(text, RangeWarning, file, line)
        if span.exact is not None and step.dtype.kind == "fixed" and not step.error_is_stated:
            self._name_lost(step, span.exact, result)
        differs = np.asarray((result < span.low) | (result > span.high))
        if differs.any():
            place = tuple(int(i) for i in np.argwhere(differs)[0]) if differs.ndim else ()
            raise self._difference(step, place, result, span, operands)

    def _name_lost(self, step: Step, exact: np.ndarray, result: np.ndarray) -> None:
        magnitudes = self._magnitudes(step)
        found = _operations.coarse(step.op, exact, np.asarray(result), magnitudes) if result.size else None
        if found is None:
            return
        file, line = step.line
        if (f"{file} digits", line) in self._session._told:
            return
        self._session._told.add((f"{file} digits", line))
        place, more = found
        unit = 2.0**step.dtype.frac
        text = (
            f"{step.what}: gives {float(result[place]) / unit:.6g} where the exact result is "
            f"{float(exact[place]) / unit:.6g} (index {place}): "
            f"{self._keeping(step, exact, more, magnitudes is not None)}"
        )
        warnings.warn_explicit(text, RangeWarning, file, line)

    def _magnitudes(self, step: Step) -> np.ndarray | None:
        """Returns the means of the terms' magnitudes where the step divides a sum by at most their number.

        Where terms cancel, a mean is small, and none of its digits is known better than those of the terms.
        """
        of = self._sums.get(step.inputs[0]) if step.op == "floor_div" else None
        if of is None or step.divisors is None or (abs(step.divisors) > of.numbers[1]).any():
            return None
        terms = np.abs(self._known[of.inputs[0]].astype(float)).reshape(of.numbers[0], of.numbers[1], -1)
        return terms.sum(axis=1).reshape(step.shape) / step.divisors.astype(float)

    def _keeping(self, step: Step, exact: np.ndarray, more: int, is_mean: bool) -> str:
        """Returns the advice that keeps `more` bits of small results; see `quorate-graph`, `keep`."""
        if step.op in _operations.SMALL_BY_NATURE:
            raised = _raised(exact, step.dtype.frac, step.numbers[1]) if step.op == "softmax" else 0
            return _instead(step.op, more, raised)
        if step.node in self._arguments:
            return _instead(self._arguments[step.node], 0, 0)
        finer = _finer(step.dtype, more)
        if is_mean and finer:
            return f"give what it works on more fractional bits, x.astype(qr.{finer})"
        computed = any(self._lines.get(node) == step.line for node in step.inputs)
        if computed or (step.node, step.line) in self._used:
            return (
                "say how large what it works on can be, x.clip(low, high) or bound= of the inputs, so that no bits are "
                "kept for more"
            )
        return _multiplying(step.op, more)

    def _difference(
        self,
        step: Step,
        place: tuple[int, ...],
        result: np.ndarray,
        span: _operations.Span,
        operands: list[tuple[np.ndarray, Dtype]],
    ) -> ShadowError:
        got, wanted = result[place], np.broadcast_to(span.nearest, result.shape)[place]
        shown, meant = _number(got, step.dtype), _number(wanted, step.dtype)
        where = f" at index {place}" if place else ""
        of = [_number(v[place], dtype) for v, dtype in operands if v.shape == result.shape]
        from_what = f" (of {', '.join(of)})" if of and len(of) <= _LONGEST_LIST else ""
        low, high = limits(step.dtype)
        why = "report this as a defect"
        too_wide = span.wide is not None and bool(np.broadcast_to(span.wide, result.shape)[place])
        if too_wide and self._either_way and low <= wanted <= high:
            why = (
                "before its fractional bits are dropped, it is beyond a quarter of its ring, where "
                'trunc="probabilistic" is wrong: use trunc="exact", a wider dtype or smaller values, or state bound= '
                "of the inputs, which keeps it exact there"
            )
        elif too_wide or not low <= wanted <= high:
            kept = "before its fractional bits are dropped, " if too_wide else ""
            why = (
                f"{kept}it does not fit {step.dtype} and wrapped: use a wider dtype or smaller values, and state "
                "bound= to be warned when the program is built"
            )
        return ShadowError(
            f"shadow: {step.what} differs from numpy{where}{from_what}: the protocol has {shown}, numpy {meant}; {why}",
            step.line,
            place,
            shown,
            meant,
        )


def _finer(dtype: Dtype, more: int) -> str | None:
    """Returns a dtype with as many whole bits and `more` fractional ones, in a usual width."""
    width = next((width for width in USUAL_WIDTHS if width >= dtype.bits + more), None)
    return f"fixed({width}, {dtype.frac + more})" if width and dtype.frac + more <= MOST_FRACTIONAL_BITS else None


def _multiplying(op: str, more: int) -> str:
    """Returns the advice to multiply first, for a line with this operation alone."""
    if op in ("divide", "floor_div", "scale"):
        first = f"multiply what is divided by 2**{more} first"
    elif op == "reciprocal":
        first = f"divide its argument by 2**{more} first"
    elif op == "rsqrt":
        first = f"divide its argument by 4**{more} first"
    else:
        first = f"multiply a factor by 2**{more} first"
    return f"{first}, and divide results by 2**{more} again where they are large"


def _instead(op: str, more: int, raised: int) -> str:
    """Returns what to compute in place of a function of small results.

    Args:
        op: the function.
        more: the exponent of the factor by which that is larger, a power of two.
        raised: the exponent of the factor of the powers whose shares a softmax is.
    """
    power = f"{more * math.log(2):.6f}"
    if op == "log":
        return "compute z = x - 1 and z - z * z / 2 + z * z * z / 3 where x is so near to 1"
    if op == "tanh":
        return "functions take 16 fractional bits: compute x - x * x * x / 3 where x is so small"
    if op == "gelu":
        return "functions take 16 fractional bits: compute x / 2 + 0.3989423 * x * x where x is so small"
    if op == "exp":
        larger = f"add {power} to its argument, which multiplies results by 2**{more}"
    elif op == "sigmoid":
        larger = f"compute qr.exp(np.minimum(x, 0) + {power}) * qr.sigmoid(abs(x)), which is 2**{more} times as large"
    else:
        more_of_powers = f" + {raised * math.log(2):.6f}" if raised else ""
        larger = (
            f"compute h = qr.exp(x - x.max(){more_of_powers}) and h * 2**{more} / h.sum(), with the axis and "
            f"keepdims=True where x has several axes, which is 2**{more} times as large"
        )
    return f"{larger}, and divide results by 2**{more} again where they are large"


def _raised(shares: np.ndarray, frac: int, length: int) -> int:
    """Returns the exponent of a factor with which the powers that these are shares of lose no digits as a whole."""
    mean = -math.log2(float(shares.max()) / 2.0**frac * length)  # the largest power is 1
    return max(0, math.ceil(12 - frac - mean))


def _number(units: Any, dtype: Dtype) -> str:
    whole = int(units)
    return str(whole) if dtype.frac == 0 else f"{whole / 2**dtype.frac:.17g}"
