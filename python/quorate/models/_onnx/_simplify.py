"""Simplification of networks: factors and offsets folded into weights, maxima before activations."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from quorate.models._layers._kernels import Array
from quorate.models._onnx._steps import Step

_WIDER = 4  # a table wider by this factor costs more than the product that it saves
_RISING = ("relu", "clip", "sigmoid", "tanh")


def simplified(steps: Sequence[Step], outputs: Sequence[int]) -> tuple[list[Step], list[int]]:
    """Returns fewer steps that compute the same network, and the places of the outputs among them."""
    work, ends = _live(steps, outputs)
    _masks(work, ends)
    alias = list(range(len(work) + 1))
    for place, step in enumerate(work, 1):
        step.inputs = tuple(alias[i] for i in step.inputs)
        if _is_nothing(step):
            alias[place] = step.inputs[0]
            continue
        before = step.inputs[0] if step.inputs else 0
        if not before or not _may_fold(work[before - 1], step):
            continue
        uses = _uses(work, [alias[end] if end < place else end for end in ends], alias)
        if uses[before] == 1 and _folded(work[before - 1], step):
            alias[place] = work[before - 1].inputs[0] if _is_nothing(work[before - 1]) else before
    work, ends = _live(work, [alias[end] for end in ends])
    _maxima_first(work, ends)
    return work, ends


def _is_nothing(step: Step) -> bool:
    return step.kind == "scale" and step.attrs == {"factor": 1.0, "offset": 0.0}


def _uses(steps: Sequence[Step], outputs: Sequence[int], alias: Sequence[int]) -> Counter:
    """Counts the uses of each array by steps and outputs."""
    live = (step for place, step in enumerate(steps, 1) if alias[place] == place)
    return Counter([*outputs, *(alias[i] for step in live for i in step.inputs)])


def _live(steps: Sequence[Step], outputs: Sequence[int]) -> tuple[list[Step], list[int]]:
    """Returns only the steps that the outputs depend on."""
    needed, todo = set(outputs), list(outputs)
    while todo:
        place = todo.pop()
        for i in steps[place - 1].inputs if place else ():
            if i not in needed:
                needed.add(i)
                todo.append(i)
    places = {0: 0}
    kept: list[Step] = []
    for place, step in enumerate(steps, 1):
        if place in needed:
            kept.append(dataclasses.replace(step, inputs=tuple(places[i] for i in step.inputs)))
            places[place] = len(kept)
    return kept, [places[end] for end in outputs]


def _may_fold(before: Step, step: Step) -> bool:
    """Returns whether the kinds allow `_folded`; series have thousands of steps, of which few do."""
    first = ("conv", "conv_transpose", "matmul", "affine", "scale", "embedding")
    is_matrix = before.kind == "embedding" and step.kind == "matmul"
    return is_matrix or (before.kind in first and step.kind in ("affine", "scale"))


def _folded(before: Step, step: Step) -> bool:
    """Folds a step's factor and offset into the weights before it, if they are equal for each of its outputs."""
    if before.kind == "scale":
        return _joined(before, step)
    if before.weights is None:
        return False
    if step.kind == "matmul":
        return _by_matrix(before, step)
    if step.kind == "scale":
        factor, offset = np.asarray(step.attrs["factor"]), np.asarray(step.attrs["offset"])
    else:
        if step.weights is None:
            return False
        factor = step.weights
        offset = np.zeros(1) if step.offsets is None else step.offsets
    if before.kind == "affine":
        before.offsets = (np.zeros(1) if before.offsets is None else before.offsets) * factor + offset
        before.weights = before.weights * factor
        return True
    if before.kind == "embedding":
        return _into_table(before, factor, offset)
    outputs = before.weights.shape[-1] if before.kind == "matmul" else before.weights.shape[0]
    if before.kind == "conv_transpose":
        outputs = before.weights.shape[1] * before.attrs["groups"]
    axis = -1 if before.kind == "matmul" else -3
    each = [_each(values, axis, outputs) for values in (factor, offset)]
    if each[0] is None or each[1] is None:
        return False
    before.weights = _times(before, each[0])
    before.offsets = (0.0 if before.offsets is None else before.offsets * each[0]) + each[1]
    return True


def _by_matrix(before: Step, step: Step) -> bool:
    """Folds a matrix into a table: rows times a matrix are rows of the table's product with it."""
    w, matrix = before.weights, step.weights
    assert w is not None and matrix is not None  # noqa: S101 - both kinds have weights
    if matrix.shape[1] > _WIDER * w.shape[1]:
        return False
    before.weights = w @ matrix
    if before.offsets is not None:
        whole = np.broadcast_to(before.offsets, (*np.shape(before.offsets)[:-1], len(matrix)))
        before.offsets = whole @ matrix
    if step.offsets is not None:
        before.offsets = step.offsets if before.offsets is None else before.offsets + step.offsets
    return True


def _into_table(before: Step, factor: Array, offset: Array) -> bool:
    """Folds into the rows of a table; an offset by places, as for positions, is added behind."""
    w = before.weights
    assert w is not None  # noqa: S101 - `_folded` has checked it
    times, plus = (_each(values, -1, w.shape[-1]) for values in (factor, offset))
    if times is None:
        return False
    before.weights = w * times + (0.0 if plus is None else plus)
    offsets = None if before.offsets is None else before.offsets * times
    if plus is None:
        offsets = offset if offsets is None else offsets + offset
    before.offsets = offsets
    return True


def _joined(before: Step, step: Step) -> bool:
    """Folds a step into a public factor before it, or the factor into the step's secret ones: saves a product."""
    factor, offset = before.attrs["factor"], before.attrs["offset"]
    if step.kind == "scale":
        times = step.attrs["factor"]
        if not 0 < abs(factor * times) < math.inf:
            return False
        before.attrs = {"factor": factor * times, "offset": offset * times + step.attrs["offset"]}
        return True
    if step.weights is None:
        return False
    before.kind, before.attrs, before.weights = "affine", {}, factor * step.weights
    offsets = offset * step.weights + (0.0 if step.offsets is None else step.offsets)
    before.offsets = offsets if step.offsets is not None or offset else None
    return True


def _each(values: Array, axis: int, outputs: int) -> Array | None:
    """Returns one number for each output channel; None if numbers differ within a channel."""
    if values.size == 1:
        return np.full(outputs, float(values.ravel()[0]))
    if values.ndim < -axis or values.size != values.shape[axis] or values.size != outputs:
        return None
    return values.ravel()


def _times(step: Step, factor: Array) -> Array:
    w = step.weights
    assert w is not None  # noqa: S101 - `_folded` has checked it
    if step.kind == "matmul":
        return w * factor
    if step.kind == "conv":
        return w * factor.reshape(-1, 1, 1, 1)
    groups = step.attrs["groups"]
    split = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    return (split * factor.reshape(groups, 1, -1, 1, 1)).reshape(w.shape)


HIDES = 1e4  # a number this far below the others hides what it is added to


def _masks(steps: list[Step], outputs: Sequence[int]) -> None:
    """Takes into a softmax which of its numbers are hidden, as by -inf that is added to them.

    These places become public, as connections between arrays are. `added` is the most that is added to a hidden number,
    and `put` the most that stands in the place of one. The planner checks that both are far enough below the others.
    """
    uses = Counter([*outputs, *(i for step in steps for i in step.inputs)])
    for step in steps:
        place = step.inputs[0] if step.inputs else 0
        before = steps[place - 1] if place else None
        if step.kind != "softmax" or before is None or before.kind != "affine" or uses[place] != 1:
            continue
        if before.weights is None or before.offsets is None:
            continue
        factor, offsets = np.broadcast_arrays(before.weights, before.offsets)
        axis = step.attrs["axis"]
        if -axis > offsets.ndim or offsets.shape[axis] == 1:
            continue
        below = offsets - offsets.max(axis=axis, keepdims=True)
        hidden = below <= -HIDES
        if not hidden.any() or (factor[~hidden] != 1).any() or ((factor != 0) & (factor != 1)).any():
            continue
        added, put = (float(offsets[hidden & (factor == of)].max(initial=-np.inf)) for of in (1, 0))
        step.attrs = {**step.attrs, "hidden": hidden.tolist(), "added": added, "put": put}
        before.weights, before.offsets = np.ones(1), np.where(hidden, 0.0, offsets)
        if not before.offsets.any():
            before.kind, before.attrs = "scale", {"factor": 1.0, "offset": 0.0}
            before.weights = before.offsets = None


def _maxima_first(steps: list[Step], outputs: Sequence[int]) -> None:
    """Moves a maximum before a rising activation, which gives the same result for fewer numbers."""
    uses = Counter([*outputs, *(i for step in steps for i in step.inputs)])
    for step in steps:
        before = steps[step.inputs[0] - 1] if step.inputs and step.inputs[0] else None
        if step.kind != "max_pool" or before is None or uses[step.inputs[0]] != 1:
            continue
        rises = before.kind in _RISING or (before.kind == "leaky_relu" and before.attrs["slope"] >= 0)
        if rises:
            before.kind, step.kind = step.kind, before.kind
            before.attrs, step.attrs = step.attrs, before.attrs
            before.name, step.name = step.name, before.name
