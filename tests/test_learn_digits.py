"""Gradients of sums over many records keep their digits: against the clear gradient, over losses drawn at random.

The clear gradient is taken by the complex step, f'(x) = Im f(x + ih) / h, which is exact to float64: W. Squire and
G. Trapp, Using Complex Variables to Estimate Derivatives of Real Functions, SIAM Review 40, 1998.

Sums of up to 10^6 records are of few records that are repeated, so that functions are taken of few. With every record
its own, and so functions of 10^6, the losses of `SUMS` ran by hand once: see docs/learning.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import quorate as qr
from protocols import USUAL, Place, among
from quorate.learn import gradient

Terms = Callable[[Any, Any, Any], Any]

# Records by hand, each its own.
LARGEST = int(os.environ.get("QUORATE_RECORDS", "0"))


class Clear:
    """The functions of a program on numpy's arrays of complex numbers."""

    exp, log, sqrt, tanh = np.exp, np.log, np.sqrt, np.tanh

    @staticmethod
    def sigmoid(x: Any) -> Any:
        return 1 / (1 + np.exp(-x))

    @staticmethod
    def rsqrt(x: Any) -> Any:
        return 1 / np.sqrt(x)

    @staticmethod
    def reciprocal(x: Any) -> Any:
        return 1 / x

    @staticmethod
    def clip(x: Any, low: float, high: float) -> Any:
        return np.where(x.real < low, low, np.where(x.real > high, high, x))


class Secret:
    """The functions of a program on secret arrays."""

    exp, log, sqrt, tanh, sigmoid, rsqrt, reciprocal = (
        qr.exp,
        qr.log,
        qr.sqrt,
        qr.tanh,
        qr.sigmoid,
        qr.rsqrt,
        qr.reciprocal,
    )

    @staticmethod
    def clip(x: Any, low: float, high: float) -> Any:
        return x.clip(low, high)


# Of each record: above 0, so that sums have logarithms and roots. `z` is a score, `t` a weight from 0.5 to 1.5.
POSITIVE: dict[str, Terms] = {
    "exp": lambda f, z, t: f.exp(z),
    "squares": lambda f, z, t: z * z + 0.25,
    "sigmoid": lambda f, z, t: f.sigmoid(z),
    "softplus": lambda f, z, t: f.clip(f.log(f.exp(z) + 1.0), 0.01, 5),
    "tanh": lambda f, z, t: f.tanh(z) + 1.5,
    "weighed": lambda f, z, t: f.exp(z) * t,
    "inverse": lambda f, z, t: t / (z * z + 1.0),
    "roots": lambda f, z, t: f.sqrt(z * z + 1.0),
}
ANY: dict[str, Terms] = {
    **POSITIVE,
    "score": lambda f, z, t: z,
    "products": lambda f, z, t: z * t,
    "cubes": lambda f, z, t: z * z * z,
}

# Of sums over all records: p and q are positive, s is any.
WHOLE: dict[str, Callable[..., Any]] = {
    "log": lambda f, p, q, s: f.log(p),
    "ratio": lambda f, p, q, s: s / p,
    "root": lambda f, p, q, s: f.sqrt(p),
    "root of a ratio": lambda f, p, q, s: f.sqrt(p / q),
    "over a norm": lambda f, p, q, s: s / f.sqrt(p),
    "log of a ratio": lambda f, p, q, s: f.log(p / q) * 0.7,
    "inverse root": lambda f, p, q, s: f.rsqrt(p) * s,
    "inverse": lambda f, p, q, s: f.reciprocal(p) * s,
    "difference": lambda f, p, q, s: f.log(p) - 0.5 * f.log(q),
    "product": lambda f, p, q, s: f.log(p) * f.log(q),
    "ratio and penalty": lambda f, p, q, s: s / p + f.log(q),
}


class Loss:
    """A loss drawn at random."""

    def __init__(self, rng: np.random.Generator, records: int, own: bool = False) -> None:
        few = records if own else min(records, 64)
        self.x = (rng.normal(size=(few, 2)) + rng.uniform(-0.5, 0.5, 2)).clip(-4, 4)
        self.t = rng.uniform(0.5, 1.5, few)
        self.w = rng.uniform(-1, 1, 2)
        self.places = None if own else rng.integers(0, few, records)
        positive, any_ = list(POSITIVE), list(ANY)
        self.terms = [str(rng.choice(positive)), str(rng.choice(positive)), str(rng.choice(any_))]
        self.whole = str(rng.choice(list(WHOLE)))

    def __repr__(self) -> str:
        records = len(self.x) if self.places is None else len(self.places)
        return f"{self.whole} of {', '.join(self.terms)}, {records} records"

    def __call__(self, f: Any, x: Any, t: Any, w: Any) -> Any:
        z, t = f.clip(x @ w, -4, 4), f.clip(t, 0.5, 1.5)
        made = {name: {**POSITIVE, **ANY}[name](f, z, t) for name in self.terms}
        sums = [(h if self.places is None else h[self.places]).sum() for h in (made[name] for name in self.terms)]
        return WHOLE[self.whole](f, *sums)


def clear(loss: Callable[..., Any], x: np.ndarray, t: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The gradient by w, in the clear."""
    found = np.zeros(len(w))
    for place in range(len(w)):
        moved = w.astype(complex)
        moved[place] += 1e-40j
        found[place] = loss(Clear, x.astype(complex), t.astype(complex), moved).imag / 1e-40
    return found


def check(mpc: qr.Session, loss: Any) -> None:
    x, t = mpc.input(loss.x, owner=0, bound=4), mpc.input(loss.t, owner=0, bound=1.5)
    w = mpc.input(loss.w, owner=1, bound=1)
    wanted = clear(loss, loss.x, loss.t, loss.w)
    [found] = gradient(loss(Secret, x, t, w), [w])
    off = np.abs(found.reveal() - wanted).max()
    assert off < 1e-3 * np.abs(wanted).max() + 2**-14, (loss, found.reveal(), wanted)
