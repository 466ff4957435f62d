"""Private set intersection: sort, compare, shuffle.

Source: Huang, Evans, Katz, "Private Set Intersection: Are Garbled Circuits Better than Custom Protocols?" (NDSS 2012);
section VI-B of aby. Each owner sorts its own set, a network merges the two, and equal elements are then neighbours. In
a window of three of them at most one pair is equal, and the middle element is in it: that is half as many candidates as
there are neighbours. Candidates that are in one set only become 0, and all go into a random order.
Deviation: the network is Batcher's odd-even merge, which has fewer comparisons than the paper's bitonic one and takes
any two sizes; the shuffle is the protocol's own instead of a network of switches.
Model: that of the session. Only what is asked for is revealed: docs/applications.md has the argument.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from quorate._explain import Placeholder
from quorate._public import natural_dtype
from quorate._source import at
from quorate._tables import counted
from quorate.apps._merge import merge
from quorate.apps._roles import OWNERS, Answer, is_here, learners, of_owner, parties_of, revealed, sizes_of
from quorate.apps._texts import Texts
from quorate.array import SecretArray
from quorate.dtypes import Dtype, check, uint
from quorate.errors import ConfigError, DtypeError, RangeError, ShapeError
from quorate.session import Session

__all__ = ["psi"]


def psi(
    mpc: Session,
    a: Any = None,
    b: Any = None,
    *,
    owners: tuple[int, int] = (0, 1),
    sizes: tuple[int | None, int | None] = (None, None),
    bits: int = 63,
    cardinality: bool = False,
    payload: Any = None,
    payload_owner: int | None = None,
    payload_dtype: Dtype | None = None,
    reveal_to: Answer = OWNERS,
    duplicates: str = "refuse",
    padded: bool = False,
    texts: bool = False,
) -> Any:
    """The elements that two parties' sets share, their number, or a sum over them; nothing else is told.

    Args:
        mpc: a session.
        a: the first owner's set: whole numbers from 0 to 2^bits - 1, or a callable that gives them, which is called
            where that owner is. Elsewhere None, or any array, of which the size alone is used.
        b: the second owner's, likewise.
        owners: the parties whose sets these are.
        sizes: how many elements they have: public, and to be stated where a set is not given.
        bits: of an element, up to 64 (63 where sets are padded). Fewer are cheaper; 64 cost three times what 63 do.
        cardinality: how many elements are shared, and not which.
        payload: a number for each element of one party's set, in its order, given as the sets are: the sum of those
            whose elements are shared, and not which.
        payload_owner: the party whose numbers they are; the second of the owners unless stated.
        payload_dtype: of the numbers and of their sum; also says, at the other parties, that there is a payload.
        reveal_to: who learns the result: a party's number or several of them, `"owners"`, None for all parties, or
            `"nobody"`: then it stays secret, to go on with.
        duplicates: `"refuse"` them, or `"remove"` them, which pads the set.
        texts: the elements are texts, which both owners hash to `bits` bits, 62 or more, with SHA-256: sets of n and m
            then share a text too many with probability n m / 2^bits. Compared to the letter: agree on case, blanks and
            Unicode's normal form beforehand. With `padded` or duplicates to remove state bits=62, which costs less.
        padded: sets may have fewer elements than `sizes` says, so that only these bounds are public. A bit more a key.

    Returns:
        At the parties that learn it, None at the others: the shared elements, ascending (of texts the hashes, at a
        party that has not these texts itself); with `cardinality` their
        number; with a `payload` the sum; with both a pair of the two. For `"nobody"` secret arrays: of the elements
        (values, bits), in random order, 0 where the bit is 0.

    Rounds and bytes:
        For sets of n elements about n log2(2n) comparisons and exchanges of keys (and payloads), log2(2n) deep; 2n
        tests for equality, n selections and a shuffle of n keys. Online (`mpc.explain` has the offline
        phase, too), for two sets of 4,096 elements of 32 bits: rss 117 rounds, 906 kB; aby 88 rounds, 1.3 MB; spdz2k
        150 rounds, 2.8 MB; pika 88 rounds, 850 kB. Under spdz2k the offline phase of that is 1.6 GB.

    Raises:
        RangeError: at the owner alone: an element is not from 0 to 2^bits - 1, or occurs twice.
        ShapeError, DtypeError, ConfigError: before anything is sent.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     print(qr.apps.psi(mpc, [3, 15, 9, 7], [9, 2, 3], bits=8))
        ...     print(qr.apps.psi(mpc, [3, 15, 9, 7], [9, 2, 3], bits=8, payload=[10, 20, 30]))
        [3 9]
        40
        >>> with qr.local("rss") as mpc:
        ...     print(qr.apps.psi(mpc, ["ann@x.org", "bo@y.org"], ["cy@z.org", "bo@y.org"], texts=True))
        ['bo@y.org']
    """
    owned = parties_of(mpc, "psi", owners)
    to = learners(mpc, "psi", reveal_to, owned)
    if duplicates not in ("refuse", "remove"):
        raise ConfigError(at(f'psi: duplicates are to "refuse" or to "remove", not {duplicates!r}'))
    form = _Form.of(bits, padded or duplicates == "remove")
    names = Texts(bits) if texts else None
    if names is not None:
        a, b = (names.numbers(v, is_here(mpc, owner)) for v, owner in zip((a, b), owned, strict=True))
    if not isinstance(sizes, (tuple, list)) or len(sizes) != 2:
        raise ConfigError(at(f"psi: sizes are those of both sets, such as (100, 80), not {sizes!r}"))
    sets = [_Set.of(mpc, form, *given) for given in zip((a, b), owned, sizes, strict=True)]
    weights = None
    if payload is not None or payload_dtype is not None:
        if duplicates == "remove":
            raise ConfigError(at("psi: which of the duplicates' payloads counts? Remove the duplicates beforehand"))
        owner = mpc._owner(owned[1] if payload_owner is None else payload_owner)
        if owner not in owned:
            raise ConfigError(at(f"psi: the payload's owner, party {owner}, has no set; the owners are {owned}"))
        weights = _weights(mpc, sets, owned.index(owner), payload, payload_dtype)
    dtype, bound = form.key(sets)
    keys = [
        mpc.input(one.sorted(form, side, duplicates), owner=one.owner, shape=(one.size,), dtype=dtype, bound=bound)
        for side, one in enumerate(sets)
    ]
    answer = _answer(mpc, _matched(keys, weights), form.bits, bool(cardinality), to)
    return answer if names is None else names.back(answer)


@dataclasses.dataclass(frozen=True)
class _Form:
    """How elements become keys.

    Attributes:
        bits: of an element.
        padded: whether sets may be smaller than they are said to be. Dummies fill them up: larger than all elements,
            and each in one of the sets only.
    """

    bits: int
    padded: bool

    @staticmethod
    def of(bits: Any, padded: bool) -> _Form:
        most = 63 if padded else 64
        if isinstance(bits, bool) or not isinstance(bits, (int, np.integer)) or not 1 <= bits <= most:
            raise ConfigError(
                at(f"psi: bits must be a whole number from 1 to 64, or 63 where sets are padded, not {bits!r}")
            )
        return _Form(int(bits), padded)

    def key(self, sets: list[_Set]) -> tuple[Dtype, int | None]:
        """Dtype and bound of keys: a bit more than they have, so that a difference's sign says which is smaller."""
        dummies = 2 * max(one.size for one in sets) if self.padded else 0
        most = (1 << self.bits) - 1 + dummies
        if most.bit_length() >= 64:
            return uint(64), None
        return uint(most.bit_length() + 1), most

    def dummies(self, side: int, count: int) -> np.ndarray:
        return np.array([(1 << self.bits) + 2 * i + side for i in range(count)], dtype=np.uint64)


@dataclasses.dataclass(frozen=True)
class _Set:
    """One party's set.

    Attributes:
        own: its elements, at the owner.
        owner: whose it is.
        size: how many elements it is said to have.
    """

    own: np.ndarray | None
    owner: int
    size: int

    @staticmethod
    def of(mpc: Session, form: _Form, values: Any, owner: int, stated: int | None) -> _Set:
        own = of_owner(mpc, "psi", values, owner)
        if own is not None and own.size == 0:
            own = np.zeros(0, np.int64)  # numpy takes an empty list for reals
        smaller = form.padded and stated is not None
        (size,) = sizes_of("psi", None if smaller else own, None if smaller else values, stated, (1,))
        if own is not None and own.ndim != 1:
            raise ShapeError(at(f"psi: a set has one axis, not shape {own.shape}"))
        if own is not None and len(own) > size:
            raise ShapeError(
                at(f"psi: the set has {counted(len(own), 'element')}, more than the {size} that were stated")
            )
        return _Set(own, owner, size)

    def sorted(self, form: _Form, side: int, duplicates: str) -> np.ndarray | None:
        """The keys in their order, at the owner; whose eyes alone see the messages."""
        own = self.own
        if own is None:
            return None
        if own.dtype.kind not in "iu":
            raise DtypeError(at("psi: elements are whole numbers, or texts with texts=True"))
        outside = (own < 0) if own.dtype.kind == "i" else np.zeros(len(own), bool)
        outside = outside | (own.astype(np.uint64) >> np.uint64(form.bits - 1) > 1)
        if outside.any():
            value = own[np.argmax(outside)]
            raise RangeError(at(f"psi: element {value} is not from 0 to 2^{form.bits} - 1: see bits="))
        ordered, counts = np.unique(own.astype(np.uint64), return_counts=True)
        if len(ordered) < len(own) and duplicates == "refuse":
            value = ordered[np.argmax(counts > 1)]
            first, second = np.flatnonzero(own == value)[:2]
            raise RangeError(
                at(
                    f"psi: element {value} is more than once in the set of party {self.owner}, as numbers {first} and "
                    f'{second} of it: duplicates="remove"'
                )
            )
        return np.concatenate([ordered, form.dummies(side, self.size - len(ordered))])

    def order(self) -> np.ndarray:
        """What sorts the elements."""
        return np.argsort(self.own, kind="stable") if self.own is not None else np.arange(self.size)


def _weights(
    mpc: Session, sets: list[_Set], side: int, payload: Any, dtype: Dtype | None
) -> tuple[SecretArray | np.ndarray, SecretArray | np.ndarray]:
    """The payload of each key: 0 in the other's set, and of dummies."""
    mine, other = sets[side], sets[1 - side]
    own = of_owner(mpc, "psi", payload, mine.owner)
    if own is not None:
        given = len(mine.own) if mine.own is not None else mine.size
        if own.shape != (given,):
            raise ShapeError(at(f"psi: a payload of shape {own.shape} for a set of {counted(given, 'element')}"))
        own = np.concatenate([own[mine.order()], np.zeros(mine.size - given, own.dtype)])
    wanted = None if dtype is None else check(dtype)
    if wanted is not None and wanted.kind == "bit":
        raise DtypeError(at("psi: a payload is of numbers: state payload_dtype=qr.int(k), uint(k) or fixed(k, f)"))
    if wanted is None:
        if own is None:
            raise ConfigError(at("psi: payload_dtype= must say what the payload is that is not given here"))
        wanted = mpc._whole if own.dtype.kind in "b" else natural_dtype(own, mpc._whole)
    weights = mpc.input(own, owner=mine.owner, shape=(mine.size,), dtype=wanted)
    zeros = np.zeros(other.size, np.int64)
    return (weights, zeros) if side == 0 else (zeros, weights)


@dataclasses.dataclass(frozen=True)
class _Matched:
    """Neighbours of the merged sets.

    Attributes:
        middle: the middle element of each window of three neighbours, which overlap in one.
        found: whether it is in both sets.
        total: the sum of the payloads of those that are; None without payloads.
    """

    middle: SecretArray
    found: SecretArray
    total: SecretArray | None


def _matched(keys: list[SecretArray], weights: Any) -> _Matched:
    mpc = keys[0]._session
    if 0 in (len(keys[0]), len(keys[1])):  # sizes are public, and so is this answer
        total = next((mpc.constant(0, part.dtype) for part in weights or () if isinstance(part, SecretArray)), None)
        return _Matched(mpc.constant(np.zeros(0, np.int64)), mpc.constant(np.zeros(0, bool)), total)
    merged, *moved = merge(keys[0], keys[1], [] if weights is None else [weights])
    same = merged[:-1] == merged[1:]
    before, after = same[0::2], same[1::2]
    if len(after) < len(before):
        after = mpc.concatenate([after, np.zeros(1, bool)])
    total = None
    if moved:
        # One of two equal neighbours has no payload.
        total = mpc.where(same, moved[0][:-1] + moved[0][1:], 0).sum()
    return _Matched(merged[1::2], before ^ after, total)


def _answer(mpc: Session, matched: _Matched, bits: int, cardinality: bool, to: list[int | None]) -> Any:
    """Reveals what was asked for, and nothing else."""
    wanted = []
    if cardinality:
        wanted.append(matched.found.astype(uint(max(len(matched.found).bit_length(), 1))).sum())
    if matched.total is not None:
        wanted.append(matched.total)
    members = not wanted
    if members:
        kept = mpc.where(matched.found, matched.middle, 0)
        wanted = [*mpc.shuffle(kept, matched.found)]
    if not to:
        return tuple(wanted) if len(wanted) > 1 else wanted[0]
    values = revealed(mpc, wanted, to)
    if values is None:
        return None
    if isinstance(values[0], Placeholder):
        return values[0] if len(values) == 1 or members else tuple(values)
    if members:
        elements, found = values
        return np.sort(elements[found]).astype(np.int64 if bits < 64 else np.uint64)
    plain = tuple(value.item() for value in values)
    return plain if len(plain) > 1 else plain[0]
