"""What servers show each other of clients' values: in rings so small that all coins, keys and lies are tried.

Words that are multiples of 2^56 form a small ring of their own: their sums, and products with coins and keys, are those
of numbers mod 2^(L - 56). So the package's own code runs on small rings. Numbers here are those of the small ring.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from quorate.campaigns import Proofs, shown_words
from quorate_client.tagged import ATTEMPTS, Tagging

Numbers = npt.NDArray[np.int64]

SHIFT = 56


@dataclasses.dataclass(frozen=True)
class Tiny(Tagging):
    """The parameters of a small ring. `less` is what the input's width lacks."""

    less: int = 0

    @property
    def bits_low(self) -> int:
        return self.k + self.w - 1 - self.less

    @property
    def modulus(self) -> int:
        return 1 << self.bits - SHIFT

    @property
    def modulus_low(self) -> int:
        return 1 << self.bits_low - SHIFT

    @property
    def keys(self) -> int:
        return 1 << self.c + 1


def tiny(k: int, w: int, c: int, rows: int = 1, elements: int = 1, less: int = 0) -> Tiny:
    slot: Any = SimpleNamespace(elements=elements)
    made = Tiny(slot, 2, SHIFT + k, c, w, rows, 120, less)
    assert (made.limbs, shown_words(made)) == (2, 2)
    return made


def words(tagging: Tiny, numbers: Numbers) -> npt.NDArray[np.uint64]:
    return (numbers % tagging.modulus).astype(np.uint64) << np.uint64(SHIFT)


def numbers(words: npt.NDArray[np.uint64]) -> Numbers:
    assert not (words & np.uint64((1 << SHIFT) - 1)).any()
    return (words >> np.uint64(SHIFT)).astype(np.int64)


@dataclasses.dataclass
class Held:
    """A server's parts of some places, in place of those that a store holds.

    Attributes:
        own: its words, of shape (places, words).
        tags: tags of them, for the other server.
        keys: its key for the words of the other server, for each place.
        pads: its pads of them, of shape (places, words).
    """

    tagging: Tiny
    own: Numbers
    tags: Numbers
    keys: Numbers
    pads: Numbers

    def __len__(self) -> int:
        return len(self.own)

    def chunks(self) -> Iterator[Any]:
        """Yields all places, in two pieces."""
        half = len(self) // 2
        for rows in (slice(0, half), slice(half, len(self))):
            yield SimpleNamespace(
                rows=rows,
                own=lambda rows=rows: self._limbs(self.own[rows]),
                tags=lambda other, rows=rows: self._limbs(self.tags[rows]),
                keys=lambda other, rows=rows: (self._keys(rows), self._limbs(self.pads[rows])),
            )

    def proofs(self, me: int, attempts: Sequence[int] = (0, 0)) -> Proofs:
        parts: Any = self
        return Proofs(parts, me, attempts)

    def _keys(self, rows: slice) -> npt.NDArray[np.uint32]:
        found = np.zeros((rows.stop - rows.start, 4), np.uint32)
        found[:, 0] = self.keys[rows]
        return found

    def _limbs(self, given: Numbers) -> npt.NDArray[np.uint32]:
        return words(self.tagging, given).view("<u4").reshape(*given.shape, 2)


def combined(tagging: Tiny, coins: npt.NDArray[np.uint64], of: Numbers, attempt: int = 0) -> Numbers:
    """Returns combinations of words, or of pads or tags, of shape (places, R)."""
    return (of[:, : tagging.slot.elements] @ coins.T.astype(np.int64) + of[:, tagging.masks(attempt)]) % tagging.modulus


def all_coins(tagging: Tiny) -> Iterator[npt.NDArray[np.uint64]]:
    shape = tagging.rows, tagging.slot.elements
    for drawn in itertools.product(range(1 << tagging.w), repeat=shape[0] * shape[1]):
        yield np.array(drawn, np.uint64).reshape(shape)


def grid(*ranges: Any) -> list[Numbers]:
    """Returns all combinations of numbers, each of the arguments' as an array."""
    return [axis.reshape(-1).astype(np.int64) for axis in np.meshgrid(*ranges, indexing="ij")]


def drawn_words(tagging: Tiny, places: int, rng: np.random.Generator) -> Numbers:
    """Returns random words, the same ones for all places."""
    drawn = rng.integers(0, tagging.modulus, tagging.slot.elements + ATTEMPTS * tagging.rows)
    return np.broadcast_to(drawn, (places, len(drawn)))


def best_rate(tagging: Tiny, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Returns for each lie in words and masks how often the best lie in what is shown then passes.

    A liar chooses what it adds to its combinations and to their tags after it has seen the coins. The low bits of
    combinations are those that its inputs give.
    """
    m, rows, upper = tagging.slot.elements, tagging.rows, tagging.modulus // tagging.modulus_low
    ranges = [
        *[range(tagging.modulus_low)] * (m + rows),
        *[range(upper)] * rows,
        *[range(tagging.modulus)] * rows,
        range(tagging.keys),
    ]
    axes, shape = grid(*ranges), [len(one) for one in ranges]
    lies, above, off, keys = axes[:m], axes[m + rows : m + 2 * rows], axes[m + 2 * rows : -1], axes[-1]
    true, pads = (drawn_words(tagging, len(keys), rng) for _ in range(2))
    verifier, passed, tried = Held(tagging, true, true, keys, pads).proofs(0), np.zeros(shape[: m + rows], np.int64), 0
    for coins in all_coins(tagging):
        p = combined(tagging, coins, true)
        tags = keys[:, None] * p + combined(tagging, coins, pads)
        moved = np.stack(lies, axis=1) @ coins.T.astype(np.int64) + np.stack(axes[m : m + rows], axis=1)
        low = (p + moved) % tagging.modulus_low
        said = low + tagging.modulus_low * ((p // tagging.modulus_low + np.stack(above, axis=1)) % upper)
        shown = np.stack([words(tagging, said), words(tagging, tags + np.stack(off, axis=1))], axis=-1)
        lows = words(tagging, low)
        fits = verifier.fit(coins, [lows, lows], [shown, shown]).reshape(*shape[: m + rows], -1, shape[-1])
        passed += fits.sum(axis=-1).max(axis=-1)
        tried += tagging.keys
    return passed / tried


@pytest.mark.parametrize(
    ("k", "w", "c", "rows", "elements"),
    [(1, 2, 2, 1, 1), (2, 2, 1, 1, 1), (1, 1, 2, 2, 1), (1, 2, 1, 1, 2), (2, 1, 1, 1, 2)],
)
def test_the_best_lie_passes_as_seldom_as_the_bound_says(k: int, w: int, c: int, rows: int, elements: int) -> None:
    """A lie is caught unless coins take it away (2^-w a row), or the key was guessed. With K a bit less it is not."""
    rng, bound = np.random.default_rng(1), 2.0 ** -(w * rows) + 2.0 ** -(c + 1)
    for less in (0, 1) if w > 1 else (0,):
        tagging = tiny(k, w, c, rows, elements, less)
        rates = best_rate(tagging, rng)
        assert rates[(0,) * (elements + rows)] == 1  # the truth
        lies = np.array(list(itertools.product(range(tagging.modulus_low), repeat=elements)))
        changes = (lies % (1 << k)).any(axis=1)  # the value, not only bits above it
        worst = rates.reshape(len(lies), -1)[changes].max()
        if less:
            assert worst >= 2 * 2.0 ** -(w * rows)
        else:
            assert 2.0 ** -(w * rows) <= worst <= bound
            masks = rates[(0,) * elements].reshape(-1)[1:]
            assert (masks == 2.0 ** -(c + 1)).all()  # a lie in a mask alone, which changes no value


def honest(tagging: Tiny, x: int, own: Numbers, theirs: Numbers, tags: Numbers, keys: Numbers) -> Held:
    """Returns what server 0 holds if the client gave `x` and server 1 holds the words `theirs` with these tags.

    `own` has the words of server 0, but for the low k bits of the value, which follow from `x`.
    """
    low = 1 << tagging.k - SHIFT
    held = own.copy()
    held[:, 0] = own[:, 0] * low + (x - theirs[:, 0]) % low
    pads = (tags - keys[:, None] * theirs) % tagging.modulus
    return Held(tagging, held, np.zeros_like(held), keys, pads)


def with_tags(held: Held, key: int, pads: Numbers) -> Held:
    """Adds the tags by which server 1 checks the words of server 0."""
    return dataclasses.replace(held, tags=(key * held.own + pads) % held.tagging.modulus)


def counts(columns: Sequence[Numbers]) -> dict[tuple[int, ...], int]:
    found, times = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
    return {tuple(row): int(count) for row, count in zip(found.tolist(), times, strict=True)}


@pytest.mark.parametrize(("k", "w", "c"), [(1, 2, 2), (2, 1, 1), (1, 1, 2)])
def test_what_a_server_sees_does_not_depend_on_an_honest_value(k: int, w: int, c: int) -> None:
    """Counts all that server 1 sees of server 0 under each lie: combinations, their tags, and the verdict."""
    tagging, rng = tiny(k, w, c), np.random.default_rng(k)
    low, theirs_key = 1 << k, 3
    lies = grid(range(tagging.modulus_low), (0, 1), (0, 1), (0, 1, tagging.modulus // 2))
    axes = grid(range(len(lies[0])), range(tagging.modulus // low), range(tagging.modulus), range(tagging.keys))
    lie, upper, mask, keys = axes
    e, e_mask, above, off = (one[lie] for one in lies)
    theirs, tags, their_pads = (drawn_words(tagging, len(lie), rng) for _ in range(3))
    for coins in all_coins(tagging):
        views = []
        for x in range(low):
            own = np.zeros((len(lie), 1 + ATTEMPTS), np.int64)
            own[:, 0], own[:, 1] = upper, mask
            held = with_tags(honest(tagging, x, own, theirs, tags, keys), theirs_key, their_pads)
            server = held.proofs(0)
            shown = numbers(server.shown(coins))[:, 0]
            assert (shown[:, 0] == combined(tagging, coins, held.own)[:, 0]).all()
            inputs = numbers(server.words()) @ np.array([*coins[0].astype(np.int64), 1])
            assert (inputs % tagging.modulus_low == shown[:, 0] % tagging.modulus_low).all()
            p, t = (combined(tagging, coins, of)[:, 0] for of in (theirs, tags))
            low_part = (p + e * int(coins[0, 0]) + e_mask) % tagging.modulus_low
            said = p - p % tagging.modulus_low + low_part + above * tagging.modulus_low
            lied = words(tagging, np.stack([said, t + off], axis=1)[:, None])
            lows = words(tagging, low_part[:, None])
            verdict = server.fit(coins, [lows, lows], [lied, lied])
            assert verdict.any() and not verdict.all()
            views.append(counts([lie, shown[:, 0], shown[:, 1], verdict.astype(np.int64)]))
        assert all(view == views[0] for view in views) and len(views[0]) > tagging.modulus


@pytest.mark.parametrize("is_shared", [False, True], ids=["masks of its own", "masks of another attempt"])
def test_an_attempt_takes_masks_of_its_own(is_shared: bool) -> None:
    """What two attempts show is alike for all values; with the masks of one attempt it tells them."""
    tagging = tiny(1, 2, 1)
    upper, first, second = grid(range(tagging.modulus // 2), range(tagging.modulus), range(tagging.modulus))
    nothing = np.zeros((len(upper), 1 + ATTEMPTS), np.int64)
    own = nothing.copy()
    own[:, 0], own[:, 1], own[:, 2] = upper, first, second
    is_alike = []
    for one, other in itertools.product(all_coins(tagging), repeat=2):
        views = []
        for x in (0, 1):
            held = honest(tagging, x, own, nothing, nothing, nothing[:, 0])
            attempts = [held.proofs(0, (number, 0)) for number in (0, 0 if is_shared else 1)]
            shown = [
                numbers(proofs.shown(coins))[:, 0, 0] for proofs, coins in zip(attempts, (one, other), strict=True)
            ]
            views.append(counts(shown))
        is_alike.append((views[0] == views[1], (one == other).all()))
    if is_shared:
        assert [alike for alike, _ in is_alike] == [same for _, same in is_alike]
    else:
        assert all(alike for alike, _ in is_alike)


def test_bits_above_those_of_a_word_never_fit() -> None:
    """Otherwise one word could be shown in two ways."""
    tagging, rng = tiny(1, 1, 2), np.random.default_rng(1)
    keys = rng.integers(0, tagging.keys, 64)
    true, pads = (drawn_words(tagging, 64, rng) for _ in range(2))
    verifier = Held(tagging, true, true, keys, pads).proofs(0)
    coins = np.ones((1, 1), np.uint64)
    p = combined(tagging, coins, true)
    lows = words(tagging, p % tagging.modulus_low)
    shown = words(tagging, np.stack([p, keys[:, None] * p + combined(tagging, coins, pads)], axis=-1))
    assert verifier.fit(coins, [lows, lows], [shown, shown]).all()
    for i, bit in itertools.product((0, 1), range(tagging.bits, 64)):
        other = shown.copy()
        other[:, :, i] |= np.uint64(1 << bit)
        assert not verifier.fit(coins, [lows, lows], [other, other]).any()
