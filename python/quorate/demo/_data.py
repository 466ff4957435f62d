"""The data of the demonstration: scikit-learn's breast-cancer records, and two models trained on them in the clear."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from quorate.models import Model, VotingModel, from_sklearn

MODEL_OWNER, DATA_OWNER = 0, 1


@dataclasses.dataclass(frozen=True)
class Job:
    """One model and the records to be scored with it.

    Attributes:
        name: the model's name in the output.
        estimator: the fitted scikit-learn estimator, which `MODEL_OWNER` has.
        model: the estimator, imported for secret records.
        records: the records (records, features), which `DATA_OWNER` has.
        truth: the records' true classes, for measuring accuracy.
    """

    name: str
    estimator: Any
    model: Model | VotingModel
    records: np.ndarray
    truth: np.ndarray


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Accuracies between 0 and 1, and the number of records whose prediction differs from the one in the clear."""

    accuracy_clear: float
    accuracy_private: float
    differing: int


def breast_cancer_jobs() -> list[Job]:
    """Returns jobs for a decision tree and a linear SVM on the breast-cancer set; a fifth of the records is scored.

    The SVM's public feature bounds are twice the largest training values, rounded up to powers of two.

    Raises:
        ModelError: scikit-learn is not installed.
    """
    try:
        from sklearn.datasets import load_breast_cancer
        from sklearn.model_selection import train_test_split
        from sklearn.svm import SVC
        from sklearn.tree import DecisionTreeClassifier
    except ImportError as error:
        from quorate.errors import ModelError

        raise ModelError("the demo needs scikit-learn, which is not installed: pip install scikit-learn") from error
    data = load_breast_cancer()
    train, records, classes, truth = train_test_split(
        data.data, data.target, test_size=0.2, random_state=0, stratify=data.target
    )
    names = np.asarray(data.target_names)
    classes, truth = names[classes], names[truth]
    tree = DecisionTreeClassifier(max_depth=5, random_state=0).fit(train, classes)
    svm = SVC(kernel="linear").fit(train, classes)
    bounds = 2 * np.abs(train).max(axis=0)
    return [
        Job("decision tree", tree, from_sklearn(tree), records, truth),
        Job("linear SVM", svm, from_sklearn(svm, bounds=bounds), records, truth),
    ]


def compare(job: Job, predicted: np.ndarray) -> Outcome:
    """Compares predictions under the protocol with the truth, and with the estimator in the clear."""
    clear = job.estimator.predict(job.records)
    return Outcome(
        accuracy_clear=float((clear == job.truth).mean()),
        accuracy_private=float((predicted == job.truth).mean()),
        differing=int((predicted != clear).sum()),
    )
