"""What clients were told in a soak, and whether the servers' stores and results agree with it.

The oracle reads the stores by SQL of its own, so that a defect of Quorate's own queries shows.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quorate_client import Campaign, Client, ClientKey, Receipt
from quorate_client._outbox import Item
from quorate_client.keys import to_text

__all__ = ["ABOVE", "Jobs", "Member", "Problems", "Round", "read_back", "settle", "stored"]

#: Results tell a client whether its value is above this one.
ABOVE = 500_000

#: The packets of one item that a server keeps.
_KEPT = 2


class Problems:
    """What was lost or came twice, as sentences."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self.sentences: list[str] = []

    def add(self, sentence: str) -> None:
        """Notes one."""
        with self._mutex:
            self.sentences.append(sentence)


@dataclasses.dataclass
class Member:
    """A client of a campaign, and what it was told.

    Attributes:
        key, client: its key and the client that has it.
        place: its place in the campaign.
        busy: held while it visits; a client is one person.
        made: the value of each packet that it made by number; None for a withdrawal.
        told: the receipts that it got, by server and number.
        whole: the last number that all servers have confirmed.
        pending: the value of a packet that not all servers have confirmed, and its number; 0 if there is none.
    """

    key: ClientKey
    client: Client
    place: int
    busy: threading.Lock = dataclasses.field(default_factory=threading.Lock)
    made: dict[int, int | None] = dataclasses.field(default_factory=dict)
    told: list[dict[int, Receipt]] = dataclasses.field(default_factory=lambda: [{}, {}, {}])
    whole: int = 0
    pending: int = 0

    def note(self, state: Item, value: int | None) -> None:
        """Notes what the outbox has after a visit that gave a value, or tried to.

        Args:
            state: the state of the item.
            value: the value; None for a withdrawal.
        """
        if state.number and state.number not in self.made:
            self.made[state.number] = value
        for server, text in state.receipts.items():
            receipt = Receipt.from_json(text.encode())
            self.told[int(server)][receipt.number] = receipt
        self.whole = state.base
        self.pending = state.number if state.is_pending else 0

    @property
    def receipts(self) -> int:
        """The number of receipts that it got."""
        return sum(map(len, self.told))


@dataclasses.dataclass
class Round:
    """A campaign of a soak.

    Attributes:
        name: its name.
        campaign: the campaign.
        file: its file, for programs.
        members: its clients.
        state: "open", "closed", "read" after the program, "ended" when its packets were erased.
        counts: after the closing, the number of each member's packet that all servers hold; 0 if there is none.
        is_answered: whether the program's job is done at all servers.
    """

    name: str
    campaign: Campaign
    file: Path
    members: list[Member]
    state: str = "open"
    counts: list[int] = dataclasses.field(default_factory=list)
    is_answered: bool = False

    @property
    def path(self) -> str:
        """The path of its requests."""
        return f"/campaigns/{to_text(self.campaign.hash)}"

    def values(self) -> list[int | None]:
        """Returns the value of each member that counts, or None."""
        return [member.made[number] if number else None
                for member, number in zip(self.members, self.counts, strict=True)]  # fmt: skip

    def wanted(self) -> dict[str, int]:
        """Returns the results of the program."""
        given = [value for value in self.values() if value is not None]
        return {"count": len(given), "sum": sum(given)}


Rows = dict[int, dict[int, tuple[bytes, bytes]]]


@contextlib.contextmanager
def stored(file: Path) -> Iterator[sqlite3.Connection]:
    """Opens a store for reading."""
    connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=60)
    try:
        yield connection
    finally:
        connection.close()


def _rows(file: Path, campaign: bytes) -> Rows:
    """Returns the packets of a campaign: digests of the header and of the part by number, by place."""
    query = "SELECT place, number, digest, sealed_digest FROM packets WHERE campaign = ? AND slot = 0 AND item = 0"
    found: Rows = collections.defaultdict(dict)
    with stored(file) as connection:
        for place, number, digest, part in connection.execute(query, (campaign,)):
            found[place][number] = (digest, part)
    return found


def settle(one: Round, files: Sequence[Path], problems: Problems) -> None:
    """Compares the stores with the receipts after the closing, and notes which packets count.

    Args:
        one: the campaign, closed at all servers.
        files: the stores.
        problems: takes what was lost or came twice.
    """
    stores = [_rows(file, one.campaign.hash) for file in files]
    places = {member.place for member in one.members}
    for server, rows in enumerate(stores):
        for place in sorted(set(rows) - places):
            problems.add(f"server {server} has a packet at place {place} of {one.name}, where there is no client")
    one.counts = [_count(one, member, [rows.get(member.place, {}) for rows in stores], problems)
                  for member in one.members]  # fmt: skip


def _count(one: Round, member: Member, rows: list[Mapping[int, tuple[bytes, bytes]]], problems: Problems) -> int:
    """Returns the number of a member's packet that counts: the last one that all servers have."""
    who = f"of place {member.place} in {one.name}"
    for server, have in enumerate(rows):
        if len(have) > _KEPT:
            problems.add(f"server {server} has {len(have)} packets {who}")
        for number in sorted(set(have) - set(member.made)):
            problems.add(f"server {server} has a packet {number} {who}, which its client never made")
        last = max(member.told[server], default=0)
        if max(have, default=0) < last:
            problems.add(f"server {server} has confirmed packet {last} {who}, and has no packet that is as new: lost")
        for number, receipt in member.told[server].items():
            if number in have and have[number] != (receipt.digest, receipt.part):
                problems.add(f"server {server} has another packet {number} {who} than it confirmed")
    common = set.intersection(*(set(have) for have in rows))
    chosen = max(common, default=0)
    if chosen < member.whole:
        problems.add(f"all servers have confirmed packet {member.whole} {who}, and it is not in their list: lost")
    return chosen if chosen in member.made else 0


def read_back(one: Round, files: Sequence[Path], told: Mapping[str, Any], problems: Problems) -> None:
    """Compares what a program has revealed, and what servers keep for clients, with the values that count."""
    wanted = one.wanted()
    if dict(told) != wanted:
        problems.add(f"the program on {one.name} has revealed {dict(told)} instead of {wanted}")
    outcomes = {member.place: "absent" if not number else "withdrawn" if member.made[number] is None else "in"
                for member, number in zip(one.members, one.counts, strict=True)}  # fmt: skip
    for server, file in enumerate(files):
        with stored(file) as connection:
            query = "SELECT place, outcome FROM outcomes WHERE campaign = ?"
            noted = connection.execute(query, (one.campaign.hash,)).fetchall()
            query = "SELECT place, number FROM results WHERE campaign = ? AND look = 0"
            results = connection.execute(query, (one.campaign.hash,)).fetchall()
        for place, outcome in noted:
            if outcomes.get(place) != outcome:
                problems.add(f"server {server} says {outcome!r} of place {place} in {one.name}, and that is wrong")
        present = {m.place: n for m, n in zip(one.members, one.counts, strict=True) if n and m.made[n] is not None}
        if dict(results) != present or len(results) != len(present):
            problems.add(f"server {server} keeps {len(results)} results of {one.name} instead of {len(present)}")


@dataclasses.dataclass
class Jobs:
    """What a requester was told of its jobs.

    Attributes:
        asked: the number of each request, which its program writes down when it runs, by the job's id.
        done: the ids of jobs that all servers called done.
        failed: the numbers of other ends by their reason.
    """

    asked: dict[bytes, int] = dataclasses.field(default_factory=dict)
    done: set[bytes] = dataclasses.field(default_factory=set)
    failed: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)

    def check(self, server: int, file: Path, ran: Path, problems: Problems) -> int:
        """Compares a server's runs with what the requester was told; returns how many there were.

        Args:
            server: its number.
            file: its store.
            ran: the file to which programs at this server write the numbers of their requests.
            problems: takes what was lost or came twice.
        """
        lines = collections.Counter(map(int, ran.read_text().split())) if ran.exists() else collections.Counter()
        with stored(file) as connection:
            used = {job for (job,) in connection.execute("SELECT job FROM uses")}
            twice = connection.execute("SELECT standing, at FROM jobs WHERE standing IS NOT NULL").fetchall()
        for job, number in self.asked.items():
            times = lines.pop(number, 0)
            if times > 1:
                problems.add(f"server {server} has run job {job.hex()[:16]} {times} times")
            if job in self.done and (times != 1 or job not in used):
                problems.add(f"server {server} has called job {job.hex()[:16]} done, and did not run it or count it")
            if times and job not in used:
                problems.add(f"server {server} has run job {job.hex()[:16]}, and counts no use of it")
        of_schedules = lines.pop(0, 0)
        if of_schedules > len(used - set(self.asked)):
            problems.add(f"server {server} has run jobs of schedules {of_schedules} times, and counts fewer uses")
        if lines:
            problems.add(f"server {server} has run {sum(lines.values())} jobs that nobody asked for")
        if len(set(twice)) != len(twice):
            problems.add(f"server {server} has two jobs of one time of a schedule")
        return of_schedules + sum(self.asked[job] > 0 and job in used for job in self.asked)
