"""Files with operators of `ai.onnx.ml`, as scikit-learn's converter writes them: trees, linear models, SVMs, steps before
them. They become the models that `from_sklearn` makes."""

from quorate.models._ml._model import Stated, is_ml, model_of
from quorate.models._ml._network import network_of
from quorate.models._ml._values import NeuralError

__all__ = ["NeuralError", "Stated", "is_ml", "model_of", "network_of"]
