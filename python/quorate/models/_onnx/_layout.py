"""Where the batch lies in a file's arrays: first, at another axis, or as a part of one beside heads or steps.

Steps have the batch as their first axis. PyTorch's attention, for one, goes from (steps, batch, numbers) to (steps,
batch x heads, numbers of a head) and to (steps x batch, numbers): a `Turned` says where the batch is in what the file
has, and steps compute on the same array with the batch first.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np


class Unsupported(Exception):
    """Why a node cannot be computed, though its operator can."""


@dataclasses.dataclass(frozen=True)
class Tensor:
    """An array that depends on the input: its place among the steps' results, and its shape with the batch."""

    place: int
    shape: tuple[int, ...]

    @property
    def layout(self) -> Layout:
        """The batch is the first axis."""
        return Layout()


@dataclasses.dataclass(frozen=True)
class Layout:
    """Where a file has the batch.

    Attributes:
        axis: which axis it is, or is a part of.
        before, after: that axis goes through `before` x batch x `after` places, the last of these fastest.
    """

    axis: int = 0
    before: int = 1
    after: int = 1

    @property
    def parts(self) -> list[int]:
        """Sizes of the axes that its axis is of beside the batch."""
        return [n for n in (self.before, self.after) if n != 1]

    def first(self, axis: int) -> int:
        """Another axis of the file's, where the batch is first."""
        return axis + 1 if axis < self.axis else axis + len(self.parts)


@dataclasses.dataclass(frozen=True)
class Turned:
    """An array that the file has with its batch elsewhere.

    Attributes:
        tensor: the same with the batch first, and then the other axes in the file's order, those beside the batch too.
        layout: where the file has it.
    """

    tensor: Tensor
    layout: Layout

    @property
    def shape(self) -> tuple[int, ...]:
        """As the file has it."""
        first, *others = self.tensor.shape
        axis, parts = self.layout.axis, self.layout.parts
        return (*others[:axis], first * math.prod(parts), *others[axis + len(parts) :])


def turned(tensor: Tensor, layout: Layout) -> Tensor | Turned:
    """An array of which the file has the batch there."""
    return tensor if layout == Layout() else Turned(tensor, layout)


def batch_first(x: Tensor | Turned) -> Tensor:
    """What steps compute on."""
    return x.tensor if isinstance(x, Turned) else x


def reshaped(x: Tensor | Turned, sizes: Sequence[int]) -> tuple[Layout, tuple[int, ...]]:
    """Where the batch is in an array of other sizes, and those with the batch first.

    What lies before the batch and what lies behind it stays there. For more than one record there is one way at most.
    For one, which nothing in the file tells from an axis of one place, each way is right: of these that in which the
    batch is an axis alone, and then one in which a product of matrices can be taken.
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
    """A constant that broadcasts against an array of so many axes, as it is where the batch is first.

    Raises:
        Unsupported: it has other numbers for one record than for another.
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
