"""Quantised networks from TFLite files: read, lowered to layers, planned in whole numbers, and run."""

from quorate.models._tflite._listing import quantised_operators
from quorate.models._tflite._model import QuantisedNetwork, from_tflite
from quorate.models._tflite._shape import QuantisedShape

__all__ = ["QuantisedNetwork", "QuantisedShape", "from_tflite", "quantised_operators"]
