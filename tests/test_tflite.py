"""Quantised networks from TFLite files: bit for bit as TFLite computes them, on every family; and refusals.

MobileNet's files and TFLite's results are not part of the project: they are looked for in the folder that
`QUORATE_DATA` names, or in `shared/data` beside the project.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate as qr
from deploying import Deployment
from protocols import usual
from quorate._families import FAMILIES
from quorate.errors import ModelError, RangeError, ShapeError
from quorate.models import QuantisedShape, from_tflite, quantised_operators
from quorate.models._tflite import _affine, _kernels, _reference_plan, _thresholds
from quorate.models._tflite._lower import OPERATORS
from tflite_files import NONE, VALID, File, conv, network, residual

BESIDE = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
DATA = Path(os.environ.get("QUORATE_DATA", BESIDE)) / "mobilenet"
here = pytest.mark.skipif(not DATA.is_dir(), reason=f"MobileNet's files are not here ({DATA})")
SMALL = "mobilenet_v1_0.25_128_quant.tflite"


def pictures(r: np.random.Generator, kind: str, count: int = 2) -> np.ndarray:
    low = -128 if kind == "INT8" else 0
    return r.integers(low, low + 256, (count, 7, 6, 2)).astype(np.int8 if kind == "INT8" else np.uint8)


# ---- the arithmetic -------------------------------------------------------------------------------------------------


def gemmlowp(x: int, multiplier: int, exponent: int) -> int:
    """Scales as TFLite's C++ does, one number at a time."""
    product = (x << max(exponent, 0)) * multiplier
    nudged = product + ((1 << 30) if product >= 0 else 1 - (1 << 30))
    high = abs(nudged) // (1 << 31) * (1 if nudged >= 0 else -1)
    right = max(-exponent, 0)
    mask = (1 << right) - 1
    return (high >> right) + ((high & mask) > (mask >> 1) + (high < 0))


def test_sums_are_scaled_as_in_gemmlowp() -> None:
    r = np.random.default_rng(0)
    for exponent in range(-12, 3):
        multiplier = int(r.integers(1 << 30, 1 << 31))
        x = np.concatenate([r.integers(-(1 << 27), 1 << 27, 300), np.arange(-300, 300)])
        ours = _kernels.rescaled(x, multiplier, exponent)
        assert ours.tolist() == [gemmlowp(int(v), multiplier, exponent) for v in x]


def test_one_product_and_one_shift_stand_for_all_sums_between_the_clamps() -> None:
    """Checks every sum, not only those next to the leaps."""
    r = np.random.default_rng(1)
    looked = 0
    for _ in range(40):
        multiplier, exponent = int(r.integers(1 << 30, 1 << 31)), int(r.integers(-11, -2))
        zero = int(r.integers(0, 256)) if r.random() < 0.5 else 0
        leaps, first = _thresholds.thresholds(multiplier, exponent, zero, (0, 255))
        slope = multiplier / 2 ** (31 - exponent)
        found = _affine.fit([(leaps, first)], slope)
        split = sum(leap <= 0 for leap in leaps)
        if found is None:
            found = _affine.fit([(leaps[:split], first), (leaps[split:], first + split)], slope)
        assert found is not None
        times, offsets, down = found
        a = np.arange(leaps[0] - 100, leaps[-1] + 100)
        plus = np.where(a < 0, offsets[0], offsets[-1])
        ours = np.clip((a * times + plus) >> down, 0, 255)
        assert (ours == np.clip(_kernels.rescaled(a, multiplier, exponent) + zero, 0, 255)).all()
        looked += len(a)
    assert looked > 100_000


@pytest.mark.parametrize("low", [0, -128])
def test_means_are_exact(low: int) -> None:
    for count in (1, 2, 3, 4, 9, 16, 49, 64):
        times, plus, down = _reference_plan.averages(count, low)
        s = np.arange(low * count, (low + 255) * count + 1)
        assert (((s * times + plus) >> down) == _kernels.mean(s, count)).all()


# ---- networks -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["UINT8", "INT8"])
@pytest.mark.parametrize("protocol", FAMILIES)
def test_every_family_computes_what_tflite_does(protocol: str, kind: str) -> None:
    r = np.random.default_rng(2)
    model = from_tflite(network(r, kind), labels=list("abcde"))
    x = pictures(r, kind, 2)
    place = usual(protocol)
    with qr.local(place.protocol, place.parties, strict=True) as mpc:
        assert (model.decision_function(mpc, x) == model.decision_function_clear(x)).all()
        assert (model.predict(mpc, x) == model.predict_clear(x)).all()


@pytest.mark.parametrize("seed", range(6))
def test_every_layer_is_exact(seed: int) -> None:
    r = np.random.default_rng(seed)
    kind = ("UINT8", "INT8")[seed % 2]
    model = from_tflite(network(r, kind))
    report = model.report(pictures(r, kind, 3))
    assert report.agreement == 1 and report.largest_error == 0
    assert len(report.layers) == 8 and all(error == 0 for _, error, _ in report.layers)


@pytest.mark.parametrize("trunc", ["exact", "probabilistic"])
@pytest.mark.parametrize("kind", ["UINT8", "INT8"])
def test_the_paper_way_is_close(kind: str, trunc: str) -> None:
    r = np.random.default_rng(3)
    model = from_tflite(network(r, kind), mode="paper")
    x = pictures(r, kind, 4)
    assert all(step["ring"] <= 32 for step in model.shape.steps if step["kind"] in ("conv", "dense"))
    report = model.report(x, trunc=trunc)
    assert max(error for _, error, _ in report.layers) < 6
    with qr.local("rss", trunc=trunc, strict=True) as mpc:
        assert np.abs(model.decision_function(mpc, x) - model.decision_function_clear(x)).max() < 6


@here
def test_mobilenet_equals_tflite_layer_by_layer() -> None:
    """Compares with TFLite's own results of all layers, in the clear."""
    model = from_tflite(DATA / SMALL)
    x = np.load(DATA / "inputs.npz")["cat_128"][None]
    arrays = model._clear(x)
    with np.load(DATA / "trace_0.25_128_cat.npz") as trace:
        for place, (made, name) in enumerate(zip(arrays[1:], trace.files, strict=False)):
            ours = made.transpose(0, 2, 3, 1) if made.ndim == 4 else made
            assert (ours.ravel() == trace[name].ravel()).all(), place
    assert len(arrays) == 31


@here
@pytest.mark.parametrize("mode", ["exact", "paper"])
def test_mobilenet_on_shares(mode: str) -> None:
    model = from_tflite(DATA / SMALL, mode=mode)
    x = np.load(DATA / "inputs.npz")["cat_128"][None]
    trunc = "exact" if mode == "exact" else "probabilistic"
    with qr.local("rss", check=False, trunc=trunc) as mpc:
        scores = model.decision_function(mpc, x)
    clear = model.decision_function_clear(x)
    assert scores.argmax() == clear.argmax() == 286
    assert np.abs(scores - clear).max() <= (0 if mode == "exact" else 10)


@here
def test_a_network_in_two_files() -> None:
    parts = ["mobilenet_v1_1.0_224_quant_embedding_extractor.tflite", "mobilenet_quant_v1_224_head_layers.tflite"]
    model = from_tflite([DATA / part for part in parts], labels=range(1001))
    inputs = np.load(DATA / "inputs.npz")
    names = ("cat_224", "parrot_224", "grace_hopper_224")
    known = json.loads((DATA / "known_results.json").read_text())
    assert known
    logits = {key: value for key, value in np.load(DATA / "known_outputs.npz").items() if "logits" in key}
    for name in names:
        ours = model.decision_function_clear(inputs[name][None]).ravel()
        assert any(value.size == 1001 and (value.ravel() == ours).all() for value in logits.values()), name
    with pytest.raises(ModelError, match="does not take what the one before it gives"):
        from_tflite([DATA / part for part in parts[::-1]])


# ---- what parties hand over -----------------------------------------------------------------------------------------


def test_parties_without_the_model_need_its_shape_alone() -> None:
    """The shape survives JSON, and holds no weights and no scales."""
    r = np.random.default_rng(4)
    model = from_tflite(network(r), labels=list("abcde"))
    described = json.loads(json.dumps(model.shape.describe()))
    shape = QuantisedShape(**described)
    assert json.loads(json.dumps(shape.describe())) == described
    assert "conv" in str(shape) and "down=" in str(shape)
    secrets = {"weights", "offsets", "zero", "scale", "clamps", "multipliers"}
    for step in described["steps"]:
        assert all(not isinstance(step.get(key), float) for key in secrets)
    with pytest.raises(ModelError, match="not the shape of a quantised network"):
        QuantisedShape(**{**described, "steps": [{"kind": "exec"}]})
    with qr.local("rss") as mpc, pytest.raises(ModelError, match="party 0 owns the model"):
        shape.predict(mpc, pictures(r, "UINT8"))


ROLES = """
import json, warnings
warnings.simplefilter("error")
if mpc.me == 2:
    mine = qr.models.from_tflite("net.tflite", labels=["a", "b", "c", "d", "e"])
else:
    mine = qr.models.QuantisedShape(**json.load(open("shape.json")))
x = np.load("x.npy") if mpc.me == 0 else None
print(mine.predict(mpc, x, model_owner=2, data_owner=0, rows=3))
print(mine.decision_function(mpc, x, model_owner=2, data_owner=0, reveal_to=1, rows=3) is None)
"""


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    made = Deployment(tmp_path)
    yield made
    made.stop()


def test_real_parties_ask_a_model_that_one_has(deployment: Deployment) -> None:
    r = np.random.default_rng(10)
    raw, x = network(r), pictures(r, "UINT8", 3)
    (deployment.folder / "net.tflite").write_bytes(raw)
    np.save(deployment.folder / "x.npy", x)
    model = from_tflite(raw, labels=list("abcde"))
    (deployment.folder / "shape.json").write_text(json.dumps(model.shape.describe()))
    ended = deployment.run(deployment.script(ROLES))
    assert [e.status for e in ended] == [0, 0, 0], [e.err for e in ended]
    assert [e.out.splitlines() for e in ended] == [
        [str(model.predict_clear(x)), "True"],
        ["None", "False"],
        ["None", "True"],
    ]


def test_weights_are_shared_once() -> None:
    r = np.random.default_rng(11)
    model, x = from_tflite(network(r)), pictures(r, "UINT8", 1)
    sent = []
    with qr.local("rss", check=False) as mpc:
        for _ in range(3):
            before = mpc.stats().online.bytes_sent[0]
            assert (model.decision_function(mpc, x) == model.decision_function_clear(x)).all()
            sent.append(mpc.stats().online.bytes_sent[0] - before)
    assert sent[0] > sent[1] + 500 and sent[1] == sent[2]


def test_labels_stay_secret_where_nothing_is_revealed() -> None:
    r = np.random.default_rng(5)
    model, x = from_tflite(network(r)), pictures(r, "UINT8", 3)
    with qr.local("rss") as mpc:
        best = model.predict(mpc, x, reveal=False)
        assert (best.reveal() == model.predict_clear(x)).all()
        with pytest.raises(ModelError, match="reveal=False is for predict"):
            model.decision_function(mpc, x, reveal=False)
        with pytest.raises(ModelError, match="has no predict_proba"):
            model.predict_proba(mpc, x)


@pytest.mark.parametrize("mode", ["exact", "paper"])
def test_places_of_outputs_with_rows_and_columns_are_the_files(mode: str) -> None:
    """Channels are last, as `decision_function` returns them."""
    r = np.random.default_rng(8)
    model, x = from_tflite(residual(r), mode=mode), pictures(r, "UINT8", 3)
    outputs = model.decision_function_clear(x)
    assert outputs.shape[1:] == model.shape.outputs and outputs.shape[1] > 1 and outputs.shape[3] > 1
    wanted = outputs.reshape(3, -1).argmax(axis=1)
    assert (model.predict_clear(x) == wanted).all()
    with qr.local("rss", check=False) as mpc:
        found, shown = model.predict(mpc, x), model.decision_function(mpc, x).reshape(3, -1)
    assert (found == (wanted if mode == "exact" else shown.argmax(axis=1))).all()


# ---- what is refused ------------------------------------------------------------------------------------------------


def test_inputs_of_other_sizes_and_types_are_refused() -> None:
    r = np.random.default_rng(6)
    model, x = from_tflite(network(r)), pictures(r, "UINT8")
    with qr.local("rss") as mpc:
        with pytest.raises(ShapeError, match=r"inputs have shape \(7, 6, 2\); the network takes \(batch, 7, 6, 2\)"):
            model.predict(mpc, x[0])
        with pytest.raises(RangeError, match="whole numbers, uint8"):
            model.predict(mpc, x / 255)
        with pytest.raises(RangeError, match=r"300 at index \(0, 0, 0, 0\); the network takes uint8, 0 to 255"):
            model.predict(mpc, np.full((1, 7, 6, 2), 300))


def of_photos(folder: Path, count: int) -> tuple[Any, np.ndarray, list[Path]]:
    """Returns a network of photos of 7 x 6, some photos, and files of them."""
    image = pytest.importorskip("PIL.Image")
    r, file = np.random.default_rng(9), File()
    file.tensor((1, 7, 6, 3), 1 / 128, 128)
    conv(file, r, (7, 6, 3), padding=VALID, act=NONE)
    photos = r.integers(0, 256, (count, 7, 6, 3)).astype(np.uint8)
    paths = [folder / f"{i}.png" for i in range(count)]
    for path, photo in zip(paths, photos, strict=True):
        image.fromarray(photo).save(path)
    return from_tflite(file.bytes()), photos, paths


def test_files_of_pictures_are_read(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    model, photos, paths = of_photos(tmp_path, 2)
    image.fromarray(photos[0][1:]).save(tmp_path / "small.png")
    (tmp_path / "cut.png").write_bytes(paths[0].read_bytes()[:60])
    with qr.local("rss") as mpc:
        other = from_tflite(network(np.random.default_rng(8)))
        with pytest.raises(ModelError, match=r"files of pictures are uint8 of one or three colours.*: give an array"):
            other.decision_function(mpc, paths)
        array = pictures(np.random.default_rng(8), "UINT8")
        assert (other.decision_function(mpc, array) == other.decision_function_clear(array)).all()
        wanted = model.decision_function_clear(photos)
        assert (model.decision_function(mpc, paths) == wanted).all()
        assert (model.decision_function(mpc, str(paths[0])) == wanted[:1]).all()
        with pytest.raises(ModelError, match="has 6 rows and 6 columns; the network takes 7 and 6"):
            model.predict(mpc, [paths[0], tmp_path / "small.png"])
        for name in ("cut.png", "none.png"):
            with pytest.raises(ModelError, match=f"{name} is no picture that can be read"):
                model.predict(mpc, tmp_path / name)
        image.fromarray(photos[0]).convert("RGBA").save(tmp_path / "clear.png")
        with pytest.raises(ModelError, match=r"clear\.png is of mode RGBA"):
            model.predict(mpc, tmp_path / "clear.png")
        image.fromarray(photos[0]).save(tmp_path / "holes.png", transparency=(0, 0, 0))
        with pytest.raises(ModelError, match=r"holes\.png is of mode RGB with transparency"):
            model.predict(mpc, tmp_path / "holes.png")
        # EXIF states how the camera lay: 6 means to turn by a quarter.
        turned, side = image.fromarray(np.rot90(photos[1])), image.Exif()
        side[0x0112] = 6
        turned.save(tmp_path / "turned.png", exif=side)
        assert (model.decision_function(mpc, tmp_path / "turned.png") == wanted[1:]).all()
        image.fromarray(np.rot90(photos[1])).save(tmp_path / "upright.png")
        with pytest.raises(ModelError, match=r"upright\.png has 6 rows and 7 columns; the network takes 7 and 6"):
            model.predict(mpc, tmp_path / "upright.png")


def test_pictures_are_read_by_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The heads of all files are read before; a picture that is cut off ends its batch."""
    image = pytest.importorskip("PIL.Image")
    model, photos, paths = of_photos(tmp_path, 5)
    decoded: list[int] = []
    shape = type(model.shape)
    encode = shape.encode
    monkeypatch.setattr(shape, "encode", lambda self, X: decoded.append(len(np.asarray(X))) or encode(self, X))
    wanted = model.decision_function_clear(photos)
    decoded.clear()
    with qr.local("rss") as mpc:
        assert (model.decision_function(mpc, paths, batch=2) == wanted).all()
        assert decoded == [2, 2, 1]
        paths[4].write_bytes(paths[4].read_bytes()[:60])
        with pytest.raises(ModelError, match=r"4\.png is no picture that can be read"):
            model.decision_function(mpc, paths, batch=2)
        assert decoded == [2, 2, 1, 2, 2]
        image.fromarray(photos[0][1:]).save(paths[4])
        with pytest.raises(ModelError, match=r"4\.png has 6 rows"):
            model.decision_function(mpc, paths, batch=2)
        assert decoded == [2, 2, 1, 2, 2]


def test_all_unsupported_operators_are_named_at_once() -> None:
    r = np.random.default_rng(7)
    file = File()
    file.tensor((1, 4, 4, 2), 0.1, 5)
    conv(file, r, (4, 4, 2))
    file.then("LOGISTIC", (1, 4, 4, 4), 1 / 256, 0)
    file.then(
        "MAX_POOL_2D", (1, 4, 4, 4), 1 / 128, 0, Padding=VALID, StrideW=1, StrideH=1, FilterWidth=1, FilterHeight=1
    )
    file.then("TRANSPOSE", (1, 4, 4, 4), 1 / 128, 0)
    with pytest.raises(ModelError) as error:
        from_tflite(file.bytes())
    text = str(error.value)
    for name in (
        "LOGISTIC (operator 1)",
        "TRANSPOSE (operator 3)",
        "MAX_POOL_2D (operator 2): its result is quantised",
    ):
        assert name in text
    assert "CONV_2D" not in text


def test_one_of_several_outputs_is_computed_without_what_the_others_need() -> None:
    r, file = np.random.default_rng(9), File()
    first = file.tensor((1, 4), 0.1, 3)
    w = [r.integers(1, 255, (3, 4)), r.integers(1, 255, (2, 3))]
    for scale, matrix in zip((0.2, 0.3), w, strict=True):
        weights = file.tensor(matrix.shape, 0.01, 128, matrix)
        offsets = file.tensor((len(matrix),), None, 0, np.arange(len(matrix)), "INT32")
        file.then("FULLY_CONNECTED", (1, len(matrix)), scale, 120, (weights, offsets), FusedActivationFunction=NONE)
    hidden, last = (operator[2] for operator in file.operators)
    one = file.bytes()
    file.outputs = [last, hidden]
    two = file.bytes()
    x = r.integers(0, 255, (3, 4)).astype(np.uint8)
    with pytest.raises(ModelError, match=f"the outputs 't{last}', 't{hidden}': say which, output="):
        from_tflite(two)
    with pytest.raises(ModelError, match="output='t99' is no value of the model"):
        from_tflite(two, output="t99")
    whole = from_tflite(one)
    assert np.array_equal(
        from_tflite(two, output=f"t{last}").decision_function_clear(x), whole.decision_function_clear(x)
    )
    cut = from_tflite(two, output=f"t{hidden}")
    assert len(cut.shape.steps) == 1 and first == 0
    with qr.local("rss") as mpc:
        assert np.array_equal(cut.decision_function(mpc, x), cut.decision_function_clear(x))
    assert cut.decision_function_clear(x).shape == (3, 3)


def test_files_that_are_no_quantised_networks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no file"):
        from_tflite(tmp_path / "none.tflite")
    with pytest.raises(ModelError, match="takes a path or bytes"):
        from_tflite(3)
    with pytest.raises(ModelError, match="is no TFLite model: bytes 4 to 8"):
        from_tflite(b"GIF89a and more")
    file = File("FLOAT32")
    file.tensor((1, 4))
    w = file.tensor((2, 4), None, 0, np.ones((2, 4)))
    file.then("FULLY_CONNECTED", (1, 2), None, 0, [w], FusedActivationFunction=NONE)
    with pytest.raises(ModelError, match="is float32: the network is not quantised; convert it with full integer"):
        from_tflite(file.bytes())
    r = np.random.default_rng(8)
    assert from_tflite(network(r)).decision_function_clear(pictures(r, "UINT8")).shape[0] == 2
    with pytest.raises(ModelError, match="4 labels for outputs of shape"):
        from_tflite(network(r), labels=range(4))
    with pytest.raises(ModelError, match="mode='fast' is none of 'exact', 'paper'"):
        from_tflite(network(r), mode="fast")


def test_broken_files_are_refused_in_words() -> None:
    """Files that are cut off, or have changed bytes, are read, or refused with a `ModelError`."""
    r = np.random.default_rng(9)
    raw = network(r)
    refused = 0
    for i in range(120):
        broken = bytearray(raw)
        if i % 3 == 0:
            broken = broken[: int(r.integers(len(raw)))]
        else:
            for place in r.integers(len(raw), size=3):
                broken[place] = int(r.integers(256))
        try:
            from_tflite(bytes(broken))
        except ModelError as error:
            refused += 1
            assert str(error).startswith("from_tflite: ")
    assert refused > 40


def test_the_page_lists_all_operators() -> None:
    page = (Path(__file__).resolve().parent.parent / "docs" / "networks.md").read_text(encoding="utf-8")
    limits = {name: lowering.limits for name, lowering in OPERATORS.items()} | {"SOFTMAX": "as the last operator"}
    rows = [f"| `{name}` | {limits[name]} |" for name in sorted(limits)]
    table = "\n".join(["| operator | limits |", "|---|---|", *rows])
    assert page.partition("<!-- tflite:begin -->\n")[2].partition("\n<!-- tflite:end -->")[0] == table
    assert all(name in quantised_operators() for name in limits)
