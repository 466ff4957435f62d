"""Layers of a quantised network, and their computation in the clear: TFLite's own whole numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate._clear import _kernels as real
from quorate.models._tflite import _kernels as kernels
from quorate.models._tflite._kernels import Integers

WEIGHTED = ("conv", "dense")
"""Layers with secret weights."""

SCALED = (*WEIGHTED, "add")
"""Layers whose sums are scaled by secret numbers and clamped."""

KINDS = (*WEIGHTED, "add", "avg_pool", "max_pool", "reshape")
"""All layers that a program may have; a last softmax is left to the party that learns the outputs."""


@dataclasses.dataclass(frozen=True)
class Quantised:
    """8-bit numbers that stand for (number - zero) scale."""

    scale: float
    zero: int
    low: int
    """The least number of the type: 0, or -128."""

    @property
    def high(self) -> int:
        """The largest number of the type."""
        return self.low + 255


@dataclasses.dataclass
class Layer:
    """One layer; images are (batch, channels, rows, columns).

    Attributes:
        kind: one of `KINDS`.
        name: the name of the operator in the file, for messages.
        attrs: the public part of the layer.
        source, target: the quantisation of its operand and of its result.
        sizes: the sizes of a result, without the batch.
        weights: the weights less their zero point; filters (filters, channels of a group, rows, columns) or matrices
            (outputs, inputs).
        offsets: one for each filter or output.
        multipliers, exponents: the factors of sums, one for each filter or output: 31 bits and a power of two.
        clamps: the limits of the activation.
        second: for a sum, the quantisation of its other operand.
        inputs: the places of its operands: 0 is the network's input, and layer i makes array i + 1.
        rounding: how sums become 8 bits, one of `ROUNDINGS`.
    """

    kind: str
    name: str
    attrs: dict[str, Any]
    source: Quantised
    target: Quantised
    sizes: tuple[int, ...]
    weights: Integers = dataclasses.field(default_factory=lambda: np.zeros(0, np.int64))
    offsets: Integers = dataclasses.field(default_factory=lambda: np.zeros(0, np.int64))
    multipliers: Integers = dataclasses.field(default_factory=lambda: np.zeros(0, np.int64))
    exponents: Integers = dataclasses.field(default_factory=lambda: np.zeros(0, np.int64))
    clamps: tuple[int, int] = (0, 255)
    second: Quantised | None = None
    inputs: tuple[int, ...] = ()
    rounding: str = "tflite"

    def scaled(self, sums: Any, multipliers: Any, exponents: Any) -> Integers:
        """Multiplies sums by such factors; the result is less the target's zero point."""
        return kernels.ROUNDINGS[self.rounding](sums, multipliers, exponents)

    @property
    def sources(self) -> tuple[Quantised, Quantised]:
        """The quantisations of a sum's operands."""
        return self.source, self.second or self.source


def column(values: Any, ndim: int) -> Any:
    """Returns one number for each filter, in a shape that broadcasts against results of `ndim` axes."""
    return values.reshape(1, -1, *(1,) * (ndim - 2))


def sums(layer: Layer, x: Integers) -> Integers:
    """Returns the sums of a layer with weights, before they are scaled."""
    if layer.kind == "conv":
        made = kernels.conv(x, layer.source.zero, layer.weights, layer.attrs)
    else:
        made = np.rint((x - layer.source.zero).astype(np.float64) @ layer.weights.T.astype(np.float64))
    return made.astype(np.int64) + column(layer.offsets, made.ndim)


def clear(layer: Layer, x: Integers, *more: Integers) -> Integers:
    """Computes the layer on 8-bit numbers in the clear."""
    if layer.kind == "add":
        return np.clip(kernels.added(x, more[0], layer), *layer.clamps)
    if layer.kind in WEIGHTED:
        made = sums(layer, x)
        multipliers, exponents = (column(v, made.ndim) for v in (layer.multipliers, layer.exponents))
        return np.clip(layer.scaled(made, multipliers, exponents) + layer.target.zero, *layer.clamps)
    if layer.kind == "avg_pool":
        return np.clip(
            kernels.mean(kernels.window_sums(x, layer.attrs), kernels.counts(layer.attrs, layer.attrs["of"])),
            *layer.clamps,
        )
    if layer.kind == "max_pool":
        found = real.max_pool(
            x.astype(np.float64), layer.attrs["size"], layer.attrs["stride"], layer.attrs["pads"], False
        )
        return np.clip(found.astype(np.int64), *layer.clamps)
    return np.asarray(reshaped(x, layer.attrs))


def reshaped(x: Any, attrs: dict[str, Any]) -> Any:
    """Reshapes with channels last if the file has them so; for arrays that are secret or not."""
    shape: Sequence[int] = attrs["shape"]
    if attrs.get("first"):
        return x.reshape(x.shape[0], *shape)
    last = x.transpose(0, 2, 3, 1) if x.ndim == 4 and x.shape[2:] != (1, 1) else x
    made = last.reshape(x.shape[0], *shape)
    if made.ndim != 4:
        return made
    return made.transpose(0, 3, 1, 2)


def run_clear(layers: Sequence[Layer], x: Integers) -> list[Integers]:
    """Returns the input, and the result of every layer."""
    arrays = [x]
    for layer in layers:
        arrays.append(clear(layer, *(arrays[place] for place in layer.inputs)))
    return arrays
