"""numpy's functions of order, counts, several variables and linear equations on secret arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from quorate._arrays._rearrangement import shaped
from quorate._numpy._arguments import session_of
from quorate._source import at
from quorate._statistics import _counts, _linear_equations, _moments
from quorate.array import SecretArray
from quorate.errors import DtypeError, RangeError, ShapeError

__all__ = ["COUNTS"]


# numpy's `kind` is ignored: equal numbers cannot be told apart, and positions are those of a stable sort.
def _sort(x: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> Any:
    return x.sort(axis)


def _argsort(x: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> Any:
    return x.argsort(axis)


def _partition(x: Any, kth: Any, axis: Any = -1, kind: Any = None) -> Any:
    _public("partition", kth)
    return x.partition(kth, axis)


def _argpartition(x: Any, kth: Any, axis: Any = -1, kind: Any = None) -> Any:
    _public("argpartition", kth)
    return x.argpartition(kth, axis)


def _public(name: str, value: Any) -> None:
    if isinstance(value, SecretArray):
        raise DtypeError(at(f"numpy.{name}: what is not the array must be public"))


def _bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    if not isinstance(x, SecretArray):
        x = session_of(weights).constant(x)
    return _counts.bincount(x, weights, minlength)


def _histogram(x: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    if density:
        raise DtypeError(at("numpy.histogram of a secret counts: density is counts / (counts.sum() * np.diff(edges))"))
    mpc = session_of(x, weights, bins)
    _public("histogram", bins)
    return _counts.histogram(x if isinstance(x, SecretArray) else mpc.constant(x), bins, range, weights)


def _digitize(x: Any, bins: Any, right: Any = False) -> Any:
    _public("digitize", bins)
    return _counts.digitize("numpy.digitize", x, bins, bool(right))


def _searchsorted(a: Any, v: Any, side: str = "left") -> Any:
    """Counts the elements of `a` that are smaller than each of `v`, or not larger. `a` must be sorted, as for numpy."""
    if side not in ("left", "right"):
        raise RangeError(at(f'numpy.searchsorted: side is "left" or "right", not {side!r}'))
    if np.ndim(a) != 1:
        raise ShapeError(at(f"numpy.searchsorted looks in one axis, not in shape {np.shape(a)}"))
    if not isinstance(a, SecretArray):
        edges = np.asarray(a)
        if np.any(edges[1:] < edges[:-1]):
            raise RangeError(at("numpy.searchsorted: the public array is not sorted"))
        return _counts.digitize("numpy.searchsorted", v, edges, side == "left")
    values = v if isinstance(v, SecretArray) else np.asarray(v)
    at_end = values.reshape(*values.shape, 1)
    return (a < at_end if side == "left" else a <= at_end).sum(axis=-1)


def _cov(m: Any, y: Any = None, rowvar: Any = True, bias: Any = False, ddof: Any = None) -> Any:
    return _moments.cov(m, y, bool(rowvar), bool(bias), ddof)


def _corrcoef(x: Any, y: Any = None, rowvar: Any = True) -> Any:
    return _moments.corrcoef(x, y, bool(rowvar))


def _expand_dims(x: Any, axis: Any) -> Any:
    return x.reshape(shaped(np.expand_dims, x.shape, axis))


COUNTS: dict[Any, Callable[..., Any]] = {
    np.sort: _sort,
    np.argsort: _argsort,
    np.partition: _partition,
    np.argpartition: _argpartition,
    np.bincount: _bincount,
    np.histogram: _histogram,
    np.digitize: _digitize,
    np.searchsorted: _searchsorted,
    np.cov: _cov,
    np.corrcoef: _corrcoef,
    np.expand_dims: _expand_dims,
    np.linalg.det: _linear_equations.det,
    np.linalg.inv: _linear_equations.inv,
    np.linalg.solve: _linear_equations.solve,
}
