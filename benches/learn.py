#!/usr/bin/env python3
"""Measures the cost of training, and its distance from the same schedule in float64.

    .venv/bin/python benches/learn.py                             # scikit-learn's data sets
    .venv/bin/python benches/learn.py --mnist FOLDER --only mnist # 1,000 images of MNIST's training set, one epoch
    .venv/bin/python benches/learn.py --protocol aby

Two owners pool their records; all parties are threads of this process. Seconds are those of `fit`, bytes those of the
busiest party in both phases. Features are scaled to a mean of 0 and a variance of 1, pixels to 0 to 1.
"""

from __future__ import annotations

import argparse
import gzip
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets

import quorate as qr
from quorate.learn import LinearRegression, LogisticRegression, MLPClassifier

Records = tuple[np.ndarray, np.ndarray, float]


def _scaled(load: Callable[..., Any]) -> Records:
    x, y = load(return_X_y=True)
    spread = x.std(axis=0)
    return ((x - x.mean(axis=0)) / np.where(spread == 0, 1, spread)).clip(-8, 8), y, 8.0


def _numbers(load: Callable[..., Any]) -> Records:
    x, y, bound = _scaled(load)
    return x, (y - y.mean()) / y.std(), bound


def _digits() -> Records:
    x, y = datasets.load_digits(return_X_y=True)
    return x / 16, y, 1.0


def _mnist(folder: Path, count: int = 1000) -> Records:
    images = gzip.decompress((folder / "train-images-idx3-ubyte.gz").read_bytes())[16 : 16 + 784 * count]
    labels = gzip.decompress((folder / "train-labels-idx1-ubyte.gz").read_bytes())[8 : 8 + count]
    return np.frombuffer(images, np.uint8).reshape(count, 784) / 255, np.frombuffer(labels, np.uint8).astype(int), 1.0


def _trainings(mnist: Path | None) -> dict[str, tuple[str, Callable[[], Records], Any]]:
    breast, iris, diabetes = datasets.load_breast_cancer, datasets.load_iris, datasets.load_diabetes
    found: dict[str, tuple[str, Callable[[], Records], Any]] = {
        "breast": ("breast cancer, logistic regression", lambda: _scaled(breast), LogisticRegression(classes=2)),
        "proven": (
            "the same, weight_bound=4096",
            lambda: _scaled(breast),
            LogisticRegression(classes=2, weight_bound=4096),
        ),
        "iris": ("iris, logistic regression", lambda: _scaled(iris), LogisticRegression(classes=3)),
        "diabetes": (
            "diabetes, linear regression",
            lambda: _numbers(diabetes),
            LinearRegression(learning_rate=0.01),
        ),
        "digits": ("digits, network of 32 units", _digits, MLPClassifier((32,), classes=10, epochs=5)),
    }
    if mnist is not None:
        network = MLPClassifier((64,), classes=10, epochs=1, learning_rate=0.1)
        found["mnist"] = ("1,000 images of MNIST, network of 64 units", lambda: _mnist(mnist), network)
    return found


def _right(model: qr.learn.Trained, x: np.ndarray, y: np.ndarray) -> float:
    """Returns the share of right labels, or R^2 for a regression."""
    if model.classes is not None:
        return float((model.predict(x) == y).mean())
    return 1 - float(((model.predict(x) - y) ** 2).sum() / ((y - y.mean()) ** 2).sum())


def row(title: str, records: Records, model: Any, protocol: str) -> str:
    """Trains a model, and returns a line of the table."""
    x, y, bound = records
    half, whole = len(x) // 2, {} if model.__class__ is not LinearRegression else {"bound": bound}
    with qr.local(protocol) as mpc:
        pooled = mpc.concatenate([mpc.input(part, owner=i, bound=bound) for i, part in enumerate((x[:half], x[half:]))])
        labels = mpc.concatenate([mpc.input(part, owner=i, **whole) for i, part in enumerate((y[:half], y[half:]))])
        plan = model.explain(pooled, labels)
        started = time.perf_counter()
        model.fit(pooled, labels)
        seconds, stats = time.perf_counter() - started, mpc.stats()
        revealed = model.reveal()
    clear = model.fit_clear(x, y)
    pairs = zip((*revealed.coefs, *revealed.intercepts), (*clear.coefs, *clear.intercepts), strict=True)
    furthest = max(float(np.abs(a - b).max()) for a, b in pairs)
    sent = max(map(sum, zip(stats.online.bytes_sent, stats.offline.bytes_sent, strict=True))) / 1e6
    steps = sum(count for count, _ in plan.steps)
    clips = "yes" if model.weights_clipped_ else "no"
    return (
        f"| {title} | {len(x)} x {x.shape[1]}, {steps} | {seconds:.1f} | {sent:.1f} | {plan.bytes_sent / 1e6:.1f} | "
        f"{stats.online.rounds} | {clips} | {furthest:.1e} | {_right(revealed, x, y):.3f} | {_right(clear, x, y):.3f} |"
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mnist", type=Path, help="folder of MNIST's training set")
    parser.add_argument("--only", help="names, with commas between: breast, proven, iris, diabetes, digits, mnist")
    parser.add_argument("--protocol", default="rss")
    asked = parser.parse_args()
    print("| training | records, steps | s | MB | MB predicted | rounds | clips | off by | right | in the clear |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, (title, records, model) in _trainings(asked.mnist).items():
        if not asked.only or name in asked.only.split(","):
            print(row(title, records(), model, asked.protocol), flush=True)


if __name__ == "__main__":
    main()
