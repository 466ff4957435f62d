"""The error function by other steps: by an inverse and a power of e of the magnitude, for each sign.

For w >= 0, erf(w) is 1 - (a1 t + a2 t^2 + ... + a5 t^5) e^(-w^2) with t = 1 / (1 + p w), within 1.5e-7. So erf(z) is
G(max(-z, 0)) - G(max(z, 0)) with G the product there. Beyond 4 it is 1, within 2e-8.

**Source**: Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from quorate.models._onnx._steps import Step

_P = 0.3275911
_A = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
_MOST = 4.0


def expanded(steps: Sequence[Step], ends: Sequence[int]) -> tuple[list[Step], list[int]]:
    """Returns steps without error functions, and the places of the outputs among them."""
    made: list[Step] = []
    places = [0]

    def emit(name: str, kind: str, *inputs: int, **attrs: Any) -> int:
        made.append(Step(kind, inputs, attrs, name=name))
        return len(made)

    for step in steps:
        if step.kind == "erf":
            x = places[step.inputs[0]]
            sides = [_share(emit, step.name, emit(step.name, "scale", x, factor=-1.0, offset=0.0))]
            sides.append(_share(emit, step.name, x))
            places.append(emit(step.name, "sub", *sides))
        else:
            made.append(dataclasses.replace(step, inputs=tuple(places[i] for i in step.inputs)))
            places.append(len(made))
    return made, [places[end] for end in ends]


def _share(emit: Any, name: str, x: int) -> int:
    """Adds the steps of G(max(x, 0)), and returns the place of the result."""
    w = emit(name, "clip", x, low=0.0, high=_MOST)
    t = emit(name, "inverse", emit(name, "scale", w, factor=_P, offset=1.0))
    found = emit(name, "scale", t, factor=_A[4], offset=_A[3])
    for offset in _A[2::-1]:
        found = emit(name, "scale", emit(name, "mul", found, t), factor=1.0, offset=offset)
    found = emit(name, "mul", found, t)
    power = emit(name, "exp", emit(name, "scale", emit(name, "mul", w, w), factor=-1.0, offset=0.0))
    return emit(name, "mul", found, power)
