"""Training on secret data: linear models and dense networks, by gradient descent on arrays that nobody sees.

Records of several owners are pooled (`mpc.concatenate`), and `fit` learns from them by a public schedule: mini-batches
in a public order, so many epochs. It reveals nothing: what was learnt are secret arrays, which predict, or which
`reveal` opens to whom it says. `fit_clear` does the same in numpy, to compare. `gradient` is what all of it is made of.
"""

from quorate.learn._cost import TrainingPlan
from quorate.learn._gradient import gradient
from quorate.learn._linear import LinearRegression, LogisticRegression
from quorate.learn._mlp import MLPClassifier, MLPRegressor
from quorate.learn._network import Trained

__all__ = [
    "LinearRegression",
    "LogisticRegression",
    "MLPClassifier",
    "MLPRegressor",
    "Trained",
    "TrainingPlan",
    "gradient",
]
