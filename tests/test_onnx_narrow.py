"""Fewer bits: real functions in rings of their own, products that keep their digits, and savings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import quorate as qr
from onnx_nets import attention, autoencoder, floats, model_of, random_number
from protocols import USUAL, Place, among
from quorate.errors import ModelWarning
from quorate.models import from_onnx
from test_onnx_measured import lines


def imported(proto: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return from_onnx(proto, **options)


@pytest.mark.filterwarnings("error::quorate.RangeWarning")
@pytest.mark.parametrize("place", USUAL, ids=str)
@pytest.mark.parametrize("build", [attention, autoencoder, lines])
def test_functions_of_a_narrow_ring(build: Any, place: Place) -> None:
    """Functions are computed with 64 bits, and everything else with the bits that sums need."""
    r = random_number(1)
    proto = build(r)
    sizes = [d.dim_value for d in proto.graph.input[0].type.tensor_type.shape.dim][1:]
    x = r.uniform(-1, 1, size=(2, *sizes))
    model = imported(proto, bound=1.0, sample=x, bits=16, weight_bits=12)
    assert model.shape.ring < 50 and imported(proto, bound=1.0, sample=x).shape.ring == 64
    with among(place) as mpc:
        found = model.decision_function(mpc, x)
    assert np.abs(found - model.predict_clear(x)).max() < 0.02 * np.abs(model.predict_clear(x)).max()


def swish(r: np.random.Generator) -> Any:
    """Convolutions with the activation of small networks of images, and a softmax at the end."""
    nodes, w, last = [], {}, "x"
    for i in range(4):
        w[f"w{i}"] = floats(r, 6, 6 if i else 3, 3, 3) / 3
        nodes += [
            ("Conv", [last, f"w{i}"], [f"c{i}"], {"pads": [1, 1, 1, 1]}),
            ("HardSwish", [f"c{i}"], [f"s{i}"], {}),
        ]
        last = f"s{i}"
    w["d"] = floats(r, 6, 5)
    nodes += [
        ("GlobalAveragePool", [last], ["g"], {}),
        ("Flatten", ["g"], ["f"], {}),
        ("MatMul", ["f", "d"], ["m"], {}),
        ("Softmax", ["m"], ["y"], {"axis": -1}),
    ]
    return model_of(nodes, (3, 8, 8), w)


def test_fewer_bits_save_a_quarter_and_keep_their_digits() -> None:
    r = random_number(2)
    proto, x = swish(r), r.uniform(-1, 1, size=(8, 3, 8, 8))
    sent, errors = [], []
    for bits, width in ((24, 24), (16, 12)):
        model = imported(proto, bound=1.0, sample=x, bits=bits, weight_bits=width)
        with qr.local("rss") as mpc:
            found = model.decision_function(mpc, x)
            sent.append(max(mpc.stats().online.bytes_sent) + max(mpc.stats().offline.bytes_sent))
        errors.append(np.abs(found - model.predict_clear(x)).max())
    assert sent[1] < 0.8 * sent[0]
    assert errors[0] < 1e-4 and errors[1] < 0.02
