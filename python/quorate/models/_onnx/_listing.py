"""The operators that `from_onnx` takes, as text."""

from __future__ import annotations

from quorate._tables import text_table
from quorate.models._onnx._operators_reals import OPERATORS


def operators() -> str:
    r"""A line for each operator, with what of it is supported.

    >>> print(operators().split("\n")[0])
    qr.models.from_onnx supports these operators of ONNX:
    """
    rows = [(name, OPERATORS[name].limits) for name in sorted(OPERATORS)]
    head = "qr.models.from_onnx supports these operators of ONNX:"
    return "\n".join([head, *(f"  {line}" for line in text_table(("operator", "limits"), rows, 2))])
