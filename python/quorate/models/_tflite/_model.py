"""A quantised network from TFLite files: its public shape and its secret weights."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import quorate
from quorate._families import DEFAULT
from quorate.errors import ModelError
from quorate.models._layers._pictures import Pictures
from quorate.models._layers._report import Report, compared
from quorate.models._questions import Asked, Questions
from quorate.models._tflite import _reference_plan, _ring_paper_plan
from quorate.models._tflite._kernels import Integers
from quorate.models._tflite._layers import Layer, Quantised, run_clear
from quorate.models._tflite._lower import lowered
from quorate.models._tflite._plan import Plan
from quorate.models._tflite._read import read
from quorate.models._tflite._run import Owned
from quorate.models._tflite._shape import MODES, QuantisedShape, program

_PIECE = 4  # inputs that a report computes at a time


@dataclasses.dataclass(frozen=True, repr=False)
class QuantisedNetwork(Questions):
    """A quantised network with a public shape and secret weights, as `from_tflite` returns it.

    `predict` returns the label of the largest output, the first of equal ones. If the network was imported without
    `labels=`, it returns the position of the output; for outputs with rows and columns, the position in
    `decision_function(...)[i].ravel()`. `decision_function` returns the outputs as the file's 8-bit numbers; if the
    last layer is a softmax, it returns the softmax's arguments. `shape` is for the other parties, who call the same
    methods on it.

    Attributes:
        shape: what the other parties may know; give it to them.
    """

    shape: QuantisedShape
    _plan: Plan
    _layers: Sequence[Layer]

    def __repr__(self) -> str:
        return f"QuantisedNetwork(inputs {self.shape.sizes}, {len(self.shape.steps)} steps, {self.shape.mode})"

    def predict_clear(self, X: Any) -> np.ndarray:
        """Returns labels, or positions of the largest outputs, of the clear network, by TFLite's reference kernels."""
        best = self.shape.as_given(self._clear(X)[-1]).reshape(len(X), -1).argmax(axis=1)
        return best if self.shape.labels is None else np.asarray(self.shape.labels)[best]

    def decision_function_clear(self, X: Any) -> np.ndarray:
        """Returns the outputs of the clear network, bit for bit as TFLite's reference kernels or onnxruntime do."""
        return np.asarray(self.shape.as_outputs(self._clear(X)[-1]))

    def report(self, X: Any, protocol: str = DEFAULT, **options: Any) -> Report:
        """Computes these inputs with the protocol in a local session, and compares with the clear network.

        It is for the model's owner, with inputs of its own: nothing leaves this process.

        Args:
            X: inputs.
            protocol: the protocol, as for `qr.local`.
            options: other options of `qr.local`.

        Returns:
            The share of inputs whose largest output agrees, and the largest difference of the outputs and of each
            layer. For mode "exact" the proven bound is 0. For "paper" no bound is proven, which is shown as `inf`.
        """
        self.shape.encode(X)
        values, ours, clear = np.asarray(X), [], []
        proven = [0.0 if self.shape.mode == "exact" else math.inf] * len(self._layers)
        for first in range(0, len(values), _PIECE):
            piece = values[first : first + _PIECE]
            with quorate.local(protocol, **{"check": False, **options}) as mpc:
                arrays = self.shape.program(mpc, Owned(mpc, self, self._plan, 0), piece, len(piece), 1)[1:]
                shown = mpc.reveal_all(*arrays)
            lies = zip(shown, self._plan.units[1:], self._plan.bases[1:], strict=True)
            ours.append([made.astype(np.float64) * unit + base for made, unit, base in lies])
            clear.append([made.astype(np.float64) for made in self._clear(piece)[1:]])
        return compared(ours, clear, [layer.name for layer in self._layers], proven)

    def _clear(self, X: Any) -> list[Integers]:
        return run_clear(self._layers, self.shape.encode(X) + self._plan.bases[0])

    def _pictures(self, paths: list[Path]) -> Any:
        return Pictures(paths, self.shape.sizes, self.shape.type)

    def _made(self, question: str, mpc: Any, asked: Asked) -> Any:
        return program(question, mpc, self, self.shape, asked, self._plan)


def from_tflite(
    model: Any, *, mode: str = "exact", labels: Sequence[Any] | None = None, output: str | None = None
) -> QuantisedNetwork:
    """Makes a quantised network from a TFLite file into a model that computes on secret inputs.

    `quorate models` lists the operators. Weights, offsets, zero points and scales stay secret; `print(model.shape)`
    shows what is public. Nothing in the file is executed.

    Args:
        model: a path, or the bytes of a file; or a list of these, each of which takes the results of the one before.
            Networks are of uint8, or of int8 with a scale for each filter; inputs and outputs are quantised, too.
        mode: "exact" equals TFLite's reference kernels bit for bit. "paper" computes the real numbers that these stand
            for, in rings of 32 bits, as in section 6.2 of the ring paper; labels may differ if two outputs are close.
            In a session with `trunc="probabilistic"` it takes two thirds of the time of "exact".
        labels: the labels of the outputs along the last axis: `predict` then returns the label of the largest one. They
            are public.
        output: the name of the value to compute, if the file, or the last of several files, has several outputs.

    Raises:
        ModelError: the file cannot be read or is not quantised, or operators of it are not supported (all are named).

    Example:
        >>> import quorate as qr
        >>> model = qr.models.from_tflite("mobilenet_v1_0.25_128_quant.tflite")  # doctest: +SKIP
        >>> with qr.local("rss") as mpc:  # doctest: +SKIP
        ...     print(model.predict(mpc, photos))
        [286]
        >>> qr.models.from_tflite(b"GIF89a and more")
        Traceback (most recent call last):
            ...
        quorate.errors.ModelError: from_tflite: what was given is no TFLite model: bytes 4 to 8 of one are 'TFL3'
    """
    if mode not in MODES:
        raise ModelError(f"from_tflite: mode={mode!r} is none of {', '.join(map(repr, MODES))}")
    files = list(model) if isinstance(model, (list, tuple)) else [model]
    if not files:
        raise ModelError("from_tflite: no files were given")
    named = [*[None] * (len(files) - 1), output]
    parts = [lowered(read(part, name)) for part, name in zip(files, named, strict=True)]
    layers, known, sizes, softmax = parts[0]
    for more, other, inner, ends in parts[1:]:
        now = layers[-1] if layers else None
        given = () if now is None else now.sizes
        wanted = (inner[2], *inner[:2]) if len(inner) == 3 else inner
        if now is None or softmax or now.target != other or given != wanted:
            raise ModelError("from_tflite: a file does not take what the one before it gives, in shape or in scale")
        behind = [dataclasses.replace(l, inputs=tuple(i + len(layers) for i in l.inputs)) for l in more]
        layers, softmax = [*layers, *behind], ends
    if not layers:
        raise ModelError("from_tflite: the output is the input itself: there is nothing to compute")
    return network_of(layers, known, tuple(sizes), mode, labels)


def network_of(
    layers: Sequence[Layer], known: Quantised, sizes: tuple[int, ...], mode: str, labels: Any, **public: Any
) -> QuantisedNetwork:
    """Returns the network of these layers, for inputs with the quantisation `known`."""
    last = layers[-1].sizes
    if labels is not None and (len(last) != 1 or len(labels) != last[0]):
        raise ModelError(f"from_tflite: {len(labels)} labels for outputs of shape {last}")
    plan = (_reference_plan if mode == "exact" else _ring_paper_plan).planned(layers, known)
    turned = len(last) == 3 and public.get("channels") != "first"
    shape = QuantisedShape(
        sizes,
        "uint8" if known.low == 0 else "int8",
        mode,
        tuple(plan.steps),
        (*last[1:], last[0]) if turned else last,
        None if labels is None else tuple(np.asarray(labels).tolist()),
        **public,
    )
    return QuantisedNetwork(shape, plan, layers)
