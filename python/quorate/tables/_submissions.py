"""What clients of a campaign gave, as secret arrays of a session, after all parties agreed on which packets count.

**Source**: docs/security/clients.md. **Model**: that of the family; clients may do anything.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from quorate import dtypes
from quorate._session._party_files import party_files
from quorate._source import at
from quorate.array import SecretArray
from quorate.clients import require_cryptography
from quorate.errors import CheatingDetected, ConfigError, SubmissionError
from quorate.tables._answers import answer
from quorate.tables._entry import Bound, Entry
from quorate.tables._tagged_entry import TaggedEntry

if TYPE_CHECKING:
    from quorate.campaigns import Frozen
    from quorate.session import Session
    from quorate_client.campaign import Campaign

__all__ = ["Campaigning", "Campaigns", "Submissions"]

_WORD = dtypes.int(32)

# What a server tells besides its packets: the campaign's hash, its number of looks at results, the hash of their list;
# then the number of attempts to enter each slot.
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


class Campaigns:
    """The campaigns that a session reads."""

    def __init__(self) -> None:
        self.bound: dict[bytes, Bound] = {}
        self.read: list[Campaign] = []  # also after their stores were closed
        self.entered: dict[tuple[bytes, int], Submissions | BaseException] = {}  # an entry, or why it has failed

    def close(self) -> None:
        """Closes the stores of packets."""
        for bound in self.bound.values():
            for state in bound.states.values():
                state.close()
        self.bound.clear()
        self.entered.clear()


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
        hashes of the packets' headers. Of each client the packet of the highest number counts that all parties hold;
        where parties may cheat, the newest that one of them states, if all hold it. If the campaign checks bounds, each
        slot has a run in which all parties learn which packets have values outside their bounds; these count as absent.
        Nothing else of the values is opened.

        Where parties may cheat, they first prove to each other that they input what clients gave them, in runs of their
        own. Packets whose parts do not fit together count as absent. Call this for all slots before the first result.

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
            comparison for each element, with a bit for each place to all. Where parties may cheat, five runs take the
            place of these inputs: with R and K of `quorate_client.tagged`, each of n parties that have parts inputs for
            each place R words of K bits more, and then n R words of K + c bits, which are revealed to all.

        Raises:
            SubmissionError: the campaign is open, halted, was looked at too often, has too few clients, or is not
                approved at this party; or the entry of the slot has failed in this session.
            CheatingDetected: a party was caught. `quorate campaign resume` lets sessions read the campaign again.
            ConfigError: the campaign is for another protocol, for other options or another number of parties.
        """
        session = cast("Session", self)
        bound = self._bound(session, path, config)
        campaign, entered = bound.campaign, self._campaigns.entered
        key = campaign.hash, campaign.slot_index(slot)
        if key not in entered:
            try:
                entered[key] = self._enter(session, bound, key[1])
            except BaseException as error:
                if campaign.is_tagged:  # masks of an attempt are used once, also if it fails
                    entered[key] = error
                raise
        found = entered[key]
        if isinstance(found, BaseException):
            name = campaign.slots[key[1]].name
            what = f"campaign: the entry of slot {name!r} failed in this session: close it, and open another one"
            raise SubmissionError(at(what)) from found
        return found

    @staticmethod
    def _enter(session: Session, bound: Bound, slot: int) -> Submissions:
        if not bound.campaign.is_tagged:
            entry = Entry(session, bound, slot)
        elif not bound.is_looked_at:
            entry = TaggedEntry(session, bound, slot)
        else:
            what = "call it for all slots before the first result of the campaign is revealed"
            raise SubmissionError(at(f"campaign: results were revealed: {what}"))
        present, arrays = entry.values()
        return Submissions(present, arrays, entry)

    def _bound(self, session: Session, path: Any, config: Any) -> Bound:
        require_cryptography()
        from quorate.campaigns import freeze
        from quorate_client.campaign import Campaign

        campaign = Campaign.load(path)
        known = self._campaigns.bound
        if campaign.hash not in known:
            _check_fits(session, campaign)
            states: dict[int, Frozen] = {}
            try:
                for party, place in party_files(session, "campaign", config).items():
                    states[party] = freeze(campaign, place)
                bound = Bound(campaign, states)
                _agree(session, bound)
            except BaseException as error:
                for state in states.values():
                    if campaign.is_tagged and isinstance(error, CheatingDetected):
                        state.halt()
                    state.close()  # so that another session can read the campaign
                raise
            known[campaign.hash] = bound
            self._campaigns.read.append(campaign)
            if states:
                session._native.read_campaign(bound.mark, campaign.programs)
        return known[campaign.hash]


def _check_fits(session: Session, campaign: Campaign) -> None:
    """Refuses a campaign that is not for this session's family, options and parties."""
    stated, own = ({k: v for k, v in all_.items() if v != "no"} for all_ in (campaign.options, session._options.family))
    if stated != own:
        said = f"campaign {campaign.name!r} is for sessions with {stated}, and this one has {own}"
        raise ConfigError(at(f"{said}: open it with those options"))
    if (campaign.protocol, len(campaign.servers)) != (session.protocol, session.parties):
        wanted = f"{campaign.protocol} with {len(campaign.servers)} parties"
        raise ConfigError(
            at(f"campaign {campaign.name!r} is for {wanted}, and this is {session.protocol} with {session.parties}")
        )


def _agree(session: Session, bound: Bound) -> None:
    """Has all parties learn which packets each of them holds, and chooses those that count."""
    from quorate.campaigns import WORDS, History, agreed, hash_of_list, looks_before, newest, settled

    campaign = bound.campaign
    shapes = [(slot.per_client * campaign.most_clients, 2, WORDS) for slot in campaign.slots]
    ends = np.cumsum([_HEAD_WORDS + len(shapes), *(int(np.prod(shape)) for shape in shapes)])
    told = []
    for party in range(session.parties):
        state, own = bound.states.get(party), None
        if state is not None:
            looks, list_hash = state.history
            head = campaign.hash + looks.to_bytes(4, "little") + list_hash.ljust(32, b"\0")
            records = [state.record(slot).ravel() for slot in range(len(shapes))]
            tries = np.array([state.attempts(slot) for slot in range(len(shapes))], np.int32)
            own = np.concatenate([np.frombuffer(head, "<i4"), tries, *records])
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
        common = (newest if campaign.is_tagged else agreed)([row[start:end].reshape(shape) for row in heard])
        bound.chosen.append(settled(common, slot.per_client))
    bound.attempts = heard[:, _HEAD_WORDS : ends[0]].astype(np.uint32)
    bound.list_hash = hash_of_list(campaign.hash, bound.chosen)
    before = [History(int.from_bytes(head[32:36], "little"), head[36:]) for head in heads]
    bound.looks = looks_before(before, campaign.again, bound.list_hash)
