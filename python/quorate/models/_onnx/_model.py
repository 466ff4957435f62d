"""A network from an ONNX file: its public shape and its secret weights."""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import quorate
from quorate._families import DEFAULT
from quorate.errors import ModelError
from quorate.models._answer_warnings import tell
from quorate.models._layers._kernels import Array
from quorate.models._layers._report import Report, compared
from quorate.models._ml import Stated
from quorate.models._numerics import as_float64, finite_float64
from quorate.models._onnx._file_inputs import Entry
from quorate.models._onnx._files import File, opened
from quorate.models._onnx._indices import Rows, check_bound, checked, drawn, rows_of
from quorate.models._onnx._inputs import Input, listed
from quorate.models._onnx._lower import lower
from quorate.models._onnx._measured_errors import BEYOND, Measured, warn_of
from quorate.models._onnx._normalise import spread
from quorate.models._onnx._operators_reals import OPERATORS
from quorate.models._onnx._plan import Planner, Tracked
from quorate.models._onnx._read import read
from quorate.models._onnx._reals import LEAST, reached_least
from quorate.models._onnx._run import Secrets
from quorate.models._onnx._shape import NetworkShape, program
from quorate.models._onnx._simplify import simplified
from quorate.models._onnx._steps import Step, run_clear
from quorate.models._questions import Asked, Questions
from quorate.models._quotes import short
from quorate.models._records import records_of

_PIECE = 16  # inputs that a report computes at a time
_BITS = 24  # default bits of inputs and results


@dataclasses.dataclass(frozen=True, repr=False)
class Network(Questions):
    """A network with a public shape and secret weights, as `from_onnx` returns it.

    `predict` returns labels if the network was imported with `labels=`, and otherwise its outputs, which
    `decision_function` always returns. `Network.shape` is for the other parties, who call the same methods on it.

    Attributes:
        shape: what the other parties may know; give it to them.
        error_bound: a proven bound on the distance of outputs from the clear network's, computed without rounding. The
            proof uses the bound on inputs and the weights, and holds for all inputs within the bound. If layers are
            clipped (`sample=`), it holds for inputs that reach no limit. Behind a layer normalisation with `sample=`,
            it holds for inputs whose lines have at least a quarter of the smallest deviation in the sample. It stays
            with the model's owner.
        margin_bound: labels equal the clear network's for every input whose two largest outputs (before a last softmax)
            are further apart than this.
    """

    shape: NetworkShape
    error_bound: float
    margin_bound: float
    _secrets: Secrets
    _steps: Sequence[Step]
    _rows: Sequence[tuple[str, int, int]]
    _errors: Sequence[float]
    _ends: Sequence[int]
    """The places of the outputs among the clear arrays."""
    _measured: Measured | None = None
    """The errors measured on a sample, if the proven bounds are large."""

    def __repr__(self) -> str:
        return f"Network(inputs {self.shape.sizes}, {len(self.shape.steps)} steps)"

    def predict_clear(self, X: Any) -> Any:
        """Runs the clear network in double precision; returns labels, or outputs if there are no labels."""
        arrays = self._clear(X)
        if self.shape.outputs:
            return {made["name"]: arrays[end] for made, end in zip(self.shape.outputs, self._ends, strict=True)}
        if self.shape.labels is None:
            return arrays[self._ends[0]]
        return np.asarray(self.shape.labels)[self._deciding(arrays).argmax(axis=-1)]

    def report(self, X: Any, protocol: str = DEFAULT, **options: Any) -> Report:
        """Computes these inputs with the protocol in a local session, and compares with the clear network.

        It is for the model's owner, with inputs of its own: nothing leaves this process.

        Args:
            X: inputs.
            protocol: the protocol, as for `qr.local`.
            options: other options of `qr.local`.

        Returns:
            The share of inputs whose largest output agrees, and the largest error of the outputs and of each layer.
        """
        ours: list[list[Array]] = []
        clear: list[list[Array]] = []
        given = self._given(X)
        for first in range(0, len(given[0]), _PIECE):
            piece = [values[first : first + _PIECE] for values in given]
            with quorate.local(protocol, **{"check": False, **options}) as mpc:
                arrays = self.shape.program(mpc, self._secrets, piece, len(piece[0]), (0, 1))
                shown = mpc.reveal_all(*(arrays[place] for _, place, _ in self._rows), units=True)
            units = (unit for _, _, unit in self._rows)
            ours.append([np.ldexp(a.astype(np.float64), -unit) for a, unit in zip(shown, units, strict=True)])
            clear.append(run_clear(self._steps, piece)[1:])
        outputs = [end - 1 for end in self._ends]
        return compared(ours, clear, [name for name, _, _ in self._rows], list(self._errors), outputs)

    def _given(self, X: Any) -> list[Array]:
        """Returns the checked numbers of each input."""
        found = listed(X, self.shape.all_inputs)
        for one, values in zip(self.shape.all_inputs, found, strict=True):
            if values is None:
                raise ModelError(f"X gives nothing for {one.what}")
            one.encode(values)
        records_of(X)
        return [np.asarray(values, np.float64) for values in found]

    def _clear(self, X: Any) -> list[Array]:
        return run_clear(self._steps, self._given(X))

    def _deciding(self, arrays: list[Array]) -> Array:
        """Returns the array that labels follow from."""
        end = self._ends[0]
        return arrays[end] if self.shape.decided == self.shape.output else arrays[self._steps[end - 1].inputs[0]]

    def _made(self, question: str, mpc: Any, asked: Asked) -> Any:
        return program(question, mpc, self.shape, self._secrets, asked, self)

    def _tell_how_far(self, question: str, mpc: Any, asked: Asked) -> None:
        if question == "predict" and self.shape.labels is not None and mpc.is_local:
            self._name_ties(asked.X)

    def _name_ties(self, X: Any) -> None:
        """Warns how many labels may differ from those in the clear; for local sessions, which have all values."""
        outputs = self._deciding(self._clear(X))
        if outputs.shape[-1] == 1:  # with one label there are no ties
            return
        what = "inputs" if outputs.ndim == 2 else "labels"
        largest = np.sort(outputs, axis=-1)[..., -2:]
        apart = largest[..., 1] - largest[..., 0]
        found = self._measured
        near = self.margin_bound if found is None else min(self.margin_bound, 2 * BEYOND * found.deciding)
        why = "the margin" if found is None else f"{BEYOND} times what was measured on the sample"

        def words(close: int, answers: int) -> str | None:
            return (
                f"predict: the two largest outputs of {close} of {answers} {what} are no further apart than "
                f"{near:.3g}, {why}, within which labels may differ from the clear network's; "
                f"it becomes smaller with {_finer(self.shape.table_rows is not None)}"
                if close
                else None
            )

        tell(id(self), words, int((apart <= near).sum()), apart.size)


def from_onnx(
    model: Any,
    *,
    bound: Any = None,
    sample: Any = None,
    shape: Any = None,
    output: str | Sequence[str] | None = None,
    inputs: Mapping[str, Any] | None = None,
    labels: Sequence[Any] | None = None,
    bits: int | None = None,
    weight_bits: int | None = None,
    tolerance: float | None = None,
) -> Any:
    """Makes a network from an ONNX file into a model that computes on secret inputs.

    A file of scikit-learn's converter (`skl2onnx`) with trees, linear models or SVMs becomes a `Model`, as
    `from_sklearn` makes it of such estimators. A network of onnxruntime's static quantisation becomes a
    `QuantisedNetwork`; its `decision_function` returns the arguments of a last softmax, not its shares. Options that do
    nothing for such a file are refused.

    `quorate models` lists the operators. Weights stay secret; `print(model.shape)` shows what is public. Scales are
    chosen for each layer so that nothing wraps, which is proven from the bound on inputs and from the weights.

    Args:
        model: a path, or an `onnx.ModelProto`. Its inputs are float32 or float64, with the batch as the first axis of
            the first input. They may be int32 or int64 if they are row numbers of tables, as tokens are. For several
            inputs, `predict` and the like take a dictionary by name, each with the batch as its first axis.
        bound: the largest magnitude of the inputs, or (lowest, highest). It is public. Row numbers of tables need none.
            For several inputs: one for all, or a dictionary; the same holds for `sample` and `shape`.
        sample: inputs like those to come. Without a bound, other inputs may reach twice the largest magnitude there. If
            the proven range of a layer is far larger than the sample's, its results are clipped to a power of two at or
            above four times the sample's. Networks of many layers or with layer normalisations need a sample. The error
            of a normalisation is proven for lines that have at least a quarter of the smallest deviation in the sample.
            The power of two is public, the sample is not.
        shape: for one input, its shape without the batch, if the file leaves sizes open.
        output: the name of the value to compute, if the model has several outputs; or a list of names, for which
            `predict` and the like return a dictionary.
        inputs: the role of each input, by name: "secret" (the default), "public" if all parties give them, or an array
            of constants, which become a part of the model. Some constants are public in `model.shape`, whether they are
            given here or stand in the file: factors and limits of one element, indices of elements that are taken,
            sizes, choices of branches, and positions that masks hide.
        labels: the labels of the outputs along the last axis: `predict` then returns the label of the largest one. They
            are public.
        bits: the bits of inputs and of the layers' results, 8 to 30; by default 24. Fewer cost less and are less
            precise.
        weight_bits: the bits of weights, 6 to 30; by default `bits`.
        tolerance: if given, a model whose `error_bound` is larger is refused.

    Raises:
        ModelError: the file cannot be read, one or more of its nodes are not supported (all are named), nothing bounds
            its layers, or an option does nothing for a file of its kind.

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
    file = opened(model, Stated(bound, sample, labels, output, shape, inputs, bits, weight_bits, tolerance))
    if not isinstance(file, File):
        return _within(file, tolerance)
    model, output, labels = file.proto, file.output, file.labels
    bits = _BITS if bits is None else _between("bits", bits, 8, 30)
    width = bits if weight_bits is None else _between("weight_bits", weight_bits, 6, 30)
    source = read(model, shape, output, inputs)
    names, entries = [entry.name for entry in source.entries], source.entries
    bounds, samples = _by_name("bound", bound, names), _by_name("sample", sample, names)
    _check_samples(samples, names)
    limits: list[tuple[float, float] | Rows] = []
    for entry, stated_bound, values in zip(entries, bounds, samples, strict=True):
        limits.append(_limits(stated_bound, values, entry.sizes[1:]) if not entry.is_index else np.zeros(0, np.int64))
    steps, places = simplified(*lower(source, OPERATORS))
    if 0 in places or any(steps[place - 1].kind == "input" for place in places):
        raise ModelError("from_onnx: the output is the input itself: there is nothing to compute")
    used = _renumbered(steps)
    entries, limits = [entries[i] for i in used], [limits[i] for i in used]
    bounds, samples = [bounds[i] for i in used], [samples[i] for i in used]
    _rows(limits, entries, bounds, samples, steps, isinstance(bound, Mapping))
    met = _met(steps, samples)
    asked = None if output is None or isinstance(output, str) else source.outputs
    made = _scaled(steps, places, entries, limits, (bits, width), labels, met, asked)
    if tolerance is not None and made.error_bound > tolerance:
        raise ModelError(
            f"from_onnx: outputs are within {made.error_bound:.3g} of the clear network's, more than the tolerance "
            f"{tolerance:.3g}: state {_finer(entries[0].is_index)}"
        )
    finer = _finer(entries[0].is_index)
    return dataclasses.replace(made, _measured=warn_of(made, _random(limits, entries), _whole(samples), finer))


def _whole(samples: Sequence[Any]) -> list[Array] | None:
    """Returns the samples of all inputs; None if one is missing."""
    return None if any(values is None for values in samples) else [np.asarray(v, np.float64) for v in samples]


def _renumbered(steps: Sequence[Step]) -> list[int]:
    """Renumbers the inputs that steps use, and returns their former numbers; the first input stays."""
    used = [0, *sorted(step.attrs["number"] for step in steps if step.kind == "input")]
    for step in steps:
        if step.kind == "input":
            step.attrs = {"number": used.index(step.attrs["number"])}
    return used


def _within(made: Any, tolerance: float | None) -> Any:
    """Returns a model that is no network of real numbers; refuses it if its margin exceeds the tolerance."""
    margin = float(getattr(made, "margin_bound", 0.0))
    if tolerance is not None and margin > tolerance:
        raise ModelError(
            f"from_onnx: the margin is {margin:.3g}, more than the tolerance {tolerance:.3g}: such files "
            "compute in float32; of linear models a smaller bound=, or "
            "sample= records like those to come, makes it smaller"
        )
    return made


def _finer(by_tables: bool) -> str:
    """Returns what makes errors smaller; row numbers have no bound to state."""
    return "more bits= and weight_bits=" + ("" if by_tables else ", or a smaller bound= of the inputs")


def _between(name: str, value: Any, low: int, high: int) -> int:
    try:
        found = operator.index(value)
    except TypeError:
        found = low - 1
    if not low <= found <= high:
        raise ModelError(f"from_onnx: {name}={short(value)} is no whole number between {low} and {high}")
    return found


def scaled(
    steps: Sequence[Step],
    sizes: Sequence[int],
    limits: tuple[float, float],
    bits: int,
    weight_bits: int,
    labels: Sequence[Any] | None = None,
    reached: Sequence[float] | None = None,
    spreads: Mapping[int, float] | None = None,
) -> Network:
    """Returns the network of these steps, whose last one is the output, with scales for inputs within `limits`."""
    entries, widths = [Entry("", (1, *sizes))], (bits, weight_bits)
    return _scaled(steps, [len(steps)], entries, [limits], widths, labels, (reached, spreads or {}))


def _scaled(
    steps: Sequence[Step],
    ends: Sequence[int],
    entries: Sequence[Entry],
    limits: Sequence[tuple[float, float] | Rows],
    widths: tuple[int, int],
    labels: Sequence[Any] | None = None,
    met: tuple[Sequence[float] | None, Mapping[int, float]] = (None, {}),
    asked: Sequence[str] | None = None,
) -> Network:
    """Returns the network of these steps, with scales chosen for inputs within `limits`.

    Args:
        steps: the steps of the network.
        ends: the places of its outputs.
        entries: its inputs.
        limits: for each input, the numbers between which it lies, or for each element the number of rows.
        widths: bits of results, and of weights.
        labels: as for `from_onnx`.
        met: the largest magnitudes, and the least deviations, in a sample.
        asked: the names of the outputs, if a list of them was given.
    """
    _check_finite(steps)
    bits = widths[0]
    planner = Planner(*widths, *met)
    inputs = [_input(entry, of, bits) for entry, of in zip(entries, limits, strict=True)]
    tracked = [_tracked(one, of) for one, of in zip(inputs, limits, strict=True)]
    arrays = planner.plan(steps, tracked)
    last, final = arrays[ends[0]], steps[ends[0] - 1]
    decides, error = last.place, max(float(arrays[end].error.max()) for end in ends)
    margin = 2 * float(last.error.max())
    if labels is not None and final.kind == "softmax" and final.attrs == {"axis": -1}:
        before = final.inputs[0]
        if before:
            decides, margin = planner.rows[before - 1][1], 2 * planner.errors[before - 1]
    if labels is not None and asked is not None:
        raise ModelError("from_onnx: labels= are of one output: name it, output=..., a name and no list")
    if labels is not None and len(labels) != last.low.shape[-1]:
        raise ModelError(f"from_onnx: {len(labels)} labels for outputs of shape {last.low.shape[1:]}")
    public = NetworkShape(
        inputs[0].sizes,
        inputs[0].low,
        inputs[0].high,
        bits,
        tuple(planner.steps),
        last.place,
        decides,
        last.unit,
        None if labels is None else tuple(np.asarray(labels).tolist()),
        planner.ring,
        inputs[0].table_rows,
        inputs[0].name,
        tuple(one.describe() for one in inputs[1:]),
        tuple(_output(name, arrays[end]) for name, end in zip(asked or (), ends, strict=asked is not None)),
    )
    return Network(public, error, margin, planner.secrets, steps, planner.rows, planner.errors, ends)


def _input(entry: Entry, limits: tuple[float, float] | Rows, bits: int) -> Input:
    name, sizes = entry.name if entry.is_named else "", entry.sizes[1:]
    if isinstance(limits, tuple):
        return Input(sizes, *limits, bits, None, name, entry.is_public)
    rows = limits.ravel().tolist()
    known_rows = rows[0] if min(rows) == max(rows) else tuple(rows)
    return Input(sizes, 0.0, float(max(rows) - 1), bits, known_rows, name, entry.is_public)


def _tracked(one: Input, limits: tuple[float, float] | Rows) -> Tracked:
    """Returns the bounds of an input."""
    zeros = np.zeros((1, *one.sizes))
    if not isinstance(limits, tuple):
        return Tracked(zeros, zeros + limits - 1, zeros, 0, 0, math.inf)
    return Tracked(zeros + one.low, zeros + one.high, zeros + 2.0 ** (-one.unit - 1), one.unit, 0, math.inf)


def _output(name: str, made: Tracked) -> dict[str, Any]:
    return {"name": name, "output": made.place, "unit": made.unit}


def _by_name(what: str, given: Any, names: Sequence[str]) -> list[Any]:
    """Returns the option for each input: one value for all, or that of a dictionary."""
    if isinstance(given, Mapping):
        wrong = [name for name in given if name not in names]
        if wrong:
            raise ModelError(f"from_onnx: {what}= names {wrong[0]!r}; the inputs are {', '.join(map(repr, names))}")
        return [given.get(name) for name in names]
    if what == "sample" and given is not None and len(names) > 1:
        raise ModelError(
            f"from_onnx: sample= of several inputs is a dictionary of arrays by name, of {', '.join(map(repr, names))}"
        )
    return [given] * len(names)


def _check_samples(samples: Sequence[Any], names: Sequence[str]) -> None:
    """Checks that there are samples of all inputs, or of none."""
    missing = [name for name, values in zip(names, samples, strict=True) if values is None]
    counts = {records_of(as_float64(values, "sample")) for values in samples if values is not None}
    if len(missing) < len(names) and (missing or len(counts) != 1):
        raise ModelError(
            f"from_onnx: sample= gives {'nothing for ' + repr(missing[0]) if missing else 'other numbers of records'}: "
            "give the same number of records for each input"
        )


def _met(steps: Sequence[Step], samples: Sequence[Any]) -> tuple[list[float] | None, dict[int, float]]:
    """Returns the largest magnitudes of all arrays in a sample, and the least deviations and divisors."""
    given = None if samples[0] is None else [np.asarray(values, np.float64) for values in samples]
    return _reached(steps, given), _spreads(steps, given)


def _limits(bound: Any, sample: Any, sizes: tuple[int, ...]) -> tuple[float, float]:
    """Returns the numbers between which inputs lie."""
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
        raise ModelError(f"from_onnx: bound={short(bound)} is no magnitude above 0, nor (lowest, highest)")
    if sample is not None and not low <= values.min() <= values.max() <= high:
        raise ModelError(
            f"from_onnx: sample has numbers from {values.min():g} to {values.max():g}, beyond bound={short(bound)}, "
            "which all inputs are held to: state a larger bound, or scale the sample as inputs will be"
        )
    if not 2.0**-100 < max(abs(low), abs(high)) < 2.0**100:
        raise ModelError(f"from_onnx: bound={short(bound)} is beyond 2^100 or below its inverse; rescale the inputs")
    return low, high


def _rows(
    limits: list[tuple[float, float] | Rows],
    entries: Sequence[Entry],
    bounds: Sequence[Any],
    samples: Sequence[Any],
    steps: Sequence[Step],
    is_named: bool,
) -> None:
    """Finds the number of rows for each element of inputs that are row numbers."""
    found = rows_of(steps, {number: entry.sizes[1:] for number, entry in enumerate(entries) if entry.is_index})
    for number, rows in found.items():
        limits[number] = rows
        if len(entries) == 1 or is_named:
            check_bound(bounds[number], rows)
        if samples[number] is not None:
            _check_sizes(checked(samples[number], rows, "sample"), entries[number].sizes[1:])


def _check_sizes(sample: Array, sizes: Sequence[int]) -> None:
    if sample.ndim != len(sizes) + 1 or sample.shape[1:] != sizes or not len(sample):
        known = ", ".join(map(str, ("batch", *sizes)))
        raise ModelError(f"from_onnx: sample has shape {sample.shape}; inputs are ({known})")


def _reached(steps: Sequence[Step], sample: Sequence[Array] | None) -> list[float] | None:
    """Returns the largest magnitudes of all arrays in a sample."""
    if sample is None:
        return None
    found: list[float] = [0.0] * (len(steps) + 1)
    for first in range(0, len(sample[0]), _PIECE):
        with np.errstate(all="ignore"):  # planning refuses a division by 0
            arrays = run_clear(steps, [values[first : first + _PIECE] for values in sample])
        found = [max(most, float(np.abs(a).max(initial=0.0))) for most, a in zip(found, arrays, strict=True)]
    return found


def _spreads(steps: Sequence[Step], sample: Sequence[Array] | None) -> dict[int, float]:
    """Returns the least deviations of normalised lines, and the least divisors, in a sample, by the steps' numbers."""
    found: dict[int, float] = {}
    places = [number for number, step in enumerate(steps) if step.kind in ("normalise", *LEAST)]
    if sample is None or not places:
        return found
    for first in range(0, len(sample[0]), _PIECE):
        with np.errstate(all="ignore"):  # planning refuses a division by 0
            arrays = run_clear(steps, [values[first : first + _PIECE] for values in sample])
        for number in places:
            step = steps[number]
            given = [arrays[i] for i in step.inputs]
            is_lines = step.kind == "normalise"
            least = spread(given[0], step.attrs["epsilon"]) if is_lines else reached_least(step.kind, given)
            found[number] = min(found.get(number, math.inf), least)
    return found


def _random(limits: Sequence[tuple[float, float] | Rows], entries: Sequence[Entry]) -> list[Array]:
    """Returns four random inputs within the limits."""
    return [
        drawn(of, 4)
        if isinstance(of, np.ndarray)
        else np.random.default_rng(number).uniform(*of, (4, *entry.sizes[1:]))
        for number, (of, entry) in enumerate(zip(limits, entries, strict=True))
    ]


def _check_finite(steps: Sequence[Step]) -> None:
    for step in steps:
        for values in (step.weights, step.offsets):
            if values is not None and not np.isfinite(values).all():
                raise ModelError(
                    f"from_onnx: {step.name} has weights that are not finite; -inf may be added where Softmax follows"
                )
