"""numpy's functions on secrets: each supported one, against numpy on every protocol; the table of all in the docs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate as qr
from protocols import FORMS, USUAL, Place, among, stated
from quorate._numpy._functions import FUNCTIONS, UFUNCS
from quorate._numpy._unsupported import instead

DOCS = Path(__file__).resolve().parent.parent / "docs" / "numpy.md"
TABLE = re.compile(r"\| function \|.*\n\|---.*\n(?:\|.*\n)+")

# Whole numbers of both signs with equal ones among them, multiples of 1/4, positive ones, and bits.
WHOLE = (np.arange(12) * 7 % 11 - 5).reshape(3, 4)
REAL = (np.arange(12) * 5 % 13 - 6).reshape(3, 4) / 4
ABOVE = np.array([[0.25, 1.0, 2.5, 4.0]])
BITS = WHOLE > 0
# Small whole numbers with a stated bound, a matrix that can be inverted, and numbers of groups.
SMALL = WHOLE[:, :3]
GROUPS = np.arange(12) * 5 % 11 % 4
GIVEN = {"i": WHOLE, "r": REAL, "p": ABOVE, "b": BITS, "s": SMALL, "k": GROUPS, "q": REAL[:, 1:]}
STATED: dict[str, dict[str, Any]] = {"s": {"bound": 5}, "k": {"dtype": qr.uint(2)}, "q": {"bound": 2}}

Case = Callable[[Any], Any]

CASES: dict[Any, list[Case]] = {
    np.add: [lambda v: np.add(WHOLE, v.i), lambda v: np.add.reduce(v.i), lambda v: np.float64(2) + v.r],
    np.subtract: [lambda v: np.subtract(WHOLE[0], v.i), lambda v: WHOLE - v.i],
    np.multiply: [
        lambda v: np.multiply(REAL, v.r),
        lambda v: np.multiply.reduce(v.i, axis=1),
        lambda v: v.i * 0.5,
    ],
    np.true_divide: [
        lambda v: np.divide(v.r, 4),
        lambda v: np.true_divide(REAL, v.p),
        lambda v: v.s / 3,
        lambda v: WHOLE / np.maximum(v.k.reshape(3, 4), 1),
        lambda v: v.b / 2,
    ],
    np.floor_divide: [lambda v: np.floor_divide(v.i, 3)],
    np.remainder: [lambda v: np.mod(v.i, 3)],
    np.divmod: [lambda v: np.divmod(v.i, 4)],
    np.power: [lambda v: np.power(v.i, 3), lambda v: v.i**0, lambda v: v.i**5],
    np.square: [lambda v: np.square(v.r)],
    np.negative: [lambda v: np.negative(v.i)],
    np.positive: [lambda v: np.positive(v.i)],
    np.absolute: [lambda v: np.abs(v.i)],
    np.fabs: [lambda v: np.fabs(v.r)],
    np.sign: [lambda v: np.sign(v.i), lambda v: np.sign(v.r)],
    np.less: [lambda v: np.less(v.i, 1), lambda v: np.less(WHOLE[::-1], v.i)],
    np.less_equal: [lambda v: np.less_equal(WHOLE[::-1], v.i)],
    np.greater: [lambda v: np.greater(WHOLE[::-1], v.i), lambda v: np.greater(v.i, 1)],
    np.greater_equal: [lambda v: np.greater_equal(WHOLE[::-1], v.i)],
    np.equal: [lambda v: np.equal(WHOLE[::-1], v.i)],
    np.not_equal: [lambda v: np.not_equal(v.i, WHOLE[::-1])],
    np.bitwise_and: [lambda v: np.bitwise_and(v.b, BITS[::-1])],
    np.bitwise_or: [lambda v: np.bitwise_or(BITS[::-1], v.b)],
    np.bitwise_xor: [lambda v: np.bitwise_xor(v.b, BITS[::-1])],
    np.invert: [lambda v: np.invert(v.b)],
    np.left_shift: [lambda v: np.left_shift(v.i, 2)],
    np.right_shift: [lambda v: np.right_shift(v.i, 1)],
    np.logical_and: [lambda v: np.logical_and(v.i, WHOLE[::-1]), lambda v: np.logical_and.reduce(v.b)],
    np.logical_or: [lambda v: np.logical_or(WHOLE[::-1], v.i), lambda v: np.logical_or.reduce(v.b)],
    np.logical_xor: [lambda v: np.logical_xor(v.i, v.b)],
    np.logical_not: [lambda v: np.logical_not(v.i)],
    np.maximum: [lambda v: np.maximum(v.i, 1), lambda v: np.maximum.reduce(v.i)],
    np.minimum: [lambda v: np.minimum(WHOLE[::-1], v.i), lambda v: np.minimum.reduce(v.i)],
    np.fmax: [lambda v: np.fmax(v.r, 0)],
    np.fmin: [lambda v: np.fmin(0.5, v.r)],
    np.matmul: [lambda v: np.matmul(WHOLE.T, v.i), lambda v: WHOLE.T @ v.i, lambda v: v.i @ v.i.T],
    np.exp: [lambda v: np.exp(v.r)],
    np.log: [lambda v: np.log(v.p)],
    np.sqrt: [lambda v: np.sqrt(v.p)],
    np.tanh: [lambda v: np.tanh(v.r)],
    np.reciprocal: [lambda v: np.reciprocal(v.p)],
    np.rint: [lambda v: np.rint(v.r)],
    np.floor: [lambda v: np.floor(v.r)],
    np.ceil: [lambda v: np.ceil(v.r)],
    np.trunc: [lambda v: np.trunc(v.r)],
    np.isnan: [lambda v: np.isnan(v.r)],
    np.isinf: [lambda v: np.isinf(v.r)],
    np.isfinite: [lambda v: np.isfinite(v.r)],
    np.signbit: [lambda v: np.signbit(v.r)],
    np.sum: [
        lambda v: np.sum(v.i),
        lambda v: np.sum(v.r, axis=(0, 1), keepdims=True),
        lambda v: v.i.sum(axis=(1,)),
        lambda v: np.sum(v.i, axis=1, where=v.b, initial=3),
        lambda v: np.add.reduce(v.i, where=BITS, initial=-1),
    ],
    np.prod: [
        lambda v: np.prod(v.i, axis=0),
        lambda v: np.prod(v.i[:0], axis=0),
        lambda v: np.prod(v.b),
        lambda v: np.prod(v.i, axis=1, initial=2, where=BITS),
    ],
    np.mean: [
        lambda v: np.mean(v.r, 1),
        lambda v: np.mean(v.r, axis=(0, 1)),
        lambda v: np.mean(v.i, axis=-1, keepdims=True),
        lambda v: np.mean(v.s, axis=(0, 1)),
        lambda v: np.mean(v.b),
    ],
    np.var: [
        lambda v: np.var(v.r),
        lambda v: np.var(v.r, axis=1, ddof=1, keepdims=True),
        lambda v: np.var(v.s, axis=(0, 1), keepdims=True),
        lambda v: np.var(v.k, ddof=1),
        lambda v: np.var(v.i, axis=0),
    ],
    np.std: [
        lambda v: np.std(v.r, axis=0),
        lambda v: np.std(v.s, axis=0, ddof=1),
        lambda v: np.std(v.q / 512, axis=(0, 1)),
        lambda v: np.std(v.i, axis=1),
        lambda v: np.std(v.b),
    ],
    np.cov: [
        lambda v: np.cov(v.r),
        lambda v: np.cov(v.s, rowvar=False),
        lambda v: np.cov(v.s[0], v.s[1], ddof=0),
        lambda v: np.cov(v.s[0], SMALL[1] / 2, bias=True),
        lambda v: np.cov(v.k),
        lambda v: np.cov(v.i),
    ],
    np.corrcoef: [lambda v: np.corrcoef(v.r), lambda v: np.corrcoef(v.s, SMALL[:1])],
    np.average: [
        lambda v: np.average(v.r, axis=1),
        lambda v: np.average(v.r, weights=ABOVE * np.ones((3, 1))),
        lambda v: np.average(v.r[:, :3], axis=0, weights=[1.0, 2.0, 4.0]),
        lambda v: np.average(v.r, axis=-1, weights=v.p[0]),
        lambda v: np.average(v.i[0], weights=[1e-6, 2e-6, 3e-6, 0]),
        lambda v: np.average(v.r, axis=0, weights=[1e-9, 2e9, 1e9 / 3]),
        lambda v: np.average(v.i, axis=1, weights=np.sqrt(np.arange(12)).reshape(3, 4), keepdims=True),
        lambda v: np.average(v.s, axis=(0, 1), weights=np.arange(9).reshape(3, 3) - 2),
        lambda v: np.average(v.b, weights=np.ones((3, 4), bool)),
    ],
    np.cumprod: [lambda v: np.cumprod(v.i, axis=1)],
    np.cumsum: [lambda v: np.cumsum(v.i, axis=1)],
    np.count_nonzero: [lambda v: np.count_nonzero(v.i), lambda v: np.count_nonzero(v.b, axis=0)],
    np.quantile: [
        lambda v: np.quantile(v.r, [0.1, 0.5], axis=1),
        lambda v: np.quantile(v.r, 1.0, keepdims=True),
        lambda v: np.quantile(v.r, [[0.1, 0.5], [0.2, 1]], axis=0),
        lambda v: np.quantile(v.i, [0, 0.3], axis=0),
        lambda v: np.quantile(v.i, [0, 0.3], axis=(1, 0), keepdims=True, method="linear"),
        lambda v: np.quantile(np.reshape(v.r, (3, 2, 2)), 0.3, axis=(0, -1)),
    ],
    np.percentile: [lambda v: np.percentile(v.r, 75)],
    np.round: [lambda v: np.round(v.r)],
    np.around: [lambda v: np.around(v.r)],
    np.clip: [lambda v: np.clip(v.i, -2, 3), lambda v: np.clip(v.r, None, 0.5)],
    np.where: [lambda v: np.where(v.b, v.i, 0), lambda v: np.where(BITS, v.i, WHOLE[0])],
    np.reshape: [lambda v: np.reshape(v.i, (4, -1))],
    np.dot: [
        lambda v: np.dot(v.i[0], WHOLE[1]),
        lambda v: np.dot(WHOLE, v.i[1]),
        lambda v: np.dot(WHOLE[0], v.i[1]),
        lambda v: np.dot(WHOLE, np.reshape(v.i, (1, 4, 3))),
        lambda v: np.dot(np.reshape(v.i, (1, 3, 4)), WHOLE.T),
        lambda v: np.dot(3, v.i),
    ],
    np.inner: [lambda v: np.inner(v.i, WHOLE), lambda v: np.inner(WHOLE[0], v.i[2])],
    np.outer: [lambda v: np.outer(v.i[0], v.i[1]), lambda v: np.outer(WHOLE[:2], v.i[2])],
    np.tensordot: [
        lambda v: np.tensordot(v.i, WHOLE, ([0, 1], [0, 1])),
        lambda v: np.tensordot(WHOLE.T, v.i, np.int64(1)),
    ],
    np.vdot: [lambda v: np.vdot(v.i, WHOLE)],
    np.diff: [lambda v: np.diff(v.i), lambda v: np.diff(v.i, n=2, axis=0)],
    np.take: [lambda v: np.take(v.i, [3, 0], axis=1)],
    np.append: [lambda v: np.append(v.i, [1, 2]), lambda v: np.append(WHOLE, v.i, axis=0)],
    np.concatenate: [lambda v: np.concatenate([v.i, WHOLE], axis=1), lambda v: np.concatenate([WHOLE, v.i], axis=None)],
    np.stack: [lambda v: np.stack([v.i, WHOLE], axis=1)],
    np.zeros_like: [lambda v: np.zeros_like(v.i)],
    np.ones_like: [lambda v: np.ones_like(v.r)],
    np.full_like: [lambda v: np.full_like(v.i, 7), lambda v: np.full_like(v.i, v.i[0, 0])],
    np.array_equal: [lambda v: np.array_equal(v.i, WHOLE), lambda v: np.array_equal(WHOLE, v.i + 1)],
    np.nan_to_num: [lambda v: np.nan_to_num(v.r)],
    np.copy: [lambda v: np.copy(v.i)],
    np.shape: [lambda v: np.shape(v.i)],
    np.ndim: [lambda v: np.ndim(v.i)],
    np.size: [lambda v: np.size(v.i), lambda v: np.size(v.i, 1), lambda v: np.size(v.i, (0, 1))],
    np.nansum: [lambda v: np.nansum(v.i, axis=0)],
    np.nanprod: [lambda v: np.nanprod(v.i, axis=0)],
    np.nanmean: [lambda v: np.nanmean(v.r)],
    np.nanvar: [lambda v: np.nanvar(v.r)],
    np.nanstd: [lambda v: np.nanstd(v.r)],
    np.nancumprod: [lambda v: np.nancumprod(v.i[0])],
    np.nancumsum: [lambda v: np.nancumsum(v.i)],
    np.nanquantile: [lambda v: np.nanquantile(v.r, 0.25)],
    np.nanpercentile: [lambda v: np.nanpercentile(v.r, 25)],
    np.max: [lambda v: np.max(v.i, axis=(0, 1)), lambda v: np.max(v.b, axis=0)],
    np.min: [lambda v: np.min(v.i, 1), lambda v: np.min(v.b, axis=1, keepdims=True)],
    np.amax: [lambda v: np.amax(v.r)],
    np.amin: [lambda v: np.amin(v.r)],
    np.argmax: [lambda v: np.argmax(v.i, axis=1)],
    np.argmin: [lambda v: np.argmin(v.i)],
    np.any: [lambda v: np.any(v.b, axis=1), lambda v: np.any(v.i), lambda v: np.any(v.i[:0], axis=0)],
    np.all: [lambda v: np.all(v.b, axis=0), lambda v: np.all(v.i, axis=(0, 1)), lambda v: np.all(v.i[:0])],
    np.ptp: [lambda v: np.ptp(v.i, axis=1)],
    np.median: [
        lambda v: np.median(v.r),
        lambda v: np.median(v.r, axis=0),
        lambda v: np.median(v.i),
        lambda v: np.median(v.r, axis=(0, 1), overwrite_input=False, keepdims=True),
    ],
    np.sort: [
        lambda v: np.sort(v.i, kind="mergesort"),
        lambda v: np.sort(v.i, axis=None),
        lambda v: np.sort(a=v.s, axis=0),
    ],
    np.argsort: [lambda v: np.argsort(v.r[:, 0]), lambda v: np.argsort(v.k, kind="stable")],
    # Elements on one side of a place have no order; the element at the place has one.
    np.partition: [
        lambda v: np.partition(v.s, 1)[:, 1],
        lambda v: np.partition(v.s, -1, axis=0)[-1],
        lambda v: np.sort(np.partition(v.k, (2, 5), axis=None)[:6]),
    ],
    np.argpartition: [lambda v: np.argpartition(np.arange(4) * v.s[0, 1], 1)[1]],
    np.bincount: [
        lambda v: np.bincount(v.k, minlength=4),
        lambda v: np.bincount(v.k, v.r.reshape(-1), minlength=4),
        lambda v: np.bincount(GROUPS, weights=v.i.reshape(-1), minlength=4),
        lambda v: np.bincount(v.k, WHOLE.reshape(-1), minlength=6),
    ],
    np.histogram: [
        lambda v: np.histogram(v.s, [-5, -0.5, 0, 4]),
        lambda v: np.histogram(v.r, 3, (-1, 1)),
        lambda v: np.histogram(v.r, [0.1, 0.25, np.inf], weights=v.i),
        lambda v: np.histogram(WHOLE, [-1, 1, 5], weights=v.r),
    ],
    np.digitize: [
        lambda v: np.digitize(v.s, [-2.5, 0, 4]),
        lambda v: np.digitize(v.r, [1, 0.25, -1.1], right=True),
    ],
    np.searchsorted: [
        lambda v: np.searchsorted([-2, 0, 0, 1], v.s),
        lambda v: np.searchsorted(np.sort(v.s[0]), SMALL[1], side="right"),
    ],
    np.linalg.det: [lambda v: np.linalg.det(v.s), lambda v: np.linalg.det(v.q)],
    np.linalg.inv: [lambda v: np.linalg.inv(v.s)],
    np.linalg.solve: [
        lambda v: np.linalg.solve(v.s, SMALL[::-1]),
        lambda v: np.linalg.solve(SMALL, v.s[0]),
    ],
    np.ravel: [lambda v: np.ravel(v.i)],
    np.trace: [lambda v: np.trace(v.i, 1)],
    np.squeeze: [lambda v: np.squeeze(v.p), lambda v: np.squeeze(v.p, axis=0), lambda v: np.squeeze(v.p[0, 0])],
    np.swapaxes: [lambda v: np.swapaxes(v.i, 0, 1), lambda v: np.swapaxes(v.i.reshape(2, 2, 3), -1, 0)],
    np.repeat: [lambda v: np.repeat(v.i, 2), lambda v: np.repeat(v.i, [1, 0, 2], axis=0)],
    np.diagonal: [lambda v: np.diagonal(v.i, -1)],
    np.transpose: [
        lambda v: np.transpose(v.i),
        lambda v: np.transpose(v.i, (1, 0)),
        lambda v: np.transpose(v.i, axes=(1, 0)),
    ],
    np.nanmax: [lambda v: np.nanmax(v.i)],
    np.nanmin: [lambda v: np.nanmin(v.i)],
    np.nanargmax: [lambda v: np.nanargmax(v.i)],
    np.nanargmin: [lambda v: np.nanargmin(v.i)],
    np.nanmedian: [lambda v: np.nanmedian(v.r)],
    np.array_split: [lambda v: np.array_split(v.i, 3, axis=1)],
    np.split: [lambda v: np.split(v.i, [1], axis=1)],
    np.hsplit: [lambda v: np.hsplit(v.i, 2)],
    np.vsplit: [lambda v: np.vsplit(v.i, 3)],
    np.dsplit: [lambda v: np.dsplit(np.reshape(v.i, (2, 3, 2)), 2)],
    np.atleast_1d: [lambda v: np.atleast_1d(v.i[0, 0])],
    np.atleast_2d: [lambda v: np.atleast_2d(v.i[0])],
    np.atleast_3d: [lambda v: np.atleast_3d(v.i)],
    np.broadcast_to: [lambda v: np.broadcast_to(v.i[0], (2, 4))],
    np.expand_dims: [lambda v: np.expand_dims(v.i, 1), lambda v: np.expand_dims(v.i, (0, -1))],
    np.moveaxis: [lambda v: np.moveaxis(v.i, 0, 1)],
    np.rollaxis: [lambda v: np.rollaxis(v.i, 1)],
    np.roll: [lambda v: np.roll(v.i, 2), lambda v: np.roll(v.i, 1, axis=1)],
    np.rot90: [lambda v: np.rot90(v.i)],
    np.flip: [lambda v: np.flip(v.i), lambda v: np.flip(v.i, axis=1)],
    np.fliplr: [lambda v: np.fliplr(v.i)],
    np.flipud: [lambda v: np.flipud(v.b)],
    np.delete: [lambda v: np.delete(v.i, 1, axis=0)],
    np.diag: [lambda v: np.diag(v.i), lambda v: np.diag(v.r[0]), lambda v: np.diag(v.b[0])],
    np.diagflat: [lambda v: np.diagflat(v.i[0], 1)],
    np.tril: [lambda v: np.tril(v.r)],
    np.triu: [lambda v: np.triu(v.i, 1)],
    np.pad: [
        lambda v: np.pad(v.i, 1),
        lambda v: np.pad(v.i, ((0, 1), (2, 0)), mode="edge"),
        lambda v: np.pad(v.r, 2, "reflect"),
        lambda v: np.pad(v.b, 2, mode="wrap"),
        lambda v: np.pad(v.i, 2, "symmetric"),
    ],
    np.resize: [lambda v: np.resize(v.i, (2, 3))],
    np.tile: [lambda v: np.tile(v.i, (2, 1))],
    np.vstack: [lambda v: np.vstack([v.i, WHOLE[0]])],
    np.hstack: [lambda v: np.hstack([WHOLE, v.i])],
    np.dstack: [lambda v: np.dstack([v.i, v.i])],
    np.column_stack: [lambda v: np.column_stack([v.i[0], WHOLE[1]])],
}

# The error of real functions and of quotients: 8 units of 2^-16.
CLOSE = 8 / 65536


class Values:
    """The arrays by name, secret or not."""

    def __init__(self, **arrays: Any) -> None:
        self.__dict__.update(arrays)

    i: Any
    r: Any
    p: Any
    b: Any
    s: Any
    k: Any
    q: Any


def parts(value: Any) -> list[Any]:
    """Returns the results of a function, one by one."""
    return list(value) if isinstance(value, (list, tuple)) and not isinstance(value, np.ndarray) else [value]


def test_every_function_that_works_has_cases() -> None:
    assert {*FUNCTIONS, *UFUNCS} == {*CASES}


@pytest.mark.parametrize("place", [*USUAL, *FORMS], ids=str)
def test_functions_give_what_numpy_gives(place: Place) -> None:
    plain = Values(**GIVEN)
    with among(place) as mpc:
        secret = Values(**{name: mpc.input(values, owner=0, **STATED.get(name, {})) for name, values in GIVEN.items()})
        results, wanted, names = [], [], []
        for function, cases in CASES.items():
            for at, case in enumerate(cases):
                for result, want in zip(parts(case(secret)), parts(case(plain)), strict=True):
                    if not isinstance(result, qr.SecretArray):
                        np.testing.assert_array_equal(result, want, function.__name__)
                        continue
                    results.append(result)
                    wanted.append(np.asarray(want))
                    names.append(f"{function.__name__} {at}")
                    assert result.shape == wanted[-1].shape, names[-1]
        for name, revealed, want in zip(names, mpc.reveal_all(*results), wanted, strict=True):
            np.testing.assert_allclose(
                np.asarray(revealed, float), np.asarray(want, float), atol=CLOSE, rtol=1e-4, err_msg=name
            )


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda x: np.sin(x), "a bounded argument can be looked up: qr.lookup"),
        (lambda x: np.nonzero(x), "would tell something of the secret"),
        (lambda x: np.linalg.svd(x), "not in this release"),
        (lambda x: np.where(x > 0), "three arguments"),
        (lambda x: np.max(x, initial=3), "numpy.max of secret arrays takes no initial=: np.maximum.result, v."),
        (lambda x: np.mean(x, where=BITS), r"takes no where=: mpc.where\(mask, x, v\)"),
        (lambda x: np.quantile(x, 0.5, method="lower"), "the method is 'linear', not 'lower': x.partition"),
        (lambda x: np.cov(x, fweights=[1, 2, 3, 4]), r"takes no fweights=: np.repeat\(x, fweights"),
        (lambda x: np.sum(x, 0, None, np.zeros(4)), "name the arguments, as in keepdims="),
        (lambda x: np.std(x, 0, None, None, 1), "name the arguments, as in ddof="),
        (lambda x: np.sum(x, out=np.zeros(4)), "use what is returned"),
        (lambda x: np.add(x, 1, out=np.zeros((3, 4))), "write x = x \\+ y"),
        (lambda x: np.add(x, 1, where=BITS), "takes no where"),
        (lambda x: np.minimum.reduce(x, initial=5), "numpy.minimum.reduce of secret arrays takes no initial="),
        (lambda x: np.maximum.reduce(x, where=BITS, initial=0), "takes no (where|initial)="),
        (lambda x: np.subtract.accumulate(x), "np.stack of x.0., f"),
        (lambda x: np.multiply.outer(x, x), "multiply.outer"),
        (lambda x: np.roll(x, x[0, 0]), "must be public"),
        (lambda x: np.split(x, 5, axis=1), "equal division.* shapes are \\(3, 4\\)"),
        (lambda x: np.pad(x, 1, mode="mean"), "numpy.pad of secret arrays takes mode='constant', 'edge'"),
        (lambda x: np.pad(x, 1, mode="reflect", reflect_type="odd"), "not odd reflection"),
        (lambda x: np.pad(x, 1, constant_values=7), "np.pad\\(x - v, width\\) \\+ v puts v"),
        (
            lambda x: np.pad(x, 1, mode="linear_ramp", end_values=3),
            "takes no end_values=: it takes mode, constant_values",
        ),
        (lambda x: np.average(x, axis=0, weights=[1, 2, 3, 4]), "fit neither the array"),
        (lambda x: np.average(x, weights=[1, 2, 3, 4]), "fit neither the array"),
        (lambda x: np.average(x, axis=1, weights=[1, -1, 2, -2]), "the weights add up to 0"),
        (lambda x: np.average(x, axis=1, weights=[1, np.inf, 2, 3]), "weights are finite numbers"),
        (lambda x: np.full_like(x, x[0, 0].astype(qr.fixed(64, 16))), "convert the value first"),
        (lambda x: np.full_like(WHOLE, x[0, 0]), "numpy.copyto does not take secret arrays"),
        (lambda x: np.diff(x > 0), "does not take bits"),
        (lambda x: np.diff(x, -1), "from 0 on"),
        (lambda x: np.diff(x[0, 0]), "is one of 0"),
        (lambda x: np.int64(1) << x, "a public whole number of bits"),
        (lambda x: WHOLE >> x, "a public whole number of bits"),
        (lambda x: x**0.5, "a whole number from 0 on, not 0.5"),
        (lambda x: 2**x, "a secret is no exponent"),
        (lambda x: np.sum(x, axis=(0, 0)), "do not exist, or repeat"),
        (lambda x: np.sum(x, axis=(0, 2)), "do not exist, or repeat"),
        (lambda x: np.corrcoef(x), "corrcoef: with 14[0-9] bits .* dtypes have up to 120: .*bound=.*dtype=qr.real"),
        (
            lambda x: np.linalg.solve(x[:, :3], x[:, 3]),
            "numpy.linalg.solve: 3 rows of .* bits, .* clip a and b to what the numbers can be, up to",
        ),
        (lambda x: np.linalg.inv(x), "one square matrix, not shape \\(3, 4\\)"),
        (lambda x: np.linalg.solve(x[:, :3], [1, 2]), "b is \\(3,\\) or \\(3, m\\)"),
        (lambda x: np.linalg.det(np.zeros_like(x, shape=(11, 11))), "up to 10 rows, not 11"),
        (lambda x: np.cov(x, ddof=4), "4 observations have no covariance where ddof is 4"),
        (lambda x: np.cov(x, WHOLE[:, 1:]), "4 observations of one, and 3 of the other"),
        (lambda x: np.corrcoef(x[:, :0]), "no observations"),
        (lambda x: np.mean(x[:0]), "mean: there are no elements"),
        (lambda x: np.bincount(x[0]), "takes minlength="),
        (lambda x: np.bincount(x, minlength=3), "integers along one axis, not int\\(64\\) of shape"),
        (lambda x: np.histogram(x), "takes public bins"),
        (lambda x: np.histogram(x, 10), "takes public bins"),
        (lambda x: np.histogram(x, "auto"), "takes public bins"),
        (lambda x: np.histogram(x, 10, (3, 1)), "max must be larger than min"),
        (lambda x: np.histogram(x, [0, 2, 1]), "two edges or more, and increase"),
        (lambda x: np.histogram(x, [0, np.nan]), "bins are public numbers"),
        (lambda x: np.histogram(x, x[0]), "must be public"),
        (lambda x: np.histogram(x, [0, 1], density=True), "density is counts"),
        (lambda x: np.histogram(x, [0, 1], weights=[1, 2]), "weights of shape \\(2,\\)"),
        (lambda x: np.digitize(x, [0, 2, 1]), "bins increase, or decrease"),
        (lambda x: np.searchsorted([1, 0], x), "is not sorted"),
        (lambda x: np.searchsorted(x, 3), "in one axis"),
        (lambda x: np.partition(x, 4), "kth 4 is out of bounds for 4 elements"),
        (lambda x: np.argpartition(x, x[0, 0]), "must be public"),
        (lambda x: x.topk(5), "from 0 to the 4 elements of the axis, not 5"),
        (lambda x: x.topk(2.0), "not 2.0"),
        (lambda x: np.sum(a=x, axis=3), "axis 3"),
        (lambda x: np.matrix(WHOLE) * x, "product of matrices: write np.asarray\\(m\\) @ x"),
        (lambda x: x * np.matrix(WHOLE), "product of matrices"),
        (lambda x: x * np.ma.array(WHOLE, mask=BITS), "masked"),
        (lambda x: x.quantile(1.5), "from 0 to 1"),
        (lambda x: np.median(x[:0]), "no elements"),
        (lambda x: x.astype(qr.fixed(64, 16)).var(ddof=12), "no variance where ddof is 12"),
    ],
)
@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_what_has_no_meaning_is_told_so(use: Callable[[Any], Any], message: str) -> None:
    with stated("rss") as mpc:
        x = mpc.input(WHOLE, owner=0)
        with pytest.raises(qr.QuorateError, match=message) as raised:
            use(x)
        assert "test_numpy.py:" in str(raised.value)


@pytest.mark.parametrize("place", [*USUAL, *FORMS], ids=str)
def test_edges_are_rounded_as_numbers_are(place: Place) -> None:
    values, edges = np.array([0.1, 0.2, 0.3]), [0.1, 0.2, 0.3]
    whole, between = np.array([1, 2, 3]), [1.000001, 2, 2.9999999]
    with among(place) as mpc:
        x, n = mpc.input(values, owner=0), mpc.input(whole, owner=0)
        found = [
            (np.digitize(x, edges), np.digitize(values, edges)),
            (np.digitize(x, edges, right=True), np.digitize(values, edges, right=True)),
            (np.histogram(x, edges)[0], np.histogram(values, edges)[0]),
            (np.searchsorted(edges, x, side="right"), np.searchsorted(edges, values, side="right")),
            (np.digitize(n, between), np.digitize(whole, between)),
        ]
        for got, want in zip(mpc.reveal_all(*(one for one, _ in found)), found, strict=True):
            np.testing.assert_array_equal(got, want[1])
        for edge in (0.1, 0.2, 0.200001, 0.25):
            reached, compared = mpc.reveal_all(np.digitize(x, [edge]), x >= edge)
            np.testing.assert_array_equal(reached, compared)


@pytest.mark.parametrize("place", [*USUAL, *FORMS], ids=str)
def test_averages_have_the_room_that_they_take(place: Place) -> None:
    weights = np.sqrt(np.arange(1, 7))
    with among(place, check=True) as mpc:
        given = [
            mpc.input([100, -128, 127, 100, 3, 5], owner=0, dtype=qr.int(8)),
            mpc.input([100.0, -128.0, 127.0, 100.0, 3.0, 5.0], owner=0, dtype=qr.fixed(16, 8)),
            mpc.input([2**62, -(2**63), 2**63 - 1, 1, 0, 5], owner=0),
        ]
        found = mpc.reveal_all(*(np.average(x, weights=weights) for x in given), *given)
        for average, values, unit in zip(found[:3], found[3:], (2**-16, 2**-8, 2**24), strict=True):
            assert abs(average - np.average(values.astype(float), weights=weights)) <= unit
        assert np.average(given[1], weights=weights).dtype == qr.fixed(16, 8)


@pytest.mark.parametrize(
    ("function", "rows", "given"),
    [
        ("inv", 5, {"bound": 100}),
        ("inv", 5, {}),
        ("inv", 10, {"bound": 1}),
        ("solve", 5, {"bound": 100}),
        ("solve", 6, {"dtype": qr.int(64)}),
        ("det", 5, {"bound": 1000}),
    ],
)
def test_systems_without_room_say_what_has_it(function: str, rows: int, given: dict[str, Any]) -> None:
    rng = np.random.default_rng(rows)
    whole = given.get("dtype") == qr.int(64)
    values = rng.integers(-1, 2, (rows, rows)) + (2 if whole else 2.5) * np.eye(rows, dtype=int if whole else float)
    of = getattr(np.linalg, function)
    with qr.local("rss") as mpc:

        def computed(scale: float, **stated: Any) -> tuple[Any, Any]:
            used = values * int(scale) if whole else np.round(values * scale * 256) / 256
            a, b = (mpc.input(part, owner=owner, **stated) for owner, part in enumerate((used, used[0])))
            parts = ((a, b), (used, used[0])) if function == "solve" else ((a,), (used,))
            return of(*parts[0]), of(*parts[1])

        with pytest.raises(qr.DtypeError, match=f"numpy.linalg.{function}: {rows} rows of .* state ") as refused:
            computed(0.25 if not whole else 1, **given)
        said = re.findall(r"mpc\.input\(\.\.\., (.*?bound=\d+)\)", str(refused.value))
        assert said
        for keywords in said:
            stated: dict[str, Any] = eval(f"dict({keywords})", {"qr": qr})
            found, meant = computed(1 if whole else stated["bound"] / 4, **stated)
            np.testing.assert_allclose(found.reveal(), meant, rtol=1e-3, atol=1e-3)


@pytest.mark.filterwarnings("error::quorate.RangeWarning")
@pytest.mark.parametrize("place", [*USUAL, *FORMS], ids=str)
def test_products_of_long_integers_have_the_room_of_quotients(place: Place) -> None:
    values = np.array([2**60 + 1, -(2**63), 2**63 - 1, 3])
    with among(place) as mpc:
        x = mpc.input(values, owner=0)
        found = [x * 0.5, 0.5 * x, x * 3.0, x @ np.full(4, 0.5), np.full((2, 4), 0.25) @ x, x / 2]
        meant = [values * 0.5, values * 0.5, values * 3.0, values @ np.full(4, 0.5), np.full((2, 4), 0.25) @ values]
        for got, want in zip(mpc.reveal_all(*found), [*meant, values / 2], strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-15)


@pytest.mark.filterwarnings("error::quorate.RangeWarning")
@pytest.mark.parametrize("bits", [8, 16, 32])
def test_statistics_of_integers_that_fit_warn_of_nothing(bits: int) -> None:
    values = np.array([[-1 << bits - 1, 3, (1 << bits - 1) - 1, 5, 7], [1, -1 << bits - 1, 0, 9, 2]])
    with stated("rss") as mpc:
        x = mpc.input(values, owner=0, dtype=qr.int(bits))
        functions = [np.cov, np.corrcoef, np.var, np.std, np.mean, lambda v: np.average(v, axis=1, weights=range(1, 6))]
        for got, of in zip(mpc.reveal_all(*(of(x) for of in functions)), functions, strict=True):
            np.testing.assert_allclose(got, of(values), rtol=1e-6, atol=1e-4)


@pytest.mark.filterwarnings("ignore:.*may leave fixed")  # numbers beyond 2^43 are not excluded
@pytest.mark.parametrize("place", [*USUAL, *FORMS], ids=str)
def test_statistics_of_long_integers_are_those_of_reals(place: Place) -> None:
    values = np.array([[10**7, 2 * 10**7 + 1, 3 * 10**7, 5], [7, 10**6, 10**9, -3]])
    with among(place) as mpc:
        x = mpc.input(values, owner=0)
        functions = [np.cov, np.var, np.std, lambda v: np.std(v, axis=1, ddof=1)]
        found = mpc.reveal_all(*(of(x) for of in functions), np.var(x, dtype=qr.real), np.std(x, dtype=qr.real))
        for got, want in zip(found, [of(values) for of in [*functions, np.var, np.std]], strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6)


def test_rings_of_32_bits_have_averages_and_deviations() -> None:
    values = np.array([1.0, 2.0, 4.5])
    with qr.local("spdz2k", mac=48) as mpc:
        for stated in ({}, {"bound": 100}):
            x = mpc.input(values, owner=0, dtype=qr.fixed(32, 8), **stated)
            found = np.average(x, weights=[1e-6, 2e-6, 4e-6])
            assert found.dtype == qr.fixed(32, 8)
            assert abs(found.reveal() - 23 / 7) <= 1 / 256
        # The sum of its squares would fit, but not as reals of 64 bits.
        assert abs(mpc.input(values, owner=0, dtype=qr.fixed(16, 4), bound=5).std().reveal() - values.std()) <= 1 / 8


def test_arrays_of_different_sessions_do_not_mix() -> None:
    with stated("rss") as one, stated("rss") as other:
        x, y = one.input(WHOLE, owner=0), other.input(WHOLE, owner=0)
        with pytest.raises(qr.ConfigError, match="different sessions"):
            np.maximum(x, y)


def table() -> str:
    """All functions of numpy that dispatch, in three columns of the docs."""
    overrides = pytest.importorskip("numpy.testing.overrides", reason="the table is that of numpy 1.25 and later")
    rows = {}
    for function in {*overrides.get_overridable_numpy_array_functions(), *overrides.get_overridable_numpy_ufuncs()}:
        module = getattr(function, "__module__", None) or "numpy"
        name = f"{module}.{function.__name__}".removeprefix("numpy.")
        # Records, functions of text, and functions without a name of their own in numpy.
        if "recfunctions" in name or (module == "numpy" and not hasattr(np, name)) or not module.startswith("numpy"):
            continue
        if module in ("numpy", "numpy.linalg") or module.startswith("numpy.lib."):
            works = function in FUNCTIONS or function in UFUNCS or rows.get(name) == "works"
            rows[name] = "works" if works else instead(name)
    lines = ["| function | |", "|---|---|"]
    lines += [f"| `{name}` | {text} |" for name, text in sorted(rows.items())]
    return "\n".join(lines) + "\n"


def test_the_table_of_the_docs_is_what_is_so() -> None:
    text = DOCS.read_text()
    found = TABLE.search(text)
    assert found, "docs/numpy.md has no table"
    assert found.group(0) == table(), "write it anew: .venv/bin/python tests/test_numpy.py"


if __name__ == "__main__":
    DOCS.write_text(TABLE.sub(lambda _: table(), DOCS.read_text()))
