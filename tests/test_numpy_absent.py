"""The substitutes in the table of numpy's functions give numpy's results, as far as they are expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import quorate as qr
from protocols import stated
from quorate._numpy._unsupported import _METHODS, _WHOLE, instead

WHOLE = (np.arange(12) * 7 % 11 - 5).reshape(3, 4)
REAL = (np.arange(12) * 5 % 13 - 6).reshape(3, 4) / 4
ABOVE = np.array([0.25, 1.0, 2.5, 4.0])
UNIT = np.array([-1.0, -0.5, 0.0, 0.75, 1.0])
KEYS = np.array([2, 1, 2, 1, 2, 0])
TIES = np.array([5, 5, 3, 4, 5, 9])
BYTES = np.array([1, 128, 77], np.uint8)
BITS = np.unpackbits(BYTES).astype(bool)
SETS = (np.array([3, 15, 9, 7]), np.array([9, 2, 3]))

# For each function of numpy: the expression, the values of its names (secret except numbers, and sets of a and b), and
# numpy's own call. Real results may be off by some units.
Case = tuple[str, dict[str, Any], Callable[..., Any]]

CASES: dict[str, Case] = {
    "allclose": (
        "(abs(x - y) <= tolerance).all()",
        {"x": REAL, "y": REAL[::-1], "tolerance": 4},
        lambda x, y, tolerance: np.allclose(x, y, 0, tolerance),
    ),
    "array_equiv": ("(x == y).all()", {"x": WHOLE, "y": WHOLE[0]}, np.array_equiv),
    "astype": ("x.astype(qr.int(32))", {"x": WHOLE}, lambda x: x.astype(np.int32)),
    "bitwise_count": ("abs(x).bits().sum(axis=-1)", {"x": WHOLE}, lambda x: np.bitwise_count(x)),
    "copysign": ("np.where(y < 0, -abs(x), abs(x))", {"x": REAL, "y": WHOLE}, np.copysign),
    "cumulative_sum": ("x.cumsum(axis)", {"x": WHOLE, "axis": 1}, np.cumsum),
    "ediff1d": ("np.diff(x.ravel())", {"x": WHOLE}, np.ediff1d),
    "fix": ("np.trunc(x)", {"x": REAL}, np.fix),
    "float_power": ("qr.exp(n * qr.log(x))", {"x": ABOVE, "n": 0.5}, lambda x, n: np.float_power(x, n)),
    "fmod": ("np.where(x < 0, -(-x % abs(y)), x % abs(y))", {"x": WHOLE, "y": -3}, np.fmod),
    "gradient": ("(x[2:] - x[:-2]) / 2", {"x": ABOVE}, lambda x: np.gradient(x)[1:-1]),
    "heaviside": ("np.where(x < 0, 0, np.where(x == 0, y, 1))", {"x": REAL, "y": 0.5}, np.heaviside),
    "hypot": ("qr.sqrt(x * x + y * y)", {"x": REAL, "y": REAL[::-1]}, np.hypot),
    "intersect1d": ("qr.apps.psi(mpc, a, b)", {"a": SETS[0], "b": SETS[1]}, np.intersect1d),
    "isclose": (
        "abs(x - y) <= tolerance",
        {"x": REAL, "y": REAL[::-1], "tolerance": 1},
        lambda x, y, tolerance: np.isclose(x, y, 0, tolerance),
    ),
    "isin": (
        "(x[..., None] == values).any(axis=-1)",
        {"x": WHOLE, "values": [3, -5]},
        lambda x, values: np.isin(x, values),
    ),
    "kron": (
        "(x[:, None, :, None] * y[None, :, None, :]).reshape(len(x) * len(y), -1)",
        {"x": WHOLE, "y": WHOLE[:2, 1:]},
        np.kron,
    ),
    "ldexp": ("x * 2.0**n", {"x": REAL, "n": -1}, np.ldexp),
    "lexsort": ("mpc.sort(mpc.sort(b, a)[1], b.argsort())[1]", {"a": KEYS, "b": TIES}, lambda a, b: np.lexsort((b, a))),
    "lib.scimath.logn": (
        "qr.log(x) * (1 / np.log(n))",
        {"n": 3, "x": ABOVE},
        lambda n, x: np.lib.scimath.logn(n, x),
    ),
    "linalg.pinv": (
        "x @ np.linalg.pinv(a)",
        {"x": WHOLE, "plain_a": WHOLE},
        lambda x, plain_a: x @ np.linalg.pinv(plain_a),
    ),
    "linalg.matmul": ("x @ y", {"x": WHOLE, "y": WHOLE.T}, np.matmul),
    "linalg.matrix_power": ("x @ x", {"x": WHOLE[:, :3]}, lambda x: np.linalg.matrix_power(x, 2)),
    "linalg.multi_dot": (
        "x @ y @ z",
        {"x": WHOLE, "y": WHOLE.T, "z": WHOLE},
        lambda x, y, z: np.linalg.multi_dot([x, y, z]),
    ),
    "linalg.norm": (
        "qr.sqrt((x * x).sum(axis))",
        {"x": REAL, "axis": 1},
        lambda x, axis: np.linalg.norm(x, axis=axis),
    ),
    "linalg.vector_norm": (
        "qr.sqrt((x * x).sum(axis))",
        {"x": REAL, "axis": 0},
        lambda x, axis: np.linalg.norm(x, axis=axis),
    ),
    "linalg.matrix_norm": ("qr.sqrt((x * x).sum())", {"x": REAL}, np.linalg.norm),
    "linalg.outer": ("np.outer(x, y)", {"x": WHOLE[0], "y": WHOLE[1]}, np.outer),
    "linalg.tensordot": ("np.tensordot(x, y, axes)", {"x": WHOLE, "y": WHOLE.T, "axes": 1}, np.tensordot),
    "linalg.trace": ("np.trace(x)", {"x": WHOLE}, np.trace),
    "linalg.diagonal": ("np.diagonal(x)", {"x": WHOLE}, np.diagonal),
    "linalg.vecdot": ("(x * y).sum(axis=-1)", {"x": WHOLE, "y": WHOLE[::-1]}, lambda x, y: (x * y).sum(-1)),
    "linalg.cross": (
        "x[1] * y[2] - x[2] * y[1]",
        {"x": WHOLE[0, :3], "y": WHOLE[1, :3]},
        lambda x, y: np.cross(x, y)[0],
    ),
    "linalg.matrix_transpose": ("x.swapaxes(-1, -2)", {"x": WHOLE}, np.transpose),
    "cross": ("x[1] * y[2] - x[2] * y[1]", {"x": WHOLE[0, :3], "y": WHOLE[1, :3]}, lambda x, y: np.cross(x, y)[0]),
    "logaddexp": (
        "np.maximum(x, y) + qr.log(1 + qr.exp(-abs(x - y)))",
        {"x": REAL, "y": REAL[::-1]},
        np.logaddexp,
    ),
    "logaddexp2": (
        "np.maximum(x, y) + qr.log(1 + qr.exp(-abs(x - y) * np.log(2))) / np.log(2)",
        {"x": REAL, "y": REAL[::-1]},
        np.logaddexp2,
    ),
    "log1p": ("qr.log(1 + x)", {"x": ABOVE}, np.log1p),
    "expm1": ("qr.exp(x) - 1", {"x": REAL}, np.expm1),
    "log2": ("qr.log(x) * (1 / np.log(2))", {"x": ABOVE}, np.log2),
    "log10": ("qr.log(x) * (1 / np.log(10))", {"x": ABOVE}, np.log10),
    "exp2": ("qr.exp(x * np.log(2))", {"x": REAL}, np.exp2),
    "deg2rad": ("x * (np.pi / 180)", {"x": REAL}, np.deg2rad),
    "radians": ("x * (np.pi / 180)", {"x": REAL}, np.radians),
    "rad2deg": ("x * (180 / np.pi)", {"x": REAL}, np.rad2deg),
    "degrees": ("x * (180 / np.pi)", {"x": REAL}, np.degrees),
    "matrix_transpose": ("x.swapaxes(-1, -2)", {"x": WHOLE}, np.transpose),
    "matvec": ("x @ y", {"x": WHOLE, "y": WHOLE[0]}, np.matmul),
    "vecmat": ("x @ y", {"x": WHOLE[:, 0], "y": WHOLE}, np.matmul),
    "vecdot": ("(x * y).sum(axis=-1)", {"x": WHOLE, "y": WHOLE[::-1]}, lambda x, y: (x * y).sum(-1)),
    "meshgrid": (
        "np.broadcast_to(x[:, None], shape)",
        {"x": WHOLE[0], "shape": (4, 2)},
        lambda x, shape: np.meshgrid(x, np.arange(2), indexing="ij")[0],
    ),
    "modf": ("(x - np.trunc(x), np.trunc(x))", {"x": REAL}, np.modf),
    "packbits": ("mpc.from_bits(x.reshape(-1, 8)[:, ::-1], qr.uint(8))", {"x": BITS}, np.packbits),
    "polyadd": ("x + y", {"x": WHOLE[0], "y": WHOLE[1]}, np.polyadd),
    "polysub": ("x - y", {"x": WHOLE[0], "y": WHOLE[1]}, np.polysub),
    "polyval": (
        "(a * x + b) * x + c",
        {"a": 3, "b": -2, "c": 1, "x": WHOLE},
        lambda a, b, c, x: np.polyval([a, b, c], x),
    ),
    "setdiff1d": ("np.setdiff1d(a, qr.apps.psi(mpc, a, b))", {"a": SETS[0], "b": SETS[1]}, np.setdiff1d),
    "take_along_axis": (
        "x[np.arange(n), index]",
        {"x": WHOLE, "n": 3, "index": [1, 0, 3]},
        lambda x, n, index: np.take_along_axis(x, np.reshape(index, (n, 1)), 1)[:, 0],
    ),
    "trapezoid": (
        "(x[1:] + x[:-1]).sum() * (step / 2)",
        {"x": ABOVE, "step": 0.5},
        lambda x, step: ((x[1:] + x[:-1]) / 2).sum() * step,
    ),
    "unpackbits": ("x.bits()[..., ::-1].reshape(-1)", {"x": BYTES}, np.unpackbits),
    "unstack": ("list(x)", {"x": WHOLE}, list),
    "vander": (
        "np.stack([x ** 2, x, x ** 0], axis=1)",
        {"x": WHOLE[0]},
        lambda x: np.vander(x, 3),
    ),
    "add.at": (
        "x.at[i].add(v)",
        {"x": WHOLE[0], "i": [3, 0], "v": [10, 20]},
        lambda x, i, v: x + np.array([20, 0, 0, 10]),
    ),
    "subtract.at": ("x.at[i].add(-v)", {"x": WHOLE[0], "i": [3, 0], "v": 7}, lambda x, i, v: x - [7, 0, 0, 7]),
    "cumulative_prod": ("x.cumprod(axis)", {"x": WHOLE, "axis": 1}, np.cumprod),
    "multiply.outer": ("np.outer(x, y)", {"x": WHOLE[0], "y": WHOLE[1]}, np.multiply.outer),
    "arccos": ("qr.lookup(x, np.arccos, domain=(-1, 1 + 2**-16))", {"x": UNIT}, np.arccos),
    "arcsin": ("qr.lookup(x, np.arcsin, domain=(-1, 1 + 2**-16))", {"x": UNIT}, np.arcsin),
    "lib.scimath.arcsin": ("qr.lookup(x, np.arcsin, domain=(-1, 1 + 2**-16))", {"x": UNIT}, np.arcsin),
    "lib.scimath.log2": ("qr.log(x) * (1 / np.log(2))", {"x": ABOVE}, np.log2),
    "lib.scimath.sqrt": ("np.sqrt", {}, lambda: np.sqrt),
    **{
        name: (f"qr.lookup(x, np.{name}, domain=(low, high))", {"x": REAL / 4, "low": -0.5, "high": 0.5}, of)
        for name in ("sin", "cos", "tan", "arctan", "sinh", "cosh", "arcsinh", "cbrt", "sinc", "i0")
        for of in [lambda x, low, high, name=name: getattr(np, name)(x)]
    },
}

# Substitutes that are described in words, or replace a part of the function.
SAID = {
    "gcd",
    "nonzero",
    "union1d",
    "einsum",
    "put",
    "correlate",
    "unwrap",
    "convolve",
    "poly",
    "accumulate",
    "flatnonzero",
    "interp",
    "arctan2",
    "lcm",
    "fill_diagonal",
    "lib.stride_tricks.sliding_window_view",
    "putmask",
    "insert",
    "trim_zeros",
    "histogram_bin_edges",
    "select",
    "extract",
    "histogramdd",
    "apply_over_axes",
    "sliding_window_view",
    "histogram2d",
    "piecewise",
    "place",
    "abs",
    "argwhere",
    "compress",
    "apply_along_axis",
    "block",
    "broadcast_arrays",
    "choose",
    "copyto",
    "put_along_axis",
    "setxor1d",
    "outer",
    "reduceat",
    "at",
}


def test_every_hint_has_a_case_or_is_said_in_words() -> None:
    assert {*_WHOLE, *_METHODS} <= {*CASES} | SAID
    assert not {*CASES} & SAID


def test_results_in_turn_are_stacked() -> None:
    values = np.array([7, 2, 4, -1])
    with stated("rss") as mpc:
        x = mpc.input(values, owner=0)
        with pytest.raises(
            qr.QuorateError, match=r"results in turn, np\.stack of x\[0\], f\(x\[0\], x\[1\]\) and so on"
        ):
            np.subtract.accumulate(x)
        turns = [x[0]]
        for i in range(1, 4):
            turns.append(turns[-1] - x[i])
        assert np.stack(turns).reveal().tolist() == np.subtract.accumulate(values).tolist()


@pytest.mark.parametrize("name", CASES)
def test_what_is_said_instead_gives_what_numpy_gives(name: str) -> None:
    expression, given, of = CASES[name]
    if name == "bitwise_count" and not hasattr(np, name):
        pytest.skip("numpy 2 has it")
    if name != "vander":  # its substitute is described in words
        assert expression in instead(name)
    with stated("rss") as mpc:
        names: dict[str, Any] = {"np": np, "qr": qr, "mpc": mpc}
        for key, value in given.items():
            is_secret = isinstance(value, np.ndarray) and not key.startswith("plain_") and "psi" not in expression
            kind = {"dtype": qr.uint(8)} if value is BYTES else {}
            names[key.removeprefix("plain_")] = mpc.input(value, owner=0, **kind) if is_secret else value
        found = eval(expression, names)
        meant = of(*given.values())
        for got, want in zip(*(v if isinstance(v, (list, tuple)) else [v] for v in (found, meant)), strict=True):
            plain = got.reveal() if isinstance(got, qr.SecretArray) else got
            if callable(want):
                assert plain is want
                continue
            np.testing.assert_allclose(
                np.asarray(plain, float), np.asarray(want, float), atol=16 / 65536, rtol=1e-3, err_msg=name
            )
