"""A planned network over secret arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import quorate
from quorate import nn
from quorate.models._layers._stated import between, stated
from quorate.models._tflite._layers import WEIGHTED, column, reshaped
from quorate.models._tflite._plan import Secret


def run(
    mpc: Any, mode: str, steps: Sequence[dict[str, Any]], secrets: Sequence[Secret] | None, x: Any, owner: int
) -> list[Any]:
    """What every step makes, behind the input."""
    scalars = _Scalars(mpc, steps, secrets, owner)
    arrays = [x]
    for place, step in enumerate(steps):
        secret = None if secrets is None else secrets[place]
        arrays.append(_step(mpc, mode, step, arrays[-1], secret, scalars))
    return arrays


class _Scalars:
    """Of all layers with weights: what is added to their operands, and how large their results may be."""

    def __init__(self, mpc: Any, steps: Sequence[dict[str, Any]], secrets: Any, owner: int) -> None:
        self.owner = owner
        places = [place for place, step in enumerate(steps) if step["kind"] in WEIGHTED]
        both = None
        if secrets is not None:
            both = np.array([[secrets[p].start, secrets[p].width] for p in places], np.int64).reshape(-1, 2)
        dtype = quorate.int(max([steps[place]["wide"] for place in places], default=10))
        most = max([max(steps[p]["start"], steps[p]["level"]) for p in places], default=1)
        both = mpc.input(both, owner=owner, shape=(len(places), 2), dtype=dtype, bound=1 << most)
        self._rest = iter([(both[i, 0], both[i, 1]) for i in range(len(places))])

    def next(self, step: dict[str, Any]) -> tuple[Any, Any]:
        """Those of the next layer, in the rings in which it takes and gives numbers."""
        start, width = next(self._rest)
        width = width.astype(quorate.int(step["ring"] - step["down"]))
        return start.astype(quorate.int(step["wide"])), between(width, 0, 1 << step["level"])


def _step(mpc: Any, mode: str, step: dict[str, Any], x: Any, secret: Secret | None, scalars: _Scalars) -> Any:
    kind = step["kind"]
    if kind in WEIGHTED:
        return _weighted(mpc, mode, step, x, secret, scalars)
    if kind == "avg_pool":
        return _averaged(mpc, step, x, secret, scalars.owner)
    if kind == "max_pool":
        return nn.max_pool2d(x, tuple(step["size"]), tuple(step["stride"]), _pairs(step["pads"]))
    return reshaped(x, step["shape"])


def _pairs(pads: Any) -> Any:
    return tuple(map(tuple, pads))


def _weighted(mpc: Any, mode: str, step: dict[str, Any], x: Any, secret: Secret | None, scalars: _Scalars) -> Any:
    wide, shape, down = quorate.int(step["wide"]), tuple(step["weights"]), step["down"]
    secret = secret or Secret()

    def given(values: Any, shape: tuple[int, ...], bits: int) -> Any:
        if mode == "exact":
            return mpc.input(values, owner=scalars.owner, shape=shape, dtype=wide, bound=1 << bits)
        reals = None if values is None else np.ldexp(np.asarray(values, np.float64), -down)
        dtype = quorate.fixed(step["wide"], down)
        return mpc.input(reals, owner=scalars.owner, shape=shape, dtype=dtype, bound=2.0 ** (bits - down))

    w = given(secret.weights, shape, step["width"])
    start, width = scalars.next(step)
    x = stated(x.astype(wide) + start, step["start"])
    if step["kind"] == "conv":
        stride, dilation = tuple(step["stride"]), tuple(step["dilation"])
        made = nn.conv2d(x, w, stride=stride, dilation=dilation, padding=_pairs(step["pads"]), groups=step["groups"])
    else:
        made = x @ w.T
    made = made + column(given(secret.offsets, shape[:1], step["plus"]), made.ndim)
    ends = (-(1 << (step["ring"] - 1)), (1 << (step["ring"] - 1)) - 1)
    if mode == "paper":
        made = _rounded(mpc, stated(made, step["ring"] - 2), step)
    else:
        if step["turns"]:
            below, above = (column(given(c, shape[:1], step["plus"]), made.ndim) for c in (secret.below, secret.above))
            made = made + mpc.where(between(made, *ends) < 0, below, above)
        made = _shifted(between(made, *ends).astype(quorate.int(step["ring"])), step)
    return between(mpc.minimum(mpc.maximum(made, 0), width), 0, 1 << step["level"])


def _rounded(mpc: Any, x: Any, step: dict[str, Any]) -> Any:
    """Fixed point without its fractional bits, which the session cuts as it cuts all: downwards, or either way."""
    ring, down = step["ring"], step["down"]
    if mpc._options.trunc != "probabilistic":
        x = x + 0.5  # so that results are no lower on average
    whole = x.astype(quorate.fixed(ring, down)).astype(quorate.fixed(ring, 0))
    return whole.astype(quorate.int(ring - down))


def _shifted(x: Any, step: dict[str, Any]) -> Any:
    """X without its lowest bits, in as many as are left."""
    return (x >> step["down"]).astype(quorate.int(step["ring"] - step["down"]))


def _averaged(mpc: Any, step: dict[str, Any], x: Any, secret: Secret | None, owner: int) -> Any:
    wide, times = quorate.int(step["wide"]), np.asarray(step["times"], np.int64)
    offsets = None if secret is None else secret.offsets
    b = mpc.input(offsets, owner=owner, shape=times.shape, dtype=wide, bound=1 << step["plus"])
    window = np.ones((x.shape[1], 1, *step["size"]), np.int64)
    stride = tuple(step["stride"])
    sums = nn.conv2d(x.astype(wide), window, stride=stride, padding=_pairs(step["pads"]), groups=x.shape[1])
    made = between(sums * times + b, 0, (2 << step["level"] + step["down"]) - 1)
    return between(_shifted(made.astype(quorate.int(step["ring"])), step), 0, 1 << step["level"])
