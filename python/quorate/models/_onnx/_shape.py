"""The public part of a network, and the program that follows from it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

import quorate
from quorate._display._text_tables import text_table
from quorate.errors import ModelError
from quorate.models._answers import named
from quorate.models._layers._argument_checks import count_of
from quorate.models._onnx._indices import are_looked_up
from quorate.models._onnx._inputs import Input, listed
from quorate.models._onnx._plan import FRACTION, ROOM
from quorate.models._onnx._run import Secrets, Weights, run
from quorate.models._onnx._steps import KINDS, WEIGHTED
from quorate.models._questions import Answer, Asked, Questions
from quorate.models._quotes import short


@dataclasses.dataclass(frozen=True)
class NetworkShape(Questions):
    """The public part of a network: all that the parties without the model need, and all that they learn.

    Weights and offsets stay secret. Public are the architecture, constants of one element (factors, slopes, limits),
    and for each layer the powers of two by which its numbers are scaled. `print(shape)` shows all of it.

    Attributes:
        sizes: the sizes of one input, without the batch.
        low, high: the ends of the inputs' range.
        bits: the bits of inputs and of the layers' results.
        steps: the steps in order; step i makes array i + 1, array 0 is the input.
        output: the number of the array of outputs.
        decided: the number of the array that labels follow from: the outputs, or the argument of a last softmax.
        unit: outputs are whole multiples of 2^-unit.
        labels: the labels of the outputs along the last axis, if the network classifies.
        ring: the bits of the ring that all numbers fit in.
        table_rows: if inputs are whole numbers by which rows of tables are looked up, the number of rows: one number,
            or one for each element of an input, in order. None for inputs that are real numbers.
        name: the name of the first input, if there are several; `sizes`, `low`, `high` and `table_rows` are that one's.
        inputs: the further inputs, each with a name, sizes, low, high, and table_rows if it has some; is_public is true
            if all parties give it.
        outputs: all outputs, if several were asked for, each with a name, the number of its array, and its unit.
            `output` and `unit` are the first one's.
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
    name: str = ""
    inputs: tuple[dict[str, Any], ...] = ()
    outputs: tuple[dict[str, Any], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", tuple(int(n) for n in self.sizes))
        for field in ("steps", "inputs", "outputs"):
            object.__setattr__(self, field, tuple(getattr(self, field)))
        if self.labels is not None:
            object.__setattr__(self, "labels", tuple(self.labels))
        for place, step in enumerate(self.steps):
            of = step.get("inputs", [-1])
            is_known = step.get("kind") in KINDS and bool(of) != (step["kind"] == "input")
            if not is_known or not all(0 <= i <= place for i in of):
                raise ModelError(f"this is not the shape of a network: step {place} is {step}")
        self._check_same()
        self._check_inputs()
        for made in self.outputs:
            is_one = {*made} == {"name", "output", "unit"} and type(made["unit"]) is int
            if not is_one or made["output"] not in range(1, len(self.steps) + 1):
                raise ModelError(f"this is not the shape of a network: an output is {dict(made)}")

    def _check_inputs(self) -> None:
        """Checks that whole numbers only look up tables, and that there is a number of rows for each of them."""
        rows: Any = self.table_rows
        object.__setattr__(self, "table_rows", tuple(rows) if isinstance(rows, list) else rows)
        known = self.all_inputs
        given = [step.get("number") for step in self.steps if step["kind"] == "input"]
        numbers = [number if type(number) is int else 0 for number in given]
        whole = {number for number, one in enumerate(known) if one.table_rows is not None}
        if sorted(numbers) != [*range(1, len(known))] or known[0].is_public:
            raise ModelError(f"this is not the shape of a network: {len(known)} inputs do not go with its steps")
        if not all(one.has_counts for one in known) or not are_looked_up(self.steps, whole):
            listed_rows = [one.table_rows for one in known]
            raise ModelError(f"this is not the shape of a network: table_rows={listed_rows} do not go with its steps")

    def bits_of(self, place: int) -> int:
        """Returns the bits of an array: no number in it exceeds 2^bits units in magnitude."""
        return int(self.steps[place - 1]["bits"])

    @property
    def all_inputs(self) -> list[Input]:
        """The inputs of the network, in order."""
        first = Input(self.sizes, self.low, self.high, self.bits, self.table_rows, self.name)
        return [first, *(Input.described(public, self.bits) for public in self.inputs)]

    def _check_same(self) -> None:
        """Checks that a step with the weights of an earlier one has the same sizes."""
        own: list[dict[str, Any]] = []
        for place, step in enumerate(self.steps):
            if "same" not in step:
                own += [step] if step["kind"] in WEIGHTED else []
                continue
            number = step["same"]
            known = type(number) is int and 0 <= number < len(own) and step["kind"] in WEIGHTED
            known = known and (step["kind"] == "embedding") == (own[number]["kind"] == "embedding")
            if not known or any(step.get(k) != own[number].get(k) for k in ("weights", "offsets", "width")):
                raise ModelError(f"this is not the shape of a network: step {place} has the same={short(number)}")

    def describe(self) -> dict[str, Any]:
        """Returns the fields as plain values, for JSON; `NetworkShape(**described)` is the same shape."""
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        left_out = {k for k in ("name", "inputs", "outputs") if not found[k]}
        plain = {k: v for k, v in found.items() if v is not None and k not in left_out}
        lists: dict[str, Any] = {
            k: [dict(one) for one in plain[k]] for k in ("steps", "inputs", "outputs") if k in plain
        }
        return {**{k: list(v) if isinstance(v, tuple) else v for k, v in plain.items()}, **lists}

    def __str__(self) -> str:
        bits = f"{self.bits} bits of {self.ring}"
        head = "; ".join(map(_of_input, self.all_inputs))
        rows = [_row(place, step) for place, step in enumerate(self.steps, 1)]
        named = [f"array {made['output']} is the output {made['name']!r}" for made in self.outputs]
        table = text_table(("", "step", "of", "weights", "public"), rows, 5)
        return "\n".join([f"network of {head}, {bits}", *table, *named])

    def program(
        self,
        mpc: Any,
        secrets: Secrets | None,
        given: Sequence[Any],
        rows: int,
        owners: tuple[int, int],
        kept: dict[str, Any] | None = None,
    ) -> list[Any]:
        """Builds the program, and returns its arrays: the first input, then the result of each step.

        `given` has the values of each input. The network's secrets are put into `kept`, or taken from there.
        """
        inputs = zip(self.all_inputs, given, strict=True)
        entered = [one.array(mpc, x, owners[1], rows, self.ring) for one, x in inputs]
        weights = Weights(mpc, secrets, owners[0], {} if kept is None else kept, self.ring)
        with mpc._errors_are_stated():
            return run(mpc, self.steps, weights, entered, self.ring)

    def given(self, asked: Asked, mpc: Any) -> list[Any]:
        """Returns this party's values for each input, None where another party has it.

        Raises:
            ModelError: an input is missing, or X has one that the network does not have.
        """
        found = listed(asked.X, self.all_inputs)
        mine = asked.has_records(mpc)
        for place, one in enumerate(self.all_inputs):
            if asked.dry or (not one.is_public and not mine):
                found[place] = None
            elif found[place] is None:
                who = "all parties know" if one.is_public else f"party {asked.data_owner} owns"
                raise ModelError(f"X: {who} {one.what}: give it there, X={{{one.name!r}: ...}}")
        return found

    def _made(self, question: str, mpc: Any, asked: Asked) -> Any:
        return program(question, mpc, self, None, asked, self)


def _row(place: int, step: dict[str, Any]) -> tuple[str, ...]:
    private = ("kind", "inputs", "weights", "offsets")
    public = ", ".join(f"{k}={_cut(str(v))}" for k, v in step.items() if k not in private)
    weights = "x".join(map(str, step["weights"])) if step["kind"] in WEIGHTED else ""
    return str(place), step["kind"], ", ".join(map(str, step["inputs"])), weights, public


def _of_input(one: Input) -> str:
    what = "inputs" if one.table_rows is None else "whole numbers"
    named = f" {one.name!r}" if one.name else ""
    public = " that all parties give" if one.is_public else ""
    return f"{what}{named} {one.sizes} between {one.low:g} and {one.high:g}{public}"


def _cut(text: str) -> str:
    """Cuts a text to the length of a table's cell; `describe()` has all of it."""
    return text if len(text) <= 200 else f"{text[:200]} ..."


def program(question: str, mpc: Any, shape: NetworkShape, secrets: Secrets | None, asked: Asked, model: Any) -> Any:
    """Builds a question's program, the same at each party, with the values that this party has."""
    if question == "predict_proba":
        raise ModelError("a network from ONNX has no predict_proba: decision_function gives its outputs")
    count = count_of(question, "from_onnx", mpc, secrets is not None, asked)
    me, owners = mpc.me, (asked.model_owner, asked.data_owner)
    mine, kept = secrets if me == owners[0] else None, mpc._object_cache.of(model, asked.model_owner)
    arrays = shape.program(mpc, mine, shape.given(asked, mpc), count, owners, kept)
    if shape.outputs:
        return _several(shape, arrays, asked.reveal)
    decided, output = arrays[shape.decided], arrays[shape.output]
    if question == "predict" and shape.labels is not None:
        best, labels = decided.argmax(axis=-1), shape.labels
        # Without reveal the answer is places in `labels`.
        return Answer((best,), functools.partial(named, labels)) if asked.reveal else best
    up = FRACTION - shape.unit
    if not asked.reveal:
        return _in_units(output, shape.bits_of(shape.output), up)
    return Answer((output,), lambda made: np.ldexp(made, up))


def _several(shape: NetworkShape, arrays: list[Any], reveal: bool) -> Any:
    """Returns a dictionary of outputs, by name."""
    names = [made["name"] for made in shape.outputs]
    found = [(arrays[made["output"]], FRACTION - made["unit"], made["output"]) for made in shape.outputs]
    if not reveal:
        return {name: _in_units(x, shape.bits_of(at), up) for name, (x, up, at) in zip(names, found, strict=True)}

    def read(*made: Any) -> Any:
        return {name: np.ldexp(x, up) for name, x, (_, up, _) in zip(names, made, found, strict=True)}

    return Answer(tuple(x for x, *_ in found), read)


def _in_units(x: Any, bits: int, up: int) -> Any:
    """Returns an array's numbers in `qr.fixed(64, 16)`.

    The array has `bits` bits; its numbers are 2**up times as large as its fixed point.
    """
    dtype = quorate.fixed(64, FRACTION)
    if bits + up > dtype.bits - 2:
        raise ModelError(
            f"reveal=False gives {dtype}, and outputs may be as large as 2^{bits + up - FRACTION}: reveal them, or "
            "let the network divide them"
        )
    if up >= 0:
        return x.astype(dtype) * (1 << up)
    whole = bits + max(FRACTION + up, 0) + ROOM  # bits before the multiple is cut; the ring may be smaller
    wide = x if whole <= x.dtype.bits else x.astype(quorate.fixed(max(whole, 64), FRACTION))
    return (wide * 2.0**up).astype(dtype)
