"""The list of `quorate models` is true: listed estimators are trained, imported, and asked among real parties."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_diabetes, load_linnerud, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import (
    ElasticNet,
    ElasticNetCV,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import quorate as qr
from quorate.models import SUPPORTED

MAKERS: dict[str, Callable[[], Any]] = {
    "DecisionTreeClassifier": lambda: DecisionTreeClassifier(max_depth=6, random_state=0),
    "RandomForestClassifier": lambda: RandomForestClassifier(12, max_depth=5, random_state=0),
    "ExtraTreesClassifier": lambda: ExtraTreesClassifier(8, random_state=0),
    "GradientBoostingClassifier": lambda: GradientBoostingClassifier(n_estimators=8, random_state=0),
    "HistGradientBoostingClassifier": lambda: HistGradientBoostingClassifier(max_iter=4),
    "DecisionTreeRegressor": lambda: DecisionTreeRegressor(random_state=0),
    "RandomForestRegressor": lambda: RandomForestRegressor(6, max_depth=5, random_state=0),
    "ExtraTreesRegressor": lambda: ExtraTreesRegressor(4, max_depth=9, random_state=0),
    "GradientBoostingRegressor": lambda: GradientBoostingRegressor(n_estimators=6, random_state=0),
    "HistGradientBoostingRegressor": lambda: HistGradientBoostingRegressor(max_iter=4),
    "LinearSVC": lambda: LinearSVC(random_state=0),
    'SVC(kernel="linear")': lambda: SVC(kernel="linear"),
    "LogisticRegression": lambda: LogisticRegression(max_iter=300),
    "SGDClassifier": lambda: SGDClassifier(random_state=0),
    "Perceptron": lambda: Perceptron(random_state=0),
    "RidgeClassifier": RidgeClassifier,
    "LogisticRegressionCV": lambda: LogisticRegressionCV(Cs=3, max_iter=300),
    "RidgeClassifierCV": RidgeClassifierCV,
    "OneVsRestClassifier": lambda: OneVsRestClassifier(LinearSVC(random_state=0)),
    "CalibratedClassifierCV": lambda: CalibratedClassifierCV(LinearSVC(random_state=0), ensemble=False),
    "GaussianNB": GaussianNB,
    "MultinomialNB": MultinomialNB,
    "LinearDiscriminantAnalysis": LinearDiscriminantAnalysis,
    "KNeighborsClassifier": lambda: KNeighborsClassifier(4),
    "KNeighborsRegressor": lambda: KNeighborsRegressor(4),
    "VotingClassifier": lambda: VotingClassifier(
        [("a", LogisticRegression()), ("b", GaussianNB()), ("c", DecisionTreeClassifier(max_depth=2))]
    ).set_params(voting="soft", c="drop"),
    "VotingRegressor": lambda: VotingRegressor(
        [("a", Ridge()), ("b", DecisionTreeRegressor(max_depth=3))], weights=[1, 2]
    ),
    "KMeans": lambda: KMeans(4, n_init=1, random_state=0),
    "LinearRegression": LinearRegression,
    "Ridge": Ridge,
    "Lasso": Lasso,
    "ElasticNet": ElasticNet,
    "RidgeCV": RidgeCV,
    "LassoCV": lambda: LassoCV(random_state=0),
    "ElasticNetCV": lambda: ElasticNetCV(random_state=0),
    'SVR(kernel="linear")': lambda: SVR(kernel="linear", C=10.0),
    "SGDRegressor": lambda: SGDRegressor(random_state=0),
    "LinearSVR": lambda: LinearSVR(random_state=0),
    "MLPClassifier": lambda: MLPClassifier((12,), activation="tanh", max_iter=60, random_state=0),
    "MLPRegressor": lambda: MLPRegressor(hidden_layer_sizes=(8,), max_iter=60, random_state=0),
}
METHODS = ("predict", "predict_proba", "decision_function")
SPARED = {"SVC": ("decision_function",), "DecisionTreeClassifier": ("predict_proba",)}  # they answer these, we do not

MORE = (
    "KMeans",
    "CalibratedClassifierCV",
    "GaussianNB",
    "MultinomialNB",
)  # estimators without decisions, which we compute


def table(target: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns scaled records and their targets."""
    loaders = {
        "binary": load_breast_cancer,
        "one number": load_diabetes,
        "several numbers": load_linnerud,
    }
    X, y = loaders.get(target, load_wine)(return_X_y=True)
    if target == "multi-label":
        y = np.stack([y == 0, y != 1, X[:, 0] > np.median(X[:, 0])], axis=1).astype(int)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


CASES = [(name, target) for name, support in SUPPORTED.items() for target in support.targets]


def test_the_list_is_looked_at_whole() -> None:
    assert set(MAKERS) == set(SUPPORTED)
    assert len(CASES) >= 19


@pytest.mark.parametrize(("name", "target"), CASES, ids=str)
def test_what_is_listed_works(name: str, target: str) -> None:
    X, y = table(target)
    X = np.abs(X) if name == "MultinomialNB" else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator = MAKERS[name]().fit(X[::2], y[::2])
    model = qr.models.from_sklearn(estimator, bounds=np.abs(X).max(axis=0))
    records = X[1::6]
    for method in METHODS:
        with qr.local("rss", strict=True) as mpc:
            if method not in SUPPORTED[name].methods:
                spared = SPARED.get(type(estimator).__name__, ())
                assert not hasattr(estimator, method) or method in spared, f"{name} has {method}: list it"
                if name in MORE:
                    continue
                with pytest.raises(qr.ModelError, match=method):
                    getattr(model, method)(mpc, records)
                continue
            given = getattr(model, method)(mpc, records)
        wanted = getattr(estimator, method)(records)
        assert given.shape == wanted.shape
        if method == "predict" and "number" not in target:
            assert (given == wanted).all()
        else:
            assert np.abs(given - wanted).max() <= model.margin_bound + 1e-12


def test_the_command_prints_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    from quorate.cli import main

    assert main(["models"]) == 0
    printed = capsys.readouterr().out
    for name, support in SUPPORTED.items():
        assert name in printed and support.agreement in printed and support.public in printed
    assert max(map(len, printed.splitlines())) <= 120
