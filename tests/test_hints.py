"""Wrong names and forms: the message names the right one, and the advice works."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import quorate as qr


@pytest.fixture(scope="module")
def mpc() -> Iterator[qr.Session]:
    with qr.local("rss", parties=3) as session:
        yield session


@pytest.mark.parametrize(
    ("slip", "meant"), [("revael", "reveal"), ("shap", "shape"), ("arg_max", "argmax"), ("agrmax", "argmax")], ids=str
)
def test_a_slip_of_the_fingers_in_a_name_of_arrays(mpc: qr.Session, slip: str, meant: str) -> None:
    x = mpc.input([1.5, 2.0], owner=0)
    with pytest.raises(AttributeError, match=f"secret arrays have no '{slip}': did you mean '{meant}'\\?"):
        getattr(x, slip)
    assert getattr(x, meant) is not None


def test_names_that_are_like_none(mpc: qr.Session) -> None:
    x = mpc.input([1.5, 2.0], owner=0)
    for name in ("eigenvalues", "_node_", "__wrapped__"):
        with pytest.raises(AttributeError, match=f"^secret arrays have no '{name}'$"):
            getattr(x, name)
    with pytest.raises(AttributeError, match="no 'tolist' in this release: reveal"):
        x.tolist()
    assert not hasattr(x, "__array_interface__") and not hasattr(qr, "__wrapped__")


def test_operations_look_for_no_names(mpc: qr.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hint takes as long as ten operations, and numpy asks operands for attributes that they may lack."""
    x, y = mpc.input([1.5, 2.0], owner=0), mpc.input([1, 2], owner=1)

    def looked(name: str, known: object, *_: object) -> list[str]:
        raise AssertionError(f"looked for {name!r}")

    monkeypatch.setattr("difflib.get_close_matches", looked)
    numbers = np.array([1, 2])
    assert all(made.shape == (2,) for made in (x < y, x == y, x + y, x < numbers, numbers < x, numbers + x))


@pytest.mark.parametrize(
    ("name", "words"),
    [("array", r"mpc\.input\(values, owner=0\).*mpc\.constant\(values\)"), ("where", r"mpc\.where"),
     ("concatenate", r"mpc\.concatenate"), ("float", r"qr\.fixed\(64, 16\)"), ("bool", r"qr\.bit"),
     ("locla", "did you mean 'local'"), ("fixd", "did you mean 'fixed'")],
)  # fmt: skip
def test_names_that_the_package_lacks(name: str, words: str) -> None:
    with pytest.raises(AttributeError, match=f"quorate has no '{name}': .*{words}"):
        getattr(qr, name)


def test_what_the_package_has_stays_where_it_is() -> None:
    from quorate.array import SecretArray

    assert SecretArray is qr.SecretArray
    assert all(hasattr(qr, name) for name in qr.__all__)


@pytest.mark.parametrize("maker", [qr.int, qr.uint, qr.fixed], ids=["int", "uint", "fixed"])
def test_a_function_where_a_dtype_is_wanted(mpc: qr.Session, maker: Any) -> None:
    for call in (lambda: mpc.input([1], owner=0, dtype=maker), lambda: mpc.input([1], owner=0).astype(maker)):
        with pytest.raises(
            qr.DtypeError, match=r"say how many bits, as in qr\.\w+\([\d, ]+\) \(at test_hints"
        ) as caught:
            call()
    advice = re.search(r"as in (qr\.\w+\([\d, ]+\))", str(caught.value))
    assert advice is not None
    dtype = eval(advice[1], {"qr": qr})
    assert mpc.input([1], owner=0, dtype=dtype).dtype == dtype


def test_a_secret_has_no_format_but_its_value_has(mpc: qr.Session) -> None:
    x = mpc.input([1.5, 2.25], owner=0)[1]
    with pytest.raises(TypeError, match=re.escape("reveal it first, as in {x.reveal():.2f}")):
        f"{x:.2f}"
    assert f"{x.reveal():.2f}" == "2.25"
    assert f"{x}" == repr(x) == format(x)


@pytest.mark.parametrize("op", ["add", "sub", "mul", "truediv", "lt", "ge", "eq", "ne"])
def test_pandas_leaves_operations_with_secrets_to_them(mpc: qr.Session, op: str) -> None:
    a, b = np.array([1.5, 2.0, 3.0]), np.array([2.0, 2.0, 4.0])
    x, f = mpc.input(b, owner=0), getattr(operator, op)
    for left in (pd.Series(a, index=[7, 8, 9]), pd.Index(a), pd.DataFrame({"a": a}).a):
        result = f(left, x)
        assert isinstance(result, qr.SecretArray)
        np.testing.assert_allclose(result.reveal(), f(a, b), atol=2**-15)
    frame = f(pd.DataFrame({"a": a, "b": b}), x.reshape(3, 1))
    np.testing.assert_allclose(frame.reveal(), f(np.stack([a, b], 1), b[:, None]), atol=2**-15)
