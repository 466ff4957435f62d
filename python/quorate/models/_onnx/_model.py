"""A network from an ONNX file: its public shape and its secret weights."""

from __future__ import annotations

import dataclasses
import math
import operator
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import quorate
from quorate import _source
from quorate._families import DEFAULT
from quorate._source import at
from quorate.errors import ModelError, ModelWarning
from quorate.models._layers._kernels import Array
from quorate.models._layers._report import Report, compared
from quorate.models._notices import tell
from quorate.models._numerics import exponent_above, finite_float64
from quorate.models._onnx._indices import Rows, check_bound, checked, drawn, rows_of
from quorate.models._onnx._lower import lower
from quorate.models._onnx._normalise import spread
from quorate.models._onnx._operators_moves import OPERATORS
from quorate.models._onnx._plan import Planner, Tracked
from quorate.models._onnx._read import read
from quorate.models._onnx._run import Secrets
from quorate.models._onnx._shape import NetworkShape, program
from quorate.models._onnx._simplify import simplified
from quorate.models._onnx._steps import Step, run_clear
from quorate.models._questions import Asked, Questions

_PIECE = 16  # inputs that a report looks at at a time


@dataclasses.dataclass(frozen=True, repr=False)
class Network(Questions):
    """What `from_onnx` returns: a public shape and secret weights.

    `predict` gives labels where the network was imported with `labels=`, and otherwise its outputs, which
    `decision_function` always gives. `Network.shape` is for the other parties, who call the same methods on it.

    Attributes:
        shape: what the other parties may know; give it to them.
        error_bound: no output is further from the clear network's, computed without rounding. Proven, from the bound
            on inputs and the weights, for all inputs within the bound; where layers are clipped (`sample=`), for those
            that reach no limit, and behind a layer normalisation with `sample=` for those whose lines deviate at least
            a quarter as much as the sample's least. It stays with the model's owner.
        margin_bound: labels equal the clear network's for every input whose two largest outputs (before a last softmax)
            are further apart.
    """

    shape: NetworkShape
    error_bound: float
    margin_bound: float
    _secrets: Secrets
    _steps: Sequence[Step]
    _rows: Sequence[tuple[str, int, int]]
    _errors: Sequence[float]

    def __repr__(self) -> str:
        return f"Network(inputs {self.shape.sizes}, {len(self.shape.steps)} steps)"

    def predict_clear(self, X: Any) -> np.ndarray:
        """The clear network in double precision: labels, or outputs where there are none."""
        arrays = self._clear(X)
        if self.shape.labels is None:
            return arrays[-1]
        return np.asarray(self.shape.labels)[self._deciding(arrays).argmax(axis=-1)]

    def report(self, X: Any, protocol: str = DEFAULT, **options: Any) -> Report:
        """Computes these inputs with the protocol in a local session, and compares with the clear network.

        For the model's owner, with inputs of its own: nothing leaves this process.

        Args:
            X: inputs.
            protocol: as of `qr.local`.
            options: other ones of `qr.local`.

        Returns:
            How many largest outputs agree, and the largest error of the outputs and of each layer.
        """
        self.shape.encode(X)
        values, ours, clear = np.asarray(X, np.float64), [], []
        for first in range(0, len(values), _PIECE):
            piece = values[first : first + _PIECE]
            with quorate.local(protocol, **{"check": False, **options}) as mpc:
                arrays = self.shape.program(mpc, self._secrets, piece, len(piece), (0, 1))
                shown = mpc.reveal_all(*(arrays[place] for _, place, _ in self._rows), units=True)
            units = (unit for _, _, unit in self._rows)
            ours.append([np.ldexp(a.astype(np.float64), -unit) for a, unit in zip(shown, units, strict=True)])
            clear.append(run_clear(self._steps, piece)[1:])
        return compared(ours, clear, [name for name, _, _ in self._rows], list(self._errors))

    def _clear(self, X: Any) -> list[Array]:
        self.shape.encode(X)
        return run_clear(self._steps, np.asarray(X, np.float64))

    def _deciding(self, arrays: list[Array]) -> Array:
        """What decides about labels."""
        return arrays[-1] if self.shape.decided == self.shape.output else arrays[self._steps[-1].inputs[0]]

    def _made(self, question: str, mpc: Any, asked: Asked) -> Any:
        return program(question, mpc, self.shape, self._secrets, asked, self)

    def _tell_how_far(self, question: str, mpc: Any, asked: Asked) -> None:
        if question == "predict" and self.shape.labels is not None and mpc.is_local:
            self._name_ties(asked.X)

    def _name_ties(self, X: Any) -> None:
        """Says how many labels may be others than in the clear; all is known in this process."""
        outputs = self._deciding(self._clear(X))
        if outputs.shape[-1] == 1:  # the one label, whatever the output is
            return
        what = "inputs" if outputs.ndim == 2 else "labels"
        largest = np.sort(outputs, axis=-1)[..., -2:]
        apart = largest[..., 1] - largest[..., 0]

        def words(close: int, answers: int) -> str | None:
            return (
                f"predict: the two largest outputs of {close} of {answers} {what} are no further apart than "
                f"{self.margin_bound:.3g}, the margin within which labels may differ from the clear network's; "
                f"{_finer(self.shape.table_rows is not None)} make it smaller"
                if close
                else None
            )

        tell(id(self), words, int((apart <= self.margin_bound).sum()), apart.size)


def from_onnx(
    model: Any,
    *,
    bound: float | tuple[float, float] | None = None,
    sample: Any = None,
    shape: Sequence[int] | None = None,
    output: str | None = None,
    labels: Sequence[Any] | None = None,
    bits: int = 24,
    weight_bits: int | None = None,
    tolerance: float | None = None,
) -> Network:
    """Makes a network from an ONNX file into a model that computes on secret inputs.

    `quorate models` lists the operators. Weights stay secret; `print(model.shape)` shows what is public. Scales are
    chosen for each layer so that nothing wraps, which is proven from the bound on inputs and from the weights.

    Args:
        model: a path, or an `onnx.ModelProto`. It has one input of float32 or float64, whose first axis is the batch;
            or of int32 or int64, where these are numbers of rows in tables, as of tokens.
        bound: the largest magnitude of the inputs, or (lowest, highest). Public. Of numbers of rows tables say it.
        sample: inputs like those to come. Without a bound, others may reach twice the largest magnitude there. Where
            much more is proven of a layer than the sample reaches, its results are clipped to a power of two at or
            above four times that: networks of many layers need it, and those with layer normalisations, of which the
            error is proven for lines that deviate at least a quarter as much as the least of the sample. The power of
            two is public, the sample is not.
        shape: of one input, without the batch, where the file leaves sizes open.
        output: the name of the value to compute, where the model has several outputs.
        labels: of the outputs along the last axis: `predict` then gives the label of the largest one. Public.
        bits: that inputs and results of layers have, 8 to 30. Fewer cost less and are less precise.
        weight_bits: those of weights, 6 to 30; as many as `bits` where nothing is said.
        tolerance: refuse the model if its `error_bound` is larger.

    Raises:
        ModelError: the file cannot be read, one or more of its nodes are not supported (all are named), or nothing
            bounds its layers.

    Example:
        >>> import onnx, numpy as np, quorate as qr
        >>> from onnx import helper, numpy_helper
        >>> w = numpy_helper.from_array(np.array([[1.0, -1.0], [0.5, 2.0]], np.float32), "w")
        >>> value = helper.make_tensor_value_info
        >>> graph = helper.make_graph(
        ...     [helper.make_node("MatMul", ["x", "w"], ["y"])], "net",
        ...     [value("x", 1, ["batch", 2])], [value("y", 1, ["batch", 2])], [w])
        >>> model = qr.models.from_onnx(helper.make_model(graph), bound=1.0)
        >>> with qr.local("rss") as mpc:
        ...     print(model.predict(mpc, [[1.0, 0.5]]).round(4))
        [[1.25 0.  ]]
    """
    bits = _between("bits", bits, 8, 30)
    width = bits if weight_bits is None else _between("weight_bits", weight_bits, 6, 30)
    source = read(model, shape, output)
    sizes = source.sizes[1:]
    known = None if source.is_index else _limits(bound, sample, sizes)
    steps, place = simplified(*lower(source, OPERATORS))
    if place != len(steps) or not steps:
        raise ModelError("from_onnx: the output is the input itself: there is nothing to compute")
    limits = _rows(bound, sample, steps, sizes) if known is None else known
    met = _reached(steps, sample), _spreads(steps, sample)
    made = scaled(steps, sizes, limits, bits, width, labels, *met)
    if tolerance is not None and made.error_bound > tolerance:
        raise ModelError(
            f"from_onnx: outputs are within {made.error_bound:.3g} of the clear network's, more than the tolerance "
            f"{tolerance:.3g}: state {_finer(source.is_index).rstrip(',')}"
        )
    _warn_of(made.error_bound, steps, limits, sizes)
    return made


def _finer(by_tables: bool) -> str:
    """What makes errors smaller; of numbers of rows there is no bound to state."""
    return "more bits= and weight_bits=" + ("" if by_tables else ", or a smaller bound= of the inputs,")


def _between(name: str, value: Any, low: int, high: int) -> int:
    try:
        found = operator.index(value)
    except TypeError:
        found = low - 1
    if not low <= found <= high:
        raise ModelError(f"from_onnx: {name}={value!r} is no whole number between {low} and {high}")
    return found


def scaled(
    steps: Sequence[Step],
    sizes: Sequence[int],
    limits: tuple[float, float] | Rows,
    bits: int,
    weight_bits: int,
    labels: Sequence[Any] | None = None,
    reached: Sequence[float] | None = None,
    spreads: Mapping[int, float] | None = None,
) -> Network:
    """The network of such steps, whose last one makes its outputs, with scales chosen for inputs between `limits`.

    Or for inputs that are numbers of rows, for each element of so many.
    """
    _check_finite(steps)
    planner = Planner(bits, weight_bits, reached, spreads or {})
    zeros, known_rows = np.zeros((1, *sizes)), None
    if isinstance(limits, np.ndarray):
        rows = limits.ravel().tolist()
        known_rows = rows[0] if min(rows) == max(rows) else tuple(rows)
        low, high = 0.0, float(max(rows) - 1)
        given = Tracked(zeros, zeros + limits - 1, zeros, 0, 0, math.inf)
    else:
        low, high = limits
        unit = bits - exponent_above(max(abs(low), abs(high)))
        given = Tracked(zeros + low, zeros + high, zeros + 2.0 ** (-unit - 1), unit, 0, math.inf)
    last = planner.plan(steps, given)
    decides, error = last.place, float(last.error.max())
    margin = 2 * error
    if labels is not None and steps[-1].kind == "softmax" and steps[-1].attrs == {"axis": -1}:
        before = steps[-1].inputs[0]
        if before:
            decides, margin = planner.rows[before - 1][1], 2 * planner.errors[before - 1]
    if labels is not None and len(labels) != last.low.shape[-1]:
        raise ModelError(f"from_onnx: {len(labels)} labels for outputs of shape {last.low.shape[1:]}")
    known = None if labels is None else tuple(np.asarray(labels).tolist())
    public = NetworkShape(
        tuple(sizes),
        low,
        high,
        bits,
        tuple(planner.steps),
        last.place,
        decides,
        last.unit,
        known,
        planner.ring,
        known_rows,
    )
    return Network(public, error, margin, planner.secrets, steps, planner.rows, planner.errors)


def _limits(bound: Any, sample: Any, sizes: tuple[int, ...]) -> tuple[float, float]:
    """Between which numbers inputs lie."""
    if bound is None and sample is None:
        raise ModelError(
            "from_onnx: state how large inputs are, from which every layer's range is proven: bound= their largest "
            "magnitude, or sample= inputs like those to come"
        )
    if sample is not None:
        values = finite_float64(sample, "sample")
        _check_sizes(values, sizes)
        bound = (2 * float(np.abs(values).max()) or 1.0) if bound is None else bound
    ends = finite_float64(bound, "bound").ravel().tolist()
    low, high = (-ends[0], ends[0]) if len(ends) == 1 else ends if len(ends) == 2 else (0.0, 0.0)
    if not low < high:
        raise ModelError(f"from_onnx: bound={bound!r} is no magnitude above 0, nor (lowest, highest)")
    if sample is not None and not low <= values.min() <= values.max() <= high:
        raise ModelError(
            f"from_onnx: sample has numbers from {values.min():g} to {values.max():g}, beyond bound={bound!r}, which "
            "all inputs are held to: state a larger bound, or scale the sample as inputs will be"
        )
    if not 2.0**-100 < max(abs(low), abs(high)) < 2.0**100:
        raise ModelError(f"from_onnx: bound={bound!r} is beyond 2^100 or below its inverse; rescale the inputs")
    return low, high


def _rows(bound: Any, sample: Any, steps: Sequence[Step], sizes: tuple[int, ...]) -> Rows:
    """How many rows there are for each element of inputs that are numbers of rows."""
    rows = rows_of(steps, sizes)
    check_bound(bound, rows)
    if sample is not None:
        _check_sizes(checked(sample, rows, "sample"), sizes)
    return rows


def _check_sizes(sample: Array, sizes: tuple[int, ...]) -> None:
    if sample.ndim != len(sizes) + 1 or sample.shape[1:] != sizes or not len(sample):
        known = ", ".join(map(str, ("batch", *sizes)))
        raise ModelError(f"from_onnx: sample has shape {sample.shape}; inputs are ({known})")


def _reached(steps: Sequence[Step], sample: Any) -> list[float] | None:
    """The largest magnitudes of all arrays in a sample."""
    if sample is None:
        return None
    values = np.asarray(sample, np.float64)
    found: list[float] = [0.0] * (len(steps) + 1)
    for first in range(0, len(values), _PIECE):
        arrays = run_clear(steps, values[first : first + _PIECE])
        found = [max(most, float(np.abs(a).max(initial=0.0))) for most, a in zip(found, arrays, strict=True)]
    return found


def _spreads(steps: Sequence[Step], sample: Any) -> dict[int, float]:
    """The least deviations of lines that are normalised, in a sample, by the steps' numbers."""
    found: dict[int, float] = {}
    places = [number for number, step in enumerate(steps) if step.kind == "normalise"]
    if sample is None or not places:
        return found
    values = np.asarray(sample, np.float64)
    for first in range(0, len(values), _PIECE):
        arrays = run_clear(steps, values[first : first + _PIECE])
        for number in places:
            step = steps[number]
            least = spread(arrays[step.inputs[0]], step.attrs["epsilon"])
            found[number] = min(found.get(number, math.inf), least)
    return found


def _warn_of(error: float, steps: Sequence[Step], limits: tuple[float, float] | Rows, sizes: Sequence[int]) -> None:
    """Says where the proven error is not small beside what outputs are for random inputs."""
    if isinstance(limits, np.ndarray):
        random = drawn(limits, 4)
    else:
        random = np.random.default_rng(0).uniform(*limits, (4, *sizes))
    usual = float(np.abs(run_clear(steps, random)[-1]).max(initial=0.0))
    if error > usual / 16:
        text = (
            f"from_onnx: outputs may be {error:.3g} off the clear network's, as far as that is proven, and those of "
            f"random inputs are at most {usual:.3g}: give sample= inputs like those to come, "
            f"{_finer(isinstance(limits, np.ndarray))}, and look at model.report(X), which measures"
        )
        warnings.warn_explicit(at(text), ModelWarning, *_source.line())


def _check_finite(steps: Sequence[Step]) -> None:
    for step in steps:
        for values in (step.weights, step.offsets):
            if values is not None and not np.isfinite(values).all():
                raise ModelError(
                    f"from_onnx: {step.name} has weights that are not finite; -inf may be added where Softmax follows"
                )
