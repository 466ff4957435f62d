"""numpy's own functions on secret arrays: `np.sum(x)`, `np.where(c, x, y)`, `np.exp(x)`.

Each calls the array's method or the session's function, with its rounds and errors. Unsupported functions and arguments
raise an error that says what to write instead (`_unsupported.py`).
"""

from __future__ import annotations

import inspect
import math
import numbers
import operator
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from quorate import functions
from quorate._arrays._prefix import ACCUMULATED
from quorate._arrays._rearrangement import moved
from quorate._numpy._arguments import secrets_in, session_of
from quorate._numpy._integrals import INTEGRALS
from quorate._numpy._statistics import COUNTS
from quorate._numpy._unsupported import instead
from quorate._source import at
from quorate._statistics import _moments
from quorate._values._public_numbers import as_numbers
from quorate.array import SecretArray
from quorate.errors import DtypeError, ShapeError

__all__ = ["FUNCTIONS", "UFUNCS", "call_function", "call_ufunc"]


# ---- element by element --------------------------------------------------------------------------------------------


def _either(op: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Returns the operator for a ufunc. It also serves if only the second operand is secret."""

    def of_both(x: Any, y: Any) -> Any:
        if isinstance(x, SecretArray):
            return op(x, y)
        reflected = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
        plain = op.__name__.strip("_")
        return getattr(y, f"__{reflected[plain]}__" if plain in reflected else f"__r{plain}__")(x)

    return of_both


def _truth(x: Any) -> Any:
    if isinstance(x, SecretArray):
        return x._truth()
    return np.asarray(x) != 0


def _sign(x: SecretArray) -> SecretArray:
    if x.dtype.kind == "bit":
        raise DtypeError(at("numpy.sign does not take bits"))
    one = x.dtype
    return (x > 0).astype(one) - (x < 0).astype(one) if one.kind != "uint" else (x > 0).astype(one)


def _floor(x: SecretArray) -> SecretArray:
    return x if x.dtype.frac == 0 else x // 1


def _ceil(x: SecretArray) -> SecretArray:
    return x if x.dtype.frac == 0 else -(-x // 1)


def _trunc(x: SecretArray) -> SecretArray:
    return x if x.dtype.frac == 0 else x._session.where(x < 0, _ceil(x), _floor(x))


def _never(x: SecretArray) -> SecretArray:
    """Returns zeros, for tests of infinity and NaN, which secret numbers never are."""
    session: Any = x._session
    result: SecretArray = session.constant(np.zeros(x.shape, bool))
    return result


UFUNCS: dict[Any, Callable[..., Any]] = {
    np.add: _either(operator.add),
    np.subtract: _either(operator.sub),
    np.multiply: _either(operator.mul),
    np.true_divide: _either(operator.truediv),
    np.floor_divide: _either(operator.floordiv),
    np.remainder: _either(operator.mod),
    np.divmod: lambda x, y: divmod(x, y) if isinstance(x, SecretArray) else y.__rdivmod__(x),
    np.power: lambda x, y: x**y if isinstance(x, SecretArray) else y.__rpow__(x),
    np.square: lambda x: x * x,
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.absolute: abs,
    np.fabs: abs,
    np.sign: _sign,
    np.less: _either(operator.lt),
    np.less_equal: _either(operator.le),
    np.greater: _either(operator.gt),
    np.greater_equal: _either(operator.ge),
    np.equal: _either(operator.eq),
    np.not_equal: _either(operator.ne),
    np.bitwise_and: _either(operator.and_),
    np.bitwise_or: _either(operator.or_),
    np.bitwise_xor: _either(operator.xor),
    np.invert: operator.invert,
    np.left_shift: _either(operator.lshift),
    np.right_shift: _either(operator.rshift),
    np.logical_and: lambda x, y: session_of(x, y) and _either(operator.and_)(_truth(x), _truth(y)),
    np.logical_or: lambda x, y: session_of(x, y) and _either(operator.or_)(_truth(x), _truth(y)),
    np.logical_xor: lambda x, y: session_of(x, y) and _either(operator.xor)(_truth(x), _truth(y)),
    np.logical_not: lambda x: ~_truth(x),
    np.maximum: lambda x, y: session_of(x, y).maximum(x, y),
    np.minimum: lambda x, y: session_of(x, y).minimum(x, y),
    np.fmax: lambda x, y: session_of(x, y).maximum(x, y),
    np.fmin: lambda x, y: session_of(x, y).minimum(x, y),
    np.matmul: _either(operator.matmul),
    np.exp: functions.exp,
    np.log: functions.log,
    np.sqrt: functions.sqrt,
    np.tanh: functions.tanh,
    np.reciprocal: functions.reciprocal,
    np.rint: lambda x: x.round(),
    np.floor: _floor,
    np.ceil: _ceil,
    np.trunc: _trunc,
    np.isnan: _never,
    np.isinf: _never,
    np.isfinite: lambda x: ~_never(x),
    np.signbit: lambda x: x < 0,
}

# The functions that `reduce` of a ufunc stands for, as in `np.add.reduce(x)`.
_REDUCED = {
    np.add: "sum",
    np.multiply: "prod",
    np.maximum: "max",
    np.minimum: "min",
    np.logical_and: "all",
    np.logical_or: "any",
}


def call_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Implements `SecretArray.__array_ufunc__`."""
    if kwargs.get("out") is not None:
        raise DtypeError(at("a secret cannot be written into a numpy array: write x = x + y, not x += y"))
    if method == "reduce" and ufunc in _REDUCED:
        reduced = FUNCTIONS[getattr(np, _REDUCED[ufunc])]
        return _bound(f"numpy.{ufunc.__name__}.reduce", reduced, inputs, {"axis": 0, **_stated(kwargs)})
    if method == "accumulate" and ufunc in ACCUMULATED:
        return _bound(f"numpy.{ufunc.__name__}.accumulate", ACCUMULATED[ufunc], inputs, _stated(kwargs))
    name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    here = UFUNCS.get(ufunc) if method == "__call__" else None
    if here is None:
        _absent(name)
    if kwargs:
        raise DtypeError(at(f"numpy.{name} of secret arrays takes no {', '.join(sorted(kwargs))}"))
    return here(*inputs)


# ---- functions of whole arrays -------------------------------------------------------------------------------------


def _method(name: str) -> Callable[..., Any]:
    """Returns a function that calls the secret array's method, with its signature."""
    of_arrays = getattr(SecretArray, name)

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        return of_arrays(x, *args, **kwargs)

    call.__signature__ = inspect.signature(of_arrays)  # type: ignore[attr-defined]
    return call


def _move(function: Any) -> Callable[..., Any]:
    """Returns a function for one of numpy's that only moves elements."""

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        if next(secrets_in((args, kwargs)), None) is not None:
            raise DtypeError(at(f"numpy.{function.__name__}: what is not the array must be public"))
        return moved(function, list(x) if isinstance(x, (list, tuple)) else x, *args, **kwargs)

    return call


def _join(function: Any) -> Callable[..., Any]:
    """Returns a function for one of numpy's that joins arrays."""

    def call(arrays: Any, *args: Any, **kwargs: Any) -> Any:
        return moved(function, [*arrays], *args, **kwargs)

    return call


def _where(condition: Any, *xy: Any) -> Any:
    if len(xy) != 2:
        raise DtypeError(at("numpy.where of a secret takes three arguments: how many positions hold would be told"))
    return session_of(condition, xy).where(condition, *xy)


def _sum(
    x: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    return x.sum(axis, keepdims, dtype=dtype, initial=initial, where=where)


def _prod(
    x: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    return x.prod(axis, keepdims, dtype=dtype, initial=initial, where=where)


def _mean(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    return x.mean(axis, keepdims, dtype=dtype)


def _var(
    x: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False, *, correction: int | None = None
) -> Any:
    return x.var(axis, keepdims, ddof=ddof if correction is None else correction, dtype=dtype)


def _std(
    x: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False, *, correction: int | None = None
) -> Any:
    return x.std(axis, keepdims, ddof=ddof if correction is None else correction, dtype=dtype)


def _cumsum(x: Any, axis: Any = None, dtype: Any = None) -> Any:
    return x.cumsum(axis, dtype=dtype)


def _cumprod(x: Any, axis: Any = None, dtype: Any = None) -> Any:
    return x.cumprod(axis, dtype=dtype)


def _quantile(x: Any, q: Any, axis: Any = None, keepdims: bool = False, *, method: str = "linear") -> Any:
    return x.quantile(q, axis, keepdims, method=method)


def _percentile(x: Any, q: Any, axis: Any = None, keepdims: bool = False, *, method: str = "linear") -> Any:
    return _quantile(x, np.asarray(q) / 100, axis, keepdims, method=method)


def _average(x: Any, axis: Any = None, weights: Any = None, keepdims: bool = False) -> Any:
    if weights is None:
        return x.mean(axis, keepdims)
    x, weights = (v if isinstance(v, SecretArray) else as_numbers(v, "numpy.average") for v in (x, weights))
    weights = _along(weights, x, axis)
    if not isinstance(weights, SecretArray):
        return _moments.average(x, weights, axis, keepdims)
    weighed = session_of(x, weights) and x * weights
    return weighed.sum(axis, keepdims) / _total(weights, x, axis, keepdims)


def _along(weights: Any, x: Any, axis: Any) -> Any:
    """Returns weights that broadcast to x; weights of one axis are laid along `axis`.

    Raises:
        ShapeError: the weights have neither the shape of x nor the length of the axis.
    """
    if weights.shape == x.shape:
        return weights
    one = isinstance(axis, numbers.Integral) and -x.ndim <= int(axis) < x.ndim
    if not one or weights.shape != (x.shape[axis],):
        raise ShapeError(at(f"numpy.average: weights {weights.shape} fit neither the array, {x.shape}, nor one axis="))
    return weights.reshape([n if a == axis % x.ndim else 1 for a, n in enumerate(x.shape)])


def _total(weights: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """Returns the sum of secret weights, broadcast to the shape of x."""
    return moved(np.broadcast_to, weights, x.shape).sum(axis, keepdims)


def _count_nonzero(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return x._truth().sum(axis, keepdims)


def _round(x: Any, decimals: int = 0) -> Any:
    return x.round(decimals)


def _clip(x: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = min if a_min is None else a_min, max if a_max is None else a_max
    return (x if isinstance(x, SecretArray) else session_of(low, high).constant(x)).clip(low, high)


def _reshape(x: Any, shape: Any, *, copy: Any = None) -> Any:
    return x.reshape(shape)


def _dot(x: Any, y: Any) -> Any:
    of_x, of_y = np.ndim(x), np.ndim(y)
    if not of_x or not of_y:
        return _either(operator.mul)(x, y)
    if max(of_x, of_y) > 2:
        return _tensordot(x, y, ([of_x - 1], [max(of_y - 2, 0)]))
    if isinstance(x, SecretArray):
        return x.dot(y)
    return session_of(y).constant(x).dot(y) if np.ndim(x) != 2 else x @ y


def _inner(x: Any, y: Any) -> Any:
    mpc = session_of(x, y)
    x, y = (v if isinstance(v, SecretArray) else mpc.constant(v) for v in (x, y))
    return x * y if not x.shape or not y.shape else _tensordot(x, y, ([x.ndim - 1], [y.ndim - 1]))


def _outer(x: Any, y: Any) -> Any:
    x, y = (v if isinstance(v, SecretArray) else np.asarray(v) for v in (x, y))
    return _either(operator.mul)(x.reshape(-1, 1), y.reshape(1, -1))


def _tensordot(x: Any, y: Any, axes: Any = 2) -> Any:
    x, y = (v if isinstance(v, SecretArray) else np.asarray(v) for v in (x, y))
    if isinstance(axes, numbers.Integral):
        of_x, of_y = list(range(x.ndim - int(axes), x.ndim)), list(range(int(axes)))
    else:
        of_x, of_y = ([int(a)] if isinstance(a, numbers.Integral) else list(a) for a in axes)
    of_x, of_y = [a % x.ndim for a in of_x], [a % y.ndim for a in of_y]
    if [x.shape[a] for a in of_x] != [y.shape[a] for a in of_y]:
        raise ShapeError(at(f"numpy.tensordot: shapes {x.shape} and {y.shape} do not agree along axes {of_x}, {of_y}"))
    left, right = ([a for a in range(v.ndim) if a not in of] for v, of in ((x, of_x), (y, of_y)))
    inner = int(np.prod([x.shape[a] for a in of_x], dtype=np.int64))
    sizes = [x.shape[a] for a in left], [y.shape[a] for a in right]
    one = x.transpose(left + of_x).reshape(int(np.prod(sizes[0], dtype=np.int64)), inner)
    other = y.transpose(of_y + right).reshape(inner, int(np.prod(sizes[1], dtype=np.int64)))
    return _either(operator.matmul)(one, other).reshape([*sizes[0], *sizes[1]])


def _vdot(x: Any, y: Any) -> Any:
    return _inner(*(v.reshape(-1) if isinstance(v, SecretArray) else np.ravel(v) for v in (x, y)))


def _diff(x: Any, n: int = 1, axis: int = -1) -> Any:
    if x.dtype.kind == "bit":
        raise DtypeError(at("numpy.diff does not take bits: x[1:] ^ x[:-1] is where they change"))
    if n < 0 or not -x.ndim <= axis < x.ndim:
        raise ShapeError(at(f"numpy.diff: n is {n}, from 0 on, and axis {axis} is one of {x.ndim}"))
    for _ in range(n):
        size = x.shape[axis]
        x = moved(np.take, x, np.arange(1, size), axis) - moved(np.take, x, np.arange(max(size - 1, 0)), axis)
    return x


def _take(x: Any, indices: Any, axis: int | None = None) -> Any:
    if isinstance(indices, SecretArray):
        return session_of(x, indices).take(x, indices, axis)
    return moved(np.take, x, indices, axis)


_PADDED = ("constant", "edge", "reflect", "symmetric", "wrap")


def _pad(x: Any, pad_width: Any, mode: Any = "constant", constant_values: Any = 0, reflect_type: str = "even") -> Any:
    """Pads with zeros or with the array's own elements; modes that compute new elements are refused."""
    if mode not in _PADDED or reflect_type != "even":
        raise DtypeError(
            at(f"numpy.pad of secret arrays takes mode={', '.join(map(repr, _PADDED))}, not odd reflection")
        )
    if isinstance(constant_values, SecretArray) or np.any(np.asarray(constant_values) != 0):
        raise DtypeError(at("numpy.pad of secret arrays puts zeros: np.pad(x - v, width) + v puts v"))
    return _move(np.pad)(x, pad_width, mode)


def _transpose(x: Any, axes: Any = None) -> Any:
    return x.transpose() if axes is None else x.transpose(axes)


def _size(x: Any, axis: Any = None) -> int:
    named = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return math.prod(x.shape[a] for a in named)


def _append(x: Any, values: Any, axis: int | None = None) -> Any:
    x, values = (v if isinstance(v, SecretArray) else np.asarray(v) for v in (x, values))
    both = [x.reshape(-1), values.reshape(-1)] if axis is None else [x, values]
    return session_of(both).concatenate(both, 0 if axis is None else axis)


def _like(value: int) -> Callable[..., Any]:
    def call(x: Any, shape: Any = None) -> Any:
        return x._session.constant(np.full(x.shape if shape is None else shape, value, np.int64), x.dtype)

    return call


def _full_like(x: Any, fill_value: Any, shape: Any = None) -> Any:
    mpc = session_of(x, fill_value)
    shape = x.shape if shape is None else shape
    if isinstance(fill_value, SecretArray):
        if fill_value.dtype != x.dtype:
            raise DtypeError(at(f"numpy.full_like: {fill_value.dtype} fills no {x.dtype}: convert the value first"))
        return moved(np.broadcast_to, fill_value, shape)
    return mpc.constant(np.full(shape, fill_value), x.dtype)


def _array_equal(x: Any, y: Any) -> Any:
    if np.shape(x) != np.shape(y):
        return False
    return _either(operator.eq)(x, y).all()


def _nan_to_num(x: Any) -> Any:
    return x


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.sum: _sum,
    np.prod: _prod,
    np.mean: _mean,
    np.var: _var,
    np.std: _std,
    np.average: _average,
    np.cumprod: _cumprod,
    np.cumsum: _cumsum,
    np.count_nonzero: _count_nonzero,
    np.quantile: _quantile,
    np.percentile: _percentile,
    np.round: _round,
    np.around: _round,
    np.clip: _clip,
    np.where: _where,
    np.reshape: _reshape,
    np.dot: _dot,
    np.inner: _inner,
    np.outer: _outer,
    np.tensordot: _tensordot,
    np.vdot: _vdot,
    np.diff: _diff,
    np.take: _take,
    np.append: _append,
    np.concatenate: lambda arrays, axis=0: (
        session_of(arrays).concatenate(arrays, axis)
        if axis is not None
        else session_of(arrays).concatenate([v.ravel() if isinstance(v, SecretArray) else np.ravel(v) for v in arrays])
    ),
    np.stack: lambda arrays, axis=0: session_of(arrays).stack(arrays, axis),
    np.zeros_like: _like(0),
    np.ones_like: _like(1),
    np.full_like: _full_like,
    np.array_equal: _array_equal,
    np.nan_to_num: _nan_to_num,
    np.copy: lambda x: x,
    np.shape: lambda x: x.shape,
    np.ndim: lambda x: x.ndim,
    np.size: _size,
    np.pad: _pad,
    np.transpose: _transpose,
    np.nansum: _sum,
    np.nanprod: _prod,
    np.nanmean: _mean,
    np.nanvar: _var,
    np.nanstd: _std,
    np.nancumprod: _cumprod,
    np.nancumsum: _cumsum,
    np.nanquantile: _quantile,
    np.nanpercentile: _percentile,
    **COUNTS,
    **INTEGRALS,
}
for _name in ("max", "min", "argmax", "argmin", "any", "all", "ptp", "median", "ravel", "trace"):
    FUNCTIONS[getattr(np, _name)] = _method(_name)
for _name in ("squeeze", "swapaxes", "repeat", "diagonal"):
    FUNCTIONS[getattr(np, _name)] = _method(_name)
for _name in ("nanmax", "nanmin", "nanargmax", "nanargmin", "nanmedian"):
    FUNCTIONS[getattr(np, _name)] = _method(_name.removeprefix("nan"))
for _name in ("amax", "amin"):
    FUNCTIONS[getattr(np, _name)] = _method(_name.removeprefix("a"))
_MOVES: list[Any] = [np.array_split, np.split, np.hsplit, np.vsplit, np.dsplit, np.broadcast_to]
_MOVES += [np.atleast_1d, np.atleast_2d, np.atleast_3d, np.moveaxis, np.rollaxis, np.roll, np.rot90, np.flip, np.fliplr]
_MOVES += [np.flipud, np.delete, np.diag, np.diagflat, np.tril, np.triu, np.resize, np.tile]
for _function in _MOVES:
    FUNCTIONS[_function] = _move(_function)
for _name in ("vstack", "hstack", "dstack", "column_stack"):
    FUNCTIONS[getattr(np, _name)] = _join(getattr(np, _name))


def _stated(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments without those that state a default.

    Raises:
        DtypeError: the argument is a numpy array for the result.
    """
    idle = {
        "overwrite_input": False,
        "out": None,
        "order": None,
        "subok": True,
        "where": True,
        "initial": None,
        "kind": None,
        "casting": None,
    }
    kept = {}
    for name, value in kwargs.items():
        if value is np._NoValue or (name in idle and value is idle[name]):  # type: ignore[attr-defined]
            continue
        if name == "out":
            raise DtypeError(at("a secret cannot be written into a numpy array: use what is returned"))
        kept[name] = value
    return kept


def call_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Implements `SecretArray.__array_function__`."""
    here = FUNCTIONS.get(function)
    name = f"{function.__module__}.{function.__name__}"
    if here is None:
        _absent(name.removeprefix("numpy."))
    args, kwargs = _by_place(function, here, args, kwargs)
    stated = _stated(kwargs)
    _agree(name, function, inspect.signature(here), len(args))
    return _bound(name, here, args, stated)


def _by_place(
    function: Any, here: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Turns mandatory arguments given by numpy's names into positional ones: `np.sum(a=x)` into `np.sum(x)`."""
    try:
        theirs = list(inspect.signature(function).parameters)
    except ValueError:
        return args, kwargs
    ours = list(inspect.signature(here).parameters.values())
    given, kwargs = list(args), dict(kwargs)
    for place in range(len(args), min(len(ours), len(theirs))):
        if ours[place].default is not inspect.Parameter.empty or theirs[place] not in kwargs:
            break
        given.append(kwargs.pop(theirs[place]))
    return tuple(given), kwargs


# Hints for arguments that are not supported.
_UNKNOWN = {
    "where": "mpc.where(mask, x, v) puts what changes nothing in place of elements that do not count, and "
    "mask.sum() of secret bits is how many do",
    "initial": "np.maximum(result, v), or whatever the function does of two",
    "method": "quantiles are linear between neighbours",
    "weights": "np.average(x, weights=w) is the weighted mean",
    "fweights": "np.repeat(x, fweights, axis=1) of public ones",
    "aweights": "centre by np.average(x, weights=w), and add up weighted products",
    "order": "secrets have no memory order, and no fields",
}


def _bound(name: str, here: Callable[..., Any], args: tuple[Any, ...], stated: dict[str, Any]) -> Any:
    """Calls the function.

    Raises:
        DtypeError: it does not take these arguments.
    """
    signature = inspect.signature(here)
    try:
        signature.bind(*args, **stated)
    except TypeError as error:
        known = [p.name for p in signature.parameters.values() if p.default is not p.empty]
        for unknown in (key for key in stated if key not in signature.parameters):
            hint = _UNKNOWN.get(unknown, f"it takes {', '.join(known)}" if known else "it takes arrays alone")
            raise DtypeError(at(f"{name} of secret arrays takes no {unknown}=: {hint}")) from None
        raise DtypeError(at(f"{name} of secret arrays: {error}")) from None
    return here(*args, **stated)


def _agree(name: str, function: Any, ours: inspect.Signature, given: int) -> None:
    """Checks that optional arguments given by position have the same name in numpy's signature and in ours.

    Raises:
        DtypeError: the names differ.
    """
    try:
        theirs = list(inspect.signature(function).parameters)
    except ValueError:
        return
    for place, parameter in list(enumerate(ours.parameters.values()))[:given]:
        if parameter.default is not parameter.empty and parameter.name != theirs[place]:
            raise DtypeError(at(f"{name} of secret arrays: name the arguments, as in {parameter.name}="))


def _absent(name: str) -> NoReturn:
    raise DtypeError(at(f"numpy.{name} does not take secret arrays: {instead(name)}"))
