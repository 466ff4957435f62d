"""Trained models as programs over secret records.

`from_sklearn` takes a fitted estimator; `from_xgboost` and `from_lightgbm` take what these libraries write. The models
that they return predict for another party's records. Weights, thresholds and the form of a tree stay with the model's
owner, and records with theirs. A `Shape` is what the parties without the model need, and all that they learn of it.
`from_onnx` takes a network from an ONNX file or a model of scikit-learn's converter. `from_torch` takes a PyTorch
module, `from_keras` a Keras model, and `from_tflite` a quantised network from a TFLite file.
"""

from quorate.models._boosters import from_lightgbm, from_xgboost
from quorate.models._layers._report import Report
from quorate.models._model import Model
from quorate.models._onnx import Network, NetworkShape, from_keras, from_onnx, from_torch, operators
from quorate.models._shape import Shape
from quorate.models._sklearn import from_sklearn
from quorate.models._supported import SUPPORTED, Support, listing
from quorate.models._tflite import QuantisedNetwork, QuantisedShape, from_tflite, quantised_operators
from quorate.models._voting import VotingModel, VotingShape

__all__ = [
    "SUPPORTED",
    "Model",
    "Network",
    "NetworkShape",
    "QuantisedNetwork",
    "QuantisedShape",
    "Report",
    "Shape",
    "Support",
    "VotingModel",
    "VotingShape",
    "from_keras",
    "from_lightgbm",
    "from_onnx",
    "from_sklearn",
    "from_tflite",
    "from_torch",
    "from_xgboost",
    "listing",
    "operators",
    "quantised_operators",
]
