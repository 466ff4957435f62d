"""The health of the other servers: each is asked about every second over one connection, by a thread of its own.

A call is signed for the server that is called, without the list of servers in it: servers whose lists differ still read
each other's answers, and say what differs. The state of a peer follows from the time of its last whole answer, so one
that accepts calls and does not answer, or answers by single bytes, holds up its own thread alone.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import threading
import time
from collections.abc import Callable

from quorate._quorate import __version__
from quorate.campaigns import Refused
from quorate.jobs import PeerState, about
from quorate_client import ClientError, Deployment, OtherCampaign, ServiceKey
from quorate_client._https import Answer, Links
from quorate_client.job import canonical
from quorate_client.keys import SIGNATURE_BYTES, from_text, to_text, verify
from quorate_client.statements import CLOCK_S, printable

__all__ = ["PATH", "Facts", "Peers"]

LOG = logging.getLogger("quorate.serve")

PATH = "/peer"

_LABEL = b"quorate/peer/1\0"
_LONGEST_S = 1.0  # between two questions
_LONGEST_PAUSE_S = 30.0  # of a server that does not answer
_MOST_BYTES = 4096
_CLOCKS_S = 60.0  # apart, beyond which a clock is wrong
_JOBS = ("accepts", "halted", "ends")


@dataclasses.dataclass(frozen=True)
class Facts:
    """What a server says of itself.

    Attributes:
        version: its release.
        protocol: the family that it runs.
        deployment: the hash of its list of servers, 64 digits.
        time_ms: its clock, in milliseconds since 1970.
        ready: whether it can use its store.
        jobs: "accepts"; "halted" after cheating was detected; "ends" if it is about to end.
    """

    version: str
    protocol: str
    deployment: str
    time_ms: int
    ready: bool
    jobs: str

    def to_json(self) -> bytes:
        """Returns canonical JSON."""
        return canonical(dataclasses.asdict(self))

    @staticmethod
    def from_json(data: bytes) -> Facts:
        """Reads an answer.

        Raises:
            ValueError: it is none.
        """
        try:
            fields = json.loads(data.decode("ascii"))
            version, protocol, deployment = (
                printable(fields[name], 64) for name in ("version", "protocol", "deployment")
            )
            at, ready, jobs = (fields[name] for name in ("time_ms", "ready", "jobs"))
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError("this is no answer of a server") from error
        if not isinstance(at, int) or not isinstance(ready, bool) or jobs not in _JOBS or not 0 <= at < 1 << 53:
            raise ValueError("this is no answer of a server")
        return Facts(version, protocol, deployment, at, ready, jobs)


@dataclasses.dataclass
class _Peer:
    """What is known of one server. `answered_at`, `asked_at` and `logged_at` are times of the steady clock."""

    server: int
    links: Links
    answered_at: float
    answered: float  # the same by the clock, in seconds since 1970
    has_answered: bool = False
    asked_at: float | None = None
    begun_at: float = 0.0
    failures: int = 0
    problem: str = ""  # why the last question has no answer
    other: str = ""  # why the last answer is none, such as another certificate
    facts: Facts | None = None
    ahead_s: float = 0.0
    round_trip_s: float | None = None
    kind: str = "unknown"  # the word for its state, and when that began
    since: float = 0.0
    announced: str = "unknown"  # the last one that was told by `changed`, and that which is in the log
    logged: str = "unknown "
    logged_at: float | None = None
    woken: threading.Event = dataclasses.field(default_factory=threading.Event)

    @property
    def word(self) -> str:
        """Why it takes no jobs although it answers; nothing of one that is about to end, which is no news."""
        if self.kind != "up" or self.facts is None:
            return ""
        return ("halted" if self.facts.jobs == "halted" else "") if self.facts.ready else "store"


class Peers:
    """The other servers of a deployment, as one server sees them.

    Args:
        deployment: the list of servers.
        key: this server's keys.
        me: its number.
        timeout_s: seconds after which a server that does not answer is unreachable at the latest.
        state: returns whether this server's store can be used, and its word for jobs: see `Facts`.
        changed: called after a change of a state.
        clock: this server's clock, in seconds since 1970.
        steady: a clock that is never set.
    """

    def __init__(
        self,
        deployment: Deployment,
        key: ServiceKey,
        me: int,
        timeout_s: float,
        state: Callable[[], tuple[bool, str]],
        changed: Callable[[], None],
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._deployment, self._key, self._me, self._timeout_s = deployment, key, me, timeout_s
        self._state, self._changed, self._clock, self._steady = state, changed, clock, steady
        self._interval_s = min(timeout_s / 10, _LONGEST_S)
        self._over, self._lock = threading.Event(), threading.Lock()
        now, here = steady(), clock()
        others = [server for server in range(len(deployment.servers)) if server != me]
        self._peers = {server: _Peer(server, Links(timeout_s / 4), now, here, since=here) for server in others}

    def begin(self) -> None:
        """Starts the threads: one for each server, and one that watches them."""
        now, here = self._steady(), self._clock()
        for peer in self._peers.values():
            peer.answered_at, peer.answered, peer.since = now, here, here
            threading.Thread(target=self._run, args=(peer,), name=f"quorate peer {peer.server}", daemon=True).start()
        threading.Thread(target=self._watch, name="quorate peers", daemon=True).start()

    def end(self) -> None:
        """Ends the threads; nobody waits for them."""
        self._over.set()
        for peer in self._peers.values():
            peer.woken.set()
            peer.links.cut()

    def peers(self) -> list[PeerState]:
        """Returns the states of all other servers, by their numbers."""
        with self._lock:
            return self._states()

    def look(self) -> list[PeerState]:
        """Asks all other servers at the same time, and ends; returns their states, at the latest after the time-out.

        Call it instead of `begin`. A server that does not answer is asked twice.
        """
        threads = [threading.Thread(target=self._look_at, args=(peer,), daemon=True) for peer in self._peers.values()]
        for thread in threads:
            thread.start()
        until = time.monotonic() + self._timeout_s
        for thread in threads:
            thread.join(max(until - time.monotonic(), 0.0))
        self.end()
        return self.peers()

    def _look_at(self, peer: _Peer) -> None:
        while not peer.has_answered and peer.failures < 2:
            self.ask(peer.server)
        peer.links.__exit__()

    # ---- asking ----------------------------------------------------------------------------------------------------

    def _run(self, peer: _Peer) -> None:
        while not self._over.is_set():
            try:
                self.ask(peer.server)
            except Exception as error:  # such as a connection that was cut while it was read; its text may hold values
                self._note(peer, f"the connection ended by {type(error).__name__}")
            self.settle()
            peer.woken.wait(self._pause(peer))
            peer.woken.clear()
        with contextlib.suppress(OSError):
            peer.links.__exit__()

    def _pause(self, peer: _Peer) -> float:
        return min(self._interval_s * 2 ** min(max(peer.failures - 1, 0), 20), _LONGEST_PAUSE_S)

    def ask(self, server: int) -> None:
        """Asks one server, and notes what it answers or that it does not."""
        peer, at = self._peers[server], int(self._clock())
        message = _signed(self._key.sign, self._deployment.servers[server].sign, at)
        header = {"Quorate-Signature": f"{self._me}.{at}.{to_text(self._key.sign_message(message))}"}
        with self._lock:
            begun = peer.asked_at = peer.begun_at = self._steady()
        before = self._clock()
        try:
            one = self._deployment.servers[server]
            answer = peer.links.ask(server, one, "GET", PATH, header, None, _MOST_BYTES)
        except OtherCampaign as error:
            self._note(peer, other=str(error))
            return
        except ClientError as error:
            self._note(peer, str(error))
            return
        taken = self._steady() - begun
        if taken > self._timeout_s / 2:  # it was cut, so what came is no whole answer
            self._note(peer, f"Server {server} takes calls and does not answer in time: see its log.")
            return
        with self._lock:
            peer.round_trip_s = taken
        self._read(peer, answer, before + taken / 2)

    def _read(self, peer: _Peer, answer: Answer, here: float) -> None:
        """Notes an answer that came when this server's clock was `here`."""
        name = f"Server {peer.server} ({self._deployment.servers[peer.server].url})"
        if answer.status == 401:
            told = answer.problem().get("time")
            ahead = told - here if isinstance(told, int) and abs(told) < 1 << 53 else 0.0
            asks = f"{name} does not take this server's key: compare servers.toml with its operator."
            self._note(peer, other="" if abs(ahead) > _CLOCKS_S else asks, ahead_s=ahead)
            return
        if answer.status == 404:
            self._note(peer, other=f"{name} runs no jobs, or an older release: ask its operator.")
            return
        if answer.status != 200:
            self._note(peer, f"{name} answers {answer.status}: see its log.")
            return
        try:
            facts = Facts.from_json(answer.data)
        except ValueError:
            self._note(peer, other=f"{name} answers with what is no state of a server: ask its operator.")
            return
        self._note(peer, facts=facts, ahead_s=facts.time_ms / 1000 - here)

    def _note(
        self, peer: _Peer, problem: str = "", other: str = "", facts: Facts | None = None, ahead_s: float = 0.0
    ) -> None:
        """Notes the end of a question: a problem if there was no answer, else what was answered."""
        with self._lock:
            peer.asked_at, peer.problem = None, problem
            if problem:
                peer.failures += 1
                return
            peer.failures, peer.other, peer.facts, peer.ahead_s = 0, other, facts, ahead_s
            peer.answered_at, peer.answered, peer.has_answered = self._steady(), self._clock(), True

    # ---- states ----------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        while not self._over.wait(self._interval_s):
            self.settle()

    def settle(self) -> None:
        """Logs changes of states, at most one of a server in the time after which it is unreachable; cuts slow calls.

        A call that takes half of that time is cut, whatever arrives of its answer.
        """
        logged, is_changed = list[PeerState](), False
        with self._lock:
            now = self._steady()
            for peer in self._peers.values():
                if peer.asked_at is not None and now - peer.asked_at > self._timeout_s / 2:
                    peer.links.cut()
            for state in self._states():
                peer = self._peers[state.server]
                is_changed = is_changed or state.state != peer.announced
                peer.announced = state.state
                is_due = peer.logged_at is None or now - peer.logged_at >= self._timeout_s
                word = f"{state.state} {peer.word}"
                if word != peer.logged and is_due:
                    peer.logged, peer.logged_at = word, now
                    logged.append(state)
        if is_changed:
            self._changed()
        for state in () if self._over.is_set() else logged:
            _log(state)

    def _states(self) -> list[PeerState]:
        """Returns the states, and notes them as shown. The lock is held."""
        now, states = self._steady(), list[PeerState]()
        kinds = {peer.server: self._kind(peer, now) for peer in self._peers.values()}
        is_alone = len(kinds) > 1 and all(kind == "unreachable" for kind in kinds.values())
        is_late = len(kinds) > 1 and all(
            kinds[peer.server] == "differs" and abs(peer.ahead_s) > _CLOCKS_S for peer in self._peers.values()
        )
        for peer in self._peers.values():
            kind, detail = kinds[peer.server], ""
            if kind == "unreachable":
                detail = peer.problem or f"Server {peer.server} takes calls and does not answer in time: see its log."
                detail += " No other server answers: look at this server's own network first." if is_alone else ""
            elif kind != "unknown":
                detail = self._detail(peer, is_late)
            if kind != peer.kind:
                peer.kind, peer.since = kind, peer.answered if kind == "unreachable" else self._clock()
            states.append(PeerState(peer.server, kind, peer.since, detail, peer.round_trip_s))
        return states

    def _kind(self, peer: _Peer, now: float) -> str:
        """Returns the word for a peer's state."""
        if peer.failures >= 2 or now - peer.answered_at > self._timeout_s:
            return "unreachable"
        if not peer.has_answered:
            return "unknown"
        return "differs" if self._differs(peer, is_late=False) else "up"

    def _detail(self, peer: _Peer, is_late: bool) -> str:
        """Returns a sentence on what does not fit at a server that answers."""
        if differs := self._differs(peer, is_late):
            return differs
        if peer.facts is None or (peer.facts.ready and peer.facts.jobs == "accepts"):
            return ""
        if not peer.facts.ready:
            return f"Server {peer.server} cannot use its store: see its log."
        halted = "has detected cheating, and runs no jobs until its operator says so"
        return f"Server {peer.server} {halted if peer.facts.jobs == 'halted' else 'is about to end'}."

    def _differs(self, peer: _Peer, is_late: bool) -> str:
        """Returns what a server and this one do not have in common, as sentences; nothing if all is well."""
        found, name = [peer.other] if peer.other else [], f"Server {peer.server}"
        if (facts := peer.facts) is not None:
            if facts.version != __version__:
                text = f"{name} runs release {facts.version}, and this server {__version__}: install one at both."
                found.append(text)
            if facts.protocol != self._deployment.protocol:
                found.append(f"{name} runs {facts.protocol}, and this server {self._deployment.protocol}.")
            if facts.deployment != (own := self._deployment.hash.hex()):
                lists = f"has the list of servers {facts.deployment[:16]}, and this server {own[:16]}"
                found.append(f"{name} {lists}: compare servers.toml with its operator.")
        if abs(peer.ahead_s) > _CLOCKS_S:
            apart = f"{abs(peer.ahead_s):.0f} s {'ahead of' if peer.ahead_s > 0 else 'behind'} this server's"
            whose = "those of all others differ: set this server's" if is_late else "set the one that is wrong"
            found.append(f"The clock of server {peer.server} is {apart}: {whose}.")
        return " ".join(found)

    # ---- answering -------------------------------------------------------------------------------------------------

    def answer(self, text: str) -> bytes:
        """Answers a call of another server.

        Args:
            text: its header Quorate-Signature, SERVER.TIME.SIGNATURE.

        Raises:
            Refused: no server of the list signed it for this one, or its time is more than 300 s off.
        """
        stranger = Refused(401, "no server of this list signed the call", "compare servers.toml with this operator")
        number, _, rest = text.partition(".")
        at, _, signature = rest.partition(".")
        if not all(one.isascii() and one.isdigit() and len(one) <= 12 for one in (number, at)) or len(signature) > 100:
            raise stranger
        peer = self._peers.get(int(number))
        try:
            raw = from_text(signature)
        except ValueError:
            raise stranger from None
        if peer is None or len(raw) != SIGNATURE_BYTES:
            raise stranger
        if not verify(self._deployment.servers[peer.server].sign, self._called_by(peer.server, int(at)), raw):
            raise stranger
        now = self._clock()
        if abs(int(at) - now) > CLOCK_S:
            raise Refused(401, f"the call is {CLOCK_S} s off; this server's time is {int(now)}", "set the clock")
        self._heard(peer)
        ready, jobs = self._state()
        own = self._deployment
        return Facts(__version__, own.protocol, own.hash.hex(), int(1000 * now), ready, jobs).to_json()

    def _called_by(self, server: int, at: int) -> bytes:
        return _signed(self._deployment.servers[server].sign, self._key.sign, at)

    def _heard(self, peer: _Peer) -> None:
        """Asks a server at once that calls and was thought to be unreachable, at most once in an interval."""
        with self._lock:
            if peer.failures and peer.asked_at is None and self._steady() - peer.begun_at > self._interval_s:
                peer.woken.set()


def _signed(caller: bytes, called: bytes, at: int) -> bytes:
    """Returns what a server signs when it calls another one."""
    return b"".join((_LABEL, caller, called, at.to_bytes(8, "little")))


def _log(state: PeerState) -> None:
    fields = about("peer.state", server=state.server, state=state.state)
    level = logging.WARNING if state.detail else logging.INFO
    detail = f": {state.detail}" if state.detail else ""
    LOG.log(level, "server %s is %s%s", state.server, state.state, detail, extra=fields)
