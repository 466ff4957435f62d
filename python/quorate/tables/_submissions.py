"""What clients of a campaign gave, as secret arrays of a session.

A client's values are the sum of uniform parts, one for each of the servers that it chose. Each server inputs its parts
as values of its own, and the program adds them up in the ring. So nothing that servers exchange differs from other
inputs, and the order of events is what this file is about: the servers compare what they hold, agree on a list, and
check bounds, before anything else uses the values. **Source**: docs/security/clients.md. **Model**: parties follow the
protocol; clients may do anything.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from quorate import _source, dtypes
from quorate._source import at
from quorate.array import SecretArray
from quorate.clients import require_cryptography
from quorate.errors import ConfigError, SubmissionError
from quorate.tables._answers import answer

if TYPE_CHECKING:
    from quorate.campaigns import Frozen
    from quorate.session import Session
    from quorate_client.campaign import Campaign, Column, Slot

__all__ = ["Campaigning", "Campaigns", "Submissions"]

_WORD = dtypes.int(32)

# What a server tells besides its packets: the campaign's hash, its number of looks at results, the hash of their list.
_HEAD_WORDS = 8 + 1 + 8


class Submissions:
    """What clients gave for a slot of a campaign: a secret array for each column. Made by `Session.campaign`.

    The first axis of each array has a place for each packet that the campaign admits; the axes of the column follow.
    Places of clients that gave nothing, withdrew or were refused are 0, as is their bit of `present`, so sums need no
    care. The number of places is the campaign's, so the program and its approval are the same whoever takes part.

    Attributes:
        present: a secret bit for each place: whether its values count.
    """

    def __init__(self, present: SecretArray, arrays: Mapping[str, SecretArray], entry: Entry | None) -> None:
        self.present, self._arrays, self._entry = present, dict(arrays), entry

    def _adopted_by(self, session: Session) -> Submissions:
        return Submissions(session.adopt(self.present), session.adopt(self._arrays), None)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in the campaign's order."""
        return tuple(self._arrays)

    def __len__(self) -> int:
        return len(self.present)

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __getitem__(self, name: str) -> SecretArray:
        if name not in self._arrays:
            known = ", ".join(map(repr, self._arrays))
            raise ConfigError(at(f"submissions have no column {name!r}; there are {known}"))
        return self._arrays[name]

    def __repr__(self) -> str:
        named = ", ".join(f"{name}: {array.dtype}" for name, array in self._arrays.items())
        return f"Submissions({len(self)} places; {named})"

    def answer(self, results: Mapping[str, SecretArray]) -> None:
        """Gives each client its results, which no server learns. Once in a session; after an error, again.

        A packet has a uniform mask for each result that the campaign lists. The servers learn the results plus these
        masks, and keep them for the clients, each of which takes its own mask off (`quorate_client`, `result`). Clients
        that do not count get nothing.

        Args:
            results: for each result of the slot an array of its dtype, with a row for each place.

        Rounds: those of one `mpc.where`, for the places that do not count, then of a reveal.

        Raises:
            ConfigError: a result is missing, or the slot has no such result.
            ShapeError, DtypeError: an array is not of the shape or dtype that the campaign states.
            SubmissionError: the session has given results before; a mask is used once.

        Example:
            >>> import quorate as qr
            >>> def program(mpc, path):
            ...     people = mpc.campaign(path)
            ...     mean = people["salary"].sum() // people.present.sum()
            ...     people.answer({"above_mean": people["salary"] > mean})
        """
        if self._entry is None:
            raise ConfigError(at("answer: a branch cannot give results: call it in the session that read the campaign"))
        answer(self._entry, self.present, results)


class _Bound:
    """A campaign that a session reads: its frozen state at the parties of this process, and the agreed list.

    Without states, in a program that is explained, no values are read and everything is taken to be present.
    """

    def __init__(self, campaign: Campaign, states: Mapping[int, Frozen]) -> None:
        self.campaign, self.states = campaign, dict(states)
        self.chosen: list[np.ndarray] = []  # of each slot
        self.looks, self.list_hash = 0, b""
        self.slots: dict[str, Submissions] = {}
        self._marks: dict[int, int] = {}  # looks of this session, by party
        self._lock = threading.Lock()

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


class Campaigns:
    """The campaigns that a session reads."""

    def __init__(self) -> None:
        self.bound: dict[bytes, _Bound] = {}

    def close(self) -> None:
        """Closes the stores of packets."""
        for bound in self.bound.values():
            for state in bound.states.values():
                state.close()
        self.bound.clear()


class Campaigning:
    """The methods of `Session` that read what clients of campaigns gave."""

    _campaigns: Campaigns
    _config: Path | None

    def campaign(
        self,
        path: str | os.PathLike[str],
        slot: str | None = None,
        config: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    ) -> Submissions:
        """Returns what clients of a campaign gave for a slot, once it is closed. Experimental.

        The first call for a campaign ends in a run in which all parties learn which packets each of them holds, by the
        hashes of the packets' headers. Of each client the packet of the highest number counts that all parties hold.
        If the campaign checks bounds, each slot has a run in which all parties learn which packets have values outside
        their bounds; these count as absent. Nothing else of the values is opened.

        Before the first result that depends on what clients gave is revealed, each party records that the campaigns of
        the session are looked at. After that, other sessions may read the same campaign only as often as its `again`
        says, and only if the same packets count; otherwise clients have to give their values again.

        Args:
            path: the campaign's file, TOML or JSON, the same at all parties.
            slot: the name of a slot; a campaign with one slot needs none.
            config: the server's `party.toml`, beside which `serve.toml` says where its packets are; by default that of
                the session. In a local session a list of them, one for each party.

        Rounds and bytes:
            As those of inputs and reveals: 24 words of 32 bits for each place of all slots, from each party to all;
            then for each column an input of each party that may have parts, twice if bounds are checked, and one
            comparison for each element, with a bit for each place to all.

        Raises:
            SubmissionError: the campaign is open, was looked at too often, has too few clients, or is not approved at
                this party.
            ConfigError: the campaign is for another protocol or number of parties; the family lets parties cheat.
        """
        session = cast("Session", self)
        bound = self._bound(session, path, config)
        index = bound.campaign.slot_index(slot)
        name = bound.campaign.slots[index].name
        if name not in bound.slots:
            bound.slots[name] = Entry(session, bound, index).submissions()
        return bound.slots[name]

    def _bound(self, session: Session, path: Any, config: Any) -> _Bound:
        require_cryptography()
        from quorate.campaigns import freeze
        from quorate_client.campaign import Campaign

        campaign = Campaign.load(path)
        known = self._campaigns.bound
        if campaign.hash not in known:
            _check_fits(session, campaign)
            states: dict[int, Frozen] = {}
            try:
                for party, place in _settings(session, config).items():
                    states[party] = freeze(campaign, place)
                bound = _Bound(campaign, states)
                _agree(session, bound)
            except BaseException:
                for state in states.values():
                    state.close()  # so that another session can read the campaign
                raise
            known[campaign.hash] = bound
            if states:
                session._native.read_campaign(bound.mark, campaign.programs)
        return known[campaign.hash]


def _check_fits(session: Session, campaign: Campaign) -> None:
    """Refuses a campaign that is not for this session's family, options and parties."""
    parties_may_cheat = not session._native.streams()
    if parties_may_cheat:
        raise ConfigError(at("campaign: clients of a family in which parties may cheat are not supported yet"))
    stated, own = ({k: v for k, v in all_.items() if v != "no"} for all_ in (campaign.options, session._options.family))
    if stated != own:
        said = f"campaign {campaign.name!r} is for sessions with {stated}, and this one has {own}"
        raise ConfigError(at(f"{said}: open it with those options"))
    if (campaign.protocol, len(campaign.servers)) != (session.protocol, session.parties):
        wanted = f"{campaign.protocol} with {len(campaign.servers)} parties"
        raise ConfigError(
            at(f"campaign {campaign.name!r} is for {wanted}, and this is {session.protocol} with {session.parties}")
        )


def _settings(session: Session, config: Any) -> Mapping[int, Any]:
    """Returns the settings of the servers of this process; none in a program that is explained."""
    if session._nothing_is_sent:
        return {}
    if not session.is_local:
        config = config or session._config
        if config is None:
            raise ConfigError(at("campaign: give config=, the `party.toml` beside the server's `serve.toml`"))
        return {int(session.me): config}
    if config is None or isinstance(config, (str, os.PathLike)) or len(config) != session.parties:
        what = f"a list of {session.parties} files `party.toml`, one for each party"
        raise ConfigError(at(f"campaign: in a local session give config=, {what}"))
    return dict(enumerate(config))


def _agree(session: Session, bound: _Bound) -> None:
    """Has all parties learn which packets each of them holds, and chooses those that count."""
    from quorate.campaigns import WORDS, History, agreed, hash_of_list, looks_before, settled

    campaign = bound.campaign
    shapes = [(slot.per_client * campaign.most_clients, 2, WORDS) for slot in campaign.slots]
    ends = np.cumsum([_HEAD_WORDS, *(int(np.prod(shape)) for shape in shapes)])
    told = []
    for party in range(session.parties):
        state, own = bound.states.get(party), None
        if state is not None:
            looks, list_hash = state.history
            head = campaign.hash + looks.to_bytes(4, "little") + list_hash.ljust(32, b"\0")
            records = [state.record(slot).ravel() for slot in range(len(shapes))]
            own = np.concatenate([np.frombuffer(head, "<i4"), *records])
        column = (f"packets of campaign {campaign.asked_hash.hex()}", None)
        told.append(session._input(own, party, (int(ends[-1]),), _WORD, None, column))
    table = session._tell(session.stack(told), f"which packets of campaign {campaign.name!r} each of them holds")
    if not bound.states:
        return
    heard = np.ascontiguousarray(table, np.int32)
    heads = [row[:_HEAD_WORDS].astype("<i4").tobytes() for row in heard]
    for party, head in enumerate(heads):
        if head[:32] != campaign.hash:
            what = f"party {party} has another campaign named {campaign.name!r}, whose program or another field differs"
            raise SubmissionError(at(f"{what}: compare the files' hashes"))
    for start, end, shape, slot in zip(ends, ends[1:], shapes, campaign.slots, strict=False):
        common = agreed([row[start:end].reshape(shape) for row in heard])
        bound.chosen.append(settled(common, slot.per_client))
    bound.list_hash = hash_of_list(campaign.hash, bound.chosen)
    before = [History(int.from_bytes(head[32:36], "little"), head[36:]) for head in heads]
    bound.looks = looks_before(before, campaign.again, bound.list_hash)


class Entry:
    """The way of a slot's values into a session."""

    def __init__(self, session: Session, bound: _Bound, slot: int) -> None:
        self.session, self._bound, self.index = session, bound, slot
        self._campaign: Campaign = bound.campaign
        self.slot: Slot = bound.campaign.slots[slot]
        self.places = self.slot.per_client * self._campaign.most_clients
        self.words: np.ndarray | None = None  # of the packets that count
        self.shown: list[SecretArray] | None = None  # results under their masks, once they are computed
        self.has_answered = False
        self._read: tuple[np.ndarray, dict[int, dict[Any, np.ndarray]]] | None = None

    def submissions(self) -> Submissions:
        """Inputs the parts of the packets that count, after their bounds are checked."""
        agreed, refused = self._chosen(), np.zeros(self.places, bool)
        checked = [column for column in self.slot.columns if column.is_bounded and self._campaign.check == "bound"]
        try:
            words = self._check_number(agreed)
            if checked:
                refused = self._outside(words, checked)
                words = self._check_number(None if words is None else np.where(refused[:, None], 0, words))
        except SubmissionError:  # there are too few clients, for ever; other errors leave it open
            self._tell_clients(agreed, refused, None)
            raise
        self._tell_clients(agreed, refused, words)
        arrays = {column.name: self._stated(column, array) for column, array in self._entered(words)}
        self.words = words
        return Submissions(self._present(words), arrays, self)

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
            raise SubmissionError(
                at(
                    f"campaign {self._campaign.name!r}: slot {self.slot.name!r} has values of {found} clients, and it "
                    f"asks for {least} at least: nothing of them was looked at"
                )
            )
        return words

    def _tell_clients(self, agreed: np.ndarray | None, refused: np.ndarray, kept: np.ndarray | None) -> None:
        """Keeps what became of each packet, for clients that ask: those that are `kept` count."""
        if agreed is not None:
            counts = np.zeros(self.places, bool) if kept is None else np.asarray(kept.any(axis=1))
            for state in self._bound.states.values():
                state.outcomes(self.index, agreed, refused, counts)

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
        for column, parts in self._inputs(self.slot.columns, words, lambda name: name):
            yield column, self._submitted(parts, f"{self.slot.name}.{column.name}", self.dtype(column))

    def masks(self) -> Iterator[SecretArray]:
        """Enters the masks of the slot's results for this look, as words."""
        look = self._bound.looks
        for column, parts in self._inputs(self.slot.results, self.words, lambda name: ("result", look, name)):
            yield self._submitted(parts, f"{self.slot.name}: mask of {column.name}", _words(column))

    def _inputs(
        self, columns: Sequence[Column], words: np.ndarray | None, key: Callable[[str], Any]
    ) -> Iterator[tuple[Column, list[int]]]:
        """Inputs each party's part of each column; `key` names the column in the store."""
        session = self.session
        owners, own = range(self._campaign.holders), {}
        if words is not None:
            own = self._parts(words)
        for column in columns:
            form = (self.places, *column.shape), _words(column), None, (f"{self.slot.name}.{column.name}", None)
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
    def dtype(column: Column) -> dtypes.Dtype:
        """Returns the dtype of a column in programs."""
        kind, bits = column.dtype.kind, column.dtype.bits
        if kind == "bit":
            return dtypes.bit
        return dtypes.fixed(bits, column.dtype.frac) if kind == "fixed" else dtypes.Dtype(kind, bits)

    def _stated(self, column: Column, array: SecretArray) -> SecretArray:
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


def _words(column: Column) -> dtypes.Dtype:
    """The dtype of a column's words: parts and masks."""
    return dtypes.bit if column.dtype.kind == "bit" else dtypes.uint(column.dtype.bits)
