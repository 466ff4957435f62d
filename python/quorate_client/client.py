"""A client of a campaign: makes packets, keeps them until all servers have stored them, asks for their state.

Each packet has one number and one set of bytes, which are on the disk before any of them is sent. All servers must
store their packet, receivers or not, so another choice of receivers would not help where a server is down: the same
bytes are sent again until it is back. Other values, or a withdrawal, get a higher number and fresh coins.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from quorate_client import wire, words
from quorate_client._https import Answer, Links
from quorate_client._outbox import Item, Outbox
from quorate_client.campaign import Campaign
from quorate_client.errors import (
    CampaignError,
    KeyFileError,
    NoResult,
    NotStored,
    OtherCampaign,
    OutboxError,
    Refused,
    Unreachable,
    ValuesError,
    WireError,
)
from quorate_client.invitation import Invitation
from quorate_client.keys import ClientKey, from_text, to_text
from quorate_client.statements import Hello, Receipt, Status, results_from_json, sign_request
from quorate_client.wire import MOST_NUMBER, VALUES, WITHDRAWN, Header, Packet, make_packets

__all__ = ["Client", "client"]

#: The most bytes of a server's answer, results apart.
_MOST_TOLD = 1 << 20

#: Seconds between two tries: the first pause, and the longest.
_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 15.0


def client(
    campaign: Campaign | str | os.PathLike[str],
    *,
    key: ClientKey | str | os.PathLike[str],
    invitation: Invitation | str | None = None,
    store: str | os.PathLike[str] | None = None,
) -> Client:
    """Returns a client of a campaign. Nothing is sent.

    Arguments:
        campaign: the campaign, or the file that `quorate campaign create` wrote, as the operators hand it out.
        key: the client's key, or the file that `new_key` wrote.
        invitation: the invitation or its text, if the campaign has invitations.
        store: a folder for packets that are not yet stored by all servers; by default, beside the key's file. Keep it:
            it has the numbers that were used.

    Raises:
        CampaignError: the campaign cannot be read, or the key or invitation is not for it.
        KeyFileError: the key or invitation cannot be read.
    """
    if not isinstance(campaign, Campaign):
        campaign = Campaign.from_file(campaign)
    if not isinstance(key, ClientKey):
        store = f"{os.fspath(key)}.outbox" if store is None else store
        key = ClientKey.load(key)
    if store is None:
        raise KeyFileError("store= must name a folder for unsent packets where the key is given without a file.")
    if isinstance(invitation, str):
        invitation = Invitation.from_text(invitation)
    return Client(campaign, key, invitation, Path(store))


def _place(campaign: Campaign, key: ClientKey, invitation: Invitation | None) -> int:
    if campaign.clients:
        place = campaign.client_index(key.id)
        if place is None:
            raise CampaignError("The campaign does not list this key. Use the listed one, or ask the operators.")
        if invitation is not None:
            raise CampaignError("The campaign lists its clients, and takes no invitations. Leave invitation= out.")
        return place
    if invitation is None:
        raise CampaignError("The campaign has invitations. Give yours as invitation=.")
    if invitation.place >= campaign.invitations or len(invitation.secrets) != len(campaign.servers):
        raise CampaignError("The invitation is for another campaign. Ask the operators for the one of this campaign.")
    return invitation.place


class Client:
    """A client of a campaign; made by `client`."""

    def __init__(self, campaign: Campaign, key: ClientKey, invitation: Invitation | None, store: Path) -> None:
        self._campaign, self._key, self._invitation = campaign, key, invitation
        self._at = _place(campaign, key, invitation)
        self._outbox = Outbox(store / to_text(campaign.hash) / to_text(key.id))

    def __repr__(self) -> str:
        return f"Client(campaign={self._campaign.name!r}, key={to_text(self._key.id)})"

    def submit(
        self,
        values: Mapping[str, Any],
        *,
        slot: str | None = None,
        item: int = 0,
        at_least: int | None = None,
        wait_s: float = 60.0,
    ) -> tuple[Receipt, ...]:
        """Gives values to the servers, and returns their receipts once all have stored them.

        They replace what the client gave for the item before. If a call ends early, call again with the same values:
        the same packet is sent to the servers that lack it. A server's operators cannot read the values.

        Arguments:
            values: numbers or arrays by column.
            slot: the slot; may be left out if the campaign has one.
            item: the index among the client's packets of the slot.
            at_least: the least number of clients with which this client agrees to a run; by default the campaign's.
            wait_s: seconds to try; each server is tried once at least.

        Raises:
            ValuesError: a column is missing, unknown, or has values that do not fit; nothing was sent.
            CampaignError: there is no such slot or item; nothing was sent.
            OtherCampaign: a server has another certificate or campaign. Before the first packet, nothing was sent.
            Refused: a server refused the packet.
            NotStored: not all servers have stored it in time. Call again.
            OutboxError: the packet cannot be kept on the disk, or another client uses the outbox.
        """
        place = self._slot(slot, item)
        demand = self._campaign.at_least if at_least is None else at_least
        if isinstance(demand, bool) or not isinstance(demand, int) or not 1 <= demand <= self._campaign.most_clients:
            raise ValuesError(f"at_least must be a number of clients from 1 to {self._campaign.most_clients}.")
        encoded = words.encode(self._campaign.slots[place], values)
        return self._give(place, item, demand, encoded, wait_s)

    def withdraw(self, *, slot: str | None = None, item: int = 0, wait_s: float = 60.0) -> tuple[Receipt, ...]:
        """Withdraws what the client gave for an item, and returns the servers' receipts once all have stored it.

        Raises:
            CampaignError, OtherCampaign, Refused, NotStored, OutboxError: as in `submit`.
        """
        return self._give(self._slot(slot, item), item, 1, None, wait_s)

    def resume(self, *, wait_s: float = 60.0) -> int:
        """Sends packets that not all servers have stored, and returns how many there were.

        Raises:
            OtherCampaign, Refused, NotStored, OutboxError: as in `submit`.
        """
        with self._outbox.locked():
            items = self._outbox.pending()
            for state in items:
                self._deliver(state, time.monotonic() + wait_s)
            return len(items)

    def status(self) -> tuple[Status, ...]:
        """Returns what each server states about this client's packets. It is asked once, and not signed.

        Raises:
            OtherCampaign: a server has another certificate.
            Unreachable: a server does not answer.
            Refused: a server refuses to say; it does not have the client, or not the campaign.
        """
        return tuple(self._status(server) for server in range(len(self._campaign.servers)))

    def _status(self, server: int) -> Status:
        return Status.from_json(self._told(server, "packets", _MOST_TOLD))

    def _told(self, server: int, what: str, most: int) -> bytes:
        """Returns a server's answer to a signed request; if clocks differ, the request is signed for the server's."""
        now = int(time.time())
        with Links() as links:
            for attempt in range(2):
                headers = {"Quorate-Signature": sign_request(self._key, self._campaign.hash, server, now)}
                answer = self._ask(links, server, "GET", f"/{what}/{to_text(self._key.id)}", headers, most=most)
                told = answer.problem().get("time") if answer.status == 401 else None
                if attempt or isinstance(told, bool) or not isinstance(told, int):
                    break
                now = min(max(told, 0), MOST_NUMBER)
        answer.raise_for(server, self._name(server))
        return answer.data

    def result(self, *, slot: str | None = None, item: int = 0, look: int | None = None) -> dict[str, npt.NDArray[Any]]:
        """Returns what the program revealed to this client alone: an array for each result of the slot.

        Integers are int64 or uint64, fixed point is float64, bits are bool. All servers are asked; each knows the
        result under a mask that only this client's outbox has the seed of.

        Arguments:
            slot: the slot; may be left out if the campaign has one.
            item: the index among the client's packets of the slot.
            look: the look, from 0; by default the last one that all servers have.

        Raises:
            CampaignError: there is no such slot or item, or it has no results.
            NoResult: a server does not have it yet, servers state unlike results, or the seed is not in the outbox.
            OtherCampaign, Refused, Unreachable: as in `status`.
            OutboxError: the outbox cannot be read.
        """
        place = self._slot(slot, item)
        layout = self._campaign.slots[place]
        if not layout.results:
            raise CampaignError(f"Slot {layout.name} has no results for its clients.")
        stated = [self._results(server, place, item) for server in range(len(self._campaign.servers))]
        look = min(max(looks, default=0) for looks in stated) if look is None else look
        for server, looks in enumerate(stated):
            if look not in looks:
                raise NoResult(f"{self._name(server)} has no result of look {look} for this client. Ask after the run.")
            if looks[look] != stated[0][look]:
                raise NoResult(f"Servers 0 and {server} state unlike results. Neither is used; ask their operators.")
        number, data = stated[0][look]
        seed = self._outbox.item(place, item).masks.get(str(number))
        if seed is None:
            raise NoResult(f"The outbox has no mask of packet {number}. Name the store that the values were sent from.")
        context = Header(self._campaign.hash, self._key.id, self._at, place, item, number, 0, 1, VALUES, ()).context
        try:
            return words.unmasked(layout, data, look, from_text(seed), context)
        except WireError:
            raise NoResult("The servers state a result of another length or layout than the campaign has.") from None

    def _results(self, server: int, slot: int, item: int) -> dict[int, tuple[int, bytes]]:
        """Returns the number and the masked words that a server states for an item, by look."""
        sizes = [one.per_client * (one.looks * 1000 + 2 * one.masks.bytes) for one in self._campaign.slots]
        found = {}
        try:
            results = results_from_json(self._told(server, "results", _MOST_TOLD + sum(sizes)))
        except WireError:
            raise NoResult(f"{self._name(server)} answered with no list of results.") from None
        for result in results:
            own = (result.campaign, result.client, result.server) == (self._campaign.hash, self._key.id, server)
            if not own or not result.is_by(self._campaign.servers[server].sign):
                raise NoResult(f"{self._name(server)} states a result without a valid signature. Ask its operator.")
            if (result.slot, result.item) == (slot, item) and result.look < self._campaign.slots[slot].looks:
                found[result.look] = (result.number, result.data)
        return found

    def _slot(self, name: str | None, item: int) -> int:
        slot = self._campaign.slot_index(name)
        most = self._campaign.slots[slot].per_client
        if isinstance(item, bool) or not isinstance(item, int) or not 0 <= item < most:
            raise CampaignError(
                f"item= must be 0 to {most - 1}: a client gives {most} of {self._campaign.slots[slot].name}."
            )
        return slot

    def _give(
        self, slot: int, item: int, at_least: int, encoded: words.Words | None, wait_s: float
    ) -> tuple[Receipt, ...]:
        until = time.monotonic() + wait_s
        mark = "withdrawn" if encoded is None else to_text(self._key.mac(at_least.to_bytes(4, "little") + encoded.data))
        with self._outbox.locked():
            state = self._outbox.item(slot, item)
            if not state.is_pending or state.mark != mark:
                state = self._made(state, at_least, encoded, mark)
            return self._deliver(state, until)

    def _made(self, last: Item, at_least: int, encoded: words.Words | None, mark: str) -> Item:
        """Makes the packets of a new number, and keeps them."""
        number = max(last.number + 1, int(time.time() * 1000))  # above those of an outbox that was lost
        if number > MOST_NUMBER:
            raise OutboxError("The outbox has used the largest number that a packet may have. Check the clock.")
        receivers = () if encoded is None else _receivers(self._campaign)
        kind = WITHDRAWN if encoded is None else VALUES
        masks = {used: seed for used, seed in last.masks.items() if int(used) >= last.base}
        place = (self._at, last.slot, last.item, number, last.base)
        header = Header(self._campaign.hash, self._key.id, *place, at_least, kind, receivers)
        contents: dict[int, bytes | memoryview] = {}
        if encoded is not None:
            slot = self._campaign.slots[last.slot]
            if slot.results:
                seed = secrets.token_bytes(words.SEED_BYTES)
                words.mask(slot, encoded, seed, header.context)
                masks[str(number)] = to_text(seed)
            contents = wire.split(self._campaign, header, encoded)
        packets = make_packets(self._campaign, self._key, header, contents, self._invitation)
        made = Item(last.slot, last.item, number, last.base, masks, mark, is_pending=True)
        self._outbox.keep(made, packets)
        return made

    def _deliver(self, state: Item, until: float) -> tuple[Receipt, ...]:
        """Sends a packet to the servers that lack it, until all have stored it or the time is over."""
        servers = range(len(self._campaign.servers))
        pause = _PAUSE_S
        while True:
            try:
                problems = self._tried(state)
            except Refused:
                state.is_pending = False  # the answer to these bytes will not change
                self._outbox.save(state)
                raise
            if not problems:
                state.is_pending, state.base = False, state.number
                state.masks = {used: seed for used, seed in state.masks.items() if used == str(state.number)}
                self._outbox.save(state)
                return tuple(Receipt.from_json(state.receipts[str(server)].encode()) for server in servers)
            wait = max([pause, *(problem.retry_after_s or 0 for problem in problems)])
            if time.monotonic() + wait > until:
                lacking = tuple(server for server in servers if str(server) not in state.receipts)
                raise NotStored(lacking, self._lacking(state, problems)) from None
            time.sleep(wait)
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    def _tried(self, state: Item) -> list[Unreachable]:
        """Sends a packet to each server that lacks it, once; none before all have stated the campaign."""
        with Links() as links:
            problems = [] if state.greeted else self._greet(links)
            if problems:
                return problems
            state.greeted = True
            for server in range(len(self._campaign.servers)):
                if str(server) in state.receipts:
                    continue
                try:
                    state.receipts[str(server)] = self._stored(links, server, self._outbox.packet(state, server))
                except Unreachable as error:
                    problems.append(error)
                else:
                    self._outbox.save(state)
            return problems

    def _lacking(self, state: Item, problems: list[Unreachable]) -> str:
        count = len(self._campaign.servers)
        return (
            f"Packet {state.number} (slot {self._campaign.slots[state.slot].name}, item {state.item}) is stored by "
            f"{len(state.receipts)} of {count} servers. {' '.join(str(problem) for problem in problems)} The packet is "
            "kept: call again with the same values, or resume(), to send the same bytes to those that lack it."
        )

    def _greet(self, links: Links) -> list[Unreachable]:
        """Compares what each server states with the campaign; returns the problems of those that do not answer."""
        problems = []
        for server in range(len(self._campaign.servers)):
            name = self._name(server)
            try:
                answer = self._ask(links, server, "GET", "/hello", {})
                if answer.status == 404:
                    raise OtherCampaign(
                        server, f"{name} does not run this campaign. No value was sent; ask its operator."
                    )
                answer.raise_for(server, name)
                differs = Hello.from_json(answer.data).differs(self._campaign, server)
                if differs:
                    raise OtherCampaign(
                        server,
                        f"{name} states another {differs} than the campaign. No value was sent; ask its operator.",
                    )
            except WireError:
                raise OtherCampaign(server, f"{name} does not state a campaign. No value was sent.") from None
            except Unreachable as error:
                problems.append(error)
        return problems

    def _stored(self, links: Links, server: int, body: bytes) -> str:
        """Sends a server its packet; returns its receipt, compared with the packet."""
        answer = self._ask(links, server, "POST", "/packets", {"Content-Type": "application/octet-stream"}, body)
        answer.raise_for(server, self._name(server))
        try:
            confirms = Receipt.from_json(answer.data).confirms(
                Packet.of(server, body), self._campaign.servers[server].sign
            )
        except WireError:
            confirms = False
        if not confirms:
            raise Unreachable(server, f"{self._name(server)} answered without a valid receipt for the packet.")
        return answer.data.decode()

    def _name(self, server: int) -> str:
        return f"Server {server} ({self._campaign.servers[server].url})"

    def _ask(
        self,
        links: Links,
        server: int,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        most: int = _MOST_TOLD,
    ) -> Answer:
        whole = f"/campaigns/{to_text(self._campaign.hash)}{path}"
        return links.ask(server, self._campaign.servers[server], method, whole, headers, body or None, most)


def _receivers(campaign: Campaign) -> tuple[int, ...]:
    """Returns the servers that a value is shared between; of `rss` at random, so that each has parts of as many values.

    Their loads differ: the last of them gets words, and the others get seeds.
    """
    if campaign.protocol != "rss":
        return tuple(range(campaign.holders))
    chosen = secrets.SystemRandom().sample(range(len(campaign.servers)), campaign.receivers)
    return tuple(sorted(chosen))
