"""Files of scikit-learn's converter, `skl2onnx`: predictions are onnxruntime's, for any steps before the model."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from onnx import TensorProto, helper
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import quorate as qr
from protocols import USUAL, Place, among
from quorate.errors import ModelError, ModelWarning, RangeError
from quorate.models import from_onnx
from quorate.models._ml._trees import moved
from quorate.models._ml._values import Chain
from quorate.models._model import Model, clear_numbers

IRIS, CANCER, DIABETES = load_iris(return_X_y=True), load_breast_cancer(return_X_y=True), load_diabetes(return_X_y=True)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Ignores warnings of estimators that do not converge, and of margins of files that compute in float32."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def converted(estimator: Any, X: Any, y: Any, **options: Any) -> Any:
    pytest.importorskip("skl2onnx", reason="skl2onnx, which writes these files, is not installed")
    from skl2onnx import to_onnx

    fitted = estimator.fit(X, y)
    first = X[:1] if isinstance(X, pd.DataFrame) else X[:1].astype(np.float32)
    return to_onnx(fitted, first, **options)


def answers(proto: Any, feeds: Any) -> list[Any]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
    given = feeds if isinstance(feeds, dict) else {session.get_inputs()[0].name: feeds}
    found = session.run(None, given)
    return [np.array([list(row.values()) for row in out]) if isinstance(out, list) else out for out in found]


def records_of(X: np.ndarray) -> np.ndarray:
    """Returns records, others like them, and those a float32 further, many of which lie on a threshold."""
    r = np.random.default_rng(0)
    others = X + r.normal(size=X.shape) * X.std(axis=0) * 0.3
    return np.concatenate([X, others, np.nextafter(X.astype(np.float32), np.float32(np.inf))]).astype(np.float32)


CLASSIFIERS: dict[str, tuple[Callable[[], Any], Any]] = {
    "tree": (lambda: DecisionTreeClassifier(max_depth=4), IRIS),
    "binary tree": (lambda: DecisionTreeClassifier(max_depth=4), CANCER),
    "forest": (lambda: RandomForestClassifier(12, max_depth=4, random_state=0), IRIS),
    "binary forest": (lambda: RandomForestClassifier(7, max_depth=4, random_state=0), CANCER),
    "deep forest": (lambda: ExtraTreesClassifier(5, random_state=0), CANCER),
    "boosting": (lambda: GradientBoostingClassifier(n_estimators=5, random_state=0), CANCER),
    "boosting of three": (lambda: GradientBoostingClassifier(n_estimators=5, random_state=0), IRIS),
    "scaled forest": (
        lambda: make_pipeline(MinMaxScaler((2, -3 + 6)), RobustScaler(), RandomForestClassifier(7, random_state=0)),
        CANCER,
    ),
    "selected": (lambda: make_pipeline(SelectKBest(k=2), RandomForestClassifier(5, random_state=0)), IRIS),
    "logistic": (lambda: LogisticRegression(), CANCER),
    "logistic of three": (lambda: make_pipeline(StandardScaler(), LogisticRegression()), IRIS),
    "components": (lambda: make_pipeline(SimpleImputer(), PCA(2), LogisticRegression()), IRIS),
    "rest": (lambda: OneVsRestClassifier(LogisticRegression()), IRIS),
    "margins": (lambda: LinearSVC(random_state=0), CANCER),
    "margins of three": (lambda: LinearSVC(random_state=0), IRIS),
    "descent": (lambda: SGDClassifier(random_state=0), IRIS),
    "binary descent": (lambda: make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=0)), CANCER),
    "ridge": (lambda: RidgeClassifier(), IRIS),
    "binary ridge": (lambda: RidgeClassifier(), CANCER),
    "discriminant": (lambda: LinearDiscriminantAnalysis(), IRIS),
    "machine": (lambda: make_pipeline(StandardScaler(), SVC(kernel="linear")), CANCER),
    "machine of three": (lambda: SVC(kernel="linear"), IRIS),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_labels_and_probabilities_are_onnxruntimes(name: str) -> None:
    make, (X, y) = CLASSIFIERS[name]
    proto, records = converted(make(), X, y), records_of(X)
    labels, *scores = answers(proto, records)
    model = from_onnx(proto, sample=X)
    assert isinstance(model, Model)
    assert (model.predict_clear(records) == labels).all()
    if model.shape.link not in (None, "sigmoids"):
        shares = clear_numbers("predict_proba", model, records)
        assert np.abs(shares - scores[0]).max() <= max(model.margin_bound, 1e-6)
    with qr.local("rss") as mpc:
        some = records[::40]
        assert (model.predict(mpc, some) == labels[::40]).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda: RandomForestRegressor(5, max_depth=4, random_state=0),
        lambda: make_pipeline(StandardScaler(), GradientBoostingRegressor(n_estimators=5, random_state=0)),
        lambda: LinearRegression(),
        lambda: SVR(kernel="linear"),
    ],
)
def test_numbers_are_onnxruntimes(make: Callable[[], Any]) -> None:
    X, y = DIABETES
    proto, records = converted(make(), X, y), records_of(X)
    wanted = answers(proto, records)[0].ravel()
    model = from_onnx(proto, sample=X)
    assert np.abs(model.predict_clear(records) - wanted).max() <= model.margin_bound < 1e-3 * np.abs(wanted).max()
    with qr.local("rss") as mpc:
        assert np.abs(model.predict(mpc, records[::80]) - wanted[::80]).max() <= model.margin_bound


def test_several_targets() -> None:
    X, y = DIABETES
    for estimator in (RandomForestRegressor(3, max_depth=3, random_state=0), LinearRegression()):
        proto = converted(estimator, X, np.c_[y, -y])
        model, records = from_onnx(proto, sample=X), records_of(X)
        assert model.shape.targets == (2,)
        assert np.abs(model.predict_clear(records) - answers(proto, records)[0]).max() <= model.margin_bound


def test_texts_are_labels() -> None:
    X, y = CANCER
    proto = converted(RandomForestClassifier(3, max_depth=3, random_state=0), X, np.array(["benign", "malign"])[y])
    model = from_onnx(proto)
    assert model.shape.classes == ("benign", "malign")
    assert (model.predict_clear(X) == answers(proto, X.astype(np.float32))[0]).all()
    assert from_onnx(proto, labels=["no", "yes"]).shape.classes == ("no", "yes")
    with pytest.raises(ModelError, match="3 labels for 2 classes"):
        from_onnx(proto, labels=[1, 2, 3])


def wards() -> tuple[pd.DataFrame, np.ndarray, dict[str, np.ndarray]]:
    """Returns records of two kinds of columns, the targets, and onnxruntime's inputs."""
    r = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "smokes": r.choice(["never", "former", "current"], 120),
            "age": r.integers(20, 80, 120).astype(np.float32),
            "pressure": r.normal(130, 15, 120).astype(np.float32),
            "ward": r.integers(0, 4, 120),
        }
    )
    y = ((frame.smokes == "current") | (frame.pressure > 140)).to_numpy()
    feeds = {name: frame[[name]].to_numpy(object if name == "smokes" else None) for name in frame}
    return frame, y, feeds


@pytest.mark.parametrize("last", [LogisticRegression(), RandomForestClassifier(5, max_depth=4, random_state=0)])
@pytest.mark.parametrize("unknown", ["ignore", "error"])
def test_tables_with_categories(last: Any, unknown: str) -> None:
    frame, y, feeds = wards()
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown=unknown), ["smokes", "ward"]), (numbers, ["age", "pressure"])
    )
    proto = converted(make_pipeline(columns, last), frame, y)
    model = from_onnx(proto)
    labels = answers(proto, feeds)[0]
    assert model.shape.names == tuple(frame)
    assert (model.predict_clear(frame) == labels).all()
    with qr.local("rss") as mpc:
        assert (model.predict(mpc, frame.iloc[:20]) == labels[:20]).all()
    other = frame.iloc[:1].assign(smokes="pipe")
    if unknown == "error":
        with pytest.raises(RangeError, match="none of the categories"):
            model.predict_clear(other)
    else:
        assert len(model.predict_clear(other)) == 1


@pytest.mark.parametrize("name", ["forest", "logistic of three", "machine of three"])
@pytest.mark.parametrize("place", USUAL, ids=str)
def test_every_family(place: Place, name: str) -> None:
    make, (X, y) = CLASSIFIERS[name]
    estimator = RandomForestClassifier(2, max_depth=2, random_state=0) if name == "forest" else make()
    proto = converted(estimator, X, y)
    model, some = from_onnx(proto, sample=X), X[::50].astype(np.float32)
    with among(place) as mpc:
        assert (model.predict(mpc, some) == answers(proto, some)[0]).all()


def test_other_parties_need_the_shape_alone() -> None:
    X, y = IRIS
    model = from_onnx(converted(make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2)), X, y))
    assert qr.models.Shape(**json.loads(json.dumps(model.shape.describe()))) == model.shape


@pytest.mark.parametrize("activation", ["relu", "logistic", "tanh"])
def test_networks_are_networks_with_their_labels(activation: str) -> None:
    for X, y in (IRIS, CANCER):
        estimator = make_pipeline(StandardScaler(), MLPClassifier((4,), activation=activation, random_state=0))
        proto = converted(estimator, X, np.array(["a", "b", "c"])[y])
        model = from_onnx(proto, sample=X)
        assert isinstance(model, qr.models.Network)
        assert (model.predict_clear(X) == answers(proto, X.astype(np.float32))[0]).all()
    proto = converted(MLPRegressor(hidden_layer_sizes=(4,), random_state=0), *DIABETES)
    X = DIABETES[0]
    model = from_onnx(proto, sample=X)
    wanted = answers(proto, X.astype(np.float32))[0].ravel()
    assert np.abs(model.predict_clear(X).ravel() - wanted).max() < 1e-5


def test_bounds_are_what_scalers_saw() -> None:
    """Without a bound it is 64 times the divisor, on both sides of the subtracted number."""
    X, y = IRIS
    scaled = converted(make_pipeline(StandardScaler(), LogisticRegression()), X, y)
    model, other = from_onnx(scaled), from_onnx(converted(LogisticRegression(), X, y))
    assert model.shape.scales == tuple(np.ceil(np.log2(X.mean(axis=0) + 64 * X.std(axis=0))).astype(int))
    assert set(other.shape.scales) == {13} and other.shape.decision_bits == 120
    assert set(from_onnx(scaled, bound=10).shape.scales) == {4}
    assert set(from_onnx(scaled, bound=(-3, 7)).shape.scales) == {3}
    with qr.local("rss") as mpc, pytest.raises(RangeError, match=r"from_onnx\(\.\.\., bound=\)"):
        from_onnx(scaled, bound=1).predict(mpc, X)
    for bad in (0, "x", (1, 2, 3), float("nan")):
        with pytest.raises(ModelError, match="bound="):
            from_onnx(scaled, bound=bad)
    with pytest.raises(ModelError, match="more than the tolerance"):
        from_onnx(scaled, tolerance=1e-9)


LENGTHS = Normalizer().fit(IRIS[0])

# What is refused, in which words, what is fitted and imported instead, and how records come to it.
REFUSED: dict[str, tuple[Callable[[], Any], str, Callable[[], Any], Callable[[Any], Any]]] = {
    "kernel": (lambda: SVC(), "kernel='linear'", lambda: SVC(kernel="linear"), np.asarray),
    "lengths": (
        lambda: make_pipeline(Normalizer(), LogisticRegression()),
        "transform the records before",
        lambda: LogisticRegression(),
        LENGTHS.transform,
    ),
    "components": (
        lambda: make_pipeline(PCA(2), DecisionTreeClassifier()),
        "fit them on the records themselves",
        lambda: DecisionTreeClassifier(max_depth=3),
        np.asarray,
    ),
    "several": (
        lambda: AdaBoostClassifier(n_estimators=2),
        "import the parts by themselves",
        lambda: AdaBoostClassifier(n_estimators=2, random_state=0).fit(*IRIS).estimators_[0],
        np.asarray,
    ),
    "products": (
        lambda: make_pipeline(PolynomialFeatures(2), LogisticRegression()),
        "LinearClassifier behind ReduceProd, .* PolynomialFeatures: convert the last step",
        lambda: LogisticRegression(),
        PolynomialFeatures(2).fit(IRIS[0]).transform,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_what_to_do(name: str) -> None:
    make, words, instead, before = REFUSED[name]
    proto = converted(make(), *IRIS)
    with pytest.raises(ModelError, match=words) as caught:
        from_onnx(proto, sample=IRIS[0])
    assert len(str(caught.value)) < 2000
    records = before(IRIS[0])
    followed = converted(instead(), records, IRIS[1])
    found = from_onnx(followed, sample=records).predict_clear(records)
    assert (found == answers(followed, records.astype(np.float32))[0]).all()


# ---- files by hand --------------------------------------------------------------------------------------------------


def forest_of(modes: list[str], values: list[float], weights: list[float], **more: Any) -> Any:
    """Returns one tree over two features: a root, its two children, the left one inner, and three leaves."""
    attrs: dict[str, Any] = {
        "nodes_treeids": [0] * 5,
        "nodes_nodeids": [7, 1, 2, 3, 4],
        "nodes_featureids": [0, 1, 0, 0, 0],
        "nodes_values": [*values, 0.0, 0.0, 0.0],
        "nodes_modes": [*modes, "LEAF", "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 3, 0, 0, 0],
        "nodes_falsenodeids": [2, 4, 0, 0, 0],
        "target_treeids": [0, 0, 0],
        "target_nodeids": [2, 3, 4],
        "target_ids": [0, 0, 0],
        "target_weights": weights,
        "n_targets": 1,
        **more,
    }
    tree = helper.make_node("TreeEnsembleRegressor", ["z"], ["y"], domain="ai.onnx.ml", **attrs)
    scale = {"offset": [1.5, 0.25], "scale": [-3.0, 0.1]}
    nodes = [helper.make_node("Scaler", ["x"], ["z"], domain="ai.onnx.ml", **scale), tree]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "trees", [value("x", TensorProto.FLOAT, ["n", 2])], [value("y", TensorProto.FLOAT, ["n", 1])]
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def by_hand(nodes: list[Any], outputs: dict[str, list[Any]], of: int = TensorProto.FLOAT) -> Any:
    """Returns a file of operators of `ai.onnx.ml`, of records of two features, and a constant."""
    made = [helper.make_node(*names, domain="" if names[0] == "Flatten" else "ai.onnx.ml", **a) for *names, a in nodes]
    value = helper.make_tensor_value_info
    kinds = {"l": TensorProto.INT64}
    found = [value(name, kinds.get(name, TensorProto.FLOAT), shape) for name, shape in outputs.items()]
    three = helper.make_tensor("three", TensorProto.FLOAT, [1], [3.0])
    graph = helper.make_graph(made, "by hand", [value("x", of, ["n", 2])], found, [three])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


SCALER = ("Scaler", ["x"], ["z"], {"offset": [1.5, 0.25], "scale": [-3.0, 0.1]})
CODES = ("LabelEncoder", ["x"], ["z"], {"keys_floats": [0.0, 1.0], "values_floats": [1.0, 0.0]})


def line_of(source: str, width: int = 2) -> Any:
    return ("LinearRegressor", [source], ["y"], {"coefficients": [0.5] * width, "intercepts": [0.25], "targets": 1})


def ones_of(source: str) -> list[Any]:
    ones = ("OneHotEncoder", [source], ["h"], {"cats_int64s": [0, 1, 2], "zeros": 1})
    return [ones, ("Flatten", ["h"], ["f"], {}), line_of("f", 6)]


def machine(**more: Any) -> Any:
    attrs: dict[str, Any] = {"support_vectors": [1.0, 0.0, 0.0, 1.0], "coefficients": [1.0, -1.0], "rho": [0.1]}
    attrs |= {
        "kernel_type": "LINEAR",
        "kernel_params": [0.5, 0.0, 3.0],
        "vectors_per_class": [1, 1],
        "classlabels_ints": [0, 1],
        **more,
    }
    return by_hand([("SVMClassifier", ["x"], ["l", "s"], attrs)], {"l": ["n"], "s": ["n", 2]})


Y = {"y": ["n", 1]}
LINE, ONES = by_hand([SCALER, line_of("z")], Y), by_hand(ones_of("x"), Y)
TWO = by_hand([SCALER, line_of("z")], {**Y, "z": ["n", 2], "three": [1]})

# Refused files, the words of their errors, and the files that are imported instead.
TOLD: dict[str, tuple[Any, dict[str, Any], str, Any, dict[str, Any]]] = {
    "outputs": (TWO, {}, "several outputs, of which none is a label: say which, output=", TWO, {"output": "y"}),
    "lists": (TWO, {"output": ["y", "z"]}, "of real numbers: name one, output=", TWO, {"output": "y"}),
    "constants": (TWO, {"output": "three"}, "nor numbers: name another one, output=", TWO, {"output": "y"}),
    "doubles": (
        by_hand([SCALER, line_of("z")], Y, TensorProto.DOUBLE),
        {},
        "of float64, which it rounds to float32: convert the pipeline for float32",
        LINE,
        {},
    ),
    "codes": (by_hand([CODES, line_of("z")], Y), {}, "of features: encode categories by OneHotEncoder", ONES, {}),
    "behind": (by_hand([SCALER, *ones_of("z")], Y), {}, "encode the features themselves", ONES, {}),
    "probabilities": (machine(prob_a=[1.0], prob_b=[0.0]), {}, r"fit SVC\(probability=False\)", machine(), {}),
    "kernels": (machine(kernel_type="RBF"), {}, "LINEAR is: fit with kernel='linear'", machine(), {}),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_files_of_other_writers_are_told_works(name: str) -> None:
    refused, how, words, instead, then = TOLD[name]
    with pytest.raises(ModelError, match=words):
        from_onnx(refused, bound=4, **how)
    records = np.array([[0.0, 1.0], [2.0, 0.0], [1.0, 2.0]], np.float32)
    found = from_onnx(instead, bound=4, **then).predict_clear(records)
    assert found.ravel() == pytest.approx(answers(instead, records)[0].ravel(), abs=1e-5)


@pytest.mark.parametrize("mode", ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT", "BRANCH_GTE"])
def test_comparisons_behind_scalers_are_exact(mode: str) -> None:
    """Records are next to the numbers at which the file's arithmetic, with its rounding, passes a threshold."""
    proto = forest_of([mode, mode], [0.7, -0.3], [1.0, 2.0, 4.0])
    model = from_onnx(proto)
    near = [np.float32(1.5 + 0.7 / -3), np.float32(0.25 - 0.3 / 0.1)]
    steps = np.arange(-40, 41)
    columns = [(x.view(np.int32) + steps).astype(np.int32).view(np.float32) for x in near]
    records = np.stack([a.ravel() for a in np.meshgrid(*columns)], axis=1)
    wanted = answers(proto, records)[0].ravel()
    assert len(set(wanted.tolist())) == 3
    assert (model.predict_clear(records) == wanted).all()


def test_thresholds_beyond_all_numbers() -> None:
    most = np.finfo(np.float32).max
    for times in (1e-30, -1e-30):  # the scaled number never gets to 1e10
        chain = Chain(0, (("mul", times),))
        found, falls = moved(chain, np.array([1e10, -1e10], np.float32))
        assert found.tolist() == [most, most]
        assert falls.tolist() == [False, True]  # all are at most the first threshold, none the second


def test_damaged_trees_are_refused() -> None:
    sound = {"nodes_truenodeids": [1, 3, 0, 0, 0]}
    from_onnx(forest_of(["BRANCH_LEQ"] * 2, [0.0, 0.0], [1.0, 2.0, 4.0], **sound))
    damages: list[dict[str, Any]] = [
        {"nodes_truenodeids": [9, 3, 0, 0, 0]},
        {"nodes_truenodeids": [1, 7, 0, 0, 0]},
        {"nodes_truenodeids": [1, 2, 0, 0, 0]},
        {"nodes_nodeids": [1, 1, 2, 3, 4]},
        {"nodes_featureids": [0, 2, 0, 0, 0]},
        {"nodes_featureids": [0, -1, 0, 0, 0]},
        {"nodes_values": [0.0]},
        {"nodes_values": [0.0, np.nan, 0.0, 0.0, 0.0]},
        {"nodes_modes": ["BRANCH_EQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF"]},
        {"target_ids": [0, 0, 3]},
        {"target_weights": [1.0, np.inf, 0.0]},
        {"target_nodeids": [2, 3, 99]},
        {"aggregate_function": "MAX"},
        {"post_transform": "PROBIT"},
        {"base_values": [1.0, 2.0]},
    ]
    for damage in damages:
        proto = forest_of(["BRANCH_LEQ"] * 2, [0.0, 0.0], [1.0, 2.0, 4.0], **damage)
        with pytest.raises(ModelError):
            raise AssertionError(f"{from_onnx(proto)} of {damage}")


@pytest.mark.parametrize("base", [None, 0.4, -0.4])
@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC"])
def test_two_classes_by_one_sum(transform: str, base: float | None) -> None:
    """onnxruntime compares with 1/2 if no leaf adds less than 0, else with 0."""
    seen = set()
    for weights in ([0.2, 0.9], [0.0, 0.6], [-0.2, 0.9], [-0.2, 0.3], [0.6, 0.9], [-1.0, -2.0]):
        attrs: dict[str, Any] = {
            "nodes_treeids": [0] * 3,
            "nodes_nodeids": [0, 1, 2],
            "nodes_featureids": [0] * 3,
            "nodes_values": [0.5, 0.0, 0.0],
            "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
            "nodes_truenodeids": [1, 0, 0],
            "nodes_falsenodeids": [2, 0, 0],
            "class_treeids": [0, 0],
            "class_nodeids": [1, 2],
            "class_ids": [0, 0],
            "class_weights": weights,
            "classlabels_int64s": [3, 8],
            "post_transform": transform,
            **({} if base is None else {"base_values": [base]}),
        }
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            [helper.make_node("TreeEnsembleClassifier", ["x"], ["label", "scores"], domain="ai.onnx.ml", **attrs)],
            "tree",
            [value("x", TensorProto.FLOAT, ["n", 1])],
            [value("label", TensorProto.INT64, ["n"]), value("scores", TensorProto.FLOAT, ["n", 2])],
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
        proto, X = helper.make_model(graph, opset_imports=opsets, ir_version=8), np.array([[0.0], [1.0]], np.float32)
        labels = answers(proto, X)[0].tolist()
        assert from_onnx(proto).predict_clear(X).tolist() == labels
        seen.update(labels)
    assert seen == {3, 8}


def test_ties_are_named() -> None:
    """The file decides in float32: records closer to a tie than its error are counted."""
    weights = {"coefficients": [1.0, -1.0, -1.0, 1.0], "intercepts": [0.0, 0.0], "classlabels_ints": [5, 6]}
    value = helper.make_tensor_value_info
    node = helper.make_node("LinearClassifier", ["x"], ["label", "scores"], domain="ai.onnx.ml", **weights)
    graph = helper.make_graph(
        [node],
        "net",
        [value("x", TensorProto.FLOAT, ["n", 2])],
        [value("label", TensorProto.INT64, ["n"]), value("scores", TensorProto.FLOAT, ["n", 2])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    proto = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    onnx.checker.check_model(proto)
    model = from_onnx(proto, bound=1)
    X = np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]])
    with qr.local("rss") as mpc, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        labels = model.predict(mpc, X)
        assert np.abs(model.decision_function(mpc, X) - [0, -1, 1]).max() < 1e-6
    assert labels.tolist() == answers(proto, X.astype(np.float32))[0].tolist() == [5, 5, 6]
    assert [str(w.message).partition("1 of 3 records")[1] for w in told if w.category is ModelWarning] == [
        "1 of 3 records"
    ]


FLOATS: dict[str, Callable[[], Any]] = {
    "tree": lambda: DecisionTreeClassifier(max_depth=3),
    "linear": lambda: LogisticRegression(),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=3, random_state=0),
    "scaled linear": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "scaled tree": lambda: make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3)),
}


@pytest.mark.parametrize("name", FLOATS)
def test_records_of_float32_are_what_a_file_takes(name: str) -> None:
    """Only a pipeline is warned of: for such records scikit-learn computes its steps in float32."""
    X, y = IRIS[0].astype(np.float32), IRIS[1] > 0
    estimator = FLOATS[name]()
    proto = converted(estimator, X, y)
    models = [(from_onnx(proto, sample=X), False)]
    if name != "scaled tree":  # which from_sklearn refuses
        models.append((qr.models.from_sklearn(estimator, sample=X), name == "scaled linear"))
    for model, warns in models:
        with qr.local("rss") as mpc, warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            assert (model.predict(mpc, X[::30]) == answers(proto, X[::30])[0]).all()
        assert any("X is of float32" in str(w.message) for w in told) == warns


def test_options_that_do_nothing_are_refused() -> None:
    """The error names all of them, with the useful ones; for trees bounds do nothing, too."""
    linear, trees = (converted(estimator, *IRIS) for estimator in (LogisticRegression(), DecisionTreeClassifier()))
    unused = {"bits": 24, "weight_bits": 12, "inputs": {"X": "secret"}, "shape": (4,)}
    for proto, kind in ((linear, "ai.onnx.ml"), (trees, "trees")):
        with pytest.raises(ModelError, match=rf"{kind}.*shape= and inputs= and bits= and weight_bits=.*sample="):
            from_onnx(proto, **unused)
    with pytest.raises(ModelError, match=r"trees.* for which bound= would do nothing: leave it out"):
        from_onnx(trees, bound=8.0)
    assert from_onnx(linear, bound=8.0, tolerance=1.0).shape.kind == "linear"


def test_constants_are_computed_in_the_files_own_operator_set() -> None:
    """Unsqueeze states its axes by an attribute in operator set 11, and by an input since 13."""
    tensors = [onnx.numpy_helper.from_array(np.float32([1, 2, 3]), "c")]
    nodes = [
        helper.make_node("Unsqueeze", ["c"], ["row"], axes=[0]),
        helper.make_node("Add", ["x", "row"], ["moved"]),
        helper.make_node("LinearRegressor", ["moved"], ["y"], domain="ai.onnx.ml", coefficients=[1.0, 0.5, -2.0]),
    ]
    value = helper.make_tensor_value_info
    ends = [value("x", TensorProto.FLOAT, ["n", 3])], [value("y", TensorProto.FLOAT, ["n", 1])]
    sets = [helper.make_opsetid("", 11), helper.make_opsetid("ai.onnx.ml", 1)]
    proto = helper.make_model(helper.make_graph(nodes, "net", *ends, tensors), opset_imports=sets, ir_version=6)
    x = np.float32([[1, 0, 0], [0, 2, 0.5]])
    with qr.local("rss", check=False) as mpc:
        made = from_onnx(proto, bound=8.0).predict(mpc, x)
    assert np.allclose(np.ravel(made), np.ravel(answers(proto, x)[0]), atol=1e-4)
