"""Networks from ONNX files: read, lowered to few kinds of steps, scaled with proofs, and run on secret arrays."""

from quorate.models._onnx._keras import from_keras
from quorate.models._onnx._listing import operators
from quorate.models._onnx._model import Network, from_onnx
from quorate.models._onnx._shape import NetworkShape
from quorate.models._onnx._torch import from_torch

__all__ = ["Network", "NetworkShape", "from_keras", "from_onnx", "from_torch", "operators"]
