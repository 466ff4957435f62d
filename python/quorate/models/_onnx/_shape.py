"""What everybody may know of a network, and the program that follows from it."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import numpy as np

import quorate
from quorate._stated import stated
from quorate._tables import text_table
from quorate.errors import ModelError, RangeError, ShapeError
from quorate.models._answers import named
from quorate.models._layers._asked import count_of
from quorate.models._layers._kernels import Array
from quorate.models._numerics import exponent_above, finite_float64
from quorate.models._onnx._indices import Rows, are_looked_up, checked, shared
from quorate.models._onnx._plan import FRACTION, ROOM
from quorate.models._onnx._run import Secrets, Weights, run
from quorate.models._onnx._steps import KINDS, WEIGHTED
from quorate.models._questions import Answer, Asked, Questions


@dataclasses.dataclass(frozen=True)
class NetworkShape(Questions):
    """The public part of a network: all that the parties without the model need, and all that they learn.

    Weights and offsets stay secret. Public are the architecture, constants of one element (factors, slopes, limits),
    and for each layer the powers of two by which its numbers are scaled. `print(shape)` shows all of it.

    Attributes:
        sizes: of one input, without the batch.
        low, high: between which inputs lie.
        bits: that inputs and results of layers have.
        steps: in order; step i makes array i + 1, array 0 is the input.
        output: which array the outputs are.
        decided: which array decides about the label: the outputs, or what a last softmax takes.
        unit: outputs are whole numbers of 2^-unit.
        labels: of the outputs along the last axis, where the network classifies.
        ring: the bits in which all numbers have room.
        table_rows: where inputs are whole numbers by which rows of tables are looked up, how many rows there are: one
            number, or one for each element of an input, in order. None of inputs that are real numbers.
    """

    sizes: tuple[int, ...]
    low: float
    high: float
    bits: int
    steps: tuple[dict[str, Any], ...]
    output: int
    decided: int
    unit: int
    labels: tuple[Any, ...] | None = None
    ring: int = 64
    table_rows: int | tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", tuple(int(n) for n in self.sizes))
        object.__setattr__(self, "steps", tuple(self.steps))
        if self.labels is not None:
            object.__setattr__(self, "labels", tuple(self.labels))
        for place, step in enumerate(self.steps):
            if step.get("kind") not in KINDS or not all(0 <= i <= place for i in step["inputs"]):
                raise ModelError(f"this is not the shape of a network: step {place} is {step}")
        self._check_same()
        self._check_rows()

    def _check_rows(self) -> None:
        """Tables are looked up by whole numbers, which go nowhere else; there is a number of rows for each of them."""
        known: Any = self.table_rows
        count = math.prod(self.sizes)
        if isinstance(known, list):
            object.__setattr__(self, "table_rows", tuple(known))
        listed = list(known) if isinstance(known, (list, tuple)) else [known] * count
        are_counts = len(listed) == count and all(type(n) is int and n > 0 for n in listed)
        if not (known is None or are_counts) or not are_looked_up(self.steps, known is not None):
            raise ModelError(f"this is not the shape of a network: table_rows={known!r} do not go with its steps")

    def _check_same(self) -> None:
        """Steps that say so have the weights of one before, of the same sizes."""
        own: list[dict[str, Any]] = []
        for place, step in enumerate(self.steps):
            if "same" not in step:
                own += [step] if step["kind"] in WEIGHTED else []
                continue
            number = step["same"]
            known = type(number) is int and 0 <= number < len(own) and step["kind"] in WEIGHTED
            known = known and (step["kind"] == "embedding") == (own[number]["kind"] == "embedding")
            if not known or any(step.get(k) != own[number].get(k) for k in ("weights", "offsets", "width")):
                raise ModelError(f"this is not the shape of a network: step {place} has the same={number!r}")

    def describe(self) -> dict[str, Any]:
        """The fields as plain values, which JSON holds; `NetworkShape(**described)` is the same shape."""
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        listed = {k: list(v) if isinstance(v, tuple) else v for k, v in found.items() if v is not None}
        return {**listed, "steps": [dict(step) for step in self.steps]}

    def __str__(self) -> str:
        what = "inputs" if self.table_rows is None else "whole numbers"
        head = f"network of {what} {self.sizes} between {self.low:g} and {self.high:g}, {self.bits} bits of {self.ring}"
        rows = [_row(place, step) for place, step in enumerate(self.steps, 1)]
        return "\n".join([head, *text_table(("", "step", "of", "weights", "public"), rows, 5)])

    @property
    def input_unit(self) -> int:
        """Inputs are kept as whole numbers of 2^-that."""
        if self.table_rows is not None:
            return 0
        return self.bits - exponent_above(max(abs(self.low), abs(self.high)))

    def encode(self, X: Any) -> Array:
        """The units that stand for inputs; raises before anything is sent if they cannot."""
        rows = self._rows()
        values = finite_float64(X, "inputs") if rows is None else checked(X, rows, "inputs")
        if values.ndim != len(self.sizes) + 1 or values.shape[1:] != self.sizes or len(values) == 0:
            sizes = ", ".join(map(str, ("batch", *self.sizes)))
            raise ShapeError(f"inputs have shape {values.shape}; the network takes ({sizes})")
        if rows is not None:
            return values
        beyond = (values < self.low) | (values > self.high)
        if beyond.any():
            place = tuple(int(i) for i in np.argwhere(beyond)[0])
            raise RangeError(
                f"inputs: {values[place]} at index {place}; the network takes numbers between {self.low:g} and "
                f"{self.high:g}: scale them as they were for training, or let the model's owner state a larger bound: "
                "from_onnx(..., bound=)"
            )
        return np.rint(np.ldexp(values, self.input_unit))

    def program(
        self,
        mpc: Any,
        secrets: Secrets | None,
        X: Any,
        rows: int,
        owners: tuple[int, int],
        kept: dict[str, Any] | None = None,
    ) -> list[Any]:
        """All arrays, from the input on; what is secret of the network is put into `kept`, or taken from there."""
        x = self._shared(mpc, None if X is None else self.encode(X), owners[1], (rows, *self.sizes))
        weights = Weights(mpc, secrets, owners[0], {} if kept is None else kept, self.ring)
        return run(mpc, self.steps, weights, x, self.ring)

    def _shared(self, mpc: Any, units: Array | None, owner: int, shape: tuple[int, ...]) -> Any:
        """The inputs as secrets."""
        if self.table_rows is not None:
            return shared(mpc, units, int(np.max(self.table_rows)) - 1, owner, shape)
        x = mpc.input(
            None if units is None else np.ldexp(units, -FRACTION),
            owner=owner,
            shape=shape,
            dtype=quorate.fixed(self.ring, FRACTION),
            bound=math.ldexp(1.0, self.bits - FRACTION),
        )
        return stated(x, self.bits, math.floor(math.ldexp(self.low, self.input_unit)))

    def _rows(self) -> Rows | None:
        """How many rows there are for each element of an input."""
        if self.table_rows is None:
            return None
        return np.broadcast_to(np.asarray(self.table_rows, np.int64), math.prod(self.sizes)).reshape(self.sizes)

    def _made(self, question: str, mpc: Any, asked: Asked) -> Any:
        return program(question, mpc, self, None, asked, self)


def _row(place: int, step: dict[str, Any]) -> tuple[str, ...]:
    private = ("kind", "inputs", "weights", "offsets")
    public = ", ".join(f"{k}={_cut(str(v))}" for k, v in step.items() if k not in private)
    weights = "x".join(map(str, step["weights"])) if step["kind"] in WEIGHTED else ""
    return str(place), step["kind"], ", ".join(map(str, step["inputs"])), weights, public


def _cut(text: str) -> str:
    """As long as a row of a table may be; `describe()` has all of it."""
    return text if len(text) <= 200 else f"{text[:200]} ..."


def program(question: str, mpc: Any, shape: NetworkShape, secrets: Secrets | None, asked: Asked, model: Any) -> Any:
    """A network's and a shape's program, at each party the same, with the values that it has."""
    if question == "predict_proba":
        raise ModelError("a network from ONNX has no predict_proba: decision_function gives its outputs")
    count = count_of(question, "from_onnx", mpc, secrets is not None, asked)
    me, owners = mpc.me, (asked.model_owner, asked.data_owner)
    mine, kept = secrets if me == owners[0] else None, mpc._kept.of(model, asked.model_owner)
    arrays = shape.program(mpc, mine, asked.X if asked.has_records(mpc) else None, count, owners, kept)
    decided, output = arrays[shape.decided], arrays[shape.output]
    if question == "predict" and shape.labels is not None:
        best, labels = decided.argmax(axis=-1), shape.labels
        # Without reveal places in `labels`.
        return Answer((best,), functools.partial(named, labels)) if asked.reveal else best
    up = FRACTION - shape.unit
    if not asked.reveal:
        return _in_units(output, shape.steps[shape.output - 1]["bits"], up)
    return Answer((output,), lambda made: np.ldexp(made, up))


def _in_units(x: Any, bits: int, up: int) -> Any:
    """The same numbers in `qr.fixed(64, 16)`, of an array of so many bits that stands for 2**up times as much."""
    dtype = quorate.fixed(64, FRACTION)
    if bits + up > dtype.bits - 2:
        raise ModelError(
            f"reveal=False gives {dtype}, and outputs may be as large as 2^{bits + up - FRACTION}: reveal them, or "
            "let the network divide them"
        )
    if up >= 0:
        return x.astype(dtype) * (1 << up)
    whole = bits + max(FRACTION + up, 0) + ROOM  # of the multiple before it is cut: the network's ring may be smaller
    wide = x if whole <= x.dtype.bits else x.astype(quorate.fixed(max(whole, 64), FRACTION))
    return (wide * 2.0**up).astype(dtype)
