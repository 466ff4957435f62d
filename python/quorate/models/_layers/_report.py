"""A comparison of a network's results with those of the clear network."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from quorate._display._text_tables import text_table


@dataclasses.dataclass(frozen=True)
class Report:
    """The result of `Network.report` and `QuantisedNetwork.report`.

    Attributes:
        count: the number of inputs.
        agreement: the share of inputs for which both networks have the same largest output.
        differing: the indices of the other inputs.
        largest_error: the largest measured distance of an output from the clear network's.
        error_bound: the proven bound on that distance.
        layers: for each layer its name, the largest measured error, and the proven bound.
    """

    count: int
    agreement: float
    differing: tuple[int, ...]
    largest_error: float
    error_bound: float
    layers: tuple[tuple[str, float, float], ...]

    def __str__(self) -> str:
        head = (
            f"{self.count} inputs: the same largest output for {self.agreement:.2%}; outputs differ by "
            f"{self.largest_error:.3g} at most (proven: {self.error_bound:.3g})"
        )
        rows = [(name, f"{measured:.3g}", f"{proven:.3g}") for name, measured, proven in self.layers]
        return "\n".join([head, *text_table(("layer", "largest error", "proven"), rows)])


def compared(
    ours: list[list[np.ndarray]],
    clear: list[list[np.ndarray]],
    names: list[str],
    proven: list[float],
    outputs: Sequence[int] = (-1,),
) -> Report:
    """Compares the arrays of each layer, in pieces of the batch.

    `outputs` are the places of the network's outputs among the layers. The first output has the largest elements that
    are compared.
    """
    errors = [
        max(float(np.abs(a[i] - b[i]).max(initial=0.0)) for a, b in zip(ours, clear, strict=True))
        for i in range(len(names))
    ]
    first = outputs[0]
    same = np.concatenate([_tops(a[first]) == _tops(b[first]) for a, b in zip(ours, clear, strict=True)])
    layers = tuple(zip(names, errors, proven, strict=True))
    differing = tuple(int(i) for i in np.flatnonzero(~same))
    largest, bound = (max(found[end] for end in outputs) for found in (errors, proven))
    return Report(len(same), float(same.mean()), differing, largest, bound, layers)


def _tops(outputs: np.ndarray) -> np.ndarray:
    """Returns the place of each input's largest output."""
    return np.asarray(np.argmax(outputs.reshape(len(outputs), -1), axis=1))
