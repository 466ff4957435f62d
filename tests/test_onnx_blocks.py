"""Parts of networks that are more than one operation: normalised lines, recurrent layers, blocks of transformers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import quorate as qr
from quorate.errors import ModelError
from quorate.models import from_onnx
from test_onnx_operators import floats, model_of, one, random_number

# ---- normalised lines -----------------------------------------------------------------------------------------------


def hard_lines(r: np.random.Generator, n: int) -> np.ndarray:
    """Lines (1, 6, n) within 1 that vary much, hardly, in one element, or not at all."""
    base = float(r.uniform(-0.9, 0.9))
    kinds = [r.uniform(-1, 1, n), base + r.normal(size=n) * 1e-3, np.full(n, base), np.sign(r.normal(size=n))]
    return np.clip(np.stack([*kinds, np.eye(n)[0] * 2 - 1, base + np.eye(n)[0] * 1e-5])[None], -1, 1)


def ranges_hold(model: Any, x: np.ndarray, trunc: str) -> np.ndarray:
    """The outputs, from a session that refuses what may wrap; every number is where the shape says."""
    with qr.local("rss", strict=True, trunc=trunc) as mpc:
        arrays = model.shape.program(mpc, model._secrets, x, len(x), (0, 1))
        units = mpc.reveal_all(*arrays[1:], units=True)
    for step, found in zip(model.shape.steps, units, strict=True):
        assert np.abs(found).max() <= 2 ** step["bits"], step
    return np.asarray(np.ldexp(units[model.shape.output - 1].astype(np.float64), -model.shape.unit))


@pytest.mark.filterwarnings("ignore::quorate.errors.ModelWarning", "error::quorate.RangeWarning")
@pytest.mark.parametrize("seed", range(12))
def test_normalised_lines_are_within_their_bound_whatever_they_are(seed: int) -> None:
    r = random_number(seed)
    n, bits = int(r.integers(2, 40)), int(r.integers(8, 31))
    scale, epsilon = float(r.choice([1e-3, 1, 50])), float(r.choice([1e-12, 1e-5, 1e-3, 1]))
    w = {"s": floats(r, n), "b": floats(r, n)}
    net = one("LayerNormalization", (6, n), w, epsilon=epsilon)
    model = from_onnx(model_of(net.nodes, net.sizes, net.constants), bound=scale, bits=bits)
    x = hard_lines(r, n) * scale
    got = ranges_hold(model, x, ("exact", "probabilistic")[seed % 2])
    assert np.abs(got - model.predict_clear(x)).max() <= model.error_bound


@pytest.mark.filterwarnings("ignore::quorate.errors.ModelWarning", "error::quorate.RangeWarning")
@pytest.mark.parametrize("seed", range(4))
def test_a_sample_bounds_the_error_of_lines_that_vary_about_as_much(seed: int) -> None:
    r = random_number(seed)
    n = int(r.integers(4, 40))
    net = one("LayerNormalization", (6, n), {"s": floats(r, n)}, epsilon=1e-9)
    proto = model_of(net.nodes, net.sizes, net.constants)
    sample = r.uniform(-1, 1, (3, 6, n))
    model = from_onnx(proto, bound=1.0, sample=sample)
    assert model.error_bound < 0.01 < from_onnx(proto, bound=1.0).error_bound
    x = np.concatenate([hard_lines(r, n), sample / 3])
    got = ranges_hold(model, x, "exact")  # where lines hardly vary, numbers do not wrap, either
    varies = x.std(axis=-1) >= sample.std(axis=-1).min() / 4
    assert varies.any() and not varies.all()
    assert np.abs(got - model.predict_clear(x))[varies].max() <= model.error_bound


def test_normalised_lines_that_nothing_is_known_of_are_named() -> None:
    net = one("LayerNormalization", (4,), {"s": np.ones(4, np.float32)})
    proto = model_of(net.nodes, net.sizes, net.constants)
    with pytest.warns(qr.errors.ModelWarning, match="give sample= inputs like those to come"):
        from_onnx(proto, bound=1e5)
    with pytest.raises(ModelError, match="more than the tolerance"):
        from_onnx(proto, bound=1.0, tolerance=1e-6)
    refused = {"lines of one number": {}, "behind the batch": {"axis": 0}, "have no result": {"epsilon": 0.0}}
    for words, more in refused.items():
        sizes = (1,) if words.startswith("lines") else (4,)
        net = one("LayerNormalization", sizes, {"s": np.ones(1, np.float32)}, **more)
        with pytest.raises(ModelError, match=words):
            from_onnx(model_of(net.nodes, net.sizes, net.constants), bound=1.0)
