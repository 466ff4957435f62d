"""Private set intersection: sort, compare, shuffle.

Source: Huang, Evans, Katz, "Private Set Intersection: Are Garbled Circuits Better than Custom Protocols?" (NDSS 2012);
section VI-B of aby. Each owner sorts its own set, comparators merge the two, and equal elements are then neighbours. In
a window of three neighbours at most one pair is equal, and the middle element is in it. The middle elements are the
candidates: half as many as there are pairs of neighbours. Candidates that are in one set only become 0, and all are
shuffled.
Deviation: the merge is Batcher's odd-even merge, which has fewer comparisons than the paper's bitonic one and takes
any two sizes. The shuffle is the protocol's own instead of a network of switches.
Model: that of the session. Only the requested results are revealed: docs/applications.md has the argument.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from quorate._display._text_tables import counted
from quorate._session._placeholder import Placeholder
from quorate._source import at
from quorate._values._public_numbers import natural_dtype
from quorate.apps._merge import merge
from quorate.apps._roles import OWNERS, Answer, is_here, learners, of_owner, parties_of, revealed, sizes_of
from quorate.apps._text_hashes import Texts
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
    """Intersects two parties' sets: reveals the shared elements, their number, or a sum over them, and nothing else.

    Args:
        mpc: a session.
        a: the first owner's set: whole numbers from 0 to 2^bits - 1, or a callable that returns them, which is called
            at that owner. Elsewhere None, or any array, of which only the size is used.
        b: the second owner's set, given in the same way.
        owners: the parties whose sets these are.
        sizes: the public numbers of elements; mandatory where a set is not given.
        bits: the bits of an element, up to 64 (63 where sets are padded). Fewer are cheaper; 64 cost three times as
            much as 63.
        cardinality: whether to reveal the number of shared elements, instead of the elements.
        payload: a number for each element of one party's set, in the set's order, given in the same way as the sets.
            The sum of the numbers that belong to shared elements is revealed, and not the elements.
        payload_owner: the party that has the payload; the second of the owners unless stated.
        payload_dtype: the dtype of the payload and of its sum. At the other parties it also states that there is a
            payload.
        reveal_to: the party, or the parties, that learn the result. `"owners"` means both owners, None all parties.
            With `"nobody"` the result stays secret, for further computation.
        duplicates: `"refuse"` raises an error if an element occurs twice; `"remove"` keeps one of equal elements, and
            pads the set.
        texts: whether elements are texts, which both owners hash to `bits` bits, at least 62, with SHA-256. Sets of n
            and m texts then have a false match with probability n m / 2^bits. Texts match only if they are identical:
            agree on case, blanks and Unicode's normal form beforehand. With `padded`, or with duplicates to remove,
            state bits=62, which costs less.
        padded: whether sets may have fewer elements than `sizes` states, so that only these upper bounds are public.
            Dummies fill the sets up, and keys have one bit more.

    Returns:
        The shared elements, ascending. Where elements are texts, a party that does not have them gets their hashes.
        With `cardinality` it is their number, with a `payload` the sum, with both a pair of the two. None at parties
        that do not learn it. For `"nobody"` secret arrays; of the elements (values, bits) in random order, with value 0
        where the bit is 0.

    Rounds and bytes:
        Sets of n elements take about n log2(2n) comparisons and exchanges of keys (and payloads), log2(2n) of them one
        after another. Then 2n tests for equality, n selections and a shuffle of n keys follow. Online (`mpc.explain`
        has the offline phase, too), for two sets of 4,096 elements of 32 bits: rss 116 rounds, 888 kB; aby 88 rounds,
        1.3 MB; spdz2k 150 rounds, 2.8 MB; pika 88 rounds, 850 kB. With spdz2k the offline phase of this example takes
        1.6 GB.

    Raises:
        RangeError: at the owner alone: an element is not from 0 to 2^bits - 1, or occurs twice.
        ShapeError, DtypeError, ConfigError: an argument is unsuitable; found before anything is sent.

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
    """The encoding of elements as keys.

    Attributes:
        bits: the bits of an element.
        padded: whether sets may be smaller than their stated size. Dummies fill them up. A dummy is larger than all
            elements, and occurs in one set only.
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
        """Returns dtype and bound of keys. The dtype has one more bit, so that signs of differences compare keys."""
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
        owner: the party whose set it is.
        size: its stated number of elements.
    """

    own: np.ndarray | None
    owner: int
    size: int

    @staticmethod
    def of(mpc: Session, form: _Form, values: Any, owner: int, stated: int | None) -> _Set:
        own = of_owner(mpc, "psi", values, owner)
        if own is not None and own.size == 0:
            own = np.zeros(0, np.int64)  # numpy makes reals of an empty list
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
        """Returns the sorted keys, at the owner; error messages are shown to the owner alone."""
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
        """Returns the positions that sort the elements."""
        return np.argsort(self.own, kind="stable") if self.own is not None else np.arange(self.size)


def _weights(
    mpc: Session, sets: list[_Set], side: int, payload: Any, dtype: Dtype | None
) -> tuple[SecretArray | np.ndarray, SecretArray | np.ndarray]:
    """Returns the payload of each key, which is 0 in the other party's set and for dummies."""
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
    """Comparisons of neighbours in the merged sets.

    Attributes:
        middle: the middle element of each window of three neighbours; successive windows share one element.
        found: bits that say whether the middle element is in both sets.
        total: the sum of the payloads of elements in both sets; None without payloads.
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
        # One of two equal neighbours is from the set without payload, and contributes 0.
        total = mpc.where(same, moved[0][:-1] + moved[0][1:], 0).sum()
    return _Matched(merged[1::2], before ^ after, total)


def _answer(mpc: Session, matched: _Matched, bits: int, cardinality: bool, to: list[int | None]) -> Any:
    """Reveals the requested results, and nothing else."""
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
