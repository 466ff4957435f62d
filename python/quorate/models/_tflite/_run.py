"""The program of a planned network over secret arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import quorate
from quorate import nn
from quorate._arrays._proven_ranges import between, stated
from quorate.models._tflite._layers import SCALED, WEIGHTED, column, reshaped
from quorate.models._tflite._plan import Plan, Secret


class Owned:
    """The secrets of a model in a session: shared at their first use, and held as long as the model is."""

    def __init__(self, mpc: Any, model: Any, plan: Plan | None, owner: int) -> None:
        self.plan, self._mpc, self._owner = plan, mpc, owner
        self._kept: dict[str, Any] = mpc._object_cache.of(model, owner)

    def secret(self, place: int) -> Secret:
        """Returns the secrets of a step; none at parties other than the owner."""
        return Secret() if self.plan is None else self.plan.secrets[place]

    def input(self, name: str, values: Any, shape: tuple[int, ...], dtype: Any, bound: float) -> Any:
        """Returns a secret array by its name; inputs it at its first use."""
        if name not in self._kept:
            given = self._mpc.input(values, owner=self._owner, shape=shape, dtype=dtype, bound=bound)
            self._kept[name] = given.as_factor() if name.startswith("weights") else given
        return self._kept[name]


def run(mpc: Any, mode: str, steps: Sequence[dict[str, Any]], owned: Owned, x: Any) -> list[Any]:
    """Returns the input, and the result of every step."""
    ends = _ends(steps, owned)
    arrays = [x]
    for place, step in enumerate(steps):
        given = [arrays[i] for i in step.get("inputs", [place])]
        arrays.append(_step(mpc, mode, step, given, _At(place, owned, next(ends) if _has(step) else None)))
    return arrays


@dataclasses.dataclass
class _At:
    """The secrets of one step, by name."""

    place: int
    owned: Owned
    ends: Any
    """The number that is added to its operand, and the bound on its results."""

    def input(self, name: str, shape: tuple[int, ...], dtype: Any, bits: int) -> Any:
        """Inputs a field of `Secret`, at most 2^bits in magnitude; fixed point is given in units."""
        values = getattr(self.owned.secret(self.place), name) if self.owned.plan is not None else None
        if values is not None and dtype.frac:
            values = np.ldexp(np.asarray(values, np.float64), -dtype.frac)
        bound = 2.0 ** (bits - dtype.frac) if dtype.frac else 1 << bits
        return self.owned.input(f"{name} {self.place}", values, shape, dtype, bound)


def _has(step: dict[str, Any]) -> bool:
    return step["kind"] in SCALED


def _ends(steps: Sequence[dict[str, Any]], owned: Owned) -> Iterator[Any]:
    """Yields the ends of all layers with weights, input in the widest of their rings."""
    places = [place for place, step in enumerate(steps) if _has(step)]
    if not places:
        return
    given = None
    if owned.plan is not None:
        given = np.array([[owned.secret(p).start, owned.secret(p).width] for p in places], np.int64)
    dtype = quorate.int(max(steps[p]["wide"] for p in places))
    most = max(max(steps[p]["start"], steps[p]["level"]) for p in places)
    both = owned.input("ends", given, (len(places), 2), dtype, 1 << most)
    for row, place in enumerate(places):
        step = steps[place]
        start, width = both[row, 0].astype(quorate.int(step["wide"])), both[row, 1]
        yield start, between(width.astype(quorate.int(step["ring"] - step["down"])), 0, (1 << step["level"]) - 1)


def _step(mpc: Any, mode: str, step: dict[str, Any], given: Sequence[Any], at: _At) -> Any:
    kind, x = step["kind"], given[0]
    if kind == "add":
        return _added(mpc, mode, step, given, at)
    if kind in WEIGHTED:
        return _weighted(mpc, mode, step, x, at)
    if kind == "avg_pool":
        return _averaged(step, x, at)
    if kind == "max_pool":
        return nn.max_pool2d(x, tuple(step["size"]), tuple(step["stride"]), _pairs(step["pads"]))
    return reshaped(x, step)


def _pairs(pads: Any) -> Any:
    return tuple(map(tuple, pads))


def _weighted(mpc: Any, mode: str, step: dict[str, Any], x: Any, at: _At) -> Any:
    shape, count = tuple(step["weights"]), (step["weights"][0],)
    wide = quorate.int(step["wide"])
    given = wide if mode == "exact" else quorate.fixed(step["wide"], step["down"])
    w = at.input("weights", shape, given, step["width"])
    x = stated(x.astype(wide) + at.ends[0], step["start"])
    if step["kind"] == "conv":
        stride, dilation = tuple(step["stride"]), tuple(step["dilation"])
        made = nn.conv2d(x, w, stride=stride, dilation=dilation, padding=_pairs(step["pads"]), groups=step["groups"])
    else:
        made = nn.linear(x, w)
    return _scaled(mpc, mode, step, made, count, at)


def _added(mpc: Any, mode: str, step: dict[str, Any], given: Sequence[Any], at: _At) -> Any:
    """Adds multiples of both arrays by secret numbers, as a product of matrices: one opening for each sum."""
    wide = quorate.int(step["wide"])
    dtype = wide if mode == "exact" else quorate.fixed(step["wide"], step["down"])
    w = at.input("weights", (2, 1), dtype, step["width"])
    if "first" in step:
        both = _multiples(mpc, step["first"], given, at).astype(wide)
    else:
        both = mpc.stack([x.astype(wide).reshape(-1) for x in given], axis=1)
    return _scaled(mpc, mode, step, (both @ w).reshape(*given[0].shape), (1,), at)


def _multiples(mpc: Any, first: dict[str, Any], given: Sequence[Any], at: _At) -> Any:
    """Returns both arrays, scaled and rounded, (elements, 2)."""
    wide, ends = quorate.int(first["wide"]), (-(1 << (first["ring"] - 1)), (1 << (first["ring"] - 1)) - 1)

    def secret(name: str, bits: str) -> Any:
        return at.input(f"first_{name}", (2,), wide, first[bits])

    both = mpc.stack([x.astype(wide).reshape(-1) for x in given], axis=1)
    made = both * secret("weights", "width") + secret("offsets", "plus")
    if first["turns"]:
        made = made + mpc.where(between(made, *ends) < 0, secret("below", "plus"), secret("above", "plus"))
    return _shifted(between(made, *ends).astype(quorate.int(first["ring"])), first)


def _scaled(mpc: Any, mode: str, step: dict[str, Any], made: Any, count: tuple[int, ...], at: _At) -> Any:
    """Adds offsets to sums, divides and clamps them."""
    given = quorate.int(step["wide"]) if mode == "exact" else quorate.fixed(step["wide"], step["down"])
    made = made + column(at.input("offsets", count, given, step["plus"]), made.ndim)
    ends = (-(1 << (step["ring"] - 1)), (1 << (step["ring"] - 1)) - 1)
    if mode == "paper":
        made = _rounded(mpc, stated(made, step["ring"] - 2), step)
    else:
        if step["turns"]:
            below, above = (
                column(at.input(name, count, given, step["plus"]), made.ndim) for name in ("below", "above")
            )
            made = made + mpc.where(between(made, *ends) < 0, below, above)
        made = _shifted(between(made, *ends).astype(quorate.int(step["ring"])), step)
    return between(mpc.minimum(mpc.maximum(made, 0), at.ends[1]), 0, (1 << step["level"]) - 1)


def _rounded(mpc: Any, x: Any, step: dict[str, Any]) -> Any:
    """Drops the fractional bits of fixed point as the session truncates: downwards, or either way."""
    ring, down = step["ring"], step["down"]
    if mpc._options.trunc != "probabilistic":
        x = x + 0.5  # so that results have no bias downwards
    whole = x.astype(quorate.fixed(ring, down)).astype(quorate.fixed(ring, 0))
    return whole.astype(quorate.int(ring - down))


def _shifted(x: Any, step: dict[str, Any]) -> Any:
    """Shifts x right, and returns it in the bits that are left."""
    return (x >> step["down"]).astype(quorate.int(step["ring"] - step["down"]))


def _averaged(step: dict[str, Any], x: Any, at: _At) -> Any:
    wide, times = quorate.int(step["wide"]), np.asarray(step["times"], np.int64)
    b = at.input("offsets", times.shape, wide, step["plus"])
    window = np.ones((x.shape[1], 1, *step["size"]), np.int64)
    stride = tuple(step["stride"])
    sums = nn.conv2d(x.astype(wide), window, stride=stride, padding=_pairs(step["pads"]), groups=x.shape[1])
    made = between(sums * times + b, 0, (2 << step["level"] + step["down"]) - 1)
    return between(_shifted(made.astype(quorate.int(step["ring"])), step), 0, (1 << step["level"]) - 1)
