"""Scores every record of one party's CSV file with another party's weights; both stay secret.

    python examples/table.py                                       # writes its own files, in a folder that it deletes
    quorate run examples/table.py --input 0=weights.csv --input 1=patients.csv --output scores.csv
    quorate explain examples/table.py --form 0=30:fixed64.16 --form 1=169x30:fixed64.16 --network wan

In a deployment each party names its own file:

    quorate party examples/table.py --config party.toml --input patients.csv --output scores.csv

Party 0 owns one weight for each column, party 1 the records, and learns each record's score and whether it is among
the upper half. `python examples/table.py --make FOLDER` writes the two files, from scikit-learn's breast-cancer data.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

import quorate as qr

WEIGHTS_OWNER, RECORDS_OWNER = 0, 1


def make(folder):
    """Writes two files as the parties might have them: a regression's weights, and other standardised records."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression

    X, y, names = *load_breast_cancer(return_X_y=True), load_breast_cancer().feature_names
    X = np.round((X - X.mean(axis=0)) / X.std(axis=0), 3)
    weights = LogisticRegression(max_iter=500).fit(X[:400], y[:400]).coef_[0]
    files = Path(folder, "weights.csv"), Path(folder, "patients.csv")
    qr.write({"weight": weights}, files[0])
    qr.write(X[400:], files[1], names=[str(name) for name in names])
    return files


def score(mpc, weights, records):
    """Returns the scores, and whether each is above the median, at the records' owner; None elsewhere."""
    w = mpc.input_file(weights, owner=WEIGHTS_OWNER, columns=0, dtype=qr.fixed(64, 16), bound=16)
    x = mpc.input_file(records, owner=RECORDS_OWNER, dtype=qr.fixed(64, 16), bound=1024)
    scores = x @ w
    ordered = scores.sort()
    upper = scores > ordered[len(ordered) // 2]
    return mpc.reveal_all(scores, upper, to=RECORDS_OWNER)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--make", metavar="FOLDER")
    options = parser.parse_args()
    if options.make:
        make(options.make)
        return
    with qr.session() as mpc, tempfile.TemporaryDirectory() as folder:
        weights, records = make(folder) if mpc.is_local else (None, None)  # unless the command line names others
        scores, upper = score(mpc, weights, records)
        qr.output({"score": scores, "upper half": upper})


if __name__ == "__main__":
    main()
