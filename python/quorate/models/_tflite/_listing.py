"""The operators that `from_tflite` takes, as text."""

from __future__ import annotations

from quorate._display._text_tables import text_table
from quorate.models._tflite._lower import OPERATORS


def quantised_operators() -> str:
    r"""Returns the supported operators as text, a line for each with its limits.

    >>> print(quantised_operators().split("\n")[0])
    qr.models.from_tflite supports these operators of TFLite:
    """
    limits = {name: lowering.limits for name, lowering in OPERATORS.items()} | {"SOFTMAX": "as the last operator"}
    rows = [(name, limits[name]) for name in sorted(limits)]
    head = "qr.models.from_tflite supports these operators of TFLite:"
    return "\n".join([head, *(f"  {line}" for line in text_table(("operator", "limits"), rows, 2))])
