"""The convolutional network of MiniONN on MNIST, as an ONNX file: the labels of the clear network, on every family.

Weights and images are not part of the project: they are looked for in the folder that `QUORATE_DATA` names, or in
`shared/data` beside the project. More is measured by
`python tests/test_onnx_mnist.py PROTOCOL COUNT BATCH [BITS [WEIGHT_BITS]] [OPTION=VALUE]...`.
"""

from __future__ import annotations

import gzip
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import quorate as qr

BESIDE = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
DATA = Path(os.environ.get("QUORATE_DATA", BESIDE))
WEIGHTS, IMAGES = DATA / "networks" / "minionn_mnist.npz", DATA / "mnist" / "t10k-images-0-5000-idx3-ubyte.gz"
LOGITS = DATA / "networks" / "reference_logits_0_5000.npz"

needs_data = pytest.mark.skipif(
    not (WEIGHTS.is_file() and IMAGES.is_file() and LOGITS.is_file()),
    reason="MiniONN's weights and MNIST's images are not here: set QUORATE_DATA to their folder",
)


def network() -> onnx.ModelProto:
    """Two convolutions of 16 filters of 5 x 5, each with ReLU and the largest of 2 x 2, and two dense layers."""
    weights = np.load(WEIGHTS)
    tensors = [numpy_helper.from_array(weights[name], name) for name in weights.files]
    node, pool = helper.make_node, {"kernel_shape": [2, 2], "strides": [2, 2]}
    nodes = [
        node("Conv", ["x", "conv1_w", "conv1_b"], ["a"], "conv1"),
        node("Relu", ["a"], ["b"], "relu1"),
        node("MaxPool", ["b"], ["c"], "pool1", **pool),
        node("Conv", ["c", "conv2_w", "conv2_b"], ["d"], "conv2"),
        node("Relu", ["d"], ["e"], "relu2"),
        node("MaxPool", ["e"], ["f"], "pool2", **pool),
        node("Flatten", ["f"], ["g"], "flatten"),
        node("Gemm", ["g", "fc1_w", "fc1_b"], ["h"], "fc1", transB=1),
        node("Relu", ["h"], ["i"], "relu3"),
        node("Gemm", ["i", "fc2_w", "fc2_b"], ["y"], "fc2", transB=1),
    ]
    value = helper.make_tensor_value_info
    ends = [value("x", 1, ["n", 1, 28, 28])], [value("y", 1, ["n", 10])]
    graph = helper.make_graph(nodes, "minionn", *ends, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def images(count: int) -> np.ndarray:
    raw = np.frombuffer(gzip.decompress(IMAGES.read_bytes())[16:], np.uint8)
    return raw[: count * 784].reshape(count, 1, 28, 28) / 255.0


def logits(count: int) -> np.ndarray:
    return np.load(LOGITS)["minionn"][:count]


@needs_data
@pytest.mark.parametrize(("protocol", "count"), [("rss", 100), ("aby", 1), ("pika", 3)])
def test_labels_are_those_of_the_clear_network(protocol: str, count: int) -> None:
    model = qr.models.from_onnx(network(), bound=(0.0, 1.0), labels=range(10))
    assert model.error_bound < 0.006
    with qr.local(protocol, check=False) as mpc:
        predicted = model.predict(mpc, images(count))
    assert (predicted == logits(count).argmax(axis=1)).all()


@needs_data
def test_the_report_compares_layer_by_layer() -> None:
    model = qr.models.from_onnx(network(), bound=(0.0, 1.0))
    assert np.abs(model.predict_clear(images(20)) - logits(20)).max() < 1e-9
    report = model.report(images(20))
    assert report.agreement == 1.0 and report.largest_error < 2e-4
    assert all(measured <= proven for _, measured, proven in report.layers)


@needs_data
@pytest.mark.parametrize(
    ("bits", "rounds", "online", "offline"), [((24, 24), 138, 426_000, 107_000), ((16, 12), 135, 271_000, 70_000)]
)
def test_what_the_page_says_that_images_cost(bits: tuple[int, int], rounds: int, online: int, offline: int) -> None:
    model = qr.models.from_onnx(network(), bound=(0.0, 1.0), labels=range(10), bits=bits[0], weight_bits=bits[1])
    with qr.local("rss", check=False) as mpc:
        model.predict(mpc, images(10))
        stats = mpc.stats()
    assert stats.online.rounds == rounds
    assert sum(stats.online.bytes_sent) / 30 == pytest.approx(online, rel=0.02)
    assert sum(stats.offline.bytes_sent) / 30 == pytest.approx(offline, rel=0.02)


def measure(protocol: str, count: int, batch: int, bits: int = 24, weight_bits: int = 24, **options: Any) -> None:
    """Runs one batch after another, and prints their costs."""
    model = qr.models.from_onnx(network(), bound=(0.0, 1.0), labels=range(10), bits=bits, weight_bits=weight_bits)
    same, seconds = [], []
    x, want = images(count), logits(count).argmax(axis=1)
    with qr.local(protocol, check=False, **options) as mpc:
        for first in range(0, count, batch):
            start = time.perf_counter()
            found = model.predict(mpc, x[first : first + batch])
            seconds.append(time.perf_counter() - start)
            same += (found == want[first : first + batch]).tolist()
        stats = mpc.stats()
    proven = f"error {model.error_bound:.3g} proven"
    print(f"{protocol}: {sum(same)} of {count} alike, differing: {np.flatnonzero(~np.array(same))}, {proven}")
    kept = f"batch of {batch}, {bits} and {weight_bits} bits"
    print(f"{kept}: {np.median(seconds) * 1e3:.1f} ms median, {min(seconds) * 1e3:.1f} ms least")
    for name, phase in (("offline", stats.offline), ("online", stats.online)):
        sent = [round(n / count) for n in phase.bytes_sent]
        print(f"  {name}: {phase.seconds / len(seconds) * 1e3:.1f} ms a batch, bytes an image by party {sent}")
    print(f"  rounds a batch: {stats.online.rounds / len(seconds):.0f}")


if __name__ == "__main__":
    numbers = [int(arg) for arg in sys.argv[2:] if "=" not in arg]
    named = dict(arg.split("=") for arg in sys.argv[2:] if "=" in arg)
    measure(sys.argv[1], *numbers, **{name: int(v) if v.isdigit() else v for name, v in named.items()})
