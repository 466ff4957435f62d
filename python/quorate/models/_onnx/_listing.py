"""The operators that `from_onnx` takes, as text."""

from __future__ import annotations

import textwrap

from quorate._display._text_tables import text_table
from quorate.models._onnx._operators_reals import OPERATORS


def operators() -> str:
    r"""Returns the supported operators as text, a line for each with its limits.

    >>> print(operators().split("\n")[0])
    qr.models.from_onnx supports these operators of ONNX:
    """
    # Imported here, since these modules import what the package offers.
    from quorate.models._ml._walk import ML, RULES
    from quorate.models._onnx._quantised import RULES as QUANTISED

    rows = [(name, OPERATORS[name].limits) for name in sorted(OPERATORS)]
    head = "qr.models.from_onnx supports these operators of ONNX:"
    more = {
        "Of ai.onnx.ml, in files of scikit-learn's converter": [name for domain, name in RULES if domain == ML],
        "Of networks that onnxruntime quantised": list(QUANTISED),
    }
    tails = [line for what, names in more.items() for line in ("", f"{what}:", *_lines(sorted(names)))]
    return "\n".join([head, *(f"  {line}" for line in text_table(("operator", "limits"), rows, 2)), *tails])


def _lines(names: list[str]) -> list[str]:
    """Returns names one after another, wrapped to lines."""
    return textwrap.wrap(", ".join(names), 100, initial_indent="  ", subsequent_indent="  ")
