"""Scores secret records with a secret model, wherever the parties are.

    python examples/score.py                                  # all parties in this process
    quorate run examples/score.py                             # a process for each, over TLS on this machine
    quorate party examples/score.py --config party.toml       # one party of a deployment
    quorate explain examples/score.py --network wan           # what it would cost

Party 0 owns the model, party 1 the records and the predictions; the others help. The arguments are public and must be
the same at all parties: --model forest, --records 50. --save FILE writes the predictions where they arrive.
"""

import argparse
import json

import numpy as np

import quorate as qr

MODEL_OWNER, DATA_OWNER = 0, 1


def train(kind):
    """Trains the model on the first 400 records of the data set. Only its owner calls this."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    X, y = load_breast_cancer(return_X_y=True)
    estimator = {
        "tree": DecisionTreeClassifier(random_state=0),
        "svm": SVC(kernel="linear"),
        "forest": RandomForestClassifier(50, random_state=0),
        "boosting": GradientBoostingClassifier(n_estimators=50, random_state=0),
    }[kind]
    return qr.models.from_sklearn(estimator.fit(X[:400], y[:400]))


def load_records(count):
    """Returns records that the model has not seen, and their labels. Only their owner calls this."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return X[400 : 400 + count], y[400 : 400 + count]


def shared_shape(mpc, model):
    """Returns the public shape of the owner's model at all parties: the owner inputs it as JSON, which is revealed.

    If the owner has sent `model.shape.describe()` to the others beforehand, use `qr.models.Shape(**described)` instead.
    """
    text = None if model is None else json.dumps(model.shape.describe()).encode()
    size = mpc.input(text and len(text), owner=MODEL_OWNER, shape=(), dtype=qr.int(32)).reveal()
    letters = mpc.input(text and list(text), owner=MODEL_OWNER, shape=(int(size),), dtype=qr.int(9)).reveal()
    return qr.models.Shape(**json.loads(bytes(letters.tolist())))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=("tree", "svm", "forest", "boosting"), default="tree")
    parser.add_argument("--records", type=int, default=169)
    parser.add_argument("--save")
    options = parser.parse_args()

    with qr.session() as mpc:
        model = train(options.model) if mpc.me == MODEL_OWNER else None
        X, y = load_records(options.records) if mpc.me == DATA_OWNER else (None, None)
        shape = None if mpc.is_local else shared_shape(mpc, model)
        mine = shape if model is None else model
        predicted = mine.predict(
            mpc, X, model_owner=MODEL_OWNER, data_owner=DATA_OWNER, reveal_to=DATA_OWNER, rows=options.records
        )
        if isinstance(predicted, np.ndarray):
            print(f"{options.records} records scored, {100 * np.mean(predicted == y):.1f} % as labelled")
            if options.save:
                np.save(options.save, predicted)
        print(mpc.stats())


if __name__ == "__main__":
    main()
