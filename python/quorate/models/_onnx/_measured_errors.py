"""Errors of a network measured on its owner's sample, used when proven bounds are large."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate import _source
from quorate._clear._kernels import Array
from quorate._source import at
from quorate.errors import ModelWarning
from quorate.models._onnx._integer_run import simulated
from quorate.models._onnx._steps import run_clear

_MOST = 32  # inputs of a sample that are measured
_PIECE = 4  # inputs that are computed at a time
_NEAR = 2.0**-8  # relative to the largest output: closer numbers count as alike
_SHARES = ("sigmoid", "tanh", "softmax")
BEYOND = 4
"""The factor by which other inputs' errors may exceed those measured on a sample, in warnings of ties."""


@dataclasses.dataclass(frozen=True)
class Measured:
    """The errors measured on a sample.

    Attributes:
        count: the number of inputs measured.
        alike: the number of inputs for which all outputs agree with the clear network's: the largest output if that
            decides, else all numbers.
        error: the largest error of outputs.
        deciding: the largest error of the array that labels follow from.
    """

    count: int
    alike: int
    error: float
    deciding: float


def measured(model: Any, sample: Sequence[Array]) -> Measured:
    """Computes a network in the clear as parties do, and compares it with the clear network."""
    shape, units = model.shape, {place: unit for _, place, unit in model._rows}
    ends = [(made["output"], made["unit"]) for made in shape.outputs] or [(shape.output, shape.unit)]
    alike, error, deciding, count = 0, 0.0, 0.0, min(len(sample[0]), _MOST)
    for first in range(0, count, _PIECE):
        piece = [values[first : min(first + _PIECE, count)] for values in sample]
        entered = [one.encode(values) for one, values in zip(shape.all_inputs, piece, strict=True)]
        ours, clear = simulated(shape.steps, model._secrets, entered), run_clear(model._steps, piece)
        agree = np.ones(len(piece[0]), bool)
        for (place, unit), end in zip(ends, model._ends, strict=True):
            made, wanted, last = np.ldexp(ours[place], -unit), clear[end], model._steps[end - 1].kind
            error = max(error, _apart(made, wanted))
            agree &= _alike(made, wanted, last, _is_decided(model, end, wanted))
        alike += int(agree.sum())
        if shape.decided in units:
            decided = np.ldexp(ours[shape.decided], -units[shape.decided])
            deciding = max(deciding, _apart(decided, model._deciding(clear)))
    return Measured(count, alike, error, deciding)


def _apart(made: Array, wanted: Array) -> float:
    return float(np.abs(made - wanted).max(initial=0.0))


def _is_decided(model: Any, end: int, output: Array) -> bool:
    """Returns whether users read the place of the largest number: with labels, and for a last softmax over classes."""
    if output.shape[-1] == 1:
        return False
    step = model._steps[end - 1]
    return model.shape.labels is not None or (step.kind == "softmax" and output.ndim == 2)


def _alike(made: Array, wanted: Array, last: str, decided: bool) -> Any:
    """Returns for each input whether the outputs agree with the clear network's.

    If outputs are `decided`, their largest elements have to be at the same place. Else all numbers have to be near:
    relative to the largest of them, or to 1 if they are shares.
    """
    if decided:
        same = made.argmax(axis=-1) == wanted.argmax(axis=-1)
        return same.reshape(len(made), -1).all(axis=1)
    apart = np.abs(made - wanted).reshape(len(made), -1).max(axis=1)
    return apart <= _NEAR * (1.0 if last in _SHARES else np.abs(wanted).max())


def warn_of(model: Any, random: Sequence[Array], sample: Sequence[Array] | None, finer: str) -> Measured | None:
    """Warns if the proven error is not small relative to the outputs of random inputs.

    With a sample the warning states the errors measured on it. It is left out if all inputs have the clear network's
    labels, or nearly its numbers where there are no labels.
    """
    arrays = run_clear(model._steps, random)
    usual = max(float(np.abs(arrays[end]).max(initial=0.0)) for end in model._ends)
    if model.error_bound <= usual / 16:
        return None
    found = None if sample is None else measured(model, sample)
    if found is None:
        _say(
            f"from_onnx: outputs may be {model.error_bound:.3g} off the clear network's, as far as that is proven, and "
            f"those of random inputs are at most {usual:.3g}: give sample= inputs like those to come, {finer}, and "
            "look at model.report(X), which measures"
        )
    elif found.alike < found.count:
        by_largest = all(_is_decided(model, end, arrays[end]) for end in model._ends)
        what = "the largest output" if by_largest else f"the outputs, within 1/{round(1 / _NEAR)},"
        _say(
            f"from_onnx: this network is deeper than proofs reach. Of {found.count} inputs of the sample, "
            f"{found.alike} have {what} of the clear network, and outputs are at most {found.error:.3g} off: more "
            "bits= and weight_bits= make them more precise"
        )
    return found


def _say(text: str) -> None:
    _source.warn(at(text), ModelWarning)
