"""Attention, and rows of a table by secret numbers."""

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
    """Scaled dot-product attention: softmax(query key^T scale + mask) value, over the last two axes.

    Two products of matrices and a softmax.

    Args:
        query: (..., queries, size), fixed point; axes before the last two are a batch, and heads.
        key: (..., keys, size).
        value: (..., keys, values).
        mask: public numbers (queries, keys) that are added; `-inf` keeps a key from being seen.
        scale: 1 / sqrt(size) where it is not given.

    Example:
        >>> import numpy as np, quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     q = mpc.input([[1.0, 0.0]], owner=0, bound=1)
        ...     print(qr.nn.attention(q, np.eye(2) * 9, np.eye(2), scale=1).reveal().round(2))
        [[1. 0.]]
    """
    session_of("attention", query, key)
    size = shape_of(query)[-1]
    turned = (
        key.transpose(*range(len(key.shape) - 2), -1, -2)
        if isinstance(key, SecretArray)
        else np.swapaxes(np.asarray(key), -1, -2)
    )
    scores = (query @ turned) * (1 / math.sqrt(size) if scale is None else float(scale))
    if mask is None:
        return softmax(scores) @ value
    seen = np.asarray(mask, dtype=np.float64)
    if isinstance(mask, SecretArray) or np.isnan(seen).any() or (seen == np.inf).any():
        raise ShapeError(at("attention: a mask is public numbers, or -inf"))
    if np.isneginf(seen).all(axis=-1).any():
        raise ShapeError(at("attention: a query of which no key is seen"))
    # e^-40 is less than half a unit of any dtype that softmax takes.
    hidden = np.isneginf(seen)
    least = -40.0 - 2 * _reach(scores) if hidden.any() else 0.0
    return softmax(scores + np.where(hidden, least, seen)) @ value


def _reach(scores: SecretArray) -> float:
    """The largest magnitude that scores may have and still be held beside what hides them."""
    return float(2 ** ((scores.dtype.bits - scores.dtype.frac) // 2 - 3))


def embedding(index: SecretArray, table: Any) -> SecretArray:
    """Rows of a table (rows, size) by secret whole numbers; zeros where there is no such row.

    One-hot rows times the table: what `mpc.take` costs. Public tables cost no product.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     print(qr.nn.embedding(mpc.input([1, 0], owner=0), [[1.5, 2.0], [0.5, 3.0]]).reveal())
        [[0.5 3. ]
         [1.5 2. ]]
    """
    session = session_of("embedding", index)
    return session.take(table, index, axis=0)
