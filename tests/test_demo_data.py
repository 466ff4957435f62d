"""The demo's data have the stated properties, before any protocol runs."""

from __future__ import annotations

import numpy as np

from quorate.demo import breast_cancer_jobs, compare


def test_the_jobs_predict_alike_in_the_clear() -> None:
    jobs = breast_cancer_jobs()
    assert [job.model.shape.kind for job in jobs] == ["tree", "votes"]
    for job in jobs:
        assert job.records.shape == (114, 30)
        outcome = compare(job, job.model.predict_clear(job.records))
        assert outcome.differing == 0
        assert outcome.accuracy_clear == outcome.accuracy_private > 0.9
        decisions = np.abs(job.estimator.decision_function(job.records)) if job.model.shape.kind == "votes" else [1]
        assert min(decisions) > job.model.margin_bound


def test_a_wrong_prediction_is_counted() -> None:
    job = breast_cancer_jobs()[0]
    predicted = job.model.predict_clear(job.records)
    predicted[3] = "benign" if predicted[3] == "malignant" else "malignant"
    assert compare(job, predicted).differing == 1
