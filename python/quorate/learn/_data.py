"""Checks and conversions of records and targets for training: secret, or numpy's for training in the clear."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from quorate._source import at
from quorate.array import SecretArray
from quorate.dtypes import Dtype
from quorate.errors import ConfigError, DtypeError, RangeError, ShapeError
from quorate.learn._dense_network import Reals
from quorate.tables._secret import Frame

__all__ = ["classes_of", "clear_records", "clear_targets", "column", "records", "targets"]


def classes_of(classes: Any, y: Any) -> tuple[int, ...]:
    """Returns the possible labels, which are public and must be stated, since labels are secret.

    Raises:
        ConfigError: they are not stated, or are not distinct whole numbers.
    """
    if classes is None:
        if getattr(getattr(y, "dtype", None), "kind", None) in ("b", "bit"):
            return 0, 1
        raise ConfigError(
            at("fit: labels are secret, so say which there are: classes=3 for 0, 1 and 2, or classes=[1, 2, 5]")
        )
    if isinstance(classes, (int, np.integer)) and not isinstance(classes, bool):
        classes = range(int(classes))
    try:
        listed = list(classes)
    except TypeError:
        raise ConfigError(at(f"classes must be a number or a list of labels, not {classes!r}")) from None
    whole = all(isinstance(c, numbers.Integral) and abs(int(c)) < 1 << 31 for c in listed)
    if not whole or len(listed) < 2 or len(set(listed)) < len(listed):
        raise ConfigError(at(f"classes must be two or more different whole numbers below 2^31, not {classes!r}"))
    return tuple(int(c) for c in listed)


def records(x: Any, what: str, features: int | None = None) -> SecretArray:
    """Returns secret records (records, features), checked.

    Raises:
        DtypeError, ShapeError: `x` is not such an array, or has another number of features than the model.
    """
    if isinstance(x, Frame):
        raise DtypeError(
            at(
                f"{what} takes an array: np.column_stack([frame[name].clip(low, high), ...]) of the frame's columns, "
                "and frame[name] + 0 of words and dates"
            )
        )
    if not isinstance(x, SecretArray):
        raise DtypeError(at(f"{what} takes a secret array, not {type(x).__name__}: see mpc.input"))
    if x.ndim != 2 or 0 in x.shape:
        raise ShapeError(at(f"{what} takes records (records, features), not shape {x.shape}"))
    if features is not None and x.shape[1] != features:
        raise ShapeError(at(f"{what}: records have {x.shape[1]} features, and the model {features}"))
    return x


def column(x: SecretArray, y: Any, what: str) -> SecretArray:
    """Returns secret labels or numbers, one for each record, checked.

    Raises:
        DtypeError, ShapeError, ConfigError: `y` is not such an array.
    """
    if not isinstance(y, SecretArray):
        raise DtypeError(at(f"{what} takes secret labels or numbers, not {type(y).__name__}: see mpc.input"))
    if y._session is not x._session:
        raise ConfigError(at(f"{what}: X and y belong to different sessions"))
    if y.ndim == 2 and y.shape[1] == 1:
        y = y.reshape(-1)
    if y.shape != x.shape[:1]:
        raise ShapeError(at(f"{what}: y has shape {y.shape}, and X {x.shape[0]} records"))
    return y


def targets(x: SecretArray, y: Any, classes: tuple[int, ...] | None, dtype: Dtype) -> SecretArray:
    """Returns the targets of outputs (records, outputs): numbers, or 0 and 1 from labels.

    Raises:
        DtypeError, ShapeError, ConfigError: y is not a secret value for each record.
    """
    y = column(x, y, "fit")
    if classes is None:
        return y.astype(dtype).reshape(-1, 1)
    if y.dtype.kind == "fixed":
        raise DtypeError(at(f"fit: labels are whole numbers or bits, not {y.dtype}: convert with astype"))
    if y.dtype.kind == "bit":
        if classes != (0, 1):
            raise ConfigError(at(f"fit: labels are bits, and classes {classes}"))
        return y.astype(dtype).reshape(-1, 1)
    if len(classes) == 2:
        return (y == classes[1]).astype(dtype).reshape(-1, 1)
    return (y.reshape(-1, 1) == np.array(classes)).astype(dtype)


def clear_records(x: Any, features: int | None = None) -> Reals:
    """Returns public records (records, features), checked.

    Raises:
        ShapeError, RangeError: they are not a table of numbers, or have NaN or infinity.
    """
    given = np.asarray(x, float)
    if given.ndim != 2 or 0 in given.shape or features not in (None, given.shape[1]):
        raise ShapeError(at(f"records have shape (records, features), not {given.shape}"))
    if not np.isfinite(given).all():
        raise RangeError(at("records have NaN or infinity"))
    return given


def clear_targets(x: Reals, y: Any, classes: tuple[int, ...] | None) -> Reals:
    """Returns the targets of outputs, from public labels or numbers.

    Raises:
        ShapeError, RangeError: there is not one for each record, or a label is not one of the classes.
    """
    given = np.asarray(y)
    if given.shape != x.shape[:1]:
        raise ShapeError(at(f"y has shape {given.shape}, and X {x.shape[0]} records"))
    if classes is None:
        return clear_records(given.reshape(-1, 1))
    if not np.isin(given, classes).all():
        raise RangeError(at(f"a label is none of the classes {classes}"))
    if len(classes) == 2:
        return np.asarray((given == classes[1]).reshape(-1, 1), float)
    return np.asarray(given[:, None] == np.array(classes), float)
