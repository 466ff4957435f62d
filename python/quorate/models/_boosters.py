"""Import of boosted trees that XGBoost and LightGBM wrote; the libraries are not needed."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quorate.errors import ModelError, QuorateError
from quorate.models._ensemble import PlainBoosting, encode_boosting
from quorate.models._lightgbm import is_text, parsed
from quorate.models._model import Model
from quorate.models._quotes import path, short
from quorate.models._tree import PlainTree

_FLOAT32 = np.dtype(np.float32)
_MOST_NODES = 1 << 20
_LINK_ERROR = 2.0**-20  # of float32 probabilities, which XGBoost compares instead of their arguments


def from_xgboost(model: Any, *, classes: Sequence[Any] | None = None) -> Model:
    """Makes boosted trees of XGBoost into a model that can score secret records.

    Records are rounded to float32 and go left if they are below a split, as in XGBoost. Missing values are refused, so
    default directions are not needed. XGBoost's own sums in float32 count in `margin_bound`.

    Args:
        model: what `booster.save_model("model.json")` writes: the file's path, its text, or the object that `json`
            reads.
        classes: the labels, if they are not 0, 1 ...

    Raises:
        ModelError: this is no such model; or it has categories, dropped trees, several targets, rounds after an early
            stop, or an objective other than "binary:logistic", "multi:softprob", "multi:softmax" and those of "reg:"
            whose predictions are plain sums over trees.
    """
    return _unbroken(lambda: _from_xgboost(model, classes))


def _from_xgboost(model: Any, classes: Sequence[Any] | None) -> Model:
    learner = _read(model, "learner", 'booster.save_model("model.json")')
    booster, public = learner["gradient_booster"], learner["learner_model_param"]
    if booster.get("name") != "gbtree":
        raise ModelError(f"XGBoost's booster {short(booster.get('name'))!r} is not supported; 'gbtree' is")
    if int(public.get("num_target", "1")) > 1:
        raise ModelError("XGBoost with several targets is not supported; train one model for each")
    trees, groups = booster["model"]["trees"], [int(g) for g in booster["model"]["tree_info"]]
    objective, features = learner["objective"]["name"], int(public["num_feature"])
    count = max(1, int(public.get("num_class", "0")))
    best = learner.get("attributes", {}).get("best_iteration")
    rounds = len(trees) // count // max(1, int(booster["model"]["gbtree_model_param"].get("num_parallel_tree", "1")))
    if best is not None and int(best) + 1 < rounds:
        raise ModelError(
            f"training of this XGBoost model stopped early, and {int(best) + 1} of {rounds} rounds are the best: write "
            "those, booster[: booster.best_iteration + 1].save_model(...)"
        )
    initial = np.broadcast_to(np.asarray(json.loads(public["base_score"]), np.float64).reshape(-1), (count,))
    link, labels = None, None
    if objective == "binary:logistic":
        if not ((initial > 0) & (initial < 1)).all():
            raise ModelError(
                f"this model's base_score is {short(public['base_score'])}, and no probability; write it again"
            )
        link, labels, initial = "logistic", 2, np.log(initial) - np.log1p(-initial)
    elif objective in ("multi:softprob", "multi:softmax"):
        link, labels = "softmax", count
    elif objective not in ("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror"):
        raise _objective("XGBoost", objective, "binary:logistic, multi:softprob, multi:softmax, reg:squarederror")
    if not set(groups) <= set(range(count)):
        raise ModelError(f"a tree is of a class that this model, of {count}, does not have; write it again")
    by_group = [[_xgboost_tree(t) for t, g in zip(trees, groups, strict=True) if g == k] for k in range(count)]
    return _model(by_group, initial, labels, classes, features, link, _FLOAT32, learner.get("feature_names"))


def from_lightgbm(model: Any, *, classes: Sequence[Any] | None = None) -> Model:
    """Makes boosted trees of LightGBM into a model that can score secret records.

    Records are compared as float64, as in LightGBM; missing values are refused.

    Args:
        model: `booster.dump_model()`, or that as JSON. Or LightGBM's own form, from `booster.model_to_string()` or
            `booster.save_model("model.txt")`: the text, or a file's path.
        classes: the labels, if they are not 0, 1 ...

    Raises:
        ModelError: this is no such model; or it has categories, linear trees, zeros that count as missing, averaged
            trees, or an objective other than binary, multiclass and those of regression whose predictions are plain
            sums over trees.
    """
    return _unbroken(lambda: _from_lightgbm(model, classes))


def _from_lightgbm(model: Any, classes: Sequence[Any] | None) -> Model:
    given = _given(model, "booster.dump_model() or booster.model_to_string()")
    text = parsed(given) if isinstance(given, str) and is_text(given) else None
    if text is None:
        dump = _read(given, None, "booster.dump_model()", "tree_info")
    else:
        dump = {**text.head, "average_output": "average_output" in text.head}
    objective, *options = str(dump.get("objective", "")).split()
    if dump.get("average_output"):
        raise ModelError("LightGBM's random forests (boosting='rf') are not supported; boosting='gbdt' is")
    count = int(dump["num_tree_per_iteration"])
    link, labels = None, None
    if objective == "binary":
        link, labels = "logistic" if "sigmoid:1" in options else None, 2
    elif objective == "multiclass":
        link, labels = "softmax", count
    elif objective not in ("regression", "regression_l1", "huber", "fair", "quantile", "mape") or "sqrt" in options:
        raise _objective("LightGBM", " ".join([objective, *options]), "binary, multiclass and regression")
    trees = [_lightgbm_tree(info["tree_structure"]) for info in dump["tree_info"]] if text is None else text.trees
    by_group = [trees[k::count] for k in range(count)]
    features = int(dump["max_feature_idx"]) + 1
    dtype = np.dtype(np.float64)
    names = dump.get("feature_names") if text is None else text.head.get("feature_names", "").split()
    return _model(by_group, np.zeros(count), labels, classes, features, link, dtype, names)


def _given(model: Any, made_by: str) -> Any:
    """Returns a model as it was given, or the text of the file that a path names."""
    try:
        if isinstance(model, (bytes, bytearray)):
            return model.decode()
        if isinstance(model, os.PathLike) or (isinstance(model, str) and not _is_model(model)):
            return Path(model).read_bytes().decode()
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or short(error)
        raise ModelError(f"{path(model)} is neither a model nor a file of what {made_by} gives: {why}") from None
    return model


def _is_model(text: str) -> bool:
    """Returns whether a text is a model, not a path."""
    return text.lstrip().startswith("{") or is_text(text)


def _read(model: Any, key: str | None, made_by: str, wanted: str | None = None) -> dict[str, Any]:
    """Returns the JSON object of a model, or the value of its key."""
    model = _given(model, made_by)
    try:
        if isinstance(model, str):
            model = json.loads(model)
    except ValueError as error:
        raise ModelError(f"this cannot be read as JSON, which {made_by} gives: {short(error)}") from None
    if not isinstance(model, dict) or (key or wanted) not in model:
        given = f"a {type(model).__name__} without {key or wanted!r}"
        raise ModelError(f"this is no model: give what {made_by} gives, not {given}")
    return model[key] if key else model


def _objective(library: str, name: str, known: str) -> ModelError:
    return ModelError(
        f"{library}'s objective {short(name)!r} is not supported; {known} are: train the model for one of these"
    )


Grown = tuple[PlainTree, Any]


def _model(
    groups: list[list[Grown]],
    initial: Any,
    labels: int | None,
    classes: Sequence[Any] | None,
    features: int,
    link: str | None,
    dtype: np.dtype,
    names: Any,
) -> Model:
    """Makes the model from trees grouped by decision; each group has the same number of trees."""
    if not groups[0] or len({len(group) for group in groups}) > 1:
        raise ModelError("this model has no trees, or not as many for each class; train it again")
    if not np.isfinite(initial).all():
        raise ModelError("this model begins with numbers that are not finite; write it again")
    for tree, values in (grown for group in groups for grown in group):
        check_tree(tree, values, features)
    stages = list(zip(*groups, strict=True))
    plain = PlainBoosting(
        [[tree for tree, _ in stage] for stage in stages],
        [[values for _, values in stage] for stage in stages],
        np.asarray(initial, np.float64),
        dtype=dtype,
        float64=dtype != _FLOAT32,
    )
    known = () if labels is None else tuple(range(labels)) if classes is None else tuple(np.asarray(classes).tolist())
    if classes is not None and len(known) != labels:
        raise ModelError(f"classes={short(classes)}: this model has {labels or 'numbers, and no'} classes")
    targets = () if labels is None else None
    shape, secrets, margin = encode_boosting(plain, known, features, link, targets)
    if dtype == _FLOAT32 and labels is not None:
        margin += _LINK_ERROR
    given = names and any(name != f"Column_{i}" for i, name in enumerate(names))  # for features without names
    if given and len(names) == features:
        shape = dataclasses.replace(shape, names=tuple(names))
    return Model(shape, secrets, margin)


def _unbroken(read: Callable[[], Model]) -> Model:
    """Returns the result of `read`; reports a file that lacks parts of a model as damaged."""
    try:
        return read()
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError, OverflowError) as error:
        if isinstance(error, QuorateError):
            raise
        what = f"{type(error).__name__}: {short(error)}"
        raise ModelError(f"this model is damaged, or of a version that is not known ({what}); write it again") from None


def check_tree(tree: PlainTree, values: Any, features: int) -> None:
    """Checks that a tree is whole: no node is the child of two, splits are by existing features, numbers are finite."""
    left, right = np.asarray(tree.left), np.asarray(tree.right)
    inner = left >= 0
    children = np.concatenate([left[inner], right[inner]])
    whole = len(left) == len(right) == len(tree.feature) == len(tree.threshold) == len(values) > 0
    # Every node has one parent at most and the root has none, so no path from the root is a circle.
    known = ((children > 0) & (children < len(left))).all() and len(np.unique(children)) == len(children)
    if not (whole and known):
        raise ModelError("a tree of this model is damaged: a child that is no node, or several nodes'; write it again")
    used = np.asarray(tree.feature)[inner]
    if ((used < 0) | (used >= features)).any():
        raise ModelError(f"a tree of this model asks for a feature that is none of its {features}; write it again")
    if (
        not np.isfinite(np.asarray(values, np.float64)).all()
        or not np.isfinite(np.asarray(tree.threshold)[inner]).all()
    ):
        raise ModelError("a tree of this model has numbers that are not finite; train it again")


def _xgboost_tree(tree: dict[str, Any]) -> Grown:
    left = np.asarray(tree["left_children"], np.int64)
    if np.any(tree.get("split_type", 0)) or len(tree.get("categories", ())):
        raise ModelError("XGBoost's splits by categories are not supported: encode categories as numbers")
    if int(tree["tree_param"].get("size_leaf_vector", "1")) > 1:
        raise ModelError('XGBoost\'s multi_strategy="multi_output_tree" is not supported; "one_output_per_tree" is')
    at = np.asarray(tree["split_conditions"], np.float32)
    # Below a float32 means at most the float32 before it.
    below = np.nextafter(at, np.float32(-np.inf)).astype(np.float64)
    feature = np.where(left < 0, -1, np.asarray(tree["split_indices"], np.int64))
    plain = PlainTree(left, np.asarray(tree["right_children"], np.int64), feature, np.where(left < 0, 0.0, below))
    return plain, np.where(left < 0, at.astype(np.float64), 0.0)


def _lightgbm_tree(root: dict[str, Any]) -> Grown:
    nodes, children = [root], []
    for node in nodes:  # `nodes` grows meanwhile
        if len(nodes) > _MOST_NODES:
            raise ModelError(f"a tree has more than {_MOST_NODES} nodes, or one that is its own child's child")
        if "leaf_value" in node:
            children.append((-1, -1))
            continue
        _check_split(node)
        children.append((len(nodes), len(nodes) + 1))
        nodes += [node["left_child"], node["right_child"]]
    if any("leaf_coeff" in node for node in nodes):
        raise ModelError("LightGBM's linear trees are not supported; linear_tree=False is")
    left, right = np.array(children, np.int64).T
    feature = np.array([node.get("split_feature", -1) for node in nodes], np.int64)
    threshold, value = ([float(node.get(key, 0.0)) for node in nodes] for key in ("threshold", "leaf_value"))
    return PlainTree(left, right, feature, np.array(threshold)), np.array(value)


def _check_split(node: dict[str, Any]) -> None:
    if node.get("decision_type") != "<=":
        raise ModelError("LightGBM's splits by categories are not supported: encode categories as numbers")
    if node.get("missing_type") == "Zero":
        raise ModelError("LightGBM's zero_as_missing=True is not supported; zero_as_missing=False is")
    if not math.isfinite(float(node["threshold"])):
        raise ModelError("a tree has a threshold that is not finite; train the model again")
