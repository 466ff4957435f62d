"""LightGBM's own text format, as `booster.model_to_string()` returns and `booster.save_model` writes it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence

import numpy as np

from quorate.errors import ModelError
from quorate.models._tree import PlainTree

_CATEGORY, _MISSING, _ZERO = 1, 3 << 2, 1 << 2  # bits of decision_type: a split by categories; missing values

Grown = tuple[PlainTree, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Text:
    """The fields before the trees of a file, and the trees with the value of each node."""

    head: dict[str, str]
    trees: list[Grown]


def is_text(model: str) -> bool:
    """Returns whether a text begins as LightGBM's format does."""
    return model.lstrip().partition("\n")[0].strip() == "tree"


def parsed(model: str) -> Text:
    """Reads the text of a model.

    Raises:
        ModelError: the text is cut off, or its trees are not supported.
        LookupError, ValueError: a field is missing or not a number.
    """
    whole, found, _ = model.partition("end of trees")
    if not found:
        raise ModelError("this text of a LightGBM model is cut off: it has no line 'end of trees'")
    head, *trees = _blocks(whole.splitlines())
    sizes = head.get("tree_sizes", "").split()
    if len(sizes) != len(trees):
        raise ModelError(f"this text of a LightGBM model is damaged: it says {len(sizes)} trees and has {len(trees)}")
    return Text(head, [_tree(fields) for fields in trees])


def _blocks(lines: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yields the fields of the head, then those of each tree."""
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.strip().partition("=")
        if name == "Tree":
            yield fields
            fields = {}
        if name:
            fields[name] = value
    yield fields


def _tree(fields: dict[str, str]) -> Grown:
    """Reads a tree: inner nodes first, then leaves, which LightGBM numbers -1, -2 ..."""
    if int(fields.get("is_linear", "0")):
        raise ModelError("LightGBM's linear trees are not supported; linear_tree=False is")
    leaves = int(fields["num_leaves"])
    values = _floats(fields, "leaf_value", leaves)
    if leaves == 1:
        return PlainTree(np.array([-1]), np.array([-1]), np.array([-1]), np.zeros(1)), values
    count = leaves - 1
    kinds = _whole(fields, "decision_type", count)
    if (kinds & _CATEGORY).any():
        raise ModelError("LightGBM's splits by categories are not supported: encode categories as numbers")
    if (kinds & _MISSING == _ZERO).any():
        raise ModelError("LightGBM's zero_as_missing=True is not supported; zero_as_missing=False is")
    ends = []
    for side in ("left_child", "right_child"):
        given = _whole(fields, side, count)
        if ((given < -leaves) | (given >= count)).any():
            raise ModelError("a tree of this model is damaged: a child that is no node; write it again")
        ends.append(np.concatenate([np.where(given < 0, count - 1 - given, given), np.full(leaves, -1)]))
    thresholds = _floats(fields, "threshold", count)
    if not all(map(math.isfinite, thresholds)):
        raise ModelError("a tree has a threshold that is not finite; train the model again")
    features = np.concatenate([_whole(fields, "split_feature", count), np.full(leaves, -1)])
    plain = PlainTree(ends[0], ends[1], features, np.concatenate([thresholds, np.zeros(leaves)]))
    return plain, np.concatenate([np.zeros(count), values])


def _listed(fields: dict[str, str], name: str, count: int) -> list[str]:
    found = fields[name].split()
    if len(found) != count:
        raise ModelError(f"a tree of this model is damaged: {len(found)} numbers of {name}, not {count}")
    return found


def _floats(fields: dict[str, str], name: str, count: int) -> np.ndarray:
    return np.array([float(value) for value in _listed(fields, name, count)])


def _whole(fields: dict[str, str], name: str, count: int) -> np.ndarray:
    return np.array([int(value) for value in _listed(fields, name, count)], np.int64)
