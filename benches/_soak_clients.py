"""Clients of a soak: what they and strangers do in one visit, over connections that may break."""

from __future__ import annotations

import collections
import contextlib
import random
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from typing import Any

from _soak_oracle import ABOVE, Member, Problems, Round

from quorate_client import ClientError, NoResult, NotStored, Refused, Unreachable, _https
from quorate_client._https import Answer, Links
from quorate_client.campaign import Server
from quorate_client.keys import to_text
from quorate_client.statements import sign_request

__all__ = ["Traffic", "visit"]

#: Kinds of visits while a campaign is open, and their weights.
OPEN = {"status": 36, "poll": 22, "give": 20, "broken": 6, "withdraw": 3, "stranger": 13}

#: Kinds of visits after the closing, and their weights.
CLOSED = {"status": 36, "poll": 22, "late": 8, "result": 24, "stranger": 10}

#: Seconds until the next visit where a server was down.
_DOWN_S = 0.1

#: Requests over one connection of a client that polls.
_POLLS = 24

_LARGEST = 1_000_000


class Traffic:
    """Counts requests and answers, and breaks connections; it wraps the transport of `quorate_client`.

    Attributes:
        requests: requests that servers have answered.
        answers: the numbers of answers by their status; 0 for requests without one.
        bodies: the last packet that was sent, by path and server.
        broken: connections that were reset.
    """

    def __init__(self) -> None:
        self.requests = 0
        self.answers: collections.Counter[int] = collections.Counter()
        self.bodies: dict[tuple[str, int], bytes] = {}
        self.broken = 0
        self._mutex = threading.Lock()
        self._own = threading.local()

    @contextlib.contextmanager
    def breaking(self, after: int, sent: int | None) -> Any:
        """Breaks one connection of this thread within a block.

        Args:
            after: how many requests pass before.
            sent: bytes of the next request that are sent before the reset; None: all, and the answer is not read.
        """
        self._own.plan = [after, sent]
        try:
            yield
        finally:
            self._own.plan = None

    def count(self, status: int) -> None:
        """Counts a request and its answer, whose status is 0 if there was none."""
        with self._mutex:
            self.requests += status != 0
            self.answers[status] += 1

    def installed(self) -> Callable[[], None]:
        """Wraps the transport; returns what takes that back."""
        connect, ask, traffic = _https._Pinned.connect, Links.ask, self

        def connected(connection: Any) -> None:
            connect(connection)
            if getattr(traffic._own, "plan", None) is not None:
                connection.sock = _Breaking(connection.sock, traffic)

        def asked(links: Links, index: int, server: Server, method: str, path: str, headers: Any,
                  body: bytes | None = None, most: int = 1 << 20) -> Answer:  # fmt: skip
            if body and path.endswith("/packets"):
                traffic.bodies[path, index] = body
            try:
                answer = ask(links, index, server, method, path, headers, body, most)
            except ClientError:
                traffic.count(0)
                raise
            traffic.count(answer.status)
            return answer

        _https._Pinned.connect, Links.ask = connected, asked

        def undo() -> None:
            _https._Pinned.connect, Links.ask = connect, ask

        return undo

    def due(self) -> list[Any] | None:
        """Returns the plan by which a connection of this thread breaks at this request; else None."""
        plan = getattr(self._own, "plan", None)
        if plan is None:
            return None
        plan[0] -= 1
        if plan[0] >= 0:
            return None
        self._own.plan = None
        with self._mutex:
            self.broken += 1
        return plan


class _Breaking:
    """A connection that is reset at a request."""

    def __init__(self, secured: ssl.SSLSocket, traffic: Traffic) -> None:
        self._secured, self._traffic = secured, traffic
        self._is_unread = False

    def sendall(self, data: bytes) -> None:
        plan = self._traffic.due()
        if plan is None:
            self._secured.sendall(data)
        elif plan[1] is None:
            self._secured.sendall(data)
            self._is_unread = True
        else:
            self._secured.sendall(bytes(data)[: plan[1]])
            self._reset()

    def makefile(self, *arguments: Any) -> Any:
        if self._is_unread:
            self._reset()
        return self._secured.makefile(*arguments)

    def _reset(self) -> None:
        self._secured.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._secured.close()
        raise ConnectionResetError("the bench has reset this connection")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._secured, name)


def visit(one: Round, rng: random.Random, traffic: Traffic, problems: Problems) -> None:
    """Makes one visit of a client, or of a stranger, of a campaign."""
    weights = OPEN if one.state == "open" else CLOSED
    kind = rng.choices(list(weights), list(weights.values()))[0]
    if kind == "stranger":
        stranger(one, rng, traffic, problems)
        return
    first = rng.randrange(len(one.members))
    for step in range(len(one.members)):
        member = one.members[(first + step) % len(one.members)]
        if member.busy.acquire(blocking=False):
            try:
                _VISITS[kind](one, member, rng, traffic, problems)
            except Refused:
                pass  # the campaign has just closed, or the client's hour is full
            except (NotStored, Unreachable):
                time.sleep(_DOWN_S)
            finally:
                member.busy.release()
            return


def _give(one: Round, member: Member, rng: random.Random, traffic: Traffic, problems: Problems,
          is_withdrawn: bool = False) -> None:  # fmt: skip
    """Gives a value or withdraws it. A packet that is pending is sent again first, or is replaced before it is whole.

    Clients wait for servers that are down as long as their patience lasts, which may be no time.
    """
    value: int | None = None if is_withdrawn else rng.randrange(_LARGEST + 1)
    if member.pending and rng.random() < 0.7:
        value = member.made[member.pending]
    wait_s = rng.choice((0.0, 0.0, 1.0, 3.0))
    is_late = one.state != "open"
    try:
        if value is None:
            member.client.withdraw(wait_s=wait_s)
        else:
            member.client.submit({"x": value}, wait_s=wait_s)
    finally:
        member.note(member.client._outbox.item(0, 0), value)
    counted = one.counts[one.members.index(member)] if one.counts else member.whole
    if is_late and not member.pending and member.whole > counted:
        problems.add(f"place {member.place} of {one.name} was told after the closing that all servers have its packet")


def _broken(one: Round, member: Member, rng: random.Random, traffic: Traffic, problems: Problems) -> None:
    """Gives a value over a connection that is reset somewhere; it may come again at once."""
    sent = None if rng.random() < 0.4 else rng.randrange(900)
    with contextlib.suppress(NotStored, Unreachable), traffic.breaking(rng.randrange(6), sent):
        _give(one, member, rng, traffic, problems)
    if rng.random() < 0.5 and member.pending:
        _give(one, member, rng, traffic, problems)


def _withdraw(one: Round, member: Member, rng: random.Random, traffic: Traffic, problems: Problems) -> None:
    _give(one, member, rng, traffic, problems, is_withdrawn=True)


def _status(one: Round, member: Member, rng: random.Random, traffic: Traffic, problems: Problems) -> None:
    """Asks each server for the state of its packets, and compares it with the receipts."""
    was_open, last = one.state == "open", [max(told, default=0) for told in member.told]
    try:
        found = member.client.status()
    except Refused as error:
        if error.status == 404 and not any(last):
            return  # an invitation that was not used
        raise
    if not was_open:
        return
    for server, status in enumerate(found):
        number = max((item.number for item in status.items), default=0)
        if number < last[server] and one.state == "open":
            problems.add(f"server {server} states packet {number} of place {member.place} in {one.name}, "
                         f"and has confirmed {last[server]}")  # fmt: skip


def _poll(one: Round, member: Member, rng: random.Random, traffic: Traffic, problems: Problems) -> None:
    """Asks one server again and again for the state of its packets and for what anyone may read, as a page does."""
    server = rng.randrange(3)
    own = f"{one.path}/packets/{to_text(member.key.id)}"
    with Links() as links:
        for path in rng.choices((own, one.path, f"{one.path}/hello", "/readyz"), (5, 1, 1, 1), k=_POLLS):
            signature = sign_request(member.key, one.campaign.hash, server, int(time.time()))
            links.ask(server, one.campaign.servers[server], "GET", path, {"Quorate-Signature": signature})


def _result(one: Round, member: Member, rng: random.Random, traffic: Traffic, problems: Problems) -> None:
    """Fetches its result, and compares it with its value."""
    state = one.state
    value = one.values()[one.members.index(member)] if one.counts else None
    try:
        above = bool(member.client.result()["above"])
    except NoResult as error:
        if state in ("read", "ended") and one.state == state and value is not None and one.is_answered:
            problems.add(f"place {member.place} of {one.name} gets no result: {error}")
        return
    if value is None or above != (value > ABOVE):
        problems.add(f"place {member.place} of {one.name} gets a result that is not that of its value")


def stranger(one: Round, rng: random.Random, traffic: Traffic, problems: Problems) -> None:
    """Sends what no client sends, to one server; it must be refused, and never with a status of 500."""
    index = rng.randrange(3)
    server = one.campaign.servers[index]
    kind = rng.randrange(8)
    if kind >= 6:
        _rude(int(server.url.rpartition(":")[2]), rng)
        traffic.count(0)
        return
    before = traffic.bodies.get((f"{one.path}/packets", index), b"")
    body, method, path, headers = None, "GET", f"{one.path}/packets/{to_text(rng.randbytes(65))}", {}
    if kind == 0:
        method, path, body = "POST", f"{one.path}/packets", rng.randbytes(rng.randrange(1, 4000))
    elif kind == 1 and before:
        flipped = bytearray(before)
        flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
        method, path, body = "POST", f"{one.path}/packets", bytes(flipped)
    elif kind == 2:
        path = f"/campaigns/{to_text(rng.randbytes(32))}/hello"
    elif kind == 3:
        headers = {"Quorate-Signature": to_text(rng.randbytes(72))}
    elif kind == 4:
        method, path = rng.choice(("PUT", "DELETE", "BREW")), one.path
    elif before:  # the bytes of a client once more: they are stored once
        method, path, body = "POST", f"{one.path}/packets", before
    with contextlib.suppress(Unreachable), Links(timeout_s=10) as links:
        status = links.ask(index, server, method, path, headers, body).status
        if status == 201 and kind != 5:
            problems.add(f"server {index} has taken a packet for {one.name} that its client did not make")


def _rude(port: int, rng: random.Random) -> None:
    """Connects, and leaves in the middle of a handshake or of a request."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 10) as plain:
        if rng.random() < 0.5:
            plain.sendall(rng.randbytes(rng.randrange(1, 300)))
            return
        with context.wrap_socket(plain) as secured:
            secured.sendall(b"POST /campaigns/x/packets HTTP/1.1\r\nHost: x\r\nContent-Length: 99"[: rng.randrange(70)])


_VISITS: dict[str, Callable[[Round, Member, random.Random, Traffic, Problems], None]] = {
    "status": _status,
    "poll": _poll,
    "give": _give,
    "late": _give,
    "broken": _broken,
    "withdraw": _withdraw,
    "result": _result,
}
