"""Sums over many trees: forests and boosting, all trees compared at once and added up in one product.

Notation: T trees add up to a decision, each with L leaves; leaf l of tree t adds v_tl, of which a record reaches one
per tree. Values become V_tl = round(v_tl * 2**(v - c)) with |V_tl| <= 2**v and v + log2(T L) <= 60. So the ring holds
the sum D with its offset, and also T L 2**v, which is what range analysis can prove of D. The exponent c is secret:
scaling all decisions by one positive number changes neither signs nor their order.

D / 2**(v-c) differs from the real sum by at most (T + 1) 2**(c-v-1). scikit-learn adds up in float64, in an order that
may depend on its threads; that counts as its error. Both errors are 0 if all values are multiples of 2**-20, as in
forests whose leaves are pure: their sums of votes are exact, and the first of equal classes wins in both.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quorate.errors import ModelError
from quorate.models._backend import Array, Backend
from quorate.models._numerics import Integers, gamma, quantise
from quorate.models._shape import NARROW, Shape
from quorate.models._tree import Nodes, PlainTree, encode_nodes, leaves_of, leaves_reached

MAX_COMPLETE_DEPTH = 8

_TOTAL = 60  # bits of a sum, and of an offset
_FLOAT64 = np.dtype(np.float64)


@dataclasses.dataclass(frozen=True, repr=False)
class EnsembleSecrets:
    """The secret part: the trees, and the values that their leaves add to the decisions."""

    nodes: Nodes
    values: Integers  # (groups, trees of a group * leaves, decisions of a group)
    offsets: Integers  # (decisions,)
    units: Integers  # decision j is in units of 2**-units[j]


@dataclasses.dataclass(frozen=True)
class PlainForest:
    """Trained trees with the classes' shares in each node, (nodes, classes).

    The trainer's library adds up in `dtype`. With `float64` it compares records as they are, else rounded to float32.
    """

    trees: Sequence[PlainTree]
    shares: Sequence[NDArray[np.float64]]
    dtype: np.dtype = _FLOAT64
    float64: bool = False


@dataclasses.dataclass(frozen=True)
class PlainBoosting:
    """Trained stages: trees[s][k] adds rate * values[s][k][node] to decision k, which starts from initial[k].

    With `zero_is_second`, a decision of 0 between two classes is the second. The trainer's library adds up in `dtype`.
    With `float64`, its trees compare records as they are, not rounded to float32.
    """

    trees: Sequence[Sequence[PlainTree]]
    values: Sequence[Sequence[NDArray[np.float64]]]
    initial: NDArray[np.float64]
    rate: float = 1.0
    zero_is_second: bool = False
    dtype: np.dtype = _FLOAT64
    float64: bool = False


def value_bits(trees: int, leaves: int) -> int:
    """Returns the bits of a leaf's value: with the sum over all leaves they fill 60.

    >>> value_bits(100, 256)
    45
    """
    return _TOTAL - (trees * leaves - 1).bit_length()


def encode_forest(plain: PlainForest, classes: tuple, features: int) -> tuple[Shape, EnsembleSecrets, float]:
    """Returns the shape, the secret integers, and the margin of mean shares.

    A prediction may differ from the estimator's if the record's margin is at or below the returned one.
    """
    form, nodes, leaves = encode_nodes(plain.trees, features, MAX_COMPLETE_DEPTH, plain.float64)
    trees = len(plain.trees)
    shape = Shape("forest", classes, features, trees=trees, link="share", **form)
    added = np.stack([_at_leaves(share, at) for share, at in zip(plain.shares, leaves, strict=True)])
    # In float32 the library divides by the number of trees first.
    summands = (added if plain.dtype == _FLOAT64 else added / trees) * 2.0**20
    exact = np.array_equal(summands, np.rint(summands))
    if shape.decisions == 1:
        added = added[:, :, 1:] - added[:, :, :1]
    bits = value_bits(trees, leaves_of(shape))
    values = quantise(added, bits).reshape(1, -1, shape.decisions)
    zeros, units = np.zeros(shape.decisions, np.int64), np.full(shape.decisions, bits)
    margin = 0.0 if exact and bits >= 20 else 2.0**-bits + 2 * gamma(trees + 2, plain.dtype)
    return shape, EnsembleSecrets(nodes, values, zeros, units), margin


def encode_means(plain: PlainForest, features: int, targets: tuple[int, ...]) -> tuple[Shape, EnsembleSecrets, float]:
    """Encodes a forest that predicts means of `shares`: the shape, the secret integers, and the numbers' error."""
    form, nodes, leaves = encode_nodes(plain.trees, features, MAX_COMPLETE_DEPTH, plain.float64)
    trees = len(plain.trees)
    shape = Shape("forest", (), features, trees=trees, targets=targets, **form)
    added = np.stack([_at_leaves(value, at) for value, at in zip(plain.shares, leaves, strict=True)]) / trees
    bits = value_bits(trees, leaves_of(shape))
    _check_finite(added)
    c = np.frexp(np.abs(added).max(axis=(0, 1)))[1].astype(np.int64)
    values = quantise(added, bits - c).reshape(1, -1, shape.decisions)
    magnitudes = np.abs(added).max(axis=1).sum(axis=0)
    error = trees * np.ldexp(1.0, c - bits - 1) + gamma(trees + 4, plain.dtype) * magnitudes
    secrets = EnsembleSecrets(nodes, values, np.zeros(shape.decisions, np.int64), bits - c)
    return shape, secrets, float(error.max()) * (1 + 1e-9)


def _check_finite(added: NDArray[np.float64]) -> None:
    if not np.isfinite(added).all():
        raise ModelError("the model has values that are not finite; train it again")


def encode_boosting(
    plain: PlainBoosting, classes: tuple, features: int, link: str | None, targets: tuple[int, ...] | None = None
) -> tuple[Shape, EnsembleSecrets, float]:
    """Returns the shape, the secret integers, and the margin (for numbers the error).

    A prediction may differ from the estimator's if the record's margin is at or below the returned one.
    """
    by_class = [tree for k in range(len(plain.initial)) for tree in (stage[k] for stage in plain.trees)]
    form, nodes, leaves = encode_nodes(by_class, features, MAX_COMPLETE_DEPTH, plain.float64)
    trees, decisions = len(plain.trees), len(plain.initial)
    shape = Shape("boosting", classes, features, trees=trees, link=link, targets=targets, **form)
    values = [plain.rate * stage[k] for k in range(decisions) for stage in plain.values]
    added = np.stack([_at_leaves(v[:, None], at) for v, at in zip(values, leaves, strict=True)])
    added = added.reshape(decisions, -1, 1)
    count = trees * leaves_of(shape)
    bits = value_bits(trees, leaves_of(shape))
    largest = max(float(np.abs(added).max()), float(np.abs(plain.initial).max()) / count)
    _check_finite(np.array(largest))
    c = math.frexp(largest)[1]
    units = np.full(decisions, bits - c)
    offsets = quantise(plain.initial, bits - c)
    if decisions == 1 and plain.zero_is_second:
        offsets = offsets + 1  # a decision is of the second class if it is above 0
    magnitudes = np.abs(plain.initial) + np.abs(added).reshape(decisions, trees, -1).max(axis=2).sum(axis=1)
    error = (trees + 3) * math.ldexp(1.0, c - bits - 1) + gamma(2 * trees + 4, plain.dtype) * float(magnitudes.max())
    margin = error * (1 if decisions == 1 else 2) * (1 + 1e-9)
    return shape, EnsembleSecrets(nodes, quantise(added, bits - c), offsets, units), margin


def _at_leaves(values: NDArray[np.float64], leaves: Integers) -> NDArray[np.float64]:
    """Returns the values by leaf, (leaves, columns), from values by trained node; 0 for missing leaves."""
    return np.where(leaves[:, None] < 0, 0.0, values[leaves])


def trees_of(shape: Shape) -> int:
    """Returns the number of all trees; in boosting every decision has its own."""
    return (shape.trees or 1) * (shape.decisions if shape.kind == "boosting" else 1)


def run_ensemble(
    on: Backend, shape: Shape, secrets: EnsembleSecrets | None, chosen: Array, records: Array, owner: int
) -> Array:
    """Returns the decisions, (records, decisions): comparisons and paths as in `leaves_reached`, then one product.

    Rounds depend neither on the number of records nor on the number of trees.
    """
    groups, columns = (1, shape.decisions) if shape.kind == "forest" else (shape.decisions, 1)
    trees, leaves, count = shape.trees or 1, leaves_of(shape), records.shape[0]
    reached = leaves_reached(on, shape, None if secrets is None else secrets.nodes, chosen, records, owner)
    by_group = reached.reshape(leaves, groups, trees, count).transpose(1, 3, 2, 0)
    flat = on.as_integers(by_group.reshape(groups, count, trees * leaves), NARROW)
    bits = value_bits(trees, leaves)
    size = (groups, trees * leaves, columns)
    added, offset = (None, None) if secrets is None else (secrets.values, secrets.offsets)
    values = on.keep("values", lambda: on.integers(added, owner, size, NARROW, 1 << bits))
    sums = on.product(flat, values, trees << bits).transpose(1, 0, 2).reshape(count, shape.decisions)
    return sums + on.keep("offsets", lambda: on.integers(offset, owner, (shape.decisions,), NARROW, 1 << _TOTAL))
