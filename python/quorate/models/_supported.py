"""The estimators that `from_sklearn` takes, as data: `quorate models` prints it, and a test checks each entry."""

from __future__ import annotations

import dataclasses

from quorate.models._pipeline import STEPS


@dataclasses.dataclass(frozen=True)
class Support:
    """A supported estimator.

    Attributes:
        methods: the methods that the model has.
        targets: what the estimator may have been trained to predict.
        limits: the options of the estimator that are refused; empty if none is.
        agreement: when results equal the estimator's.
        public: what all parties learn, besides classes, the numbers of features and of records.
    """

    methods: tuple[str, ...]
    targets: tuple[str, ...]
    limits: str
    agreement: str
    public: str


_CLASSES = ("binary", "multi-class")
_NUMBERS = ("one number", "several numbers")
_EXACT = "always"
_WITHIN = "within margin_bound"
_MARGIN = "where the margin exceeds margin_bound"
_TREES_PUBLIC = "number of trees; depth up to 8, else the largest number of nodes"
_STAGES_PUBLIC = "number of stages; depth up to 8, else the largest number of nodes"
_SCALES = "a power of two above every feature"
_NO_NAN = "no missing values"

SUPPORTED: dict[str, Support] = {
    "DecisionTreeClassifier": Support(
        ("predict",),
        _CLASSES,
        f"{_NO_NAN}, one output",
        _EXACT,
        "depth up to 12, else the number of nodes",
    ),
    "RandomForestClassifier": Support(
        ("predict", "predict_proba"),
        _CLASSES,
        f"{_NO_NAN}, one output",
        f"{_EXACT} if leaves are pure, else {_MARGIN} (about 1e-12)",
        _TREES_PUBLIC,
    ),
    "ExtraTreesClassifier": Support(
        ("predict", "predict_proba"),
        _CLASSES,
        f"{_NO_NAN}, one output",
        f"{_EXACT} if leaves are pure, else {_MARGIN} (about 1e-12)",
        _TREES_PUBLIC,
    ),
    "GradientBoostingClassifier": Support(
        ("predict", "predict_proba", "decision_function"),
        _CLASSES,
        'init=None or "zero"; loss="exponential" without predict_proba',
        f"{_MARGIN} (about 1e-10)",
        _STAGES_PUBLIC,
    ),
    "HistGradientBoostingClassifier": Support(
        ("predict", "predict_proba", "decision_function"),
        _CLASSES,
        f"{_NO_NAN} in records, no categorical features",
        f"{_MARGIN} (about 1e-10)",
        _STAGES_PUBLIC,
    ),
    "DecisionTreeRegressor": Support(
        ("predict",), _NUMBERS, _NO_NAN, _WITHIN, "depth up to 8, else the number of nodes"
    ),
    "RandomForestRegressor": Support(("predict",), _NUMBERS, _NO_NAN, _WITHIN, _TREES_PUBLIC),
    "ExtraTreesRegressor": Support(("predict",), _NUMBERS, _NO_NAN, _WITHIN, _TREES_PUBLIC),
    "GradientBoostingRegressor": Support(("predict",), _NUMBERS[:1], 'init=None or "zero"', _WITHIN, _STAGES_PUBLIC),
    "HistGradientBoostingRegressor": Support(
        ("predict",),
        _NUMBERS[:1],
        f'{_NO_NAN} in records, no categorical features; loss="squared_error", "absolute_error" or "quantile"',
        _WITHIN,
        _STAGES_PUBLIC,
    ),
    "LinearSVC": Support(("predict", "decision_function"), _CLASSES, "", _MARGIN, _SCALES),
    'SVC(kernel="linear")': Support(("predict",), _CLASSES, "break_ties=False", _MARGIN, _SCALES),
    "LogisticRegression": Support(
        ("predict", "predict_proba", "decision_function"),
        _CLASSES,
        "one against rest with several classes: without predict_proba",
        _MARGIN,
        _SCALES,
    ),
    "SGDClassifier": Support(("predict", "decision_function"), _CLASSES, "", _MARGIN, _SCALES),
    "Perceptron": Support(("predict", "decision_function"), _CLASSES, "", _MARGIN, _SCALES),
    "RidgeClassifier": Support(("predict", "decision_function"), _CLASSES, "one label for a record", _MARGIN, _SCALES),
    "LogisticRegressionCV": Support(
        ("predict", "predict_proba", "decision_function"),
        _CLASSES,
        "one against rest with several classes: without predict_proba",
        _MARGIN,
        _SCALES,
    ),
    "RidgeClassifierCV": Support(
        ("predict", "decision_function"), _CLASSES, "one label for a record", _MARGIN, _SCALES
    ),
    "OneVsRestClassifier": Support(
        ("predict", "decision_function"),
        _CLASSES,
        "of linear classifiers; one label for a record",
        _MARGIN,
        _SCALES,
    ),
    "CalibratedClassifierCV": Support(
        ("predict", "predict_proba"),
        _CLASSES[:1],
        'method="sigmoid", of a linear classifier or a pipeline; several classes: ensemble=False, predict alone',
        f"{_MARGIN} (of several folds about 1e-4)",
        _SCALES,
    ),
    "GaussianNB": Support(
        ("predict", "predict_proba"),
        _CLASSES,
        "no PCA before it; bounds or a sample that is not far beyond how features vary",
        _MARGIN,
        f"{_SCALES}; the records' owner adds the squares of its features",
    ),
    "MultinomialNB": Support(("predict", "predict_proba"), _CLASSES, "", _MARGIN, _SCALES),
    "LinearDiscriminantAnalysis": Support(
        ("predict", "predict_proba", "decision_function"), _CLASSES, "", _MARGIN, _SCALES
    ),
    "KNeighborsClassifier": Support(
        ("predict", "predict_proba"),
        _CLASSES,
        'Euclidean distances, weights="uniform"',
        "where no two of the points that decide are equally far, to margin_bound in squared distances",
        f"{_SCALES}, number of points, n_neighbors",
    ),
    "KNeighborsRegressor": Support(
        ("predict",),
        _NUMBERS,
        'Euclidean distances, weights="uniform"',
        "within 2^-38 of the largest target where no two of the points that decide are equally far, as above",
        f"{_SCALES}, number of points, n_neighbors",
    ),
    "VotingClassifier": Support(
        ("predict", "predict_proba"),
        _CLASSES,
        'voting="hard": without predict_proba, weights that are whole numbers; of estimators that are listed here',
        "where each member's does; of mean probabilities where the margin exceeds margin_bound (about 1e-4)",
        "what is public of each member; weights",
    ),
    "VotingRegressor": Support(
        ("predict",),
        _NUMBERS[:1],
        "of estimators that are listed here",
        _WITHIN,
        "what is public of each member; weights",
    ),
    "KMeans": Support(("predict",), ("clusters",), "also MiniBatchKMeans", _MARGIN, f"{_SCALES}, number of clusters"),
    "LinearRegression": Support(("predict",), _NUMBERS, "", _WITHIN, _SCALES),
    "Ridge": Support(("predict",), _NUMBERS, "", _WITHIN, _SCALES),
    "Lasso": Support(("predict",), _NUMBERS, "", _WITHIN, _SCALES),
    "ElasticNet": Support(("predict",), _NUMBERS, "", _WITHIN, _SCALES),
    "RidgeCV": Support(("predict",), _NUMBERS, "", _WITHIN, _SCALES),
    "LassoCV": Support(("predict",), _NUMBERS[:1], "", _WITHIN, _SCALES),
    "ElasticNetCV": Support(("predict",), _NUMBERS[:1], "", _WITHIN, _SCALES),
    'SVR(kernel="linear")': Support(("predict",), _NUMBERS[:1], "", _WITHIN, _SCALES),
    "SGDRegressor": Support(("predict",), _NUMBERS[:1], "", _WITHIN, _SCALES),
    "LinearSVR": Support(("predict",), _NUMBERS[:1], "", _WITHIN, _SCALES),
    "MLPClassifier": Support(
        ("predict", "predict_proba"),
        (*_CLASSES, "multi-label"),
        "",
        f"{_MARGIN}; tanh and logistic are computed with 16 fractional bits",
        f"{_SCALES}, layers, activation; with tanh and logistic one per hidden layer",
    ),
    "MLPRegressor": Support(
        ("predict",),
        _NUMBERS,
        'loss="squared_error"',
        f"{_WITHIN}; tanh and logistic are computed with 16 fractional bits",
        f"{_SCALES}, layers, activation; with tanh and logistic one per hidden layer",
    ),
}
"""The estimators that `from_sklearn` takes, by name."""


def _wrapped(names: str) -> str:
    return names.replace(", PCA", ",\nPCA").replace(", SelectFromModel", ",\nSelectFromModel")


def listing() -> str:
    r"""Returns the supported estimators as text, a paragraph for each.

    >>> print(listing().split("\n\n")[1])
    DecisionTreeClassifier
      methods  predict
      targets  binary, multi-class
      limits   no missing values, one output
      equal    always
      public   depth up to 12, else the number of nodes
    """
    head = (
        "qr.models.from_sklearn supports these estimators. Weights, thresholds, the features that are used and the\n"
        "values of leaves stay secret. Classes, the numbers of features and of records, and the values listed as\n"
        "public are public.\n"
        "They may be the end of a Pipeline, or the best of a GridSearchCV. Steps before are folded into weights, and\n"
        f"are as secret: {_wrapped(STEPS)};\n"
        "before trees those that select features, impute or encode. Categories of a OneHotEncoder are public."
    )
    tail = (
        'from_xgboost takes what booster.save_model("model.json") writes, from_lightgbm booster.dump_model()\n'
        "and booster.model_to_string(): gbtree and gbdt, binary, multi-class and numbers, without categories. What\n"
        "is equal and public is as for boosting above, but XGBoost's margin is that of its float32 sums, about 1e-5."
    )
    return "\n\n".join([head, *(_paragraph(name, support) for name, support in SUPPORTED.items()), tail])


def _paragraph(name: str, support: Support) -> str:
    rows = {
        "methods": ", ".join(support.methods),
        "targets": ", ".join(support.targets),
        "limits": support.limits,
        "equal": support.agreement,
        "public": support.public,
    }
    return "\n".join([name, *(f"  {field:8} {text}" for field, text in rows.items() if text)])
