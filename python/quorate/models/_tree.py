"""Decision trees: every node is compared for every record, and bits select the leaf that is reached.

Source: "New Primitives for Actively-Secure MPC over Rings with Applications to Private Machine Learning", section V-A.
Deviation: comparisons are on order-preserving integers, so that nothing is rounded; the products along paths are of
bits, not of ring elements; one leaf is reached for sure, so that the exclusive or over the leaves selects its label.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from quorate.errors import ModelError
from quorate.models._backend import Array, Backend
from quorate.models._numerics import (
    ORDERED_BOUND,
    Integers,
    encode_float32_ordered,
    round_down_to_float32,
    to_float32,
)
from quorate.models._shape import Shape

MAX_COMPLETE_DEPTH = 12


@dataclasses.dataclass(frozen=True, repr=False)
class TreeSecrets:
    """A tree's secret part; `paths` and `turns` only if it is too deep to be made complete."""

    selection: NDArray[np.bool_]  # (nodes, features): one bit per row, the feature compared
    thresholds: Integers  # (nodes,): go left where the feature is at most this
    labels: NDArray[np.bool_]  # (leaves, label bits): the class's index, least significant bit first
    paths: Integers | None = None  # (leaves, nodes): 1 where the leaf is left of the node, -1 right, 0 elsewhere
    turns: Integers | None = None  # (leaves,): how often the path to the leaf goes left


@dataclasses.dataclass(frozen=True)
class PlainTree:
    """A trained binary tree; `left[i] < 0` marks a leaf."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    label: NDArray[np.int64]

    def depth(self) -> int:
        """The number of comparisons on the longest path."""
        deepest, layer = 0, [0]
        while layer := [c for n in layer if self.left[n] >= 0 for c in (self.left[n], self.right[n])]:
            deepest += 1
        return deepest


def encode_tree(tree: PlainTree, classes: tuple, features: int) -> tuple[Shape, TreeSecrets]:
    """Splits a trained tree into what is public and what is secret."""
    inner = tree.left >= 0
    if not np.isfinite(tree.threshold[inner]).all():
        raise ModelError("the tree has a threshold that is not finite; it was trained with missing values: impute them")
    depth = max(1, tree.depth())
    if depth <= MAX_COMPLETE_DEPTH:
        shape = Shape("tree", classes, features, depth=depth)
        return shape, _complete(tree, shape, depth)
    shape = Shape("tree", classes, features, nodes=int(inner.sum()))
    return shape, _by_paths(tree, shape)


def _label_bits(labels: NDArray[np.int64], shape: Shape) -> NDArray[np.bool_]:
    return (labels[:, None] >> np.arange(shape.label_bits)) & 1 != 0


def _selection(feature: NDArray[np.int64], features: int) -> NDArray[np.bool_]:
    return feature[:, None] == np.arange(features)


def _encode_thresholds(threshold: NDArray[np.float64]) -> Integers:
    return encode_float32_ordered(round_down_to_float32(threshold))


def _complete(tree: PlainTree, shape: Shape, depth: int) -> TreeSecrets:
    """Pads to a complete tree: below a leaf any comparison will do, since both sides end in the leaf's label."""
    feature, threshold = np.zeros(2**depth - 1, np.int64), np.zeros(2**depth - 1)
    origin = [0]  # the trained node that stands at each place of the present layer
    for layer in range(depth):
        below = []
        for place, node in enumerate(origin, start=2**layer - 1):
            if tree.left[node] < 0:
                below += [node, node]
            else:
                feature[place], threshold[place] = tree.feature[node], tree.threshold[node]
                below += [int(tree.left[node]), int(tree.right[node])]
        origin = below
    return TreeSecrets(
        _selection(feature, shape.features),
        _encode_thresholds(threshold),
        _label_bits(tree.label[origin], shape),
    )


def _by_paths(tree: PlainTree, shape: Shape) -> TreeSecrets:
    """One row per leaf says on which side of each node the leaf lies."""
    inner = np.flatnonzero(tree.left >= 0)
    column = {int(node): j for j, node in enumerate(inner)}
    leaves: list[int] = []
    rows: list[Integers] = []
    pending = [(0, np.zeros(len(inner), np.int64))]
    while pending:
        node, row = pending.pop()
        if tree.left[node] < 0:
            leaves.append(node)
            rows.append(row)
            continue
        for child, side in ((int(tree.left[node]), 1), (int(tree.right[node]), -1)):
            path = row.copy()
            path[column[node]] = side
            pending.append((child, path))
    paths = np.stack(rows)
    return TreeSecrets(
        _selection(tree.feature[inner], shape.features),
        _encode_thresholds(tree.threshold[inner]),
        _label_bits(tree.label[leaves], shape),
        paths,
        (paths == 1).sum(axis=1),
    )


def ring_bits(features: int) -> int:
    """Bits that the range analysis needs to prove a comparison right by one most significant bit.

    A selected value is a sum of one encoding and zeros, but what is proved of it is `features` times as much; its
    difference from a threshold is at most `(features + 1) * ORDERED_BOUND`, which is below 2**(31 + bits of features).

    >>> ring_bits(1), ring_bits(30)
    (33, 37)
    """
    return 32 + features.bit_length()


def encode_records(records: object) -> Integers:
    """Records as a tree compares them: rounded to float32 as scikit-learn does, then order-preserving integers."""
    return encode_float32_ordered(to_float32(records, "records"))


def run_tree(on: Backend, shape: Shape, secrets: TreeSecrets | None, records: Array, model_owner: int) -> Array:
    """Bits of the predicted class's index, (label bits, records), from records of `ring_bits` bits.

    Rounds do not depend on the number of records: selection and comparison are of all nodes at once, products along
    paths take log(depth) rounds, or one equality for a deep tree.
    """
    nodes = shape.nodes if shape.nodes is not None else 2 ** (shape.depth or 1) - 1
    leaves = nodes + 1

    def own(name: str) -> Array:
        return None if secrets is None else getattr(secrets, name)

    bits = ring_bits(shape.features)
    selection = on.integers(_int64(own("selection")), model_owner, (nodes, shape.features), bits, 1)
    thresholds = on.integers(own("thresholds"), model_owner, (nodes,), bits, ORDERED_BOUND)
    labels = on.bits(own("labels"), model_owner, (leaves, shape.label_bits))
    chosen = on.product(selection, records.T, ORDERED_BOUND)
    goes_left = chosen <= thresholds.reshape(nodes, 1)
    if shape.nodes is None:
        reached = _reach_complete(on, goes_left)
    else:
        reached = _reach_by_paths(on, goes_left, own("paths"), own("turns"), model_owner)
    count = records.shape[0]
    hits = reached.reshape(leaves, 1, count) & labels.reshape(leaves, shape.label_bits, 1)
    return _xor_over_first_axis(on, hits)


def _int64(values: NDArray[np.bool_] | None) -> Integers | None:
    return None if values is None else values.astype(np.int64)


def _reach_complete(on: Backend, goes_left: Array) -> Array:
    """Multiplies along all paths of a complete tree: neighbouring layers pair up, then pairs, and so on.

    A block holds, for every node at its lower end, whether the path down to it through the block's layers is taken.
    """
    nodes, count = goes_left.shape
    blocks, first = [], 0
    while first < nodes:
        layer = goes_left[first : 2 * first + 1]
        blocks.append(on.stack([layer, ~layer], axis=1).reshape(2 * (first + 1), count))
        first = 2 * first + 1
    while len(blocks) > 1:
        paired = []
        for upper, lower in zip(blocks[::2], blocks[1::2], strict=False):
            above, below = upper.shape[0], lower.shape[0]
            joined = upper.reshape(above, 1, count) & lower.reshape(above, below // above, count)
            paired.append(joined.reshape(below, count))
        blocks = paired + ([blocks[-1]] if len(blocks) % 2 else [])
    return blocks[0]


def _reach_by_paths(on: Backend, goes_left: Array, paths: Array, turns: Array, owner: int) -> Array:
    """A leaf is reached if all conditions on its path hold: if lefts taken less rights missed is its count of lefts."""
    nodes = goes_left.shape[0]
    width = nodes.bit_length() + 2
    secret_paths = on.integers(paths, owner, (nodes + 1, nodes), width, 1)
    secret_turns = on.integers(turns, owner, (nodes + 1,), width, nodes)
    score = on.product(secret_paths, on.as_integers(goes_left, width), nodes)
    return score == secret_turns.reshape(nodes + 1, 1)


def _xor_over_first_axis(on: Backend, bits: Array) -> Array:
    """Adds modulo 2 over the first axis, which is local."""
    while (count := bits.shape[0]) > 1:
        half = count // 2
        summed = bits[:half] ^ bits[half : 2 * half]
        bits = on.concatenate([summed, bits[2 * half :]]) if count % 2 else summed
    return bits.reshape(*bits.shape[1:])
