"""Attention, and embeddings by secret indices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from quorate._source import at
from quorate.array import SecretArray
from quorate.errors import ShapeError
from quorate.functions import softmax
from quorate.nn._layout import session_of, shape_of

__all__ = ["attention", "embedding"]


def attention(query: Any, key: Any, value: Any, *, mask: Any = None, scale: float | None = None) -> SecretArray:
    """Computes scaled dot-product attention, softmax(query key^T scale + mask) value, over the last two axes.

    It takes two products of matrices and a softmax.

    Args:
        query: (..., queries, size), fixed point; axes before the last two are batch and heads.
        key: (..., keys, size).
        value: (..., keys, values).
        mask: (queries, keys), preceded by the other axes where arrays have them. Numbers, public or secret, are added
            to the scaled products; a public `-inf` hides a key. Booleans, public or secret, are True for keys that a
            query uses. Public masks cost nothing, and must leave each query at least one key. A query to which a secret
            mask leaves no key gets the mean of all values.
        scale: 1 / sqrt(size) if not given.

    Example:
        >>> import numpy as np, quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     q = mpc.input([[1.0, 0.0]], owner=0, bound=1)
        ...     print(qr.nn.attention(q, np.eye(2) * 9, np.eye(2), scale=1).reveal().round(2))
        [[1. 0.]]
    """
    session_of("attention", query, key)
    for name, given in (("query", query), ("key", key), ("value", value)):
        if len(shape_of(given)) < 2:
            raise ShapeError(at(f"attention: a {name} of shape {shape_of(given)}; it has two axes at least"))
    turned = (
        key.transpose(*range(len(key.shape) - 2), -1, -2)
        if isinstance(key, SecretArray)
        else np.swapaxes(np.asarray(key), -1, -2)
    )
    scores = (query @ turned) * (1 / math.sqrt(shape_of(query)[-1]) if scale is None else float(scale))
    return softmax(scores if mask is None else _masked(scores, mask)) @ value


def _masked(scores: SecretArray, mask: Any) -> SecretArray:
    session = scores._session
    try:
        np.broadcast_shapes(scores.shape, shape_of(mask))
    except ValueError:
        raise ShapeError(at(f"attention: a mask of shape {shape_of(mask)} for products of {scores.shape}")) from None
    if isinstance(mask, SecretArray):
        return session.where(mask, scores, _below(scores)) if mask.dtype.kind == "bit" else scores + mask
    added = np.asarray(mask)
    added = np.where(added, 0.0, -np.inf) if added.dtype.kind == "b" else added.astype(np.float64)
    if np.isnan(added).any() or (added == np.inf).any():
        raise ShapeError(at("attention: a mask is numbers, -inf, or booleans"))
    most = added.max(axis=-1, keepdims=True, initial=-np.inf)
    if np.isneginf(most).any():
        raise ShapeError(at("attention: a query of which no key is seen"))
    added = added - most  # softmax does not change where one number is added to all keys
    low, high = _range(scores)
    hidden = added < low - high - _FAR
    if (added[~hidden] != 0).any():
        scores = scores + np.where(hidden, 0.0, added)
    return session.where(~hidden, scores, _below(scores)) if hidden.any() else scores


_FAR = 40.0
"""The power of a score this far below the largest is less than half a unit of any dtype that softmax takes."""


def _range(scores: SecretArray) -> tuple[float, float]:
    """Returns the proven range of scores, limited to a quarter of the dtype's range."""
    unit, most = 2.0**-scores.dtype.frac, 2 ** (scores.dtype.bits - 3)
    low, high = scores._session._native.range(scores._node)
    return max(low, -most) * unit, min(high, most) * unit


def _below(scores: SecretArray) -> float:
    """Returns a score so low that its softmax is 0."""
    return _range(scores)[0] - _FAR


def embedding(index: SecretArray, table: Any) -> SecretArray:
    """Looks up rows of a table (rows, size) by secret whole numbers; zeros where there is no such row.

    It multiplies one-hot rows by the table, as `mpc.take` does and at its cost. With a public table the product is
    local.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     print(qr.nn.embedding(mpc.input([1, 0], owner=0), [[1.5, 2.0], [0.5, 3.0]]).reveal())
        [[0.5 3. ]
         [1.5 2. ]]
    """
    session = session_of("embedding", index)
    return session.take(table, index, axis=0)
