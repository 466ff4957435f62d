"""The entry of clients' values where parties may cheat: each sees that the others input what the client gave them.

**Source**: docs/security/clients.md, "Entry where servers may cheat". **Model**: that of the family; clients may do
anything. The steps are runs of the session, each of which ends with the family's check:

1. Each holder inputs its words of the values, and of the masks of this attempt; then seeds of coins are revealed.
2. Coins are drawn from the seeds. They, and the combinations of each holder's words by them, are revealed.
3. Each holder shows its combinations in full, with the tags that clients gave for their words.
4. Each holder says which places fit its own keys. Those that do not fit for any are absent.
5. Each holder states which places count. Only these are added up; the others are zeros.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate import _source, dtypes
from quorate.array import SecretArray
from quorate.errors import CheatingDetected
from quorate.tables._entry import Bound, Entry

if TYPE_CHECKING:
    from quorate.campaigns import Proofs
    from quorate.session import Session
    from quorate_client.campaign import Column

__all__ = ["TaggedEntry"]

_SEED_WORDS = 8


class TaggedEntry(Entry):
    """The way of a slot's values into a session whose parties may cheat."""

    _sums: SecretArray  # of all holders' words: a row for each place, the columns' elements, then those of masks
    _counted: SecretArray  # the same, with zeros where places do not count
    _stated: SecretArray  # which places count, as party 0 states it

    def __init__(self, session: Session, bound: Bound, slot: int) -> None:
        from quorate_client.tagged import Tagging

        super().__init__(session, bound, slot)
        self._tagging = Tagging.of(self._campaign, self.slot)
        self._elements = sum(column.elements for column in (*self.slot.columns, *self.slot.results))

    def values(self) -> tuple[SecretArray, dict[str, SecretArray]]:
        """Enters the values that count.

        Raises:
            CheatingDetected: a party was caught. The campaign is halted at the parties of this process.
        """
        try:
            found = super().values()
            self.session.reveal_all(self._counted.reshape(-1)[:0])  # reveals nothing, and ends with a check
        except CheatingDetected:
            for state in self._bound.states.values():
                state.halt()
            raise
        return found

    def _unfit(self, words: np.ndarray | None) -> np.ndarray:
        proofs = self._proofs(words)
        held = self._held(proofs)
        coins, lows = self._combinations(held)
        shown = self._shown(proofs, coins)
        fit = {party: proof.fit(coins, list(lows), list(shown)) for party, proof in proofs.items()}
        if words is not None:
            for party, fits in fit.items():
                self._bound.states[party].unfit(self.index, words, ~fits)
        said = self._inputs("places that fit", dtypes.bit, (self.places,), fit)
        told = self._tell(self.session.stack(said), "which places of {} fit the keys of each holder")
        values = [array[:, : self._elements]._node for array in held]
        self._sums = self._submitted(values, self.slot.name, dtypes.uint(self._tagging.bits_low))
        unfit = np.zeros(self.places, bool)
        if words is not None:
            unfit[:] = words.any(axis=1) & ~np.asarray(told, bool).all(axis=0)
        return unfit

    def _proofs(self, words: np.ndarray | None) -> dict[int, Proofs]:
        """Notes the attempts of the holders of this process, and returns their proofs."""
        from quorate.campaigns import Proofs, check_attempts

        if words is None:
            return {}
        slot, made = self.index, self._bound.attempts[: self._tagging.holders, self.index].tolist()
        check_attempts(made)
        holders = {party: state for party, state in self._bound.states.items() if party < len(made)}
        for party, state in holders.items():
            state.attempt(slot, made[party] + 1)
        return {party: Proofs(state.tagged(slot, words), party, made) for party, state in holders.items()}

    def _held(self, proofs: Mapping[int, Proofs]) -> list[SecretArray]:
        """Inputs the low bits of each holder's words: those of values, then the masks of this attempt."""
        shape = self.places, self._elements + self._tagging.rows
        given = {party: proof.words() for party, proof in proofs.items()}
        return self._inputs("words", dtypes.uint(self._tagging.bits_low), shape, given)

    def _combinations(self, held: Sequence[SecretArray]) -> tuple[np.ndarray, np.ndarray]:
        """Reveals seeds, once words are input; then coins and combinations.

        Returns:
            Coins, of shape (R, values); of each holder the low bits of combinations, of shape (holders, places, R).
        """
        session, tagging = self.session, self._tagging
        drawn = {party: np.frombuffer(secrets.token_bytes(4 * _SEED_WORDS), "<u4") for party in self._bound.states}
        seeds = self._inputs("seed of coins", dtypes.uint(32), (_SEED_WORDS,), drawn)
        self._tell(session.stack(seeds), "seeds of the coins that combine words of {}", held)
        nodes = [array._node for array in held], [seed._node for seed in seeds]
        native = session._native.combined(*nodes, tagging.rows, tagging.w, _source.line())
        told = self._tell(SecretArray(session, native), "random combinations of words of {}, each under a mask")
        if not self._bound.states:
            return np.zeros((tagging.rows, self._elements), np.uint64), np.zeros((tagging.holders, self.places, 0))
        coins, lows = np.split(np.asarray(told), [self._elements * tagging.rows])
        factors = coins.astype(np.uint64).reshape(self._elements, tagging.rows)
        return np.ascontiguousarray(factors.T), lows.reshape(tagging.holders, self.places, tagging.rows)

    def _shown(self, proofs: Mapping[int, Proofs], coins: np.ndarray) -> np.ndarray:
        """Reveals what each holder shows of its combinations, of shape (holders, places, R, words)."""
        from quorate.campaigns import shown_bits, shown_words

        shape = self.places, self._tagging.rows, shown_words(self._tagging)
        own = {party: proof.shown(coins) for party, proof in proofs.items()}
        shown = self.session.stack(self._inputs("combinations", dtypes.uint(shown_bits(self._tagging)), shape, own))
        told = self._tell(shown, "combinations of words of {}, and the tags that clients gave for them")
        return np.asarray(told) if self._bound.states else np.zeros((self._tagging.holders, *shape))

    def _inputs(
        self, name: str, dtype: dtypes.Dtype, shape: Sequence[int], own: Mapping[int, Any]
    ) -> list[SecretArray]:
        """Inputs an array of each holder."""
        form = tuple(shape), dtype, None, (f"{self.slot.name}: {name}", None)
        return [self.session._input(own.get(party), party, *form) for party in range(self._tagging.holders)]

    def _tell(self, array: SecretArray, what: str, beside: Sequence[SecretArray] = ()) -> Any:
        named = f"slot {self.slot.name!r} of campaign {self._campaign.name!r}"
        return self.session._tell(array, what.format(named), beside)

    def _entered(self, words: np.ndarray | None) -> Iterator[tuple[Column, SecretArray]]:
        from quorate.campaigns import present

        own = {} if words is None else dict.fromkeys(self._bound.states, present(words))
        stated = self._inputs("places that count", dtypes.bit, (self.places,), own)
        nodes = [bits._node for bits in stated]
        native = self.session._native.counted(self._sums._node, nodes, _source.line())
        self._counted, self._stated = SecretArray(self.session, native), stated[0]
        first = 0
        for column in self.slot.columns:
            yield column, self._taken(first, column, f"{self.slot.name}.{column.name}", self.dtype(column))
            first += column.elements

    def masks(self) -> Iterator[SecretArray]:
        """Returns the masks of the slot's results for this look, as words."""
        first = sum(column.elements for column in self.slot.columns)
        for column in self.slot.results:
            yield self._taken(first, column, f"{self.slot.name}: mask of {column.name}", self.words_of(column))
            first += column.elements

    def _taken(self, first: int, column: Column, name: str, dtype: dtypes.Dtype) -> SecretArray:
        """Returns elements of all places that count, from the element `first`, in the shape and dtype of a column."""
        words = self._counted[:, first : first + column.elements].reshape(self.places, *column.shape)
        if dtype == dtypes.bit:
            lowest = self._submitted([words._node], name, dtypes.uint(1))
            words = lowest.bits().reshape(words.shape)
        return self._submitted([words._node], name, dtype)

    def _present(self, words: np.ndarray | None) -> SecretArray:
        """Returns which places count: what party 0 stated, and all others as well."""
        return self._submitted([self._stated._node], f"{self.slot.name}: present", dtypes.bit)
