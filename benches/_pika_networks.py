"""The networks of the Pika study (Wagh 2022, Table 3) with random weights, for `paper_networks.py`.

The study counts activations only. Here the products before them are computed, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

import quorate as qr

#: As in the study: 32 bits, of which 12 are after the point.
FRACTION = 12
DTYPE = qr.fixed(32, FRACTION)


class Network(Protocol):
    """A program on one record, with weights that a session shares once."""

    name: ClassVar[str]
    theirs: ClassVar[str]
    close: ClassVar[float]

    def share(self, mpc: Any) -> Any:
        """Returns the weights as inputs of party 0."""

    def ask(self, mpc: Any, weights: Any) -> Any:
        """Returns the secret result for party 1's record."""

    def clear(self) -> np.ndarray:
        """Returns the result in the clear."""


def uniform(r: np.random.Generator, bound: float, *shape: int) -> np.ndarray:
    """Returns random numbers between -bound and bound that are multiples of the unit."""
    return np.floor(r.uniform(-bound, bound, shape) * 2**FRACTION) / 2**FRACTION


def given(mpc: Any, values: np.ndarray, owner: int) -> Any:
    """Returns an input whose bound is the largest magnitude of its values."""
    return mpc.input(values, owner=owner, dtype=DTYPE, bound=float(np.abs(values).max()))


class Lstm:
    """A step of an LSTM with 200 hidden numbers and 200 inputs: 1,000 look-ups.

    MiniONN counts 800 sigmoids and 200 tanhs, for the gates and for the cell; a cell of PyTorch takes 600 and 400.
    Both are looked up in tables of one size.
    """

    name: ClassVar[str] = "LSTM"
    theirs: ClassVar[str] = "MiniONN 1.1 s, 182 MB; SiRNN 0.48 s, 9.3 MB; Pika 0.059 s, 0.17 MB"
    close: ClassVar[float] = 0.01

    def __init__(self, hidden: int = 200) -> None:
        r, bound = np.random.default_rng(8), 1 / np.sqrt(hidden)
        shapes = (4 * hidden, hidden), (4 * hidden, hidden), (4 * hidden,)
        self.weights = [uniform(r, bound, *shape) for shape in shapes]
        self.x, self.h, self.c = (uniform(r, 1, *shape) for shape in ((1, 1, hidden), (1, hidden), (1, hidden)))

    def share(self, mpc: Any) -> list[Any]:
        *both, offset = (given(mpc, weight, 0) for weight in self.weights)
        return [*(weight.as_factor() for weight in both), offset]

    def ask(self, mpc: Any, weights: Sequence[Any]) -> Any:
        x, h, c = (given(mpc, values, 1) for values in (self.x, self.h, self.c))
        return qr.nn.lstm(x, *weights, state=(h, c))[0]

    def clear(self) -> np.ndarray:
        outer, inner, bias = self.weights
        enter, keep, cell, show = np.split(self.x[0] @ outer.T + bias + self.h @ inner.T, 4, axis=1)
        sigmoid = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731
        c = sigmoid(keep) * self.c + sigmoid(enter) * np.tanh(cell)
        return (sigmoid(show) * np.tanh(c))[None]


class Sensors:
    """DeepSecure's network for sensors: 5,625 inputs, dense layers of 2,000, 500 and 19 outputs, tanh in between."""

    name: ClassVar[str] = "sensors"
    theirs: ClassVar[str] = "DeepSecure 465 s, 83.7 GB; SiRNN 5.3 s, 1.9 GB; Pika 0.149 s, 0.44 MB"
    close: ClassVar[float] = 0.02

    def __init__(self, sizes: Sequence[int] = (5625, 2000, 500, 19)) -> None:
        r = np.random.default_rng(9)
        bounds = [1 / np.sqrt(inputs) for inputs in sizes]
        self.weights = [uniform(r, b, out, into) for b, into, out in zip(bounds, sizes, sizes[1:], strict=False)]
        self.offsets = [uniform(r, b, out) for b, out in zip(bounds, sizes[1:], strict=False)]
        self.x = uniform(r, 1, 1, sizes[0])

    def share(self, mpc: Any) -> list[tuple[Any, Any]]:
        both = zip(self.weights, self.offsets, strict=True)
        return [(given(mpc, weight, 0).as_factor(), given(mpc, offset, 0)) for weight, offset in both]

    def ask(self, mpc: Any, weights: Sequence[tuple[Any, Any]]) -> Any:
        x = given(mpc, self.x, 1)
        for layer, (weight, offset) in enumerate(weights):
            x = qr.nn.linear(qr.tanh(x) if layer else x, weight, offset)
        return x

    def clear(self) -> np.ndarray:
        x = self.x
        for layer, (weight, offset) in enumerate(zip(self.weights, self.offsets, strict=True)):
            x = (np.tanh(x) if layer else x) @ weight.T + offset
        return x
