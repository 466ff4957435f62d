"""Private set intersection of texts."""

from __future__ import annotations

import numpy as np
import pytest

import quorate as qr
from protocols import USUAL, Place, among
from quorate.apps import _text_hashes

A = ["ann@x.org", "bo@y.org", "Bo@y.org", "čapek"]
B = ["čapek", "bo@y.org ", "bo@y.org", "dee"]


@pytest.mark.parametrize("place", USUAL, ids=str)
def test_shared_texts(place: Place) -> None:
    with among(place) as mpc:
        assert qr.apps.psi(mpc, A, np.array(B), texts=True).tolist() == ["bo@y.org", "čapek"]


def test_sizes_sums_and_sets_that_are_padded() -> None:
    with qr.local("rss") as mpc:
        assert qr.apps.psi(mpc, A, lambda: B, sizes=(None, 4), texts=True, cardinality=True) == 2
        assert qr.apps.psi(mpc, A, B, texts=True, payload=[1, 2, 4, 8]) == 5
        found = qr.apps.psi(mpc, [*A, "dee", "dee"], B, texts=True, bits=62, duplicates="remove")
        assert found.tolist() == ["bo@y.org", "dee", "čapek"]
        assert qr.apps.psi(mpc, A, [], texts=True).tolist() == []
        values, bits = qr.apps.psi(mpc, A, B, texts=True, reveal_to="nobody")
        assert bits.sum().reveal() == 2
        assert values.shape == bits.shape


def test_hashes_are_those_of_sha_256() -> None:
    """Parties of different releases must agree, so the hash is fixed."""
    assert _text_hashes.Texts(63).numbers(["ann@x.org"], True).tolist() == [7803329370332034228]


@pytest.mark.parametrize(
    ("a", "more", "message"),
    [
        (A, {}, "with texts=True|not numbers"),
        (A, {"texts": True, "bits": 61}, "62 to 64 bits, not 61"),
        ([1, 2], {"texts": True}, "one of the elements is int"),
        ("text", {"texts": True}, "not one text"),
        (["w", "x", "x"], {"texts": True}, "more than once in the set of party 0, as numbers 1 and 2 of it"),
        (["w", ""], {"texts": True}, "element 1 of a set is an empty text"),
        (["a\0"], {"texts": True}, "ends in a character of code 0"),
        (["\ud800"], {"texts": True}, "half of a character"),
    ],
)
def test_what_is_refused(a: object, more: dict[str, object], message: str) -> None:
    with qr.local("rss") as mpc, pytest.raises(qr.QuorateError, match=message):
        qr.apps.psi(mpc, a, B, **more)


def test_texts_that_hash_alike_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Short:
        def digest(self) -> bytes:
            return bytes(32)

    monkeypatch.setattr(_text_hashes.hashlib, "sha256", lambda _: Short())
    with pytest.raises(qr.RangeError, match="two different texts have one hash"):
        _text_hashes.Texts(63).numbers(["a", "b"], True)
