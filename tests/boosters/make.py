"""Writes the models beside this file, with their libraries' predictions; tests do not need these libraries.

`python tests/boosters/make.py` with xgboost 3.2 and lightgbm 4.7 made them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

DATA = {"breast_cancer": load_breast_cancer, "iris": load_iris, "wine": load_wine, "diabetes": load_diabetes}


def at_thresholds(X: np.ndarray) -> np.ndarray:
    """Returns the records, and the same number that are a float32 further."""
    return np.concatenate([X, np.nextafter(X.astype(np.float32), np.float32(np.inf))])


def write(library: str, name: str, model: Any, fitted: Any, X: np.ndarray) -> None:
    records = at_thresholds(X)
    answers = {"model": model, "predict": fitted.predict(records).tolist()}
    if hasattr(fitted, "predict_proba"):
        answers["predict_proba"] = fitted.predict_proba(X[::10]).tolist()
    Path(__file__).with_name(f"{library}-{name}.json").write_text(json.dumps(answers, separators=(",", ":")) + "\n")


def write_text(name: str, fitted: Any) -> None:
    """Writes LightGBM's own format, as `save_model` does."""
    Path(__file__).with_name(f"lightgbm-{name}.txt").write_text(fitted.booster_.model_to_string())


def main() -> None:
    import lightgbm
    import xgboost

    for name, load in DATA.items():
        X, y = load(return_X_y=True)
        numbers = name == "diabetes"
        kind = xgboost.XGBRegressor if numbers else xgboost.XGBClassifier
        fitted = kind(n_estimators=4, max_depth=3).fit(X[::2], y[::2])
        write("xgboost", name, json.loads(fitted.get_booster().save_raw("json")), fitted, X)
        kind = lightgbm.LGBMRegressor if numbers else lightgbm.LGBMClassifier
        fitted = kind(n_estimators=4, num_leaves=6, verbose=-1).fit(X[::2], y[::2])
        write("lightgbm", name, fitted.booster_.dump_model(), fitted, X)
        write_text(name, fitted)
    X, y = load_diabetes(return_X_y=True)
    codes = np.c_[X[:, :2], np.digitize(y, [90, 150, 220]) * 7 % 4]
    fitted = lightgbm.LGBMRegressor(n_estimators=1, verbose=-1).fit(codes, y, categorical_feature=[2])
    write("lightgbm", "categories", fitted.booster_.dump_model(), fitted, codes)
    write_text("categories", fitted)
    fitted = xgboost.XGBRegressor(n_estimators=1, enable_categorical=True, feature_types=["q", "q", "c"]).fit(codes, y)
    write("xgboost", "categories", json.loads(fitted.get_booster().save_raw("json")), fitted, codes)


if __name__ == "__main__":
    main()
