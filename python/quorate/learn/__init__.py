"""Training on secret data: linear models and dense networks, by gradient descent on secret arrays.

Records of several owners are pooled (`mpc.concatenate`). `fit` learns from them by a public schedule: a number of
epochs of mini-batches in a public order. It reveals nothing: the learnt parameters are secret arrays, which make
predictions, or which `reveal` opens to chosen parties. `fit_clear` trains the same model in numpy, for comparison. All
of it is built on `gradient`.
"""

from quorate.learn._cost import TrainingPlan
from quorate.learn._dense_network import Trained
from quorate.learn._gradient import gradient
from quorate.learn._linear import LinearRegression, LogisticRegression
from quorate.learn._mlp import MLPClassifier, MLPRegressor

__all__ = [
    "LinearRegression",
    "LogisticRegression",
    "MLPClassifier",
    "MLPRegressor",
    "Trained",
    "TrainingPlan",
    "gradient",
]
