"""Quantised MobileNet V1 of any width and resolution, with random weights; they cost as much as trained ones."""

from __future__ import annotations

import numpy as np

from quorate.models._tflite import _reference_plan, _ring_paper_plan
from quorate.models._tflite._kernels import quantised_multiplier
from quorate.models._tflite._layers import Layer, Quantised
from quorate.models._tflite._model import QuantisedNetwork
from quorate.models._tflite._shape import QuantisedShape

__all__ = ["mobilenet"]

_CLASSES = 1001
_BLOCKS = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]
_LEVELS = Quantised(6 / 255, 0, 0)


def _conv(r: np.random.Generator, sizes: tuple[int, ...], filters: int, window: int, stride: int, groups: int) -> Layer:
    """Returns a convolution with random weights, whose results spread over the levels of ReLU6."""
    channels, rows, columns = sizes
    shape = (filters, channels // groups, window, window)
    weights = r.integers(0, 256, shape) - 128
    places = [-(-n // stride) for n in (rows, columns)]
    pads = []
    for n, count in zip((rows, columns), places, strict=True):
        around = max((count - 1) * stride + window - n, 0)
        pads.append((around // 2, around - around // 2))
    spread = 74 * 110 * float(np.sqrt(np.prod(shape[1:])))
    multiplier, exponent = quantised_multiplier(96 / spread)
    attrs = {"stride": (stride, stride), "dilation": (1, 1), "pads": tuple(pads), "groups": groups}
    layer = Layer("conv", f"{window} x {window}", attrs, _LEVELS, _LEVELS, (filters, *places), weights)
    layer.offsets = r.integers(-round(spread), round(spread), filters)
    layer.multipliers, layer.exponents = np.full(filters, multiplier), np.full(filters, exponent)
    return layer


def mobilenet(width: float, resolution: int, mode: str) -> QuantisedNetwork:
    """Returns a network in mode "exact" or "paper". Its program depends on sizes, and on the bits of its sums."""
    r = np.random.default_rng(7)
    known = Quantised(1 / 128, 128, 0)
    layers = [_conv(r, (3, resolution, resolution), round(32 * width), 3, 2, 1)]
    layers[0].source = known
    for filters, stride in _BLOCKS:
        sizes = layers[-1].sizes
        layers.append(_conv(r, sizes, sizes[0], 3, stride, sizes[0]))
        layers.append(_conv(r, layers[-1].sizes, round(filters * width), 1, 1, 1))
    channels, *places = layers[-1].sizes
    pool = {"size": tuple(places), "stride": (2, 2), "pads": ((0, 0), (0, 0)), "of": tuple(places)}
    layers.append(Layer("avg_pool", "mean", pool, _LEVELS, _LEVELS, (channels, 1, 1)))
    last = _conv(r, (channels, 1, 1), _CLASSES, 1, 1, 1)
    last.target = Quantised(0.1, 96, 0)
    layers += [last, Layer("reshape", "flat", {"shape": (_CLASSES,)}, last.target, last.target, (_CLASSES,))]
    for place, layer in enumerate(layers):
        layer.inputs = (place,)
    plan = (_reference_plan if mode == "exact" else _ring_paper_plan).planned(layers, known)
    shape = QuantisedShape((resolution, resolution, 3), "uint8", mode, tuple(plan.steps), (_CLASSES,))
    return QuantisedNetwork(shape, plan, layers)
