"""Records as users give them (arrays, tables, files): their number, and parts of them."""

from __future__ import annotations

import dataclasses
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from quorate.errors import ModelError, RangeError, ShapeError
from quorate.models import _quotes as said
from quorate.tables._read import Table

PICTURES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")


def paths_of(X: Any) -> list[Path] | None:
    """Returns the paths in X if it is a path or a list of paths, else None."""
    given = [X] if isinstance(X, (str, Path)) else X if isinstance(X, (list, tuple)) else []
    return [Path(path) for path in given] if given and all(isinstance(path, (str, Path)) for path in given) else None


def rows_of(X: Any, first: int, last: int) -> Any:
    """Returns the records from `first` to `last`, with the names of their columns; in a dictionary, of each array."""
    if isinstance(X, Mapping):
        return {name: rows_of(values, first, last) for name, values in X.items()}
    if isinstance(X, Table):
        return dataclasses.replace(X, array=X.array[first:last])
    if hasattr(X, "tocsr"):  # some sparse formats have no slices; `check_dense` asks for a dense array
        return X.tocsr()[first:last]
    # pandas' brackets select by labels.
    return X.iloc[first:last] if hasattr(X, "iloc") else X[first:last]


def records_of(X: Any) -> int:
    """Returns the number of records in X, or in each array of it if it is a dictionary of a network's inputs.

    Raises:
        RangeError: rows differ in length.
        ShapeError: X is a single number, or its arrays differ in the number of records.
    """
    if isinstance(X, Mapping):
        counts = {name: records_of(values) for name, values in X.items()}
        if len({*counts.values()}) != 1:
            raise ShapeError(f"X: inputs have other numbers of records, their first axis: {counts}")
        return next(iter(counts.values()))
    try:
        shape = np.shape(X)
    except ValueError as error:
        raise RangeError("X: not a rectangular array of numbers: rows are not equally long") from error
    if not shape:
        raise ShapeError(f"X is a single {type(X).__name__} without rows: records are an array, one after the other")
    return int(shape[0])


def check_dense(X: Any) -> None:
    """Refuses sparse records.

    Raises:
        ShapeError: records are sparse; the message gives the call that makes them dense.
    """
    for values in X.values() if isinstance(X, Mapping) else ():
        check_dense(values)
    if hasattr(X, "toarray"):
        raise ShapeError(f"records are a sparse {type(X).__name__}, and zeros are as secret as the rest: X.toarray()")


def read_array(path: Path) -> np.ndarray:
    """Opens a file of numpy's, which stays on the disk until its values are read."""
    name = said.path(path)
    wrong = f"X: {name} is no .npy file of numbers, as np.save writes them: read others yourself, and give the array"
    try:
        made = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise ModelError(f"X: {name} is no .npy file of numbers that can be read: {why}") from None
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        # numpy's message advises unpickling, which would execute what is in the file
        raise ModelError(wrong) from error
    if isinstance(made, np.ndarray):
        return made
    with made:  # an archive, as spreadsheets are too
        if not made.files or not all(name.endswith(".npy") for name in made.zip.namelist()):
            raise ModelError(wrong)
        raise ModelError(f"X: {name} holds arrays by names: give one of them, numpy.load(path)[{made.files[0]!r}]")
