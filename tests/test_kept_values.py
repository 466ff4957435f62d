"""Values that outlive a session: every dtype and family, replaced versions, and what programs know of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate as qr
from keeping import Offices, offices

FAMILIES: list[tuple[str, int, dict[str, Any]]] = [
    ("rss", 3, {}),
    ("rss", 5, {}),
    ("rss", 7, {}),
    ("aby", 2, {}),
    ("pika", 3, {}),
]

VALUES: dict[str, tuple[Any, Any]] = {
    "int(8)": (np.array([[-128, 127], [0, -1]]), qr.int(8)),
    "uint(64)": (np.array([0, 2**64 - 1, 7], np.uint64), qr.uint(64)),
    "int(100)": (np.array([2**98, -(2**98), -1], object), qr.int(100)),
    "fixed": (np.array([1.5, -2.25]), qr.fixed(64, 16)),
    "real": (np.array([1e6, -0.5]), None),
    "bit": (np.array([True, False, True] * 5), qr.bit),
    "scalar": (np.array(-5), qr.int(32)),
    "empty": (np.zeros((0, 3), int), qr.int(32)),
}


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Offices]:
    return lambda protocol, parties, **options: offices(tmp_path, protocol, parties, options)


@pytest.mark.parametrize(("protocol", "parties", "options"), FAMILIES)
def test_values_of_every_dtype_are_there_in_a_later_session(
    made: Any, protocol: str, parties: int, options: dict[str, Any]
) -> None:
    here = made(protocol, parties, **options)
    with here.session() as mpc:
        for i, (name, (value, dtype)) in enumerate(VALUES.items()):
            mpc.keep(f"v{i}", mpc.input(value, owner=i % 2, dtype=dtype), config=here.configs)
            assert name
    with here.session() as mpc:
        for i, (value, dtype) in enumerate(VALUES.values()):
            x = mpc.kept(f"v{i}", config=here.configs)
            assert x.dtype == (dtype or qr.real) and x.shape == value.shape
            shown = x.reveal()
            assert np.array_equal(shown, value), (shown, value)
