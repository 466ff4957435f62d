"""Layers of neural networks against numpy, on every protocol: forward passes in the clear, written down here."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import quorate as qr
from protocols import FORMS, USUAL, among, stated
from quorate import nn

RNG = np.random.default_rng(5)


@pytest.fixture(scope="module", params=[*USUAL, *FORMS], ids=str)
def mpc(request: pytest.FixtureRequest) -> Iterator[qr.Session]:
    with among(request.param) as session:
        yield session


@pytest.fixture(scope="module")
def three() -> Iterator[qr.Session]:
    with stated("rss", shadow=True) as session:
        yield session


def convolved(
    x: np.ndarray,
    w: np.ndarray,
    stride: tuple[int, int] = (1, 1),
    padding: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0)),
    dilation: tuple[int, int] = (1, 1),
    groups: int = 1,
) -> np.ndarray:
    """Convolves by the definition, an element at a time."""
    x = np.pad(x, ((0, 0), (0, 0), *padding))
    rows, columns = ((x.shape[2 + d] - dilation[d] * (w.shape[2 + d] - 1) - 1) // stride[d] + 1 for d in (0, 1))
    out = np.zeros((x.shape[0], w.shape[0], rows, columns), x.dtype)
    each, filters = w.shape[1], w.shape[0] // groups
    for b, f, i, j in np.ndindex(*out.shape):
        group = f // filters
        part = x[b, group * each : (group + 1) * each, i * stride[0] :, j * stride[1] :]
        part = part[:, :: dilation[0], :: dilation[1]][:, : w.shape[2], : w.shape[3]]
        out[b, f, i, j] = (part * w[f]).sum()
    return out


CASES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((1, 1, 3, 4), (2, 1, 2, 2), {}),
    ((2, 3, 4, 3), (2, 3, 3, 2), {"padding": ((1, 0), (0, 1))}),
    ((2, 4, 3, 3), (4, 1, 2, 2), {"groups": 4, "stride": (2, 1), "padding": ((0, 1), (0, 0))}),
    ((1, 4, 3, 3), (6, 2, 1, 1), {"groups": 2}),
    ((1, 1, 5, 5), (1, 1, 2, 3), {"dilation": (2, 2), "padding": ((1, 1), (1, 1))}),
]


@pytest.mark.parametrize(("images", "filters", "lies"), CASES)
def test_convolutions(mpc: qr.Session, images: tuple[int, ...], filters: tuple[int, ...], lies: dict[str, Any]) -> None:
    x, w = RNG.integers(-50, 50, images), RNG.integers(-50, 50, filters)
    wanted = convolved(x, w, **lies)
    for a, b in (
        (mpc.input(x, owner=0), mpc.input(w, owner=1)),
        (mpc.input(x, owner=0), w),
        (x, mpc.input(w, owner=0)),
    ):
        np.testing.assert_array_equal(nn.conv2d(a, b, **lies).reveal(), wanted)


def test_convolutions_of_fixed_point(mpc: qr.Session) -> None:
    x, w, bias = RNG.uniform(-2, 2, (2, 2, 4, 4)), RNG.uniform(-1, 1, (3, 2, 3, 3)), RNG.uniform(-1, 1, 3)
    wanted = convolved(x, w, padding=((1, 1), (1, 1))) + bias.reshape(1, 3, 1, 1)
    a, b, c = mpc.input(x, owner=0), mpc.input(w, owner=1), mpc.input(bias, owner=1)
    assert np.abs(nn.conv2d(a, b, c, padding=1).reveal() - wanted).max() < 40 * 2**-16
    assert np.abs(nn.conv2d(a, w, bias, padding="same").reveal() - wanted).max() < 40 * 2**-16


def test_layouts_and_paddings(three: qr.Session) -> None:
    x, w = RNG.integers(-9, 9, (2, 5, 6, 3)), RNG.integers(-9, 9, (4, 2, 3, 3))
    a, b = three.input(x, owner=0), three.input(w, owner=1)
    turned = x.transpose(0, 3, 1, 2), w.transpose(0, 3, 1, 2)
    valid = convolved(*turned).transpose(0, 2, 3, 1)
    np.testing.assert_array_equal(nn.conv2d(a, b, layout="NHWC", padding="valid").reveal(), valid)
    same = convolved(*turned, stride=(2, 2), padding=((0, 1), (0, 1))).transpose(0, 2, 3, 1)
    made = nn.conv2d(a, b, layout="NHWC", padding="same", stride=2).reveal()
    assert made.shape == (2, 3, 3, 4)
    np.testing.assert_array_equal(made, same)
    pooled = nn.max_pool2d(a, 2, layout="NHWC").reveal()
    np.testing.assert_array_equal(pooled, x[:, :4].reshape(2, 2, 2, 3, 2, 3).max(axis=(2, 4)))


def test_layouts_of_series_and_of_transposed_convolutions(three: qr.Session) -> None:
    x, w = RNG.integers(-9, 9, (2, 7, 4)), RNG.integers(-9, 9, (6, 3, 2))
    a, b = three.input(x, owner=0), three.input(w, owner=1)
    wanted = nn.conv1d(a.transpose(0, 2, 1), b.transpose(0, 2, 1), stride=2, groups=2).reveal()
    for given in (b, w):
        made = nn.conv1d(a, given, stride=2, groups=2, layout="NWC").reveal()
        np.testing.assert_array_equal(made, wanted.transpose(0, 2, 1))
    x, w = RNG.integers(-9, 9, (2, 5, 6, 4)), RNG.integers(-9, 9, (3, 3, 2, 4))  # TFLite: filters before channels
    wanted = transposed(x.transpose(0, 3, 1, 2), w.transpose(3, 0, 1, 2), 2, 1, 1, 1, 2).transpose(0, 2, 3, 1)
    for given in (three.input(w, owner=1), w):
        made = nn.conv_transpose2d(
            three.input(x, owner=0), given, stride=2, padding=1, output_padding=1, groups=2, layout="NHWC"
        )
        np.testing.assert_array_equal(made.reveal(), wanted)
    with pytest.raises(qr.ConfigError, match="'NHWC' is none of 'NCW', 'NWC'"):
        nn.conv1d(a, b, layout="NHWC")


def transposed(
    x: np.ndarray, w: np.ndarray, stride: int, padding: int, more: int, dilation: int, groups: int
) -> np.ndarray:
    """Adds a filter to the result for each pixel."""
    batch, channels, height, width = x.shape
    each, rows, columns = w.shape[1:]
    size = [(n - 1) * stride + dilation * (k - 1) + 1 + more for n, k in ((height, rows), (width, columns))]
    out = np.zeros((batch, groups * each, *size), x.dtype)
    of_group = channels // groups
    for b, c, i, j in np.ndindex(*x.shape):
        g = c // of_group
        part = out[b, g * each : (g + 1) * each, i * stride :, j * stride :]
        part[:, : dilation * (rows - 1) + 1 : dilation, : dilation * (columns - 1) + 1 : dilation] += (
            x[b, c, i, j] * w[c]
        )
    return out[:, :, padding : size[0] - padding, padding : size[1] - padding]


@pytest.mark.parametrize(
    ("stride", "padding", "more", "dilation", "groups"),
    [
        (1, 0, 0, 1, 1),
        (2, 1, 1, 1, 1),
        (2, 0, 0, 2, 2),
        (3, 2, 0, 1, 1),
        (1, 2, 0, 1, 2),
        (3, 1, 2, 1, 2),
        (4, 0, 3, 1, 1),
        (2, 4, 1, 1, 1),
    ],
)
def test_transposed_convolutions(
    three: qr.Session, stride: int, padding: int, more: int, dilation: int, groups: int
) -> None:
    x, w = RNG.integers(-9, 9, (2, 4, 5, 5)), RNG.integers(-9, 9, (4, 3, 3, 2))
    wanted = transposed(x, w, stride, padding, more, dilation, groups)
    for a, b in (
        (three.input(x, owner=0), three.input(w, owner=1)),
        (x, three.input(w, owner=1)),
        (three.input(x, owner=2), w),
    ):
        made = nn.conv_transpose2d(
            a, b, stride=stride, padding=padding, output_padding=more, dilation=dilation, groups=groups
        )
        np.testing.assert_array_equal(made.reveal(), wanted)


def test_transposed_convolutions_that_lose_more_than_they_have(three: qr.Session) -> None:
    x = three.input([[[[1, 2, 3]]]], owner=0)
    made = nn.conv_transpose2d(x, [[[[1]]]], stride=(1, 2), padding=(0, 1), output_padding=(0, 1))
    assert made.reveal().tolist() == [[[[0, 2, 0, 3]]]]
    with pytest.raises(qr.ShapeError, match="below the stride"):
        nn.conv_transpose2d(x, [[[[1]]]], output_padding=1)
    with pytest.raises(qr.ShapeError, match="leaves nothing"):
        nn.conv_transpose2d(x, [[[[1]]]], padding=(0, 9))


def test_transposed_convolutions_open_no_zeros() -> None:
    """If windows do not overlap, it sends as much as a convolution of each pixel with a whole filter."""
    x, w, sent = np.ones((1, 4, 8, 8)), np.ones((4, 2, 4, 4)), []
    for of in (lambda a, b: nn.conv_transpose2d(a, b, stride=4), lambda a, b: nn.conv2d(a, b.reshape(32, 4, 1, 1))):
        with qr.local("pika") as mpc:
            made = of(mpc.input(x, owner=0), mpc.input(w, owner=1))
            sent.append(max(mpc.explain(made).online.bytes_sent))
    assert sent[0] <= 1.01 * sent[1]


def test_images_without_rows_are_padding(mpc: qr.Session) -> None:
    x = mpc.input(np.zeros((2, 1, 0, 3), dtype=int), owner=0)
    assert not nn.conv2d(x, np.ones((1, 1, 1, 1), dtype=int), padding=1).reveal().any()


def pooled(x: np.ndarray, size: int, stride: int, padding: int, ceil: bool, reduce: Any) -> np.ndarray:
    """Pools windows one by one, with the pixels inside the image."""
    counts = []
    for n in x.shape[2:]:
        room = n + 2 * padding - size
        count = -(-room // stride) + 1 if ceil else room // stride + 1
        counts.append(count - 1 if ceil and (count - 1) * stride >= n + padding else count)
    out = np.zeros((*x.shape[:2], *counts))
    for b, c, i, j in np.ndindex(*out.shape):
        rows = slice(max(i * stride - padding, 0), i * stride - padding + size)
        columns = slice(max(j * stride - padding, 0), j * stride - padding + size)
        out[b, c, i, j] = reduce(x[b, c, rows, columns])
    return out


POOLS = [
    (size, stride, padding, ceil)
    for size, stride, padding, ceil in itertools.product((1, 2, 3, 5), (1, 2, 3), (0, 1), (False, True))
    if padding <= size // 2
]


@pytest.mark.parametrize(("size", "stride", "padding", "ceil"), POOLS)
def test_pooling(three: qr.Session, size: int, stride: int, padding: int, ceil: bool) -> None:
    x = RNG.integers(-99, 99, (2, 2, 7, 6)) / 4
    a = three.input(x, owner=0)
    largest = nn.max_pool2d(a, size, stride, padding, ceil_mode=ceil).reveal()
    np.testing.assert_array_equal(largest, pooled(x, size, stride, padding, ceil, np.max))
    mean = nn.avg_pool2d(a, size, stride, padding, ceil_mode=ceil, count_include_pad=False).reveal()
    assert np.abs(mean - pooled(x, size, stride, padding, ceil, np.mean)).max() < 2**-15
    # Zeros of the padding count, elements beyond do not.
    around = ((0, 0), (0, 0), (padding, padding), (padding, padding))
    wanted = pooled(np.pad(x, around), size, stride, 0, ceil, np.mean)
    with_zeros = nn.avg_pool2d(a, size, stride, padding, ceil_mode=ceil).reveal()
    assert np.abs(with_zeros - wanted[:, :, : with_zeros.shape[2], : with_zeros.shape[3]]).max() < 2**-15


def test_pooling_everywhere(mpc: qr.Session) -> None:
    x = RNG.integers(-99, 99, (1, 2, 4, 5))
    a = mpc.input(x, owner=0)
    np.testing.assert_array_equal(nn.max_pool2d(a, 3, 1).reveal(), pooled(x, 3, 1, 0, False, np.max))
    np.testing.assert_array_equal(nn.max_pool2d(a, 2).reveal(), pooled(x, 2, 2, 0, False, np.max))


def test_windows_that_overlap_share_comparisons(three: qr.Session) -> None:
    """A window of 4 steps along an axis takes two comparisons per pixel, not three."""
    a = three.input(RNG.integers(-99, 99, (1, 1, 1, 40)), owner=0)
    shared = three.explain(nn.max_pool2d(a, (1, 4), 1)).online.bytes_sent
    apart = three.explain(a[:, :, :, np.arange(37)[:, None] + np.arange(4)].max(axis=-1)).online.bytes_sent
    assert sum(shared) < 0.75 * sum(apart)


def near(made: Any, wanted: np.ndarray, units: float = 4) -> None:
    assert np.shape(made) == wanted.shape
    assert np.abs(made - wanted).max() <= units * 2**-16


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def test_activations(mpc: qr.Session) -> None:
    x = np.array([-7.25, -3.0, -0.5, 0.0, 0.25, 2.0, 3.0, 6.5])
    a = mpc.input(x, owner=0)
    near(nn.relu6(a).reveal(), np.clip(x, 0, 6), 0)
    near(nn.leaky_relu(a, 0.25).reveal(), np.where(x > 0, x, x / 4), 0)
    near(nn.prelu(a, mpc.input(np.full(8, 0.5), owner=1)).reveal(), np.where(x > 0, x, x / 2), 0)
    near(nn.silu(a).reveal(), x * sigmoid(x), 14)
    near(nn.elu(a, 1.5).reveal(), np.where(x > 0, x, 1.5 * np.expm1(x)))
    near(nn.hard_sigmoid(a).reveal(), np.clip(x / 6 + 0.5, 0, 1))
    near(nn.hard_swish(a).reveal(), x * np.clip(x / 6 + 0.5, 0, 1), 14)


def test_normalisations(mpc: qr.Session) -> None:
    x = RNG.uniform(-3, 3, (2, 3, 4))
    mean, variance, weight, bias = RNG.uniform(0.5, 2, (4, 3))
    wanted = (x - mean[:, None]) / np.sqrt(variance[:, None] + 1e-3) * weight[:, None] + bias[:, None]
    a = mpc.input(x, owner=0)
    near(nn.batch_norm(a, mean, variance, weight, bias, eps=1e-3).reveal(), wanted, 8)
    secret = [mpc.input(v, owner=1) for v in (mean, variance, weight, bias)]
    near(nn.batch_norm(a, *secret, eps=1e-3).reveal(), wanted, 40)
    centred = x - x.mean(axis=-1, keepdims=True)
    wanted = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 2**-16) * 2 + 1
    near(nn.layer_norm(a, np.full(4, 2.0), np.ones(4)).reveal(), wanted, 60)


@pytest.mark.parametrize("deviation", [0.01, 1.0, 1e3, 1e6])
def test_lines_are_normalised_whatever_they_deviate_by(mpc: qr.Session, deviation: float) -> None:
    x = np.rint(RNG.normal(size=(4, 9)) * deviation * 2**16) / 2**16
    x[3] = x[3, 0]  # its variance is 0
    centred = x - x.mean(axis=-1, keepdims=True)
    wanted = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 2**-16)
    off = 2**-12 * 3 + 2 * 2**-16 / deviation  # for results up to 3, and for the mean
    assert np.abs(nn.layer_norm(mpc.input(x, owner=0, dtype=qr.real)).reveal() - wanted).max() < off
    bounded = mpc.input(x, owner=0, dtype=qr.real, bound=float(np.abs(x).max()))
    assert np.abs(nn.layer_norm(bounded).reveal() - wanted).max() < off


@pytest.mark.parametrize("trunc", ["exact", "probabilistic"])
def test_normalised_lines_of_a_strict_session(trunc: str) -> None:
    x = np.concatenate([RNG.uniform(-8, 8, (3, 1000)), np.full((1, 1000), -8.0), np.eye(1000)[:1] * 8])
    centred = x - x.mean(axis=-1, keepdims=True)
    wanted = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
    with qr.local("rss", strict=True, trunc=trunc) as mpc:
        for dtype in (None, qr.fixed(64, 16)):
            made = nn.layer_norm(mpc.input(x, owner=0, dtype=dtype, bound=8), eps=1e-5)
            assert np.abs(made.reveal() - wanted).max() < 0.008


def test_recurrent_layers(mpc: qr.Session) -> None:
    steps, batch, inputs, hidden = 3, 2, 3, 2
    x = RNG.uniform(-1, 1, (steps, batch, inputs))
    w, u = RNG.uniform(-1, 1, (4 * hidden, inputs)), RNG.uniform(-1, 1, (4 * hidden, hidden))
    b, v = RNG.uniform(-1, 1, 4 * hidden), RNG.uniform(-1, 1, 4 * hidden)
    h, c, states = np.zeros((batch, hidden)), np.zeros((batch, hidden)), []
    for step in x:
        enter, keep, cell, show = np.split(step @ w.T + b + h @ u.T + v, 4, axis=1)
        c = sigmoid(keep) * c + sigmoid(enter) * np.tanh(cell)
        h = sigmoid(show) * np.tanh(c)
        states.append(h)
    secret = [mpc.input(part, owner=1) for part in (w, u, b, v)]
    out, (last, cells) = nn.lstm(mpc.input(x, owner=0), *secret)
    near(out.reveal(), np.array(states), 60)
    near(last.reveal(), h, 60)
    near(cells.reveal(), c, 60)
    w, u, b, v = w[: 3 * hidden], u[: 3 * hidden], b[: 3 * hidden], v[: 3 * hidden]
    h, states = np.full((batch, hidden), 0.25), []
    for step in x:
        (r, z, n), (hr, hz, hn) = np.split(step @ w.T + b, 3, axis=1), np.split(h @ u.T + v, 3, axis=1)
        new = np.tanh(n + sigmoid(r + hr) * hn)
        h = (1 - sigmoid(z + hz)) * new + sigmoid(z + hz) * h
        states.append(h)
    out, last = nn.gru(mpc.input(x, owner=0), w, u, b, v, state=mpc.input(np.full((batch, hidden), 0.25), owner=1))
    near(out.reveal(), np.array(states), 60)
    near(last.reveal(), h, 60)


def test_attention(mpc: qr.Session) -> None:
    q, k, v = RNG.uniform(-1, 1, (2, 3, 4)), RNG.uniform(-1, 1, (2, 5, 4)), RNG.uniform(-1, 1, (2, 5, 2))
    mask = np.where(RNG.uniform(size=(3, 5)) < 0.4, -np.inf, 0.0)
    mask[:, 0] = 0.0
    arrays = [mpc.input(part, owner=i % 2) for i, part in enumerate((q, k, v))]
    for seen in (None, mask):
        scores = q @ k.swapaxes(-1, -2) / 2 + (0 if seen is None else seen)
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        near(nn.attention(*arrays, mask=seen).reveal(), powers / powers.sum(axis=-1, keepdims=True) @ v, 12)


def test_masks_hide_whatever_scores_are(mpc: qr.Session) -> None:
    scores, v = RNG.uniform(-3, 3, (3, 3)), RNG.uniform(-1, 1, (3, 2))
    seen = np.tril(np.ones((3, 3), bool))
    q, k = mpc.input(scores, owner=0), np.eye(3)
    powers = np.exp(scores) * seen
    wanted = powers / powers.sum(axis=-1, keepdims=True) @ v
    far = np.where(seen, 0.0, np.finfo(np.float32).min)
    masks = [seen, mpc.input(seen, owner=1), far, far + 7, np.where(seen, 0.0, -1e9), mpc.input(-30.0 * ~seen, owner=1)]
    for mask in masks:
        near(nn.attention(q, k, v, mask=mask, scale=1.0).reveal(), wanted, 12)
    large = mpc.input(scores - 3e7, owner=0, dtype=qr.fixed(64, 16))
    powers = np.exp(scores) * seen
    near(nn.attention(large, k, v, mask=seen, scale=1.0).reveal(), wanted, 12)


def test_rows_of_tables(mpc: qr.Session) -> None:
    table, index = RNG.integers(-99, 99, (6, 3)), np.array([[4, 0], [5, 4]])
    places = mpc.input(index, owner=0)
    for rows in (table, mpc.input(table, owner=1)):
        np.testing.assert_array_equal(nn.embedding(places, rows).reveal(), table[index])


def test_what_only_moves(three: qr.Session) -> None:
    x = RNG.integers(-9, 9, (1, 2, 2, 3))
    a = three.input(x, owner=0)
    np.testing.assert_array_equal(nn.upsample(a, (2, 3)).reveal(), x.repeat(2, axis=2).repeat(3, axis=3))
    np.testing.assert_array_equal(nn.flatten(a).reveal(), x.reshape(1, -1))
    np.testing.assert_array_equal(nn.flatten(a, -1).reveal(), x)
    means = nn.global_avg_pool2d(three.input(x / 1.0, owner=0)).reveal()
    near(means, x.mean(axis=(2, 3), keepdims=True), 1)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda a, w: nn.conv2d(a, w, groups=3), qr.ShapeError, "as many channels"),
        (lambda a, w: nn.conv2d(a, w, groups=0), qr.ShapeError, "at least 1"),
        (lambda a, w: nn.conv2d(a, w, stride=0), qr.ShapeError, "stride is at least 1"),
        (lambda a, w: nn.conv2d(a, w, stride=1.5), qr.ShapeError, "no whole number"),
        (lambda a, w: nn.conv2d(a, w, padding=-1), qr.ShapeError, "padding is at least 0"),
        (lambda a, w: nn.conv2d(a, w, padding="full"), qr.ShapeError, "neither 'same' nor 'valid'"),
        (lambda a, w: nn.conv2d(a, w, dilation=9), qr.ShapeError, "must fit"),
        (lambda a, w: nn.conv2d(a[0], w), qr.ShapeError, "four axes"),
        (lambda a, w: nn.conv2d(a, w, layout="CHWN"), qr.ConfigError, "'CHWN'"),
        (lambda a, w: nn.conv2d(a, w, np.ones(5)), qr.ShapeError, r"bias of shape \(5,\)"),
        (lambda _, __: nn.conv2d(np.ones((1, 1, 2, 2)), np.ones((1, 1, 1, 1))), qr.DtypeError, "secret array"),
        (lambda a, _: nn.max_pool2d(a, 9), qr.ShapeError, "does not fit"),
        (lambda a, _: nn.max_pool2d(a, 1, padding=1), qr.ShapeError, "outside of the image"),
        (lambda a, _: nn.avg_pool2d(a, 2), qr.DtypeError, "astype"),
        (lambda a, _: nn.lstm(a, np.ones((4, 3)), np.ones((4, 1))), qr.ShapeError, "steps, batch, inputs"),
        (lambda a, _: nn.flatten(a, 9), qr.ShapeError, "flatten from axis 9"),
        (lambda a, _: nn.conv2d(a, [[1, 2], [3]]), qr.ShapeError, "do not form an array"),
        (
            lambda a, _: nn.attention(a, np.ones((4, 4)), a, mask=np.ones((7, 4))),
            qr.ShapeError,
            r"mask of shape \(7, 4\)",
        ),
        (lambda a, _: nn.attention(a, np.ones(4), a), qr.ShapeError, r"a key of shape \(4,\)"),
        (
            lambda a, _: nn.attention(a, np.ones((4, 4)), a, mask=np.zeros((4, 4), bool)),
            qr.ShapeError,
            "no key is seen",
        ),
        (lambda a, _: nn.layer_norm(a, np.ones((5, 1, 1, 1, 4))), qr.ShapeError, "a weight of shape"),
        (lambda a, _: nn.layer_norm(a, eps=-1), qr.RangeError, "eps=-1 is not a small number"),
        (lambda a, _: nn.layer_norm(a, eps=np.nan), qr.RangeError, "eps=nan"),
        (lambda a, _: nn.batch_norm(a, np.ones(2), np.ones(2), axis=4), qr.ShapeError, "along axis 4"),
        (lambda a, _: nn.batch_norm(a, np.ones(2), -np.ones(2)), qr.RangeError, "above 0"),
        (lambda a, _: nn.lstm(a[0, :0], np.ones((4, 4)), np.ones((4, 1))), qr.ShapeError, "steps, batch, inputs"),
        (
            lambda a, _: nn.gru(a[0], np.ones((3, 4)), np.ones((3, 1)), state=np.ones((2, 1))),
            qr.ShapeError,
            r"a state is \(4, 1\)",
        ),
        (
            lambda a, _: nn.gru(a[0], np.ones((3, 4)), np.ones((3, 1)), None, np.ones((9, 3))),
            qr.ShapeError,
            r"a bias of shape \(9, 3\)",
        ),
        (lambda a, _: nn.conv_transpose2d(a, np.ones((3, 1, 2, 2))), qr.ShapeError, "as many channels"),
    ],
)
def test_what_does_not_fit_is_named(three: qr.Session, call: Any, error: type, words: str) -> None:
    a, w = (
        three.input(np.ones((1, 2, 4, 4), dtype=int), owner=0),
        three.input(np.ones((3, 2, 2, 2), dtype=int), owner=1),
    )
    with pytest.raises(error, match=words):
        call(a, w)


def test_sizes_may_be_arrays(three: qr.Session) -> None:
    x = three.input(np.arange(16).reshape(1, 1, 4, 4), owner=0)
    w = np.ones((1, 1, 2, 2), dtype=int)
    for sizes in ({"padding": (1, 0)}, {"padding": ((1, 0), (0, 1)), "stride": (2, 1)}):
        arrays = {name: np.array(value) for name, value in sizes.items()}
        wanted = nn.conv2d(x, w, **sizes).reveal()  # type: ignore[arg-type]
        np.testing.assert_array_equal(nn.conv2d(x, w, **arrays).reveal(), wanted)  # type: ignore[arg-type]
    assert nn.max_pool2d(x, np.array([2, 2])).shape == (1, 1, 2, 2)
    with pytest.raises(qr.ShapeError, match="two pairs"):
        nn.conv2d(x, w, padding=np.zeros((3, 2), int))


def test_biases_and_slopes_do_not_enlarge_what_they_are_for(three: qr.Session) -> None:
    x = three.input(np.ones((2, 3)), owner=0)
    for shape in ((5, 2, 3), (4,), (0,)):
        with pytest.raises(qr.ShapeError, match=r"prelu: a slope of shape .* does not broadcast"):
            nn.prelu(x, np.ones(shape))
    for outputs, shape in ((4, (5, 2, 4)), (4, (3,)), (1, (7,))):
        with pytest.raises(qr.ShapeError, match=r"linear: a bias of shape .* does not broadcast"):
            nn.linear(x, np.ones((outputs, 3)), np.ones(shape))


def test_few_inputs_meet_secret_weights_as_many_do(mpc: qr.Session) -> None:
    w, bias = RNG.integers(-9, 9, (6, 5)), RNG.integers(-9, 9, 6)
    shapes = [(5,), (1, 5), (2, 1, 5), (2, 2, 5), (0, 5)]
    numbers = [RNG.integers(-9, 9, shape) for shape in shapes]
    weights = mpc.input(w, owner=0)
    layers = [nn.linear(mpc.input(x, owner=1), weights, bias) for x in numbers]
    layers.append(nn.linear(numbers[1], weights))
    wanted = [x @ w.T + bias for x in numbers] + [numbers[1] @ w.T]
    for found, right in zip(mpc.reveal_all(*layers), wanted, strict=True):
        assert found.shape == right.shape
        np.testing.assert_array_equal(found, right)
    with pytest.raises(qr.ShapeError):
        nn.linear(mpc.input(np.ones((1, 4), int), owner=0), weights)


def _of_series(layer: Any, gates: int) -> Any:
    def run(s: Any, p: Any) -> Any:
        state = (p(1, 2), p(1, 2)) if gates == 4 else p(1, 2)
        weights = p(2 * gates, 3), p(2 * gates, 2), p(2 * gates), p(2 * gates)
        return layer(s(2, 1, 3), *weights, state=state)[0]

    return run


LISTED = {
    "conv1d": lambda s, p: nn.conv1d(p(1, 2, 5), s(3, 2, 2), p(3)),
    "conv1d NWC": lambda s, p: nn.conv1d(p(1, 5, 2), s(3, 2, 2), p(3), layout="NWC"),
    "conv2d": lambda s, p: nn.conv2d(p(1, 2, 4, 4), s(3, 2, 2, 2), p(3)),
    "conv2d NHWC": lambda s, p: nn.conv2d(p(1, 4, 4, 2), s(3, 2, 2, 2), p(3), layout="NHWC"),
    "conv_transpose2d": lambda s, p: nn.conv_transpose2d(p(1, 2, 3, 3), s(2, 1, 2, 2), p(1)),
    "conv_transpose2d, strides": lambda s, p: nn.conv_transpose2d(p(1, 2, 3, 3), s(2, 1, 2, 2), stride=2),
    "conv_transpose2d, both": lambda s, p: nn.conv_transpose2d(p(1, 2, 3, 3), s(2, 1, 2, 2), stride=2, dilation=2),
    "conv_transpose2d NHWC": lambda s, p: nn.conv_transpose2d(p(1, 3, 3, 2), s(1, 2, 2, 2), stride=2, layout="NHWC"),
    "linear": lambda s, p: nn.linear(p(2, 3), s(4, 3), p(4)),
    "batch_norm": lambda s, p: nn.batch_norm(s(2, 3, 1, 1), p(3), s(3, low=1), p(3), p(3), eps=2**-8),
    "layer_norm": lambda s, p: nn.layer_norm(s(2, 3), p(3), p(3)),
    "attention": lambda s, p: nn.attention(p(2, 3), s(2, 3), p(2, 3), mask=[[0, 1.0], [0, 0]]),
    "attention of lists": lambda s, p: nn.attention(s(2, 3), p(2, 3), s(2, 3), mask=[[True, False], [True, True]]),
    "embedding": lambda s, p: nn.embedding(s(2).astype(qr.int(64)), p(3, 2)),
    "prelu": lambda s, p: nn.prelu(s(2, 3), p(3)),
    "lstm": _of_series(nn.lstm, 4),
    "gru": _of_series(nn.gru, 3),
}


@pytest.mark.parametrize("name", LISTED)
def test_public_numbers_may_be_nested_lists(three: qr.Session, name: str) -> None:
    """Lists work as arrays do."""
    found = []
    for given in (np.asarray, np.ndarray.tolist):
        r = np.random.default_rng(4)

        def public(*shape: int, given: Any = given, r: Any = r) -> Any:
            return given(r.integers(-4, 4, shape) / 4)

        def secret(*shape: int, low: int = -4, r: Any = r) -> Any:
            return three.input(r.integers(low, 5, shape) / 4, owner=0, bound=2, dtype=qr.fixed(64, 16))

        found.append(LISTED[name](secret, public).reveal())
    np.testing.assert_array_equal(*found)
