"""LeNet of 4 to 8 layers, as in the paper on Pika (appendix C, Fig. 6), trained in the clear with numpy alone."""

from __future__ import annotations

import gzip
import itertools
from pathlib import Path
from typing import Any

import numpy as np

import quorate as qr
from quorate.models._onnx._model import _reached, scaled
from quorate.models._onnx._steps import Step

EPS = 1e-5
FIXED = qr.fixed(32, 12)  # as in the paper


def mnist(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Returns the test images and labels of a folder, which has them as one or several idx files."""
    images = [_idx(path).reshape(-1, 1, 28, 28) / 255.0 for path in sorted(folder.glob("t10k-images*.gz"))]
    labels = [_idx(path) for path in sorted(folder.glob("t10k-labels*.gz"))]
    x, y = np.concatenate(images), np.concatenate(labels)
    return x, y[: len(x)]


def _idx(path: Path) -> np.ndarray:
    raw = gzip.decompress(path.read_bytes())
    return np.frombuffer(raw[4 + 4 * raw[3] :], np.uint8)


def patches(x: np.ndarray) -> np.ndarray:
    """Returns the windows of 3 x 3 around each pixel: (images, rows, columns, channels * 9)."""
    around = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(around, (3, 3), axis=(2, 3))
    return windows.transpose(0, 2, 3, 1, 4, 5).reshape(*x.shape[:1], *x.shape[2:], -1)


def pooled(x: np.ndarray) -> np.ndarray:
    """Returns the maximum of each 2 x 2 window."""
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).max(axis=(3, 5))


class LeNet:
    """A network of convolutions of 3 x 3 and two dense layers.

    Maxima of 2 x 2 follow the first two convolutions. ReLU follows each layer but the last.
    """

    def __init__(self, layers: int, normalised: bool) -> None:
        r = np.random.default_rng(layers)
        channels = [1, 8, *[16] * (layers - 3)]
        self.convs, self.normalised = layers - 2, normalised
        self.p: dict[str, np.ndarray] = {}
        for i, (c, filters) in enumerate(itertools.pairwise(channels)):
            self.p[f"w{i}"] = r.normal(0, np.sqrt(2 / (9 * c)), (c * 9, filters))
            self.p[f"b{i}"] = np.zeros(filters)
            if normalised:
                self.p[f"g{i}"] = np.ones(filters)
        for i, (inputs, outputs) in enumerate([(784, 128), (128, 10)], self.convs):
            self.p[f"w{i}"], self.p[f"b{i}"] = r.normal(0, np.sqrt(2 / inputs), (inputs, outputs)), np.zeros(outputs)
        self.p = {name: value.astype(np.float32) for name, value in self.p.items()}
        self.seen = {i: [np.zeros_like(self.p[f"b{i}"]), np.ones_like(self.p[f"b{i}"])] for i in range(self.convs)}

    def train(self, x: np.ndarray, y: np.ndarray, epochs: int, batch: int = 50) -> LeNet:
        """Trains by stochastic gradient descent with momentum, on shuffled batches; the learning rate falls to zero."""
        r, speed = np.random.default_rng(1), {name: np.zeros_like(value) for name, value in self.p.items()}
        x, steps = x.astype(np.float32), epochs * (len(x) // batch)
        for step in range(steps):
            if step % (len(x) // batch) == 0:
                order = r.permutation(len(x))
            some = order[step % (len(x) // batch) * batch :][:batch]
            for name, slope in self._slopes(x[some], y[some]).items():
                speed[name] = 0.9 * speed[name] - 0.02 * (1 - step / steps) * slope
                self.p[name] += speed[name]
        return self

    def _slopes(self, x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
        """Returns the gradient of the cross entropy by all parameters, by backpropagation."""
        kept: list[Any] = []
        for i in range(self.convs):
            of = patches(x)
            made = of @ self.p[f"w{i}"]
            if self.normalised:
                mean, variance = made.mean(axis=(0, 1, 2)), made.var(axis=(0, 1, 2))
                self.seen[i] = [0.9 * old + 0.1 * new for old, new in zip(self.seen[i], (mean, variance), strict=True)]
                normal = (made - mean) / np.sqrt(variance + EPS)
                whole = normal * self.p[f"g{i}"] + self.p[f"b{i}"]
            else:
                variance = normal = None
                whole = made + self.p[f"b{i}"]
            whole = np.maximum(whole, 0).transpose(0, 3, 1, 2)
            kept.append((of, variance, normal, whole))
            x = pooled(whole) if i < 2 else whole
        flat, w, b = x.reshape(len(x), -1), f"w{self.convs}", f"b{self.convs}"
        hidden = np.maximum(flat @ self.p[w] + self.p[b], 0)
        last_w, last_b = f"w{self.convs + 1}", f"b{self.convs + 1}"
        scores = hidden @ self.p[last_w] + self.p[last_b]
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        off = shares / shares.sum(axis=1, keepdims=True)
        off[np.arange(len(y)), y] -= 1
        off /= len(y)
        slopes = {last_w: hidden.T @ off, last_b: off.sum(axis=0)}
        off = (off @ self.p[last_w].T) * (hidden > 0)
        slopes |= {w: flat.T @ off, b: off.sum(axis=0)}
        back = (off @ self.p[w].T).reshape(x.shape)
        for i in reversed(range(self.convs)):
            of, variance, normal, whole = kept[i]
            if i < 2:  # to where the largest is
                up = pooled(whole).repeat(2, axis=2).repeat(2, axis=3)
                back = back.repeat(2, axis=2).repeat(2, axis=3) * (whole == up)
            back = (back * (whole > 0)).transpose(0, 2, 3, 1)
            slopes[f"b{i}"] = back.sum(axis=(0, 1, 2))
            if self.normalised:
                slopes[f"g{i}"] = (back * normal).sum(axis=(0, 1, 2))
                back = back * self.p[f"g{i}"]
                mean = [(back * by).mean(axis=(0, 1, 2)) for by in (1, normal)]
                back = (back - mean[0] - normal * mean[1]) / np.sqrt(variance + EPS)
            slopes[f"w{i}"] = np.tensordot(of, back, axes=([0, 1, 2], [0, 1, 2]))
            back = _unpatched(back @ self.p[f"w{i}"].T)
        return slopes

    def layers(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Returns weights (inputs, outputs) and biases (outputs,), with normalisation folded into them."""
        found = []
        for i in range(self.convs + 2):
            w, b = (self.p[f"{kind}{i}"].astype(np.float64) for kind in "wb")
            if i < self.convs and self.normalised:
                mean, variance = self.seen[i]
                factor = self.p[f"g{i}"] / np.sqrt(variance + EPS)
                w, b = w * factor, b - mean * factor
            found.append((w, b))
        return found

    def on_shares(self, mpc: Any, x: np.ndarray, dtype: Any = FIXED) -> Any:
        """Returns secret outputs of party 0's weights for party 1's images by `qr.nn`, all in one fixed-point dtype.

        Normalisation is not folded: means, variances, factors and offsets are secret, and 1 / sqrt is computed on
        shares.
        """

        def given(values: np.ndarray, owner: int = 0, bound: float | None = None) -> Any:
            units = np.round(np.ldexp(values.astype(np.float64), dtype.frac))
            return mpc.input(np.ldexp(units, -dtype.frac), owner=owner, dtype=dtype, bound=bound)

        made = given(x, owner=1, bound=1.0)
        for i in range(self.convs + 2):
            w, b = self.p[f"w{i}"], given(self.p[f"b{i}"])
            if i < self.convs:
                filters = given(w.T.reshape(w.shape[1], -1, 3, 3)).as_factor()
                made = qr.nn.conv2d(made, filters, None if self.normalised else b, padding=1)
                if self.normalised:
                    mean, variance = self.seen[i]  # the owner adds eps, which is less than a unit
                    known = given(mean), given(variance + EPS), given(self.p[f"g{i}"])
                    made = qr.nn.batch_norm(made, *known, b, eps=0)
            else:
                made = qr.nn.linear(qr.nn.flatten(made), given(w.T).as_factor(), b)
            made = qr.nn.max_pool2d(made, 2) if i < 2 else made
            made = qr.relu(made) if i <= self.convs else made
        return made

    def outputs(self, x: np.ndarray, fraction: int | None = None, bits: int = 32) -> np.ndarray:
        """Returns the outputs, in float64.

        With `fraction`, all numbers have that number of fractional bits, and sums wrap modulo 2^bits, as in the paper.
        """
        for i, (w, b) in enumerate(self.layers()):
            given = patches(x) if i < self.convs else x.reshape(len(x), -1)
            made = given @ w + b if fraction is None else _in_ring(given, w, b, fraction, bits)
            if i <= self.convs:
                made = np.maximum(made, 0)
            x = made.transpose(0, 3, 1, 2) if i < self.convs else made
            x = pooled(x) if i < 2 else x
        return x

    def model(self, bits: int, weight_bits: int, sample: np.ndarray | None = None) -> Any:
        """Returns the network for secret images, with this number of bits for numbers and for weights."""
        steps: list[Step] = []

        def then(kind: str, attrs: dict[str, Any], *weights: np.ndarray) -> None:
            steps.append(Step(kind, (len(steps),), attrs, *weights))

        conv = {"stride": [1, 1], "dilation": [1, 1], "pads": [[1, 1], [1, 1]], "groups": 1}
        pool = {"size": [2, 2], "stride": [2, 2], "pads": [[0, 0], [0, 0]], "ceil": False}
        for i, (w, b) in enumerate(self.layers()):
            if i < self.convs:
                then("conv", conv, w.T.reshape(len(b), -1, 3, 3), b)
            else:
                if i == self.convs:
                    then("reshape", {"shape": [784]})
                then("matmul", {}, w, b)
            if i < 2:
                then("max_pool", pool)
            if i <= self.convs:
                then("relu", {})
        return scaled(
            steps,
            (1, 28, 28),
            (0.0, 1.0),
            bits,
            weight_bits,
            reached=_reached(steps, None if sample is None else [sample]),
        )


def _unpatched(back: np.ndarray) -> np.ndarray:
    """Returns the sum of the values that windows have for each pixel: the transpose of `patches`."""
    n, h, w, rest = back.shape
    windows = back.reshape(n, h, w, rest // 9, 3, 3)
    found = np.zeros((n, rest // 9, h + 2, w + 2), back.dtype)
    for i in range(3):
        for j in range(3):
            found[:, :, i : i + h, j : j + w] += windows[..., i, j].transpose(0, 3, 1, 2)
    return found[:, :, 1:-1, 1:-1]


def _in_ring(x: np.ndarray, w: np.ndarray, b: np.ndarray, fraction: int, bits: int) -> np.ndarray:
    """Returns x @ w + b of fixed-point numbers: sums wrap at `bits` bits, and surplus fractional bits are dropped."""

    def units(values: np.ndarray, f: int) -> np.ndarray:
        return np.round(np.ldexp(values, f))

    # Sums of products below 2^53 are exact in float64, whatever the ring keeps of them.
    sums = units(x, fraction) @ units(w, fraction) + units(b, 2 * fraction)
    half = 2.0 ** (bits - 1)
    wrapped = np.mod(sums + half, 2 * half) - half
    return np.ldexp(np.floor(np.ldexp(wrapped, -fraction)), -fraction)
