"""The models of Tables II to IV of "New Primitives for Actively-Secure MPC over Rings", on integers of k bits.

Trees are trained here, on features rounded to integers. Weights of SVMs are those published with the paper's code, or
random ones of the same shape. Both are programs of `quorate.models`, with the narrower integers of the paper.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import quorate as qr
from quorate.models import _tree
from quorate.models._backend import Secret
from quorate.models._shape import Shape

#: Magnitudes of a tree's features, of an SVM's features and weights, and of its intercepts: their sums fit 31 bits.
TREE_BITS, DATA_BITS, WEIGHT_BITS, INTERCEPT_BITS = 14, 8, 9, 28


class Narrow(Secret):
    """The owner of secrets of a model, with k bits for all integers in place of the widths that the model asks for."""

    def __init__(self, mpc: qr.Session, bits: int) -> None:
        super().__init__(mpc, self, 0)  # shared anew by each program
        self.width = bits

    def integers(self, values: Any, owner: int, shape: tuple[int, ...], bits: int, bound: int) -> Any:
        return super().integers(values, owner, shape, self.width, min(bound, 1 << TREE_BITS))


@dataclasses.dataclass(frozen=True)
class Task:
    """A model with records.

    Attributes:
        name, size: as in the paper's tables.
        build: returns the secret predictions for records, on integers of k bits.
        records: the input of party 1.
        wanted: the predictions in the clear, in the form of `build`.
    """

    name: str
    size: str
    build: Callable[[qr.Session, int, np.ndarray], Any]
    records: np.ndarray
    wanted: np.ndarray


def _whole(values: np.ndarray, bits: int) -> np.ndarray:
    """Rounds to integers; the largest magnitude of each column becomes 2^bits - 1."""
    largest = np.abs(values).max(axis=0)
    return np.rint(values / np.where(largest == 0, 1, largest) * (2**bits - 1)).astype(np.int64)


def tree(name: str, depth: int, table: np.ndarray) -> Task:
    """Trains a tree of this depth on a table whose last column is the class."""
    from sklearn.tree import DecisionTreeClassifier

    records, classes = _whole(table[:, :-1], TREE_BITS), table[:, -1].astype(np.int64)
    fitted = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(records, classes)
    nodes = fitted.tree_
    plain = _tree.PlainTree(nodes.children_left, nodes.children_right, nodes.feature, nodes.threshold)
    feature, threshold, leaves = _tree._complete(plain, depth)
    count = records.shape[1]
    chosen = feature[:, None, None] == np.arange(count)
    labels = nodes.value[:, 0].argmax(axis=1)[leaves][:, None] == 1
    secrets = _tree.TreeSecrets(_tree.Nodes(chosen, np.floor(threshold).astype(np.int64)[:, None]), labels)
    shape = Shape("tree", (0, 1), count, depth=depth)

    def build(mpc: qr.Session, bits: int, given: np.ndarray) -> Any:
        on = Narrow(mpc, bits)
        features = _tree.choose_features(on, shape, secrets.nodes, 1, 0)
        x = on.integers(given, 1, given.shape, bits, 1 << TREE_BITS)
        return _tree.run_tree(on, shape, secrets, features, x, 0)

    wanted = fitted.predict(records).astype(np.int64)[None, :]
    return Task(name, f"{depth}, {count}", build, records, wanted)


def svm(name: str, weights: np.ndarray, intercepts: np.ndarray, records: np.ndarray) -> Task:
    """Returns a task whose prediction is the largest of several linear decisions."""
    scale = 2.0**WEIGHT_BITS - 1
    whole = np.rint(weights / np.abs(weights).max() * scale).astype(np.int64)
    x = _whole(records, DATA_BITS)
    b = np.rint(intercepts / np.abs(weights).max() * scale * 2**DATA_BITS / np.abs(records).max()).astype(np.int64)
    b = b.clip(1 - 2**INTERCEPT_BITS, 2**INTERCEPT_BITS - 1)

    def build(mpc: qr.Session, bits: int, given: np.ndarray) -> Any:
        kind = qr.int(bits)
        w = mpc.input(whole, owner=0, dtype=kind, bound=2**WEIGHT_BITS)
        v = mpc.input(b, owner=0, dtype=kind, bound=2**INTERCEPT_BITS)
        data = mpc.input(given, owner=1, dtype=kind, bound=2**DATA_BITS)
        return _largest(mpc, data @ w.T + v, kind)

    return Task(name, f"{len(whole)}, {whole.shape[1]}", build, x, (x @ whole.T + b).argmax(axis=1))


def _largest(mpc: qr.Session, scores: Any, kind: qr.Dtype) -> Any:
    """Returns the index of the largest score of each row, as an integer of k bits.

    `argmax` returns int(64), which short keys do not allow.
    """
    if kind == qr.int(64):
        return scores.argmax(axis=1)
    places = mpc.constant(np.broadcast_to(np.arange(scores.shape[1]), scores.shape), dtype=kind)
    while (count := scores.shape[1]) > 1:
        half, rest = count // 2, slice(2 * (count // 2), count)
        is_less = scores[:, :half] < scores[:, half : 2 * half]

        def met(x: Any, is_less: Any = is_less, half: int = half, rest: slice = rest) -> Any:
            better = mpc.where(is_less, x[:, half : 2 * half], x[:, :half])
            return mpc.concatenate([better, x[:, rest]], axis=1)

        scores, places = met(scores), met(places)
    return places[:, 0]


def trees(data: Path | None) -> list[Task | str]:
    """Returns the trees of Table II; a sentence in place of each whose file is missing."""
    found: list[Task | str] = []
    for name, depth, file, header in (
        ("Hill Valley", 3, "Hill_Valley_with_noise_Training.csv", 1),
        ("Spambase", 6, "spambase.data", 0),
        ("Diabetes", 9, "pima-indians-diabetes.csv", 0),
    ):
        path = None if data is None else data / "tabular" / file
        if path is None or not path.exists():
            found.append(f"{name}: left out, there is no {path or f'tabular/{file}'}; give its folder as --data")
            continue
        found.append(tree(name, depth, np.loadtxt(path, delimiter=",", skiprows=header)))
    return found


def svms(data: Path | None) -> list[Task | str]:
    """Returns the SVMs of Table III; a sentence in place of each whose file is missing."""
    found: list[Task | str] = []
    for name, model, tests in (
        ("CIFAR", "cifar2048.csv", "smallcifar2048-test.csv"),
        ("MIT", "mit2048.csv", "smallmit2048-test.csv"),
    ):
        paths = None if data is None else [data / "svm" / file for file in (model, tests)]
        if paths is None or not all(path.exists() for path in paths):
            found.append(f"{name}: left out, there is no svm/{model} with svm/{tests}; give their folder as --data")
            continue
        lines = [line.split(",") for line in paths[0].read_text(encoding="utf-8").splitlines()]
        records = np.loadtxt(paths[1], delimiter=",", skiprows=1)
        found.append(svm(name, np.array(lines[1:], np.float64), np.array(lines[0], np.float64), records))
    rng = np.random.default_rng(463)
    weights, intercepts, records = rng.normal(size=(463, 128)), rng.normal(size=463), rng.normal(size=(10, 128))
    found.append(svm("ALOI", weights, intercepts, records))
    return found
