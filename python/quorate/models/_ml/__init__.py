"""Models from files with operators of `ai.onnx.ml`, as scikit-learn's converter writes them."""

from quorate.models._ml._model import Stated, is_ml, model_of
from quorate.models._ml._neural_network import network_of
from quorate.models._ml._values import NeuralError

__all__ = ["NeuralError", "Stated", "is_ml", "model_of", "network_of"]
