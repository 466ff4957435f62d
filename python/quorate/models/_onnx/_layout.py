"""The place of the batch in a file's arrays: first, at another axis, or as a part of one beside heads or steps.

Steps have the batch as their first axis. PyTorch's attention, for example, goes from (steps, batch, numbers) to (steps,
batch x heads, numbers of a head) and to (steps x batch, numbers). A `Turned` states the place of the batch in the
file's array; steps compute on the same array with the batch first.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np


class Unsupported(Exception):
    """The reason why a node cannot be computed, though its operator is supported."""


@dataclasses.dataclass(frozen=True)
class Tensor:
    """An array that depends on the input: its place among the steps' results, and its shape with the batch."""

    place: int
    shape: tuple[int, ...]

    @property
    def layout(self) -> Layout:
        """The layout with the batch as the first axis."""
        return Layout()


@dataclasses.dataclass(frozen=True)
class Layout:
    """The place of the batch in a file's array.

    Attributes:
        axis: the axis that the batch is, or is a part of.
        before, after: the axis goes through `before` x batch x `after` places, the last of these fastest.
    """

    axis: int = 0
    before: int = 1
    after: int = 1

    @property
    def parts(self) -> list[int]:
        """The sizes of the parts beside the batch in its axis."""
        return [n for n in (self.before, self.after) if n != 1]

    def first(self, axis: int) -> int:
        """Returns the place of another axis of the file's array when the batch is first."""
        return axis + 1 if axis < self.axis else axis + len(self.parts)


@dataclasses.dataclass(frozen=True)
class Turned:
    """An array that the file has with its batch elsewhere.

    Attributes:
        tensor: the array with the batch first, then the other axes in the file's order, including those beside the
            batch.
        layout: the place of the batch in the file's array.
    """

    tensor: Tensor
    layout: Layout

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the file's array."""
        first, *others = self.tensor.shape
        axis, parts = self.layout.axis, self.layout.parts
        return (*others[:axis], first * math.prod(parts), *others[axis + len(parts) :])


def turned(tensor: Tensor, layout: Layout) -> Tensor | Turned:
    """Returns an array whose batch has this place in the file."""
    return tensor if layout == Layout() else Turned(tensor, layout)


def batch_first(x: Tensor | Turned) -> Tensor:
    """Returns the array that steps compute on."""
    return x.tensor if isinstance(x, Turned) else x


def reshaped(x: Tensor | Turned, sizes: Sequence[int]) -> tuple[Layout, tuple[int, ...]]:
    """Returns the place of the batch in an array of other sizes, and these sizes with the batch first.

    Axes before the batch and behind it stay there. For more than one record there is at most one way. For one record,
    which the file does not distinguish from an axis of one place, each way is right. Then a way is preferred in which
    the batch is an axis of its own, and next one in which a product of matrices can be taken.
    """
    layout, count = x.layout, batch_first(x).shape[0]
    ahead = math.prod(x.shape[: layout.axis]) * layout.before
    behind = math.prod(x.shape[layout.axis + 1 :]) * layout.after
    ways = []
    for axis, n in enumerate(sizes):
        left, right = math.prod(sizes[:axis]), math.prod(sizes[axis + 1 :])
        if not left or not right or ahead % left or behind % right:
            continue
        made = Layout(axis, ahead // left, behind // right)
        if n == made.before * count * made.after:
            ways.append(made)
    if not ways:
        raise Unsupported(f"from {x.shape} to {tuple(sizes)} it mixes the batch with other axes")
    best = min(ways, key=lambda way: (len(way.parts) > 0, way.axis == len(sizes) - 1, way.before))
    return best, (count, *sizes[: best.axis], *best.parts, *sizes[best.axis + 1 :])


def constant_beside(value: np.ndarray, rank: int, layout: Layout, count: int) -> np.ndarray:
    """Returns a constant that broadcasts against an array of `rank` axes, for the array with the batch first.

    Raises:
        Unsupported: it has different numbers for different records.
    """
    if value.size <= 1 or (layout == Layout() and value.ndim < rank):
        return value
    whole = value.reshape((1,) * (rank - value.ndim) + value.shape)
    ahead, behind = whole.shape[: layout.axis], whole.shape[layout.axis + 1 :]
    n = int(whole.shape[layout.axis])
    if n == 1:
        return whole.reshape(1, *ahead, *[1] * len(layout.parts), *behind)
    if n == layout.before * count * layout.after:
        split = whole.reshape(*ahead, layout.before, count, layout.after, *behind)
        split = np.moveaxis(split, len(ahead) + 1, 0)
        if (split == split[:1]).all():
            return split[:1].reshape(1, *ahead, *layout.parts, *behind)
    raise Unsupported(f"a constant of shape {value.shape}, which tells records of a batch apart")
