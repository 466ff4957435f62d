"""Sums of arrays in quantised networks: bit for bit as TFLite computes them, and networks that are no chains."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import quorate as qr
from protocols import usual
from quorate._families import DEFAULT, FAMILIES
from quorate.errors import ModelError
from quorate.models import QuantisedShape, from_tflite
from quorate.models._tflite import _kernels, _sums
from quorate.models._tflite._layers import Layer, Quantised
from quorate.models._tflite._layers import clear as clear_of
from test_tflite import gemmlowp, pictures
from tflite_files import NONE, RELU, File, conv, residual


def of_scales(scales: list[float], zeros: list[int], low: int = 0, clamps: tuple[int, int] = (0, 255)) -> Layer:
    """Returns a sum whose scales are float32, as in files."""
    one, other, made = (Quantised(float(np.float32(s)), z, low) for s, z in zip(scales, zeros, strict=True))
    layer = Layer("add", "ADD", {}, one, made, (1,), clamps=clamps, second=other)
    found = _kernels.sum_multipliers(one.scale, other.scale, made.scale)
    layer.multipliers, layer.exponents = (np.array(values, np.int64) for values in found)
    return layer


def multiplier(real: float) -> tuple[int, int]:
    """`QuantizeMultiplierSmallerThanOneExp`."""
    mantissa, exponent = math.frexp(real)
    whole = math.floor(mantissa * 2**31 + 0.5)
    return (whole // 2, exponent + 1) if whole == 1 << 31 else (whole, exponent)


def added(x: int, y: int, layer: Layer) -> int:
    """Adds as the C++ of `reference_ops::Add` does, one number at a time."""
    scales = [np.float32(s.scale) for s in (layer.source, layer.sources[1], layer.target)]
    twice = float(np.float32(2) * max(scales[:2]))
    shifted = [(v - s.zero) * (1 << 20) for v, s in zip((x, y), layer.sources, strict=True)]
    total = sum(gemmlowp(v, *multiplier(float(s) / twice)) for v, s in zip(shifted, scales, strict=False))
    made = gemmlowp(total, *multiplier(twice / float(np.float32(1 << 20) * scales[2]))) + layer.target.zero
    return min(max(made, layer.clamps[0]), layer.clamps[1])


def test_sums_are_those_of_the_reference_kernel() -> None:
    r = np.random.default_rng(0)
    for low in (0, -128):
        for _ in range(8):
            zeros = [int(v) for v in r.integers(low, low + 256, 3)]
            layer = of_scales(r.uniform(0.01, 0.1, 3).tolist(), zeros, low, (low, low + 255))
            x, y = r.integers(low, low + 256, (2, 100))
            assert clear_of(layer, x, y).tolist() == [added(int(a), int(b), layer) for a, b in zip(x, y, strict=True)]


EQUAL, HALVES = [0.05, 0.05, 0.05], [0.05, 0.05, 0.1]


@pytest.mark.parametrize("scales", [EQUAL, HALVES, [0.02, 0.04, 0.04], *([0.0] * 3 for _ in range(4))])
def test_one_shift_stands_for_sums_of_all_pairs(scales: list[float]) -> None:
    r = np.random.default_rng(1)
    looked = 0
    for low in (0, -128):
        zeros = [int(v) for v in r.integers(low + 60, low + 200, 3)]
        drawn = scales if any(scales) else [*r.uniform(0.01, 0.08, 2).tolist(), float(r.uniform(0.03, 0.12))]
        layer = of_scales(drawn, zeros, low, (low, low + 255))
        ends = (low, low + 255)
        found = _sums.fit(layer, (ends, ends))
        assert found is not None
        x, y = np.meshgrid(np.arange(low, low + 256), np.arange(low, low + 256))
        sums = found.times[0] * (x - zeros[0]) + found.times[1] * (y - zeros[1])
        ours = (sums + np.where(sums < 0, found.below, found.above)) >> found.down
        assert (np.clip(ours, 0, 255) + low == clear_of(layer, x, y)).all()
        looked += x.size
    assert looked == 2 * 65536
    if scales == HALVES:
        assert found.below != found.above  # halves are rounded away from 0


@pytest.mark.parametrize("kind", ["UINT8", "INT8"])
@pytest.mark.parametrize("protocol", FAMILIES)
def test_every_family_adds_as_tflite_does(protocol: str, kind: str) -> None:
    r = np.random.default_rng(2)
    model = from_tflite(residual(r, kind))
    assert [step["inputs"] for step in model.shape.steps] == [[0], [1], [1, 2], [3], [4, 3], [5, 1], [6], [7, 3]]
    x = pictures(r, kind, 2)
    place = usual(protocol)
    with qr.local(place.protocol, place.parties, strict=True) as mpc:
        assert (model.decision_function(mpc, x) == model.decision_function_clear(x)).all()


@pytest.mark.parametrize("seed", range(4))
def test_every_sum_is_exact(seed: int) -> None:
    r = np.random.default_rng(seed)
    kind = ("UINT8", "INT8")[seed % 2]
    report = from_tflite(residual(r, kind)).report(pictures(r, kind, 3))
    assert len(report.layers) == 8 and all(error == 0 for _, error, _ in report.layers)


# Nearly ratios of small whole numbers: TFLite's roundings decide whether a half is rounded up.
NEAR = [(0.15, 0.16, 0.1), (0.11, 0.02, 0.24), (0.1, 0.17, 0.2), (0.03, 0.02, 0.34), (7 / 255, 3 / 255, 13 / 255)]


@pytest.mark.parametrize("scales", NEAR)
def test_sums_of_which_tflite_decides_halves_one_by_one_are_exact(scales: tuple[float, float, float]) -> None:
    r, file = np.random.default_rng(8), File()
    file.tensor((1, 40), scales[0], 96)
    w = file.tensor((40, 40), 0.01, 120, np.eye(40) * 100 + 120)
    file.then("FULLY_CONNECTED", (1, 40), scales[1], 93, [w], FusedActivationFunction=NONE)
    file.add(0, file.last, scales[2], 81)
    model = from_tflite(file.bytes())
    x = r.integers(0, 256, (20, 40))
    with qr.local("rss", strict=True) as mpc:
        assert (model.decision_function(mpc, x) == model.decision_function_clear(x)).all()
    if scales != NEAR[-1]:
        assert "first" in model.shape.steps[1]


@pytest.mark.parametrize("protocol", [name for name in FAMILIES if name != DEFAULT])
def test_other_families_round_before_they_add(protocol: str) -> None:
    file = File()
    file.tensor((1, 6), 0.15, 96)
    file.then("RESHAPE", (1, 6), 0.15, 96, [file.tensor((2,), data=[1, 6], kind="INT32")])
    w = file.tensor((6, 6), 0.01, 120, np.eye(6) * 100 + 120)
    file.then("FULLY_CONNECTED", (1, 6), 0.16, 193, [w], FusedActivationFunction=NONE)
    file.add(0, file.last, 0.1, 81)
    model = from_tflite(file.bytes())
    assert "first" in model.shape.steps[2]
    x = np.random.default_rng(9).integers(0, 256, (2, 6))
    with qr.local(protocol, usual(protocol).parties, strict=True) as mpc:
        assert (model.decision_function(mpc, x) == model.decision_function_clear(x)).all()


def test_sums_whose_halves_go_away_from_zero_are_exact() -> None:
    """Sums from 0 on have another offset."""
    r, file = np.random.default_rng(5), File()
    file.tensor((1, 4, 4, 2), 0.05, 100)
    file.add(0, 0, 0.1, 90)
    file.add(0, file.last, 0.2, 128, RELU)
    model = from_tflite(file.bytes())
    x = r.integers(0, 256, (3, 4, 4, 2))
    with qr.local("rss", strict=True) as mpc:
        assert (model.decision_function(mpc, x) == model.decision_function_clear(x)).all()


@pytest.mark.parametrize("trunc", ["exact", "probabilistic"])
@pytest.mark.parametrize("kind", ["UINT8", "INT8"])
def test_the_paper_way_adds_nearly_so(kind: str, trunc: str) -> None:
    r = np.random.default_rng(3)
    model = from_tflite(residual(r, kind), mode="paper")
    assert all(step["wide"] <= 32 for step in model.shape.steps if step["kind"] == "add")
    x = pictures(r, kind, 4)
    report = model.report(x, trunc=trunc)
    errors = [error for _, error, _ in report.layers]
    # Each sum multiplies the errors of its operands by the ratio of scales, and adds 1 or 2 of its own.
    for step, layer, error in zip(model.shape.steps, model._layers, errors, strict=True):
        if step["kind"] == "add":
            ratios = [source.scale / layer.target.scale for source in layer.sources]
            taken = [([0.0, *errors])[place] for place in layer.inputs]
            assert error <= 2 + sum(ratio * one for ratio, one in zip(ratios, taken, strict=True))
    with qr.local("rss", trunc=trunc, strict=True) as mpc:
        assert np.abs(model.decision_function(mpc, x) - model.decision_function_clear(x)).max() < 6


def test_the_shape_of_a_network_that_is_no_chain_survives_json() -> None:
    model = from_tflite(residual(np.random.default_rng(4)))
    described = json.loads(json.dumps(model.shape.describe()))
    shape = QuantisedShape(**described)
    assert json.loads(json.dumps(shape.describe())) == described
    assert "inputs=[1, 2]" in str(shape) and "inputs=[0]" not in str(shape)
    for broken in ([], [0], [0, 9], [-1, 0]):
        steps = [dict(step) for step in described["steps"]]
        steps[2]["inputs"] = broken
        with pytest.raises(ModelError, match="not the shape of a quantised network"):
            QuantisedShape(**{**described, "steps": steps})


def test_a_network_in_two_files_may_add() -> None:
    r = np.random.default_rng(6)
    one, other = File(), File()
    one.tensor((1, 4, 4, 3), 0.02, 128)
    conv(one, r, (4, 4, 3), filters=3)
    made = one.tensors[one.last]
    one.add(0, one.last, 0.05, 120)
    other.tensor(made.shape, 0.05, 120)
    conv(other, r, (4, 4, 3), filters=3)
    other.add(0, other.last, 0.05, 120)
    model = from_tflite([one.bytes(), other.bytes()])
    assert [step["inputs"] for step in model.shape.steps] == [[0], [0, 1], [2], [2, 3]]
    x = r.integers(0, 256, (1, 4, 4, 3))
    with qr.local("rss") as mpc:
        assert (model.decision_function(mpc, x) == model.decision_function_clear(x)).all()


def test_other_sums_are_refused_by_name() -> None:
    r = np.random.default_rng(7)

    def refused(file: File, words: str) -> None:
        with pytest.raises(ModelError, match=words):
            from_tflite(file.bytes())

    file = File()
    file.tensor((1, 4, 4, 2), 0.05, 100)
    constant = file.tensor((1, 4, 4, 2), 0.05, 100, r.integers(0, 256, (1, 4, 4, 2)))
    file.add(0, constant, 0.1, 100)
    refused(file, r"ADD \(operator 0\): it takes what no operator before it gives")
    file = File()
    file.tensor((1, 4, 4, 2), 0.05, 100)
    conv(file, r, (4, 4, 2), stride=2, filters=2)
    file.add(0, file.last, 0.1, 100)
    refused(file, r"ADD \(operator 1\): of arrays of shapes \(1, 4, 4, 2\) and \(1, 2, 2, 2\)")
    for kinds in ("UINT8", "INT8"), ("INT8", "UINT8"):
        file = File(kinds[0])
        file.tensor((1, 4), 0.15, 96)
        file.tensor((1, 4), 0.15, 96, kind=kinds[1])
        file.add(0, 0, 0.1, 81)
        file.operators[0][1][1] = 1
        refused(file, "it takes what no operator before it gives")
    file = File()
    file.tensor((1, 4), 0.15, 96)
    file.add(0, 0, 1e-8, 81)
    refused(file, "its result has a scale 2.19 times as small as what it takes")
    for given, made in (([0, 0, 0], None), ([0, 0], -1), ([0, 0], 0)):
        file = File()
        file.tensor((1, 4), 0.15, 96)
        file.add(0, 0, 0.1, 81)
        file.add(0, file.last, 0.1, 81)
        kind, _, last, options = file.operators[0]
        file.operators[0] = kind, given, last if made is None else made, options
        # Operator 1 takes the result of operator 0, which is none if its number is -1.
        words = "1\\): it takes what no operator" if made == -1 else "0\\): it (has 3 inputs|gives no tensor)"
        refused(file, rf"ADD \(operator {words}")
