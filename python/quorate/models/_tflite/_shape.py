"""The public part of a quantised network, and the program that follows from it."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Any

import numpy as np

import quorate
from quorate._arrays._proven_ranges import between
from quorate._display._text_tables import text_table
from quorate.errors import ModelError, RangeError, ShapeError
from quorate.models._answers import named
from quorate.models._layers._argument_checks import count_of
from quorate.models._layers._pictures import Pictures
from quorate.models._numerics import finite_float64
from quorate.models._questions import Answer, Asked, Questions
from quorate.models._tflite._kernels import Integers
from quorate.models._tflite._layers import KINDS, SCALED
from quorate.models._tflite._plan import Plan
from quorate.models._tflite._run import Owned, run

MODES = ("exact", "paper")


@dataclasses.dataclass(frozen=True)
class QuantisedShape(Questions):
    """The public part of a quantised network: all that the parties without the model need, and all that they learn.

    Weights, offsets, zero points, scales and the limits of activations stay secret. Public are the architecture, and
    for each layer the bits of its sums and the power of two by which they are divided. `print(shape)` shows all.

    Attributes:
        sizes: the sizes of one input, without the batch: (rows, columns, channels) or (numbers,).
        type: the type of inputs, "uint8" or "int8".
        mode: "exact" or "paper".
        steps: the steps in order. Each takes the result of the one before, or the arrays of `inputs`: 0 is the input,
            and step i makes array i + 1.
        outputs: the sizes of one output.
        labels: the labels of the outputs along the last axis, if there are any.
        channels: the place of images' channels: "last", as in TFLite's files, or "first", as in ONNX's.
        given: for inputs that are real numbers, the scale and the zero point by which their owner quantises them to 8
            bits; None if inputs are 8-bit numbers.
        real: for outputs that are real numbers, the scale and the zero point by which they follow from the 8-bit
            numbers that are revealed.

    Example:
        >>> import numpy as np, quorate as qr
        >>> shape = qr.models.QuantisedShape((1, 2, 3), "uint8", "exact", ({"kind": "reshape", "shape": [6]},), (6,))
        >>> print(shape)
        quantised network, exact, of uint8 inputs (1, 2, 3)
           step     weights  public
        1  reshape           shape=[6]
    """

    sizes: tuple[int, ...]
    type: str
    mode: str
    steps: tuple[dict[str, Any], ...]
    outputs: tuple[int, ...]
    labels: tuple[Any, ...] | None = None
    channels: str = "last"
    given: tuple[float, int] | None = None
    real: tuple[float, int] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", tuple(int(n) for n in self.sizes))
        object.__setattr__(self, "outputs", tuple(int(n) for n in self.outputs))
        object.__setattr__(self, "steps", tuple(self.steps))
        if self.labels is not None:
            object.__setattr__(self, "labels", tuple(self.labels))
        for name in ("given", "real"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, tuple(getattr(self, name)))
        known = (
            self.mode in MODES
            and self.channels in ("first", "last")
            and self.type in ("uint8", "int8")
            and len(self.sizes) in (1, 3)
        )
        if not known or any(not _is_step(place, step) for place, step in enumerate(self.steps)):
            raise ModelError("this is not the shape of a quantised network")

    def describe(self) -> dict[str, Any]:
        """Returns the fields as plain values, for JSON; `QuantisedShape(**described)` is the same shape."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {**fields, "steps": [dict(step) for step in self.steps]}

    def __str__(self) -> str:
        head = f"quantised network, {self.mode}, of {self.type} inputs {self.sizes}"
        rows = [_row(place, step) for place, step in enumerate(self.steps, 1)]
        return "\n".join([head, *text_table(("", "step", "weights", "public"), rows, 4)])

    def encode(self, X: Any) -> Integers:
        """Returns inputs as numbers from 0 to 255, channels first. Others raise an error before anything is sent."""
        values = np.asarray(X)
        if values.ndim != len(self.sizes) + 1 or values.shape[1:] != self.sizes or len(values) == 0:
            sizes = ", ".join(map(str, self.sizes))
            raise ShapeError(f"inputs have shape {values.shape}; the network takes (batch, {sizes})")
        low = 0 if self.type == "uint8" else -128
        if self.given is not None:
            values = quantised(finite_float64(values, "inputs"), self.given, low)
        if values.dtype.kind not in "iu":
            raise RangeError(f"inputs are {values.dtype}; the network takes whole numbers, {self.type}")
        whole = values.astype(np.int64)
        beyond = (values < low) | (values > low + 255)
        if beyond.any():
            place = tuple(int(i) for i in np.argwhere(beyond)[0])
            raise RangeError(
                f"inputs: {values[place]} at index {place}; the network takes {self.type}, {low} to {low + 255}"
            )
        whole -= low
        return whole.transpose(0, 3, 1, 2) if whole.ndim == 4 and self.channels == "last" else whole

    def program(self, mpc: Any, owned: Owned, X: Any, rows: int, owner: int) -> list[Any]:
        """Builds the program, and returns its arrays: the input, then the result of each step.

        From each array its base is subtracted, a number that only the model's owner has.
        """
        turned = len(self.sizes) == 3 and self.channels == "last"
        sizes = (self.sizes[2], *self.sizes[:2]) if turned else self.sizes
        first = next((step["wide"] if "wide" in step else step["ring"] for step in self.steps if "ring" in step), 10)
        given = None if X is None else self.encode(X)
        x = mpc.input(given, owner=owner, shape=(rows, *sizes), dtype=quorate.int(first), bound=255)
        return run(mpc, self.mode, self.steps, owned, between(x, 0, 255))

    def as_given(self, values: Any) -> Any:
        """Returns a secret or public array with its channels on the axis where the file has them."""
        return values.transpose(0, 2, 3, 1) if values.ndim == 4 and self.channels == "last" else values

    def as_outputs(self, values: Any) -> Any:
        """Returns the file's outputs from its last 8-bit numbers."""
        found = self.as_given(values)
        if self.real is None:
            return found
        scale, zero = self.real
        return ((found - zero).astype(np.float32) * np.float32(scale)).astype(np.float64)

    def _pictures(self, paths: list[Path]) -> Any:
        return Pictures(paths, self.sizes, self.type)

    def _made(self, question: str, mpc: Any, asked: Asked) -> Any:
        return program(question, mpc, self, self, asked, None)


def quantised(values: Any, by: tuple[float, int], low: int) -> Integers:
    """Quantises float32 numbers as ONNX's `QuantizeLinear`: to 8-bit ones from `low` on, halves to the even number."""
    units = np.rint(values.astype(np.float32) / np.float32(by[0]))
    return np.clip(units.astype(np.float64) + by[1], low, low + 255).astype(np.int64)


def _is_step(place: int, step: dict[str, Any]) -> bool:
    inputs = step.get("inputs", [place])
    return (
        step.get("kind") in KINDS
        and len(inputs) == 1 + (step["kind"] == "add")
        and min(inputs) >= 0
        and max(inputs) <= place
    )


def _row(place: int, step: dict[str, Any]) -> tuple[str, ...]:
    private = ("kind", "weights", "times") + (("inputs",) if step.get("inputs") == [place - 1] else ())
    public = ", ".join(f"{key}={value}" for key, value in step.items() if key not in private)
    return str(place), step["kind"], "x".join(map(str, step["weights"])) if step["kind"] in SCALED else "", public


def program(question: str, mpc: Any, model: Any, shape: QuantisedShape, asked: Asked, plan: Plan | None) -> Any:
    """Builds a question's program, the same at each party, with the values that this party has."""
    if not asked.reveal and question != "predict":
        raise ModelError(f"{question} of a network reveals its outputs: reveal=False is for predict")
    if question == "predict_proba":
        raise ModelError("a network from TFLite has no predict_proba: decision_function gives its outputs")
    count = count_of(question, "from_tflite", mpc, plan is not None, asked)
    owned = Owned(mpc, model, plan if mpc.me == asked.model_owner else None, asked.model_owner)
    given = asked.X if asked.has_records(mpc) else None
    made = shape.program(mpc, owned, given, count, asked.data_owner)[-1]
    if question == "predict":
        best = made.argmax(axis=-1) if made.ndim == 2 else shape.as_given(made).reshape(count, -1).argmax(axis=-1)
        if not asked.reveal:
            return best  # places in `labels`
        return Answer((best,), functools.partial(_named, shape.labels))
    return Answer((_outputs(shape, owned, made),), shape.as_outputs)


def _named(labels: tuple[Any, ...] | None, found: np.ndarray) -> np.ndarray:
    return found.astype(np.int64) if labels is None else named(labels, found)


def _outputs(shape: QuantisedShape, owned: Owned, made: Any) -> Any:
    """Returns the file's numbers from the numbers in shares: those times a unit, plus a base."""
    plan = owned.plan
    if shape.mode == "exact":
        dtype = quorate.int(max(made.dtype.bits, 10))
        return made.astype(dtype) + owned.input("base", None if plan is None else plan.bases[-1], (), dtype, 255)
    dtype = quorate.fixed(64, 16)
    both = None if plan is None else np.array([plan.units[-1], plan.bases[-1]], np.float64)
    given = owned.input("unit", both, (2,), dtype, 256.0)
    return made.astype(dtype) * given[0] + given[1]
