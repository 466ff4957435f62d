"""The operators of ONNX that take elements at constant places, or put them there; each as steps."""

from __future__ import annotations

import math

import numpy as np

from quorate.models._onnx._layout import Tensor
from quorate.models._onnx._lower import Lowering, Node, Unsupported
from quorate.models._onnx._operators_movement import OPERATORS, operator

__all__ = ["OPERATORS", "operator"]


def _of_one_record(indices: np.ndarray, lowering: Lowering) -> np.ndarray:
    """Returns places within a record; they must be equal for all records."""
    if indices.ndim == 0 or indices.shape[0] != lowering.batch:
        raise Unsupported(f"indices of shape {indices.shape}: not as many as records")
    if (indices != indices[:1]).any():
        raise Unsupported("indices that tell records of a batch apart")
    return np.asarray(indices[0], np.int64)


def _along(axis: int, indices: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Returns for each index its place in a flat record of `shape`: moved along `axis`, and elsewhere unchanged."""
    if indices.ndim != len(shape):
        raise Unsupported(f"indices of {indices.ndim + 1} axes of an array of {len(shape) + 1}")
    if ((indices < -shape[axis]) | (indices >= shape[axis])).any():
        raise Unsupported(f"indices beyond the {shape[axis]} elements of the axis")
    places = np.indices(indices.shape)
    places[axis] = indices % shape[axis]
    return np.asarray(np.ravel_multi_index(tuple(places), shape))


def _inner_axis(lowering: Lowering, node: Node, x: Tensor, default: int = 0) -> int:
    return lowering.axis(int(node.attrs.get("axis", default)), x) - 1


def _flat(lowering: Lowering, x: Tensor) -> Tensor:
    return lowering.reshape(x, (x.shape[0], math.prod(x.shape[1:])))


def _taken(lowering: Lowering, x: Tensor, places: np.ndarray) -> Tensor:
    """Returns an array of the elements at places of a flat record."""
    made = lowering.emit("gather", _flat(lowering, x), {"axis": 1, "indices": places.ravel().tolist()})
    return lowering.reshape(made, (x.shape[0], *places.shape))


@operator("GatherElements", limits="constant indices, alike for all records, not along the batch")
def _gather_elements(lowering: Lowering, node: Node) -> Tensor:
    x, given = node.tensor(), node.known(1)
    if given is None:
        raise Unsupported("without indices")
    return _taken(lowering, x, _along(_inner_axis(lowering, node, x), _of_one_record(given, lowering), x.shape[1:]))


_SCATTERED = "constant indices, alike for all records, not along the batch; replaced, or added once each"


@operator("ScatterElements", limits=_SCATTERED)
def _scatter_elements(lowering: Lowering, node: Node) -> Tensor:
    given = node.known(1)
    if given is None:
        raise Unsupported("without indices")
    data = node.value(0)
    shape = data.shape if isinstance(data, Tensor) else np.shape(data)
    if shape[0] != lowering.batch:
        raise Unsupported(f"into an array of shape {shape}, which has other records")
    axis = _inner_axis(lowering, node, Tensor(0, tuple(shape)))
    return _put(lowering, node, _along(axis, _of_one_record(given, lowering), tuple(shape[1:])), tuple(shape))


def _put(lowering: Lowering, node: Node, places: np.ndarray, shape: tuple[int, ...]) -> Tensor:
    """Puts updates at places of an array, or adds them there. The array and the updates may be constants."""
    how = node.attrs.get("reduction", "none")
    flat = places.ravel()
    if how not in ("none", "add") or (how == "add" and len(np.unique(flat)) < flat.size):
        raise Unsupported(f"reduction={how!r}, or of places that are named more than once")
    size = math.prod(shape[1:])
    source = np.full(size, -1)  # the place among the updates; the last of several
    source[flat] = np.arange(flat.size)
    data, updates = node.value(0), node.value(2)
    kept = (source < 0) | (how == "add")
    parts = [_kept(lowering, data, kept, size), _moved(lowering, updates, source, flat.size)]
    arrays = [part for part in parts if isinstance(part, Tensor)]
    made = arrays[0] if len(arrays) == 1 else lowering.emit("add", arrays)
    known = [part for part in parts if isinstance(part, np.ndarray)]
    if known and known[0].any():
        made = lowering.emit("affine", made, None, np.ones(1), known[0])
    return lowering.reshape(made, (made.shape[0], *shape[1:]))


def _kept(lowering: Lowering, data: object, kept: np.ndarray, size: int) -> Tensor | np.ndarray:
    """Returns the elements of an array that are kept, zeros elsewhere."""
    if not isinstance(data, Tensor):
        values = _of_floats(np.asarray(data, np.float64), lowering)
        return np.where(kept, values.ravel(), 0.0)[None]
    flat = _flat(lowering, data)
    if kept.all():
        return flat
    return _at(lowering, flat, np.where(kept, np.arange(size), -1))


def _moved(lowering: Lowering, updates: object, source: np.ndarray, count: int) -> Tensor | np.ndarray:
    """Returns the updates at their places, zeros elsewhere."""
    if isinstance(updates, Tensor):
        return _at(lowering, _flat(lowering, updates), source)
    values = _of_floats(np.asarray(updates, np.float64), lowering).ravel()
    return np.where(source < 0, 0.0, values[source] if count else 0.0)[None]


def _of_floats(values: np.ndarray, lowering: Lowering) -> np.ndarray:
    """Returns constants of one record, which must be equal for all records."""
    if values.shape[0] != lowering.batch or (values != values[:1]).any():
        raise Unsupported(f"a constant of shape {values.shape}, which tells records of a batch apart")
    return np.asarray(values[0])


def _at(lowering: Lowering, flat: Tensor, source: np.ndarray) -> Tensor:
    """Returns elements of a flat record by their places, 0 for -1."""
    places, size = source, flat.shape[1]
    if (source < 0).any():
        flat = lowering.emit("pad", flat, {"pads": [[0, 0], [0, 1]], "mode": "constant"})
        places = np.where(source < 0, size, source)
    return lowering.emit("gather", flat, {"axis": 1, "indices": places.tolist()})
