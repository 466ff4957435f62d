"""Rules for `TreeEnsembleClassifier` and `TreeEnsembleRegressor`, with onnxruntime's own rules for labels.

Source: `onnxruntime/core/providers/cpu/ml/tree_ensemble_common.h` and `tree_ensemble_aggregator.h`. Thresholds are
moved back through functions that the file computes of a feature alone (scalers). Such a function rises or falls, even
with its rounding, so that a comparison of its result is a comparison of the feature itself.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from quorate.models._boosters import check_tree
from quorate.models._ensemble import PlainBoosting, PlainForest
from quorate.models._ml._values import Chain, Features, Label, Numbers, Scores, Trees
from quorate.models._numerics import encode_ordered
from quorate.models._onnx._layout import Unsupported
from quorate.models._tree import PlainTree

_TURNED = ("BRANCH_GT", "BRANCH_GTE")
_BELOW = ("BRANCH_LT", "BRANCH_GTE")
_LINKS = {"NONE": None, "SOFTMAX": "softmax", "LOGISTIC": "logistic"}

_SUMS = np.dtype(np.float32)
"""The precision of sums, also for records of float64."""

_ONE = 1 + 2.0**-22
"""A share of 1, divided by the number of trees in float32 by the file, times that number."""

Added = list[dict[int, float]]
"""For each node of a tree the numbers that it adds, by class or target."""


@dataclasses.dataclass(frozen=True)
class Ensemble:
    """The trees of a node, in the order of the file, and the numbers that their leaves add."""

    trees: list[PlainTree]
    added: list[Added]
    base: list[float]
    transform: str


def read(attrs: Mapping[str, Any], what: str, x: Features, dtype: np.dtype) -> Ensemble:
    """Returns the trees in the attributes; `what` is "class" or "target".

    Raises:
        Unsupported: nodes are no comparisons, or leaves are not added up.
    """
    if x.chains is None:
        raise Unsupported("trees behind steps that mix features (PCA, MatMul): fit them on the records themselves")
    if attrs.get("aggregate_function", "SUM") not in ("SUM", "AVERAGE"):
        raise Unsupported(f"aggregate_function {attrs['aggregate_function']!r}; SUM and AVERAGE are")
    transform = str(attrs.get("post_transform", "NONE"))
    if transform not in _LINKS:
        raise Unsupported(f"post_transform {transform!r}; {', '.join(_LINKS)} are")
    owners = np.asarray(attrs["nodes_treeids"], np.int64)
    ids = np.asarray(attrs["nodes_nodeids"], np.int64)
    table = dict(zip(zip(owners.tolist(), ids.tolist(), strict=True), itertools.count(), strict=False))
    if len(table) != len(owners):
        raise Unsupported("a tree has two nodes of one number: the file is damaged")
    leaves: list[dict[int, float]] = [{} for _ in owners]
    weights = _numbers(attrs, f"{what}_weights")
    for tree, node, group, weight in zip(
        attrs[f"{what}_treeids"], attrs[f"{what}_nodeids"], attrs[f"{what}_ids"], weights.tolist(), strict=True
    ):
        place = leaves[table[int(tree), int(node)]]
        place[int(group)] = place.get(int(group), 0.0) + weight
    trees, added = [], []
    for owner in dict.fromkeys(owners.tolist()):
        rows = np.flatnonzero(owners == owner)
        order, tree = _tree(attrs, rows, {int(i): n for n, i in enumerate(ids[rows].tolist())}, x, dtype)
        values = [leaves[rows[i]] if tree.left[n] < 0 else {} for n, i in enumerate(order)]
        check_tree(tree, np.array([sum(v.values()) for v in values]), x.width)
        trees.append(tree)
        added.append(values)
    if attrs.get("aggregate_function") == "AVERAGE":
        added = [[{k: v / len(trees) for k, v in node.items()} for node in tree] for tree in added]
    base = _numbers(attrs, "base_values").tolist() if f"base_values{_suffix(attrs, 'base_values')}" in attrs else []
    return Ensemble(trees, added, base, transform)


def _suffix(attrs: Mapping[str, Any], name: str) -> str:
    return "_as_tensor" if f"{name}_as_tensor" in attrs else ""


def _numbers(attrs: Mapping[str, Any], name: str) -> np.ndarray:
    """Returns an attribute of float32, or its double-precision twin."""
    found = np.asarray(attrs[name + _suffix(attrs, name)], np.float64).reshape(-1)
    if not np.isfinite(found).all():
        raise Unsupported(f"{name} are not finite: the file is damaged")
    return found


def _tree(
    attrs: Mapping[str, Any], rows: np.ndarray, numbers: Mapping[int, int], x: Features, dtype: np.dtype
) -> tuple[list[int], PlainTree]:
    """Returns the nodes of a tree in an order that begins with its root, and the tree over them."""
    modes = [str(attrs["nodes_modes"][i]) for i in rows]
    ends = [[numbers.get(int(attrs[f"nodes_{side}nodeids"][i]), -1) for i in rows] for side in ("true", "false")]
    inner = np.array([mode != "LEAF" for mode in modes])
    unknown = {mode for mode in modes if mode not in ("LEAF", "BRANCH_LEQ", *_TURNED, *_BELOW)}
    if unknown:
        raise Unsupported(f"nodes of mode {', '.join(sorted(unknown))}; BRANCH_LEQ, _LT, _GT and _GTE are")
    below = {end for side in ends for end, is_inner in zip(side, inner, strict=True) if is_inner}
    roots = [i for i in range(len(rows)) if i not in below]
    if -1 in below or len(roots) != 1:
        raise Unsupported("a tree has no root, or children that are no nodes: the file is damaged")
    reached, pending = 0, [roots[0]]
    while pending and reached <= len(rows):
        node = pending.pop()
        reached += 1
        pending += [side[node] for side in ends] if inner[node] else []
    if reached != len(rows):
        raise Unsupported(
            "a tree has nodes that its root does not lead to, or several ways to one: the file is damaged"
        )
    order = [roots[0], *(i for i in range(len(rows)) if i != roots[0])]
    place = np.argsort(order)
    given = _numbers(attrs, "nodes_values")[rows].astype(dtype)
    if (given.astype(np.float64) != _numbers(attrs, "nodes_values")[rows]).any():
        raise Unsupported("thresholds are more precise than what they are compared with")
    feature = np.asarray(attrs["nodes_featureids"], np.int64)[rows]
    if ((feature < 0) | (feature >= x.width))[inner].any():
        raise Unsupported(f"a tree asks for a feature that is none of its {x.width}: the file is damaged")
    left, right, threshold = place[np.array(ends[0])], place[np.array(ends[1])], np.zeros(len(rows))
    turned = np.array([mode in _TURNED for mode in modes])
    at = np.where([mode in _BELOW for mode in modes], np.nextafter(given, dtype.type(-np.inf)), given)
    for number in np.unique(feature[inner]):
        of = np.flatnonzero(inner & (feature == number))
        assert x.chains is not None  # noqa: S101 - looked at before
        threshold[of], falls = moved(x.chains[int(number)], at[of])
        turned[of] ^= falls
    left, right = np.where(turned, right, left), np.where(turned, left, right)
    tree = PlainTree(
        np.where(inner, left, -1)[order],
        np.where(inner, right, -1)[order],
        np.where(inner, feature, -1)[order],
        threshold[order],
    )
    return order, tree


def moved(chain: Chain, thresholds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns t and a flag for each threshold: the chain's result is at most it for x <= t, or for x > t if True.

    >>> moved(Chain(0, (("sub", 1.0), ("mul", -2.0))), np.array([4.0], np.float32))
    (array([-1.00000024]), array([ True]))
    """
    dtype = thresholds.dtype
    most = int(encode_ordered(np.array([np.finfo(dtype).max], dtype))[0])
    falls = np.full(thresholds.shape, sum(_is_negative(*step) for step in chain.steps) % 2 == 1)
    if not chain.steps:
        return thresholds.astype(np.float64), falls

    def is_low(x: np.ndarray) -> np.ndarray:
        """Returns whether x is on the lower side."""
        return np.asarray((chain.of(_decoded(x, dtype)) <= thresholds) != falls)

    low, high = np.full(thresholds.shape, -most), np.full(thresholds.shape, most)
    none = ~is_low(low)
    while (low < high).any():
        middle = low // 2 + high // 2 + ((low & 1) + (high & 1) + 1) // 2  # rounded up; no difference overflows
        inside = is_low(middle)
        low, high = np.where(inside, middle, low), np.where(inside, high, np.maximum(middle - 1, low))
    # If no number is on the lower side, all are on the other one.
    low, falls = np.where(none, most, low), falls ^ none
    return _decoded(low, dtype).astype(np.float64), falls


def _is_negative(operator: str, number: float) -> bool:
    return operator in ("mul", "div") and number < 0


def _decoded(ordered: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Decodes numbers from `encode_ordered`."""
    integer = np.int32 if dtype == np.float32 else np.int64
    bits = np.abs(ordered).astype(integer)
    return np.where(ordered < 0, -bits.view(dtype), bits.view(dtype))


# ---- what sums become -----------------------------------------------------------------------------------------------


def classifier(attrs: Mapping[str, Any], classes: tuple[Any, ...], x: Features, dtype: np.dtype) -> list[Any]:
    """Returns the label and the scores."""
    made = read(attrs, "class", x, dtype)
    used = {group for tree in made.added for node in tree for group in node}
    if not used <= set(range(len(classes))):
        raise Unsupported(f"leaves add to a class that is none of its {len(classes)}: the file is damaged")
    if len(classes) == 2 and len(used) == 1:
        trees = _binary(made, next(iter(used)), x, dtype)
    elif len(classes) > 2:
        trees = _several(made, len(classes), x, dtype)
    else:
        raise Unsupported("of two classes, each with sums of its own; those with sums of one of them are")
    return [Label(trees, classes), Scores(trees)]


def _binary(made: Ensemble, group: int, x: Features, dtype: np.dtype) -> Trees:
    """Returns the sums of one class alone.

    A sum above 0 is the second class, or above 1/2 if no leaf adds a number below 0.
    """
    base = sum(made.base)
    if len(made.base) > 1:
        raise Unsupported("two base_values where leaves add to one class")
    values = [np.array([node.get(group, 0.0) for node in tree]) for tree in made.added]
    if min(v.min() for v in values) < 0:
        plain = _boosting([made.trees], [values], np.array([base]), dtype)
        return Trees(plain, x, _LINKS[made.transform] if made.transform != "SOFTMAX" else None)
    count = len(made.trees)
    if made.transform == "NONE" and not base and max(v.max() for v in values) * count <= _ONE:
        shares = [np.minimum(v * count, 1) for v in values]
        shares = [np.stack([1 - share, share], axis=1) for share in shares]
        return Trees(_forest(made.trees, shares, dtype), x, "share")
    return Trees(_boosting([made.trees], [values], np.array([base - 0.5]), dtype), x)


def _several(made: Ensemble, classes: int, x: Features, dtype: np.dtype) -> Trees:
    """Returns the sums of several classes: the largest one wins, the first of equal ones."""
    base = np.zeros(classes)
    if made.base:
        if len(made.base) != classes:
            raise Unsupported(f"{len(made.base)} base_values for {classes} classes")
        base = np.array(made.base)
    groups = [{group for node in tree for group in node} for tree in made.added]
    if all(len(group) <= 1 for group in groups):
        by_class: list[list[int]] = [[] for _ in range(classes)]
        for i, group in enumerate(groups):
            by_class[next(iter(group), 0)].append(i)
        trees = [[made.trees[i] for i in of] for of in by_class]
        values = [[np.array([node.get(k, 0.0) for node in made.added[i]]) for i in of] for k, of in enumerate(by_class)]
        link = "softmax" if made.transform == "SOFTMAX" else None
        return Trees(_boosting(trees, values, base, dtype), x, link)
    count = len(made.trees)
    shares = [np.array([[node.get(k, 0.0) for k in range(classes)] for node in tree]) * count for tree in made.added]
    if made.transform != "NONE" or base.any() or any(s.min() < 0 or s.max() > _ONE for s in shares):
        raise Unsupported("leaves that add to several classes, other than shares of a forest")
    return Trees(_forest(made.trees, [np.minimum(s, 1) for s in shares], dtype), x, "share")


def _forest(trees: Sequence[PlainTree], shares: Sequence[np.ndarray], dtype: np.dtype) -> PlainForest:
    return PlainForest(trees, shares, _SUMS, dtype == np.float64)


_NOTHING = PlainTree(np.array([-1]), np.array([-1]), np.array([-1]), np.zeros(1))


def _boosting(
    trees: Sequence[Sequence[PlainTree]], values: Sequence[Sequence[np.ndarray]], initial: np.ndarray, dtype: np.dtype
) -> PlainBoosting:
    """Groups trees by decision; a decision with fewer trees gets some that add nothing."""
    most = max(len(of) for of in trees)
    filled = [[*of, *[_NOTHING] * (most - len(of))] for of in trees]
    adds = [[*of, *[np.zeros(1)] * (most - len(of))] for of in values]
    return PlainBoosting(
        [list(stage) for stage in zip(*filled, strict=True)],
        [list(stage) for stage in zip(*adds, strict=True)],
        initial,
        dtype=_SUMS,
        float64=dtype == np.float64,
    )


def regressor(attrs: Mapping[str, Any], x: Features, dtype: np.dtype) -> list[Any]:
    """Returns the numbers."""
    made = read(attrs, "target", x, dtype)
    if made.transform != "NONE":
        raise Unsupported(f"post_transform {made.transform!r} of numbers")
    targets = int(attrs.get("n_targets", 1))
    if any(not 0 <= group < targets for tree in made.added for node in tree for group in node):
        raise Unsupported(f"leaves add to a target that is none of its {targets}: the file is damaged")
    if len(made.base) not in (0, targets) or (targets > 1 and any(made.base)):
        raise Unsupported(f"{len(made.base)} base_values for {targets} targets")
    if targets == 1:
        values = [np.array([node.get(0, 0.0) for node in tree]) for tree in made.added]
        plain = _boosting([made.trees], [values], np.array([sum(made.base)]), dtype)
        return [Numbers(Trees(plain, x), x, ())]
    count = len(made.trees)
    shares = [np.array([[node.get(k, 0.0) for k in range(targets)] for node in tree]) * count for tree in made.added]
    return [Numbers(Trees(_forest(made.trees, shares, dtype), x), x, (targets,))]
