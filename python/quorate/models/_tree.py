"""Decision trees: every node is compared for every record, and bits select the leaf that is reached.

Source: "New Primitives for Actively-Secure MPC over Rings with Applications to Private Machine Learning", section V-A.
Deviation: comparisons are on order-preserving integers, so that nothing is rounded. The products along paths are of
bits, not of ring elements. Exactly one leaf is reached, so that the exclusive or over the leaves selects its label.

A node compares one feature, which the model's owner chooses by a row with a single 1. With any other row it would
compare sums of the records' features. Where the owner may cheat, it proves its rows before the records' owner sends
anything (Fig. 14 of the paper). For trees that are too deep to be made complete, the owner also chooses which
comparisons lead to a leaf. That is not proven: whatever it chooses, labels depend on comparisons of single features.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.errors import ModelError
from quorate.models._backend import Array, Backend
from quorate.models._numerics import (
    ORDERED_BOUND,
    Integers,
    encode_ordered,
    finite_float64,
    round_down_to_float32,
    to_float32,
)
from quorate.models._shape import Shape

MAX_COMPLETE_DEPTH = 12


@dataclasses.dataclass(frozen=True, repr=False)
class Nodes:
    """The comparisons of trees of one form; `paths` and `turns` only if they are too deep to be made complete."""

    selection: NDArray[np.bool_]  # (nodes, trees, features): one bit per row, the feature compared
    thresholds: Integers  # (nodes, trees): go left where the feature is at most this
    paths: Integers | None = None  # (trees, leaves, nodes): 1 where the leaf is left of the node, -1 right, 0 elsewhere
    turns: Integers | None = None  # (trees, leaves): how often the path to the leaf goes left


@dataclasses.dataclass(frozen=True, repr=False)
class TreeSecrets:
    """The secret part of a tree that gives a class."""

    nodes: Nodes
    labels: NDArray[np.bool_]  # (leaves, label bits): the class's index, least significant bit first


@dataclasses.dataclass(frozen=True)
class PlainTree:
    """A trained binary tree; `left[i] < 0` marks a leaf. Records that are at most the threshold go left."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]

    def depth(self) -> int:
        """The number of comparisons on the longest path."""
        deepest, layer = 0, [0]
        while layer := [c for n in layer if self.left[n] >= 0 for c in (self.left[n], self.right[n])]:
            deepest += 1
        return deepest


def encode_tree(tree: PlainTree, labels: Integers, classes: tuple, features: int) -> tuple[Shape, TreeSecrets]:
    """Splits a trained tree, with a class index for each of its nodes, into its public and its secret part."""
    form, nodes, leaves = encode_nodes([tree], features, MAX_COMPLETE_DEPTH)
    shape = Shape("tree", classes, features, **form)
    label_bits = (labels[leaves[0]][:, None] >> np.arange(shape.label_bits)) & 1 != 0
    return shape, TreeSecrets(nodes, label_bits)


def encode_nodes(
    trees: Sequence[PlainTree], features: int, limit: int, float64: bool = False
) -> tuple[dict[str, Any], Nodes, Integers]:
    """Returns the public form of trees, their comparisons, and the trained node of each leaf, (trees, leaves).

    All trees get the form of the largest: complete ones of its depth up to `limit`, else its number of inner nodes. A
    leaf that no record can reach has the node -1. With `float64`, records are compared as they are, not as float32.
    """
    bad = np.isnan if float64 else lambda values: ~np.isfinite(values)
    if any(bad(tree.threshold[tree.left >= 0]).any() for tree in trees):
        raise ModelError("a tree has a threshold that is not finite; it was trained with missing values: impute them")
    form = {"float64": True} if float64 else {}
    depth = max(1, *(tree.depth() for tree in trees))
    if depth <= limit:
        complete = [_complete(tree, depth) for tree in trees]
        feature, threshold, leaves = (np.stack(arrays) for arrays in zip(*complete, strict=True))
        return {"depth": depth, **form}, _nodes(feature, threshold, features, float64), leaves
    count = max(int((tree.left >= 0).sum()) for tree in trees)
    listed = [_by_paths(tree, count) for tree in trees]
    feature, threshold, leaves, paths = (np.stack(arrays) for arrays in zip(*listed, strict=True))
    turns = np.where(leaves < 0, 1, (paths == 1).sum(axis=2))  # a missing leaf: the score 0 is never 1
    return {"nodes": count, **form}, _nodes(feature, threshold, features, float64, paths, turns), leaves


def _nodes(feature: Integers, threshold: NDArray[np.float64], features: int, float64: bool, *paths: Integers) -> Nodes:
    thresholds = encode_ordered(threshold if float64 else round_down_to_float32(threshold))
    return Nodes(feature.T[:, :, None] == np.arange(features), thresholds.T, *paths)


def _complete(tree: PlainTree, depth: int) -> tuple[Integers, NDArray[np.float64], Integers]:
    """Pads to a complete tree: below a leaf any comparison will do, since both sides end in the same leaf."""
    feature, threshold = np.zeros(2**depth - 1, np.int64), np.zeros(2**depth - 1)
    origin = [0]  # the trained node at each place of the current layer
    for layer in range(depth):
        below = []
        for place, node in enumerate(origin, start=2**layer - 1):
            if tree.left[node] < 0:
                below += [node, node]
            else:
                feature[place], threshold[place] = tree.feature[node], tree.threshold[node]
                below += [int(tree.left[node]), int(tree.right[node])]
        origin = below
    return feature, threshold, np.array(origin)


def _by_paths(tree: PlainTree, count: int) -> tuple[Integers, NDArray[np.float64], Integers, Integers]:
    """Returns for each leaf on which side of each node it lies, with the comparisons; padded to `count` nodes."""
    inner = np.flatnonzero(tree.left >= 0)
    column = {int(node): j for j, node in enumerate(inner)}
    feature, threshold = np.zeros(count, np.int64), np.zeros(count)
    feature[: len(inner)], threshold[: len(inner)] = tree.feature[inner], tree.threshold[inner]
    leaves = np.full(count + 1, -1)
    paths = np.zeros((count + 1, count), np.int64)
    found = 0
    pending = [(0, paths[0].copy())]
    while pending:
        node, row = pending.pop()
        if tree.left[node] < 0:
            leaves[found], paths[found] = node, row
            found += 1
            continue
        for child, side in ((int(tree.left[node]), 1), (int(tree.right[node]), -1)):
            path = row.copy()
            path[column[node]] = side
            pending.append((child, path))
    return feature, threshold, leaves, paths


def compared_bits(shape: Shape) -> int:
    """Returns the bits of a feature as it is compared."""
    return 64 if shape.float64 else 32


def ring_bits(features: int, bits: int) -> int:
    """Returns the bits that the range analysis needs to prove a comparison right by one most significant bit.

    A selected value is a sum of one encoding and zeros, but its proven bound is `features` times that of an encoding.
    Its difference from a threshold is at most `(features + 1) * ORDERED_BOUND`, which is below 2**(bits - 1 + bits of
    features).

    >>> ring_bits(1, 32), ring_bits(30, 32)
    (33, 37)
    """
    return bits + features.bit_length()


def encode_records(records: object, shape: Shape) -> Integers:
    """Returns records as order-preserving integers, first rounded to float32 unless `shape.float64`."""
    if shape.float64:
        return encode_ordered(finite_float64(records, "records"))
    return encode_ordered(to_float32(records, "records"))


def input_records(on: Backend, shape: Shape, records: Integers | None, rows: int, owner: int) -> Array:
    """Inputs the records."""
    bits = compared_bits(shape)
    return on.integers(records, owner, (rows, shape.width), ring_bits(shape.width, bits), ORDERED_BOUND[bits])


def choose_features(on: Backend, shape: Shape, secrets: Nodes | None, trees: int, owner: int) -> Array:
    """Inputs the features that nodes compare, (nodes * trees, features): each row has one 1, all else is 0.

    It is called before the records are input: they wait for the proof.
    """
    rows = (leaves_of(shape) - 1) * trees
    chosen = None if secrets is None else secrets.selection.reshape(rows, shape.width).astype(np.int64)
    size, bits = (rows, shape.width), ring_bits(shape.width, compared_bits(shape))
    return on.keep("chosen", lambda: on.one_hot(on.integers(chosen, owner, size, bits, 1)))


def run_tree(
    on: Backend, shape: Shape, secrets: TreeSecrets | None, chosen: Array, records: Array, model_owner: int
) -> Array:
    """Returns the bits of the predicted class's index, (label bits, records), from records of `ring_bits` bits.

    Rounds do not depend on the number of records: see `leaves_reached`.
    """
    reached = leaves_reached(on, shape, None if secrets is None else secrets.nodes, chosen, records, model_owner)
    leaves, _, count = reached.shape
    size, said = (leaves, shape.label_bits), None if secrets is None else secrets.labels
    labels = on.keep("labels", lambda: on.bits(said, model_owner, size))
    hits = reached.reshape(leaves, 1, count) & labels.reshape(leaves, shape.label_bits, 1)
    return _xor_over_first_axis(on, hits)


def leaves_of(shape: Shape) -> int:
    """Returns the number of leaves of each tree of a shape."""
    return 2 ** (shape.depth or 1) if shape.nodes is None else shape.nodes + 1


def leaves_reached(
    on: Backend, shape: Shape, secrets: Nodes | None, chosen: Array, records: Array, owner: int
) -> Array:
    """Returns bits (leaves, trees, records): for each tree, the one leaf that a record reaches.

    `chosen` comes from `choose_features`. All nodes of all trees are selected and compared at once. Products along
    paths take log(depth) rounds; deep trees take one equality instead. So rounds depend neither on the number of
    records nor on that of trees.
    """
    nodes = leaves_of(shape) - 1
    rows, count = chosen.shape[0], records.shape[0]
    trees = rows // nodes
    limits = None if secrets is None else secrets.thresholds.reshape(rows)
    bits = compared_bits(shape)
    width, bound = ring_bits(shape.width, bits), ORDERED_BOUND[bits]
    thresholds = on.keep("thresholds", lambda: on.integers(limits, owner, (rows,), width, bound))
    goes_left = on.product(chosen, records.T, bound) <= thresholds.reshape(rows, 1)
    if shape.nodes is None:
        return _reach_complete(on, goes_left.reshape(nodes, trees * count)).reshape(nodes + 1, trees, count)
    return _reach_by_paths(on, goes_left.reshape(nodes, trees, count), secrets, owner)


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


def _reach_by_paths(on: Backend, goes_left: Array, secrets: Nodes | None, owner: int) -> Array:
    """Compares each leaf's score with `turns`: a leaf is reached if all conditions on its path hold.

    The score is the number of lefts taken minus the number of rights missed; it equals the number of lefts of the path
    only if all conditions hold.
    """
    nodes, trees, _ = goes_left.shape
    width = nodes.bit_length() + 2
    paths, turns = (None, None) if secrets is None else (secrets.paths, secrets.turns)
    secret_paths = on.keep("paths", lambda: on.integers(paths, owner, (trees, nodes + 1, nodes), width, 1))
    secret_turns = on.keep("turns", lambda: on.integers(turns, owner, (trees, nodes + 1), width, nodes))
    score = on.product(secret_paths, on.as_integers(goes_left.transpose(1, 0, 2), width), nodes)
    return (score == secret_turns.reshape(trees, nodes + 1, 1)).transpose(1, 0, 2)


def _xor_over_first_axis(on: Backend, bits: Array) -> Array:
    """Adds modulo 2 over the first axis, which is local."""
    while (count := bits.shape[0]) > 1:
        half = count // 2
        summed = bits[:half] ^ bits[half : 2 * half]
        bits = on.concatenate([summed, bits[2 * half :]]) if count % 2 else summed
    return bits.reshape(*bits.shape[1:])
