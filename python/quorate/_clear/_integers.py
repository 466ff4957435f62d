"""Exact integers of any size in numpy's arrays, and the smallest and largest units of dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate.dtypes import Dtype

__all__ = ["exact", "limits"]


def exact(values: Any) -> np.ndarray:
    """Returns an array of exact integers: bools and int64 as int64, other types as Python's integers."""
    array = np.asarray(values)
    if array.dtype == np.bool_:
        return array.astype(np.int64)
    return array if array.dtype == np.int64 else array.astype(object)


def limits(dtype: Dtype) -> tuple[int, int]:
    """Returns the smallest and largest units that a dtype holds."""
    if dtype.kind == "bit":
        return 0, 1
    if dtype.kind == "uint":
        return 0, (1 << dtype.bits) - 1
    return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1
