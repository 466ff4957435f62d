"""Checks that the model and the inputs are where a question says they are."""

from __future__ import annotations

from typing import Any

from quorate.errors import ModelError, ShapeError
from quorate.models._questions import Asked
from quorate.models._records import records_of


def count_of(question: str, importer: str, mpc: Any, has_model: bool, asked: Asked) -> int:
    """Returns the number of inputs.

    Raises:
        ModelError: the model or the inputs are missing at the party that should have them.
        ShapeError: the number of inputs is not known, or differs from the stated one.
    """
    me, X, rows = mpc.me, asked.X, asked.rows
    if not has_model and me == asked.model_owner:
        raise ModelError(f"party {asked.model_owner} owns the model: call {question} on what {importer} returned there")
    if X is None and asked.has_records(mpc):
        raise ModelError(f"party {asked.data_owner} owns the inputs: give them as X there")
    count = rows if X is None else records_of(X)
    if count is None or count < 1 or (rows is not None and rows != count):
        raise ShapeError(f"{count} inputs, rows={rows}: a party without the inputs states their number as rows=")
    return int(count)
