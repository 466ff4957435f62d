"""Strides of slices and whole numbers are the positions that numpy picks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import quorate as qr
from quorate._arrays._indexing import strided

SHAPES = [(), (1,), (7,), (3, 4), (1, 5), (2, 3, 4), (2, 1, 3, 2)]

# Parts of keys, each of which takes one axis, or none.
SLICES = [slice(None), slice(1, None), slice(None, None, -1), slice(-1, None, -2), slice(0, 1), slice(None, None, 2)]
NUMBERS = [0, -1, np.int64(0)]
KEYS: list[Any] = [
    *[(key,) for key in [*SLICES, *NUMBERS]],
    *[(first, second) for first in [slice(1, None), slice(None, None, -1), 0] for second in [*SLICES, -1]],
    (),
    (...,),
    (None,),
    (..., None),
    (None, ..., 0),
    (..., slice(None, None, -1)),
    (0, ..., slice(None, None, -2)),
    (slice(None), None, -1),
    (slice(None, None, -1), 0, slice(1, None)),
    (slice(1, 1),),
]

# Keys for which there are no strides.
OTHERS: list[Any] = [[0], [True, False, True], np.array([1, 0]), (slice(None), [0]), True, np.bool_(True)]


class Shaped(NamedTuple):
    """What `strided` looks at of an array."""

    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))


def fits(places: np.ndarray, key: Any) -> bool:
    """Tells whether numpy takes a key."""
    try:
        places[key]
    except IndexError:
        return False
    return True


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_strides_are_those_of_numpy(shape: tuple[int, ...]) -> None:
    places = np.arange(int(np.prod(shape))).reshape(shape)
    keys = [key for key in KEYS if fits(places, key)]
    assert len(keys) >= 4
    for key in keys:
        # A whole number or a slice alone means the same as in a tuple.
        for same in [key, key[0]] if len(key) == 1 else [key]:
            wanted = np.asarray(places[key])
            steps = strided(Shaped(shape), same)  # type: ignore[arg-type]
            if wanted.size == 0:
                assert steps is None, same
                continue
            assert steps is not None, same
            start, levels, picked = steps
            at = np.full((), start)
            for count, step in levels:
                at = at[..., None] + step * np.arange(count)
            assert picked == wanted.shape, same
            np.testing.assert_array_equal(at, wanted, err_msg=str(same))


@pytest.mark.parametrize("key", OTHERS, ids=str)
def test_other_keys_have_no_strides(key: Any) -> None:
    assert strided(Shaped((3, 4)), key) is None  # type: ignore[arg-type]


def test_strides_take_no_time_by_element() -> None:
    steps = strided(Shaped((1 << 16, 1 << 15)), (slice(None, None, -1), 5))  # type: ignore[arg-type]
    assert steps == (((1 << 16) - 1) * (1 << 15) + 5, [(1 << 16, -(1 << 15))], (1 << 16,))
    assert strided(Shaped((1 << 16, 1 << 16)), 0) is None  # type: ignore[arg-type]


def test_positions_of_the_own_type_are_an_index_like_any_other() -> None:
    values, index = np.arange(10, 17), np.array([[6, 0], [3, 3]], np.uint32)
    with qr.local("rss") as mpc:
        x = mpc.input(values, owner=0)
        assert x[index].reveal().tolist() == values[index].tolist()
        picked = x.at[index[0]]
        index[0] = 1
        assert picked.set(0).reveal().tolist() == [0, 11, 12, 13, 14, 15, 0]
        for far in ([7], [2**32 - 1]):
            with pytest.raises(IndexError, match="out of bounds"):
                x[np.array(far, np.uint32)]
