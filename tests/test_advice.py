"""What messages advise works: each program here is refused or warned of, and right once the message is followed."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import quorate as qr
from deploying import Deployment


class Case(NamedTuple):
    """A program with a fault, what its message says, and the program as the message would have it."""

    program: str
    says: str
    followed: str
    """The groups of `says` are filled in."""
    right: Any


ADVICE = {
    # ---- ranges ----
    "inputs of a wider dtype": Case(
        "x = given([2**40, -3], dtype=qr.int(64)); x * x",
        r"give the inputs that are int\(64\) dtype=(qr\.int\(\d+\))",
        "x = given([2**40, -3], dtype={0}); x * x",
        [2**80, 9],
    ),
    "reals of a wider dtype": Case(
        "x = given([3e5, 1.5], dtype=qr.fixed(64, 16)); x * x",
        r"give the inputs that are fixed\(64, 16\) dtype=(qr\.fixed\(\d+, 16\)), or none",
        "x = given([3e5, 1.5], dtype={0}); x * x",
        [9e10, 2.25],
    ),
    "reals without a dtype": Case(
        "x = given([3e5, 1.5], dtype=qr.fixed(64, 16)); x * x",
        r"or none \(qr.real",
        "x = given([3e5, 1.5]); x * x",
        [9e10, 2.25],
    ),
    "a sum of narrow integers": Case(
        "given([100, 100], dtype=qr.int(8)).sum()",
        r"give the inputs that are int\(8\) dtype=(qr\.int\(\d+\))",
        "given([100, 100], dtype={0}).sum()",
        200,
    ),
    "operands that were converted": Case(
        "y = given([100, 3]).astype(qr.int(8)); y * y",
        r"convert what it works on \(x(\.astype\(qr\.int\(\d+\)\))\)",
        "y = given([100, 3]).astype(qr.int(8)); y{0} * y{0}",
        [10000, 9],
    ),
    "another target": Case(
        "given([100000.7]).astype(qr.int(8))", r"use (qr\.int\(\d+\)) there", "given([100000.7]).astype({0})", [100000]
    ),
    "values that do not fit": Case(
        "given([300], dtype=qr.int(8))", r"use dtype=(qr\.int\(\d+\))", "given([300], dtype={0})", [300]
    ),
    "negative values without a sign": Case(
        "given([-3], dtype=qr.uint(8))", r"use dtype=(qr\.int\(\d+\))", "given([-3], dtype={0})", [-3]
    ),
    "values above their bound": Case(
        "given([25.5], bound=10)", r"raise bound= \((bound=\d+) holds all\)", "given([25.5], {0})", [25.5]
    ),
    "large reals": Case("given([1e9])", r"state (bound=[\de+]+)", "given([1e9], {0})", [1e9]),
    "a bound beyond its dtype": Case(
        "given([100], dtype=qr.int(8), bound=1000)",
        "state the largest absolute value of the input",
        "given([100], dtype=qr.int(8), bound=100)",
        [100],
    ),
    "bounds that may overflow: smaller ones": Case(
        "x = given([60], dtype=qr.int(8), bound=100); x + x",
        "state smaller bounds",
        "x = given([60], dtype=qr.int(8), bound=63); x + x",
        [120],
    ),
    "bounds that may overflow: a wider dtype": Case(
        "x = given([100], dtype=qr.int(8), bound=100); x + x",
        "use a wider dtype",
        "x = given([100], dtype=qr.int(16), bound=100); x + x",
        [200],
    ),
    "reals that lose digits: finer": Case(
        "given([1e-6], dtype=qr.fixed(64, 16))",
        "use more fractional bits",
        "given([1e-6], dtype=qr.fixed(64, 40))",
        [1e-6],
    ),
    "reals that lose digits: scaled": Case(
        "given([1e-6], dtype=qr.fixed(64, 16))", "scale the values", "given([1.0], dtype=qr.fixed(64, 16))", [1.0]
    ),
    "numpy's rounding": Case(
        "given([-2.5, 2.5]).astype(qr.int(64))",
        r"for numpy's, take (y = abs\(x\)\.astype\(dtype\)), and of that (mpc\.where\(x < 0, -y, y\))",
        "x, dtype = given([-2.5, 2.5]), qr.int(64); {0}; {1}",
        [-2, 2],
    ),
    "remainders": Case(
        "given([5], dtype=qr.int(8)) % 1000",
        r"use a wider dtype \((qr\.int\(\d+\))\)",
        "given([5], dtype={0}) % 1000",
        [5],
    ),
    "shifts": Case("given([5]) << 70", r"between 0 and (\d+)", "given([0]) << {0}", [0]),
    # ---- dtypes ----
    "negative divisors": Case(
        "x = given([7], dtype=qr.uint(8)); x // -2",
        r"convert first \((x\.astype\(qr\.int\(\d+\)\))\)",
        "x = given([7], dtype=qr.uint(8)); {0} // -2",
        [-4],
    ),
    "finer divisors": Case(
        "x, y = given([6.5], dtype=qr.fixed(64, 8)), mpc.constant(2.0); x // y",
        r"divide (x\.astype\(qr\.fixed\(\d+, \d+\)\))",
        "x, y = given([6.5], dtype=qr.fixed(64, 8)), mpc.constant(2.0); {0} // y",
        [3.0],
    ),
    "real divisors of integers": Case(
        "given([7]) // 2.5", r"\((dtype=qr\.fixed\(64, 16\))\)", "given([7], {0}) // 2.5", [2.0]
    ),
    "secret divisors": Case(
        "given([7.5]) // given([2.5])", "by a secret one it divides with /", "given([7.5]) / given([2.5])", [3.0]
    ),
    "logic on reals": Case(
        "x = given([1.5, -1.0]); x & (x < 1)",
        r"compare first \((x > 0) is a bit\)",
        "x = given([1.5, -1.0]); ({0}) & (x < 1)",
        [False, False],
    ),
    "conditions": Case(
        "x = given([3, 0]); mpc.where(x, x, 7)",
        r"compare first \((x != 0) is a bit\)",
        "x = given([3, 0]); mpc.where({0}, x, 7)",
        [3, 7],
    ),
    "numbers as bits": Case(
        "x = given([3, 0]); x.astype(qr.bit)", r"compare \((x != 0) is a bit\)", "x = given([3, 0]); {0}", [True, False]
    ),
    "bits of numbers": Case(
        "x = given([5], dtype=qr.uint(3)); mpc.from_bits(x.reshape(1, 1), qr.uint(1))",
        r"(x\.bits\(\)) and comparisons give bits",
        "x = given([5], dtype=qr.uint(3)); mpc.from_bits({0}, qr.uint(3))",
        [5],
    ),
    "real functions of integers": Case(
        "x = given([2]); qr.sqrt(x)",
        r"convert first \((x\.astype\(qr\.fixed\(64, 16\)\))\)",
        "x = given([4]); qr.sqrt({0})",
        [2.0],
    ),
    "real functions of fine numbers": Case(
        "qr.exp(given([0.0], dtype=qr.fixed(64, 30)))",
        r"use (qr\.fixed\(64, 16\))",
        "qr.exp(given([0.0], dtype={0}))",
        [1.0],
    ),
    "no dtype holds both": Case(
        "x, y = given([5], dtype=qr.int(120)), given([1.5], dtype=qr.fixed(64, 16)); x + y",
        r"convert the wider one \((x\.astype\(qr\.int\(\d+\)\))\)",
        "x, y = given([5], dtype=qr.int(120)), given([1.5], dtype=qr.fixed(64, 16)); {0} + y",
        [6.5],
    ),
    "no dtype holds both signs": Case(
        "x, y = given([5], dtype=qr.uint(120)), given([-7], dtype=qr.int(64)); x + y",
        r"convert the one without a sign \((x\.astype\(qr\.int\(\d+\)\))\)",
        "x, y = given([5], dtype=qr.uint(120)), given([-7], dtype=qr.int(64)); {0} + y",
        [-2],
    ),
    # ---- shapes ----
    "scalars": Case(
        "given(3) @ given([1, 2])", r"use (\*) for a product with a scalar", "given(3) {0} given([1, 2])", [3, 6]
    ),
    "inner sizes": Case(
        "x = given([[1, 2, 3], [4, 5, 6]]); x @ x",
        "transpose",
        "x = given([[1, 2, 3], [4, 5, 6]]); x @ x.T",
        [[14, 32], [32, 77]],
    ),
    "dots of arrays": Case(
        "given([[1, 2]]).dot(given([[[3], [4]]]))",
        r"use matmul \((@)\)",
        "given([[1, 2]]) {0} given([[[3], [4]]])",
        [[[11]]],
    ),
    "reshapes": Case(
        "given([1, 2, 3]).reshape(2, 2)", r"must multiply to (\d)", "given([1, 2, 3]).reshape({0}, 1)", [[1], [2], [3]]
    ),
    "axes": Case("given([[1, 2]]).sum(axis=2)", r"lies between -2 and (1)", "given([[1, 2]]).sum(axis={0})", [3]),
}


def run(program: str) -> Any:
    *first, last = program.split("; ")
    with qr.local("rss") as mpc:
        names = {"qr": qr, "np": np, "mpc": mpc, "given": lambda values, **how: mpc.input(values, owner=0, **how)}
        exec("\n".join(first), names)
        return eval(last, names).reveal()


@pytest.mark.parametrize("what", ADVICE)
def test_what_a_message_advises_gives_the_right_result(what: str) -> None:
    case = ADVICE[what]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        error = None
        try:
            run(case.program)
        except (qr.QuorateError, TypeError, ValueError) as raised:
            error = raised
    messages = [str(error), *(str(warning.message) for warning in warned)]
    found = next((match for message in messages if (match := re.search(case.says, message))), None)
    assert found, messages
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = run(case.followed.format(*found.groups()))
    assert np.shape(result) == np.shape(case.right)
    np.testing.assert_allclose(np.array(result, float), np.array(case.right, float), rtol=1e-6, atol=2**-16)
    if not isinstance(np.ravel(case.right)[0], (float, np.floating)):
        assert np.array_equal(np.array(result, object), np.array(case.right, object))


PRODUCT = (
    "x = mpc.input([3, -4] if mpc.me == 0 else None, owner=0, shape=2, dtype=qr.int(64)BOUND)\nprint((x * x).reveal())"
)


def test_what_a_deployment_advises_ends_its_warning(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path)
    try:
        unbounded = deployment.run(deployment.script(PRODUCT.replace("BOUND", "")))
        advice = re.search(r"state bound= of the inputs; up to (bound=\S+) it fits", unbounded[0].err)
        assert advice is not None, unbounded
        bounded = deployment.run(deployment.script(PRODUCT.replace("BOUND", f", {advice[1]}")))
    finally:
        deployment.stop()
    assert {ended.out for ended in (*unbounded, *bounded)} == {"[ 9 16]\n"}
    assert [ended.err for ended in bounded] == ["", "", ""]
