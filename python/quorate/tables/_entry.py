"""The way of clients' values into a session, from the packets that all parties agreed on to secret arrays.

A client's values are the sum of uniform parts, one for each of the servers that it chose. Each server inputs its parts
as values of its own, and the program adds them up in the ring. So nothing that servers exchange differs from other
inputs, and the order of events is what this file is about: how many clients there are is counted, and bounds are
checked, before anything else uses the values. Where parties may cheat, `_tagged_entry` adds proofs. **Source**:
docs/security/clients.md. **Model**: parties follow the protocol; clients may do anything.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate import _source, dtypes
from quorate._source import at
from quorate.array import SecretArray
from quorate.errors import SubmissionError

if TYPE_CHECKING:
    from quorate.campaigns import Frozen
    from quorate.session import Session
    from quorate_client.campaign import Campaign, Column, Slot

__all__ = ["Bound", "Entry", "TooFew"]


class TooFew(SubmissionError):
    """Fewer clients take part than the campaign asks for."""


class Bound:
    """A campaign that a session reads: its frozen state at the parties of this process, and the agreed list.

    Without states, in a program that is explained, no values are read and everything is taken to be present.
    """

    def __init__(self, campaign: Campaign, states: Mapping[int, Frozen]) -> None:
        self.campaign, self.states = campaign, dict(states)
        self.chosen: list[np.ndarray] = []  # of each slot
        self.looks, self.list_hash = 0, b""
        self.attempts = np.zeros((0, 0), np.uint32)  # of each party and slot: those that were made before
        self._marks: dict[int, int] = {}  # looks of this session, by party
        self._lock = threading.Lock()

    @property
    def is_looked_at(self) -> bool:
        """Whether a party of this process has made its mark in this session."""
        with self._lock:
            return bool(self._marks)

    def mark(self, party: int, again: bool) -> None:
        """Keeps, at a party of this process, that results of this list are looked at: the first time, and `again`.

        Raises:
            SubmissionError: the campaign allows no other look, or another session has looked meanwhile.
        """
        with self._lock:
            made = self._marks.get(party, 0)
            if not made or again:
                self.states[party].seen(self.looks + made + 1, self.list_hash)
                self._marks[party] = made + 1


class Entry:
    """The way of a slot's values into a session."""

    def __init__(self, session: Session, bound: Bound, slot: int) -> None:
        self.session, self._bound, self.index = session, bound, slot
        self._campaign: Campaign = bound.campaign
        self.slot: Slot = bound.campaign.slots[slot]
        self.places = self.slot.per_client * self._campaign.most_clients
        self.words: np.ndarray | None = None  # of the packets that count
        self.shown: list[SecretArray] | None = None  # results under their masks, once they are computed
        self.has_answered = False
        self._read: tuple[np.ndarray, dict[int, dict[Any, np.ndarray]]] | None = None

    def values(self) -> tuple[SecretArray, dict[str, SecretArray]]:
        """Enters the values of the packets that count, after their bounds are checked.

        Returns:
            A bit for each place: whether its values count; and an array for each column.
        """
        agreed, unfit, refused = self._chosen(), np.zeros(self.places, bool), np.zeros(self.places, bool)
        checked = [column for column in self.slot.columns if column.is_bounded and self._campaign.check == "bound"]
        try:
            words = self._check_number(agreed)
            unfit = self._unfit(words)
            words = self._without(unfit, words)
            if checked:
                refused = self._outside(words, checked)
                words = self._without(refused, words)
        except TooFew:  # other errors leave open what becomes of the packets
            self._tell_clients(agreed, unfit, refused, None)
            raise
        self._tell_clients(agreed, unfit, refused, words)
        arrays = {column.name: self._bounded(column, array) for column, array in self._entered(words)}
        self.words = words
        return self._present(words), arrays

    def _chosen(self) -> np.ndarray | None:
        return self._bound.chosen[self.index] if self._bound.states else None

    def _check_number(self, words: np.ndarray | None) -> np.ndarray | None:
        """Drops packets that ask for more clients than there are; there must be as many as the campaign asks for."""
        from quorate.campaigns import clients_of, present, settled

        if words is None:
            return None
        words = settled(words, self.slot.per_client)
        found, least = clients_of(present(words), self.slot.per_client), self._campaign.at_least
        if found < least:
            raise TooFew(
                at(
                    f"campaign {self._campaign.name!r}: slot {self.slot.name!r} has values of {found} clients, and it "
                    f"asks for {least} at least: nothing of them was looked at"
                )
            )
        return words

    def _without(self, dropped: np.ndarray, words: np.ndarray | None) -> np.ndarray | None:
        return self._check_number(None if words is None else np.where(dropped[:, None], 0, words))

    def _tell_clients(
        self, agreed: np.ndarray | None, unfit: np.ndarray, refused: np.ndarray, kept: np.ndarray | None
    ) -> None:
        """Keeps what became of each packet, for clients that ask: those that are `kept` count."""
        if agreed is not None:
            counts = np.zeros(self.places, bool) if kept is None else np.asarray(kept.any(axis=1))
            for state in self._bound.states.values():
                state.outcomes(self.index, agreed, unfit, refused, counts)

    def _unfit(self, words: np.ndarray | None) -> np.ndarray:
        """Returns which places are dropped since parts do not fit each other: none, where no party cheats."""
        return np.zeros(self.places, bool)

    def _outside(self, words: np.ndarray | None, columns: Sequence[Column]) -> np.ndarray:
        """Opens whether the values of each packet are outside their bounds."""
        session, outside = self.session, []
        raw = {column.name: array for column, array in self._entered(words)}
        for column in columns:
            array = raw[column.name]
            native = session._native.outside_bounds(array._node, column.lowest, column.highest, _source.line())
            bits = SecretArray(session, native).reshape(self.places, -1)
            outside.append(bits if bits.shape[1] == 1 else bits.max(axis=1).reshape(-1, 1))
        refused = session.concatenate(outside, axis=1).max(axis=1)
        session._native.exempt(refused._node)
        what = f"which packets of slot {self.slot.name!r} have values outside the bounds of campaign "
        shown = session._tell(refused, what + repr(self._campaign.name))
        return np.zeros(self.places, bool) if words is None else np.asarray(shown, bool) & words.any(axis=1)

    def _entered(self, words: np.ndarray | None) -> Iterator[tuple[Column, SecretArray]]:
        """Inputs the parts of these packets, and adds them up."""
        for column, parts in self._inputs_of_columns(self.slot.columns, words, lambda name: name):
            yield column, self._submitted(parts, f"{self.slot.name}.{column.name}", self.dtype(column))

    def masks(self) -> Iterator[SecretArray]:
        """Enters the masks of the slot's results for this look, as words."""
        look = self._bound.looks
        for column, parts in self._inputs_of_columns(
            self.slot.results, self.words, lambda name: ("result", look, name)
        ):
            yield self._submitted(parts, f"{self.slot.name}: mask of {column.name}", self.words_of(column))

    def _inputs_of_columns(
        self, columns: Sequence[Column], words: np.ndarray | None, key: Callable[[str], Any]
    ) -> Iterator[tuple[Column, list[int]]]:
        """Inputs each party's part of each column; `key` names the column in the store."""
        session = self.session
        owners, own = range(self._campaign.holders), {}
        if words is not None:
            own = self._parts(words)
        for column in columns:
            form = (self.places, *column.shape), self.words_of(column), None, (f"{self.slot.name}.{column.name}", None)
            given = [own[party][key(column.name)] if party in own else None for party in owners]
            yield column, [session._input(part, owner, *form)._node for owner, part in zip(owners, given, strict=True)]

    def _parts(self, words: np.ndarray) -> dict[int, dict[Any, np.ndarray]]:
        """Returns the parts of these packets at the parties of this process, which are read once."""
        if self._read is None or not np.array_equal(self._read[0], words):
            self._read = words, {party: state.parts(self.index, words) for party, state in self._bound.states.items()}
        return self._read[1]

    def _submitted(self, parts: list[int], name: str, dtype: dtypes.Dtype) -> SecretArray:
        source = (self._campaign.name, self._campaign.asked_hash)
        native = self.session._native
        return SecretArray(self.session, native.submitted(parts, dtype.parts, source, (name, None), _source.line()))

    def keep(self, shown: Mapping[str, np.ndarray]) -> None:
        """Keeps masked results for clients, at the parties of this process."""
        if self.words is not None:
            for state in self._bound.states.values():
                state.results(self.index, self._bound.looks, self.words, shown)

    @staticmethod
    def words_of(column: Column) -> dtypes.Dtype:
        """Returns the dtype of a column's words: parts and masks."""
        return dtypes.bit if column.dtype.kind == "bit" else dtypes.uint(column.dtype.bits)

    @staticmethod
    def dtype(column: Column) -> dtypes.Dtype:
        """Returns the dtype of a column in programs."""
        kind, bits = column.dtype.kind, column.dtype.bits
        if kind == "bit":
            return dtypes.bit
        return dtypes.fixed(bits, column.dtype.frac) if kind == "fixed" else dtypes.Dtype(kind, bits)

    def _bounded(self, column: Column, array: SecretArray) -> SecretArray:
        """States the range that was checked; places without values are 0."""
        if not column.is_bounded or self._campaign.check != "bound":
            return array
        low, high = min(column.lowest, 0), max(column.highest, 0)
        native = self.session._native
        return SecretArray(self.session, native.stated(array._node, low, high, _source.line()))

    def _present(self, words: np.ndarray | None) -> SecretArray:
        """Enters which places count, as values that party 0 inputs, so that they are no part of the program."""
        from quorate.campaigns import present

        own = present(words) if words is not None and 0 in self._bound.states else None
        name = f"{self.slot.name}: present"
        part = self.session._input(own, 0, (self.places,), dtypes.bit, None, (name, None))
        return self._submitted([part._node], name, dtypes.bit)
