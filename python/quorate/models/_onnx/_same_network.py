"""Comparison of two lowerings of a file, for different batch sizes: whether they are the same network."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from quorate.models._layers._kernels import MOVES, Array
from quorate.models._onnx._indices import drawn, rows_of
from quorate.models._onnx._read import Source
from quorate.models._onnx._steps import Step, run_clear

if TYPE_CHECKING:
    from quorate.models._onnx._lower import Lowering

    Made = tuple[Lowering, list[int]]
    """The steps, and the places of the outputs."""


def apart(one: Made, other: Made) -> str | None:
    """Returns the name of the first step in which two lowerings differ; None if they are equal."""
    pairs = zip_longest(one[0].sized(), other[0].sized())
    apart = next((a or b for a, b in pairs if not (a and b and _are_alike(*a, *b))), None)
    if apart is not None:
        return apart[0].name
    return None if one[1] == other[1] else "what the output is"


def compute_alike(one: Made, other: Made, source: Source) -> bool:
    """Returns whether two lowerings differ only in steps that move elements, and have the same outputs."""
    pairs = zip_longest(_computing(one[0].steps), _computing(other[0].steps))
    return all(a and b and _differ_in_axes(a, b) for a, b in pairs) and _give_the_same(one, other, source)


def _computing(steps: Sequence[Step]) -> list[Step]:
    """Returns the steps that do more than move numbers."""
    return [step for step in steps if step.kind not in MOVES]


def _differ_in_axes(one: Step, other: Step) -> bool:
    """Returns whether steps are equal, or differ only in the axes along which they go."""
    rest = [{k: v for k, v in step.attrs.items() if k not in ("axis", "axes")} for step in (one, other)]
    return one.kind == other.kind and rest[0] == rest[1] and _have_the_same(one, other)


def _give_the_same(one: Made, other: Made, source: Source) -> bool:
    """Returns whether both have the same outputs for random inputs."""
    for largest in (0.1, 1.0, 10.0):
        given = _random(one, other, source, largest)
        with np.errstate(all="ignore"):
            all_of_one, all_of_other = (run_clear(made[0].steps, given) for made in (one, other))
        for place, end in zip(one[1], other[1], strict=True):
            a, b = all_of_one[place], all_of_other[end]
            if a.shape != b.shape or not np.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True):
                return False
    return True


def _random(one: Made, other: Made, source: Source, largest: float) -> list[Array]:
    """Returns random inputs."""
    sizes = {number: entry.sizes[1:] for number, entry in enumerate(source.entries) if entry.is_index}
    rows = [rows_of(made[0].steps, sizes) for made in (one, other)]
    return [
        drawn(np.minimum(rows[0][number], rows[1][number]), source.batch)
        if entry.is_index
        else np.random.default_rng(number).uniform(-largest, largest, entry.sizes)
        for number, entry in enumerate(source.entries)
    ]


def _are_alike(one: Step, sizes: tuple[int, ...], other: Step, others: tuple[int, ...]) -> bool:
    same = (one.kind, one.inputs, one.attrs, sizes) == (other.kind, other.inputs, other.attrs, others)
    return same and _have_the_same(one, other)


def _have_the_same(one: Step, other: Step) -> bool:
    """Returns whether weights and offsets are equal."""
    for a, b in ((one.weights, other.weights), (one.offsets, other.offsets)):
        if a is not b and (a is None or b is None or not np.array_equal(a, b, equal_nan=True)):
            return False
    return True
