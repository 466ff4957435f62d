"""The place of a division after sums: at once, or behind the activation and the maximum that follow."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from quorate.models._layers._kernels import MOVES
from quorate.models._onnx._steps import Step, clear

_PASSED = ("relu", "max_pool", *(kind for kind in MOVES if kind != "concat"))
"""Steps that commute with rounding towards minus infinity: their results are 0 or an element of their operand."""


@dataclasses.dataclass(frozen=True)
class Chain:
    """The steps behind an array that change places with a division, each the only user of the array before it.

    Attributes:
        steps: the steps in order.
        is_output: whether no step uses the last result.
    """

    steps: tuple[Step, ...]
    is_output: bool

    @staticmethod
    def behind(steps: Sequence[Step], place: int) -> Chain:
        """Returns the chain behind the array that step `place` - 1 makes."""
        found: list[Step] = []
        while True:
            users = [number for number, step in enumerate(steps) if place in step.inputs]
            if len(users) != 1 or steps[users[0]].kind not in _PASSED:
                return Chain(tuple(found), not users)
            found.append(steps[users[0]])
            place = users[0] + 1

    def is_cheaper_undivided(self, sizes: tuple[int, ...], sums: int, bits: int) -> bool:
        """Returns whether sums of `sums` bits are better divided, to `bits`, behind the chain than before it.

        It counts the bits that are compared: an exact division costs about as much as a comparison of its whole
        operand.
        """
        if self.is_output:
            return False
        elements, compared = np.zeros(sizes), 0
        for step in self.steps:
            elements = clear(step, [elements])
            if step.kind in ("relu", "max_pool"):
                compared += elements.size * (math.prod(step.attrs["size"]) - 1 if step.kind == "max_pool" else 1)
        return (compared + elements.size) * sums < math.prod(sizes) * sums + compared * bits
