"""Boosted trees of XGBoost and LightGBM: models imported from JSON predict as their libraries did."""

from __future__ import annotations

import copy
import json
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

import quorate as qr
from protocols import USUAL, Place, among
from quorate.models import from_lightgbm, from_xgboost

FOLDER = Path(__file__).parent / "boosters"
DATA = {"breast_cancer": load_breast_cancer, "iris": load_iris, "wine": load_wine, "diabetes": load_diabetes}
IMPORTS: dict[str, Callable[..., qr.models.Model]] = {"xgboost": from_xgboost, "lightgbm": from_lightgbm}


def known(library: str, name: str) -> dict[str, Any]:
    """Returns a model with its library's predictions; see boosters/make.py."""
    return json.loads((FOLDER / f"{library}-{name}.json").read_text())


def records_of(name: str) -> np.ndarray:
    """Returns all records, and those a float32 further, many of which lie on a threshold."""
    X, _ = DATA[name](return_X_y=True)
    return np.concatenate([X, np.nextafter(X.astype(np.float32), np.float32(np.inf))])


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("library", IMPORTS)
def test_predictions_are_the_librarys(library: str, name: str) -> None:
    answers, records = known(library, name), records_of(name)
    model = IMPORTS[library](answers["model"])
    given, wanted = model.predict_clear(records), np.array(answers["predict"])
    assert model.shape.float64 == (True if library == "lightgbm" else None)
    if name == "diabetes":
        assert np.abs(given - wanted).max() <= model.margin_bound < 1e-5 * np.abs(wanted).max()
        return
    assert (given == wanted).all()
    with qr.local("rss") as mpc:
        some = records[: len(records) // 2 : 10]
        assert (model.predict(mpc, some) == wanted[: len(records) // 2 : 10]).all()
        shares = model.predict_proba(mpc, some)
    assert np.abs(shares - answers["predict_proba"]).max() <= model.margin_bound


@pytest.mark.parametrize("place", USUAL, ids=str)
@pytest.mark.parametrize("library", IMPORTS)
def test_parties_predict_what_the_library_does(library: str, place: Place) -> None:
    answers, records = known(library, "iris"), records_of("iris")[::60]
    with among(place) as mpc:
        predicted = IMPORTS[library](answers["model"]).predict(mpc, records)
    assert (predicted == np.array(answers["predict"])[::60]).all()


@pytest.mark.parametrize("library", IMPORTS)
def test_records_at_thresholds_go_as_there(library: str) -> None:
    """XGBoost goes left below a float32, LightGBM at most at a float64."""
    model = IMPORTS[library](small(library, 0.5))
    records = np.array([[np.nextafter(0.5, 0)], [0.5], [np.nextafter(0.5, 1)], [0.4999999]])
    right = [True, True, True, False] if library == "xgboost" else [False, False, True, False]
    assert (model.predict_clear(records) > 0).tolist() == right
    at_zero = IMPORTS[library](small(library, 0.0))
    wanted = [True, True, False] if library == "xgboost" else [False, False, False]
    assert (at_zero.predict_clear(np.array([[0.0], [-0.0], [-1e-30]])) > 0).tolist() == wanted


def small(library: str, threshold: float) -> dict[str, Any]:
    """A regression by one split: -1 left of it, 1 right of it."""
    if library == "lightgbm":
        split = {"split_feature": 0, "decision_type": "<=", "threshold": threshold, "missing_type": "None"}
        tree = {**split, "left_child": {"leaf_value": -1.0}, "right_child": {"leaf_value": 1.0}}
        return {
            "objective": "regression",
            "num_tree_per_iteration": 1,
            "max_feature_idx": 0,
            "tree_info": [{"tree_structure": tree}],
        }
    changed = copy.deepcopy(known("xgboost", "diabetes")["model"])
    learner, booster = changed["learner"], changed["learner"]["gradient_booster"]["model"]
    learner["learner_model_param"].update(num_feature="1", base_score="[0E0]")
    booster["trees"], booster["tree_info"] = booster["trees"][:1], [0]
    booster["trees"][0].update(
        left_children=[1, -1, -1],
        right_children=[2, -1, -1],
        split_indices=[0, 0, 0],
        split_conditions=[threshold, -1.0, 1.0],
        split_type=[0, 0, 0],
    )
    return changed


def test_models_are_read_from_files_texts_and_objects(tmp_path: Path) -> None:
    for library, read in IMPORTS.items():
        model = known(library, "iris")["model"]
        path = tmp_path / "model.json"
        path.write_text(json.dumps(model))
        shapes = {
            read(given).shape for given in (model, json.dumps(model), json.dumps(model).encode(), path, str(path))
        }
        assert len(shapes) == 1
        named = read(model, classes=["a", "b", "c"])
        assert named.shape.classes == ("a", "b", "c")
        with pytest.raises(qr.ModelError, match="3 classes"):
            read(model, classes=["a", "b"])
        for bad in ("{", "no such file", {}, 3):
            with pytest.raises(qr.ModelError, match=r"dump_model|save_model"):
                read(bad)


def test_missing_values_are_refused() -> None:
    for library, read in IMPORTS.items():
        X = records_of("iris")[:2].copy()
        X[1, 0] = np.nan
        with qr.local("rss") as mpc, pytest.raises(qr.RangeError, match="impute"):
            read(known(library, "iris")["model"]).predict(mpc, X)


def changed(library: str, path: list[Any], value: Any) -> dict[str, Any]:
    model = known(library, "diabetes")["model"]
    *way, last = path
    place = model
    for step in way:
        place = place[step]
    place[last] = value
    return model


XGBOOST = ["learner", "gradient_booster"]
FIRST = [*XGBOOST, "model", "trees", 0]
TREE = ["tree_info", 0, "tree_structure"]


@pytest.mark.parametrize(
    ("library", "path", "value", "words"),
    [
        ("xgboost", [*XGBOOST, "name"], "dart", "'gbtree' is"),
        ("xgboost", ["learner", "objective", "name"], "count:poisson", "reg:squarederror are"),
        ("xgboost", ["learner", "attributes"], {"best_iteration": "1"}, "2 of 4 rounds"),
        ("xgboost", ["learner", "learner_model_param", "num_target"], "2", "one model for each"),
        ("xgboost", [*FIRST, "tree_param", "size_leaf_vector"], "3", "one_output_per_tree"),
        ("lightgbm", ["objective"], "poisson", "regression are"),
        ("lightgbm", ["objective"], "regression sqrt", "regression are"),
        ("lightgbm", ["average_output"], True, "gbdt"),
        ("lightgbm", [*TREE, "missing_type"], "Zero", "zero_as_missing=False"),
        ("lightgbm", [*TREE, "threshold"], float("nan"), "a threshold that is not finite"),
        ("lightgbm", [*TREE, "left_child"], {"leaf_value": float("nan")}, "has numbers that are not finite"),
        ("xgboost", ["learner", "learner_model_param", "base_score"], "NaN", "begins with numbers that are not finite"),
        ("lightgbm", [*TREE, "left_child"], {"leaf_value": 1.0, "leaf_coeff": []}, "linear_tree=False"),
        ("lightgbm", ["tree_info"], [], "no trees"),
    ],
)
def test_what_is_refused_says_what_is_not(library: str, path: list[Any], value: Any, words: str) -> None:
    with pytest.raises(qr.ModelError, match=words):
        IMPORTS[library](changed(library, path, value))
    trained_as_said(library, "diabetes")


def trained_as_said(library: str, name: str) -> None:
    """A model that is trained and written as messages have it predicts what its library does."""
    answers, records = known(library, name), records_of(name)
    model = IMPORTS[library](answers["model"])
    assert np.abs(model.predict_clear(records) - np.array(answers["predict"])).max() <= model.margin_bound


def test_estimators_of_other_libraries_are_told_apart() -> None:
    for module, words in (
        ("xgboost.sklearn", "from_xgboost.*save_raw"),
        ("lightgbm.sklearn", "from_lightgbm.*dump_model"),
    ):
        estimator = type("Theirs", (), {"__module__": module})()
        with pytest.raises(qr.ModelError, match=words):
            qr.models.from_sklearn(estimator)


@pytest.mark.parametrize("library", IMPORTS)
def test_categories_are_refused(library: str) -> None:
    with pytest.raises(qr.ModelError, match="encode categories as numbers"):
        IMPORTS[library](known(library, "categories")["model"])


XGB_TREE = ["learner", "gradient_booster", "model", "trees", 0]
XGB_PARAM = ["learner", "learner_model_param"]


@pytest.mark.parametrize(
    ("library", "path", "value", "words"),
    [
        ("xgboost", [*XGB_TREE, "split_indices", 0], 999, "none of its"),
        ("xgboost", [*XGB_TREE, "split_indices", 0], -1, "none of its"),
        ("xgboost", [*XGB_TREE, "left_children", 0], 0, "or several nodes"),
        ("xgboost", [*XGB_TREE, "right_children", 0], 1, "or several nodes"),
        ("xgboost", [*XGB_TREE, "right_children", 0], 10**6, "or several nodes"),
        ("xgboost", [*XGB_TREE, "right_children"], [2], "damaged"),
        ("xgboost", [*XGB_TREE, "left_children"], "no list", "version that is not known"),
        ("xgboost", [*XGB_PARAM, "base_score"], "1.5", "and no probability"),
        ("xgboost", [*XGB_PARAM, "base_score"], "NaN", "and no probability"),
        ("xgboost", [*XGB_PARAM, "num_feature"], "0", "none of its"),
        ("xgboost", ["learner", "gradient_booster", "model", "tree_info", 0], 7, "does not have"),
        ("xgboost", ["learner", "gradient_booster"], None, "version that is not known"),
        ("lightgbm", ["tree_info", 0, "tree_structure", "split_feature"], 999, "none of its"),
        ("lightgbm", ["tree_info", 0, "tree_structure", "split_feature"], -1, "none of its"),
        ("lightgbm", ["tree_info", 0, "tree_structure", "left_child"], {}, "not supported"),
        ("lightgbm", ["tree_info", 0, "tree_structure"], 5, "version that is not known"),
        ("lightgbm", ["num_tree_per_iteration"], "x", "version that is not known"),
    ],
)
def test_damaged_models_are_refused(library: str, path: list[Any], value: Any, words: str) -> None:
    model = known(library, "breast_cancer")["model"]
    model = json.loads(model) if isinstance(model, str) else model
    inner = model
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(qr.ModelError, match=words):
        IMPORTS[library](model)
    trained_as_said(library, "breast_cancer")


def test_a_tree_that_is_its_own_child_is_refused() -> None:
    model = known("lightgbm", "breast_cancer")["model"]
    root = model["tree_info"][0]["tree_structure"]
    root["left_child"] = root
    with pytest.raises(qr.ModelError, match="more than 1048576 nodes"):
        from_lightgbm(model)


# ---- LightGBM's own form --------------------------------------------------------------------------------------------


def text_of(name: str) -> str:
    """Returns the output of `booster.model_to_string()`; see boosters/make.py."""
    return (FOLDER / f"lightgbm-{name}.txt").read_text()


@pytest.mark.parametrize("name", DATA)
def test_lightgbms_own_form_is_the_same_model(name: str, tmp_path: Path) -> None:
    text, answers = text_of(name), known("lightgbm", name)
    dumped, records = from_lightgbm(answers["model"]), records_of(name)
    path = tmp_path / "model.txt"
    path.write_text(text)
    for given in (text, text.encode(), path, str(path)):
        model = from_lightgbm(given)
        assert model.shape == dumped.shape and model.margin_bound == dumped.margin_bound
        assert (model.predict_clear(records) == dumped.predict_clear(records)).all()


def test_forms_of_lightgbms_that_are_refused() -> None:
    text = text_of("diabetes")
    with pytest.raises(qr.ModelError, match="encode categories"):
        from_lightgbm(text_of("categories"))
    for old, new, words in (
        ("decision_type=2", "decision_type=6", "zero_as_missing=False"),
        ("is_linear=0", "is_linear=1", "linear_tree=False"),
        ("end of trees", "", "cut off"),
        ("Tree=1\n", "", "damaged"),
        ("num_leaves=6", "num_leaves=5", "damaged"),
        ("left_child=1", "left_child=77", "no node"),
        ("threshold=", "threshold=x", "damaged"),
        ("objective=regression", "objective=poisson", "regression are"),
        ("version=", "average_output\nversion=", "gbdt"),
    ):
        assert old in text, old
        with pytest.raises(qr.ModelError, match=words):
            from_lightgbm(text.replace(old, new, 1))


# ---- what messages say ----------------------------------------------------------------------------------------------


def test_no_message_contains_a_model() -> None:
    """Models in a wrong form, or given to the wrong importer: the message and its chain of causes are short."""
    text, dump = text_of("iris"), json.dumps(known("lightgbm", "iris")["model"])
    trees = json.dumps(known("xgboost", "iris")["model"])
    importers = [from_xgboost, from_lightgbm, qr.models.from_onnx, qr.models.from_tflite, qr.models.from_sklearn]
    asked = 0
    for given in (text, dump, trees, text[:-4000], dump[:-10], trees[:-10], text[5:], "x" * 50_000, "a\0b" * 9_999):
        for importer in importers:
            for model in (given, given.encode(), [given], {"tree_info": given}, {"learner": {"objective": given}}):
                asked += 1
                try:
                    importer(model)
                except qr.QuorateError as error:
                    whole = "".join(traceback.format_exception(error, chain=True))
                    assert len(str(error)) < 1000, (importer, str(error)[:1000])
                    assert given[:60] not in whole or len(given) < 600, importer
                else:
                    assert importer in (from_xgboost, from_lightgbm)
    with pytest.raises(qr.ModelError) as caught:
        from_lightgbm(dump, classes=list(range(50_000)))
    assert asked > 200 and len(str(caught.value)) < 600
    forest = qr.models.from_xgboost(trees)
    with qr.local("rss") as mpc, pytest.raises(qr.QuorateError) as caught:
        forest.predict(mpc, text)
    assert len(str(caught.value)) < 600
