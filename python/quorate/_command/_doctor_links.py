"""What a party sees of the others: whether their addresses answer, and, in a session, what all of them see."""

from __future__ import annotations

import dataclasses
import re
import socket
import threading
import time
from typing import Any

import numpy as np

from quorate._command._doctor_certificates import MOST, marks
from quorate._command._doctor_files import Party, place_of
from quorate._quorate import __version__
from quorate.dtypes import int as int_dtype
from quorate.session import Session

__all__ = ["UNNAMED", "Probes", "Seen", "exchanged"]

_TRY_S, _PAUSE_S = 3.0, 0.5
_WORD = int_dtype(64)
_BOUND = 1 << 50  # milliseconds since 1970, parts of versions, and of hashes of certificates
_TURNS = 5

_REFUSED = "does not listen at {address}: start `quorate doctor` there, or open the port"
_SILENT = "does not answer at {address}: its machine is off, or a firewall on the way drops connections"
UNNAMED = "has the address {address}, whose host name does not resolve: correct it, or look at the name service here"
_OTHER = "cannot be reached at {address} from this machine"


class Probes:
    """Tries the addresses of the peers again and again, in threads, until it is left."""

    def __init__(self, party: Party) -> None:
        self._faults: dict[int, str] = {}
        self._seconds: dict[int, list[float]] = {peer: [] for peer, _ in party.peers}
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._try, args=(peer, place_of(address)), daemon=True)
            for peer, address in party.peers
        ]

    def __enter__(self) -> Probes:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def _try(self, peer: int, place: tuple[str, int]) -> None:
        while not self._over.is_set():
            begun = time.monotonic()
            try:
                with socket.create_connection(place, _TRY_S):
                    self._seconds[peer].append(time.monotonic() - begun)
                pause = _PAUSE_S * len(self._seconds[peer])
            except OSError as error:
                self._faults[peer] = _fault(error)
                pause = _PAUSE_S
            self._over.wait(pause)

    def fault(self, peer: int) -> str | None:
        """Returns why a peer's address has never answered; None if it has."""
        return None if self._seconds[peer] else self._faults.get(peer, _SILENT)

    def milliseconds(self, peer: int) -> float | None:
        """Returns the shortest time that a connection to a peer took; None if there was none."""
        return min(self._seconds[peer], default=0.0) * 1e3 or None

    def settle(self) -> None:
        """Waits until each address has answered, but no longer than one attempt takes."""
        deadline = time.monotonic() + _TRY_S + 2 * _PAUSE_S
        while time.monotonic() < deadline and not all(self._seconds.values()):
            time.sleep(_PAUSE_S / 10)


def _fault(error: OSError) -> str:
    if isinstance(error, socket.gaierror):
        return UNNAMED
    if isinstance(error, ConnectionRefusedError):
        return _REFUSED
    return _SILENT if isinstance(error, TimeoutError) else _OTHER


@dataclasses.dataclass(frozen=True)
class Seen:
    """What one party has told all of them.

    Attributes:
        release: its release of Quorate.
        ahead_s: its clock less that of this party, in seconds, up to a round trip.
        reaches: whether the address of each party has answered it; True for its own.
        shows: the certificate that it shows, as a number of `_doctor_certificates.marks`.
        lists: those that it lists for each party.
    """

    release: str
    ahead_s: float
    reaches: tuple[bool, ...]
    shows: int = 0
    lists: tuple[tuple[int, ...], ...] = ()


def exchanged(party: Party, mpc: Session, probes: Probes) -> list[Seen]:
    """Exchanges with all parties what each sees. All of it is public.

    The clocks are read after a reveal, which ends at about the same time everywhere, several times; the least
    difference counts.
    """
    probes.settle()
    count = len(party.addresses)
    reaches = [number == party.me or probes.fault(number) is None for number in range(count)]
    facts = _told(mpc, count, lambda: [*_numbers(__version__), *reaches, *marks(party)])
    ahead = np.full(count, np.inf)
    for _ in range(_TURNS):
        now = _told(mpc, count, lambda: [time.time_ns() // 1_000_000])[:, 0]
        apart = (now - now[party.me]) / 1e3
        ahead = np.where(np.abs(apart) < np.abs(ahead), apart, ahead)
    return [_seen(row, float(ahead[number]), count) for number, row in enumerate(facts.tolist())]


def _seen(row: list[int], ahead_s: float, count: int) -> Seen:
    reaches, shows, lists = row[3 : 3 + count], row[3 + count], row[4 + count :]
    rows = tuple(tuple(lists[at : at + MOST]) for at in range(0, len(lists), MOST))
    return Seen(".".join(map(str, row[:3])), ahead_s, tuple(map(bool, reaches)), shows, rows)


def _told(mpc: Session, count: int, own: Any) -> np.ndarray:
    """Reveals a row of integers of each party to all; a row is read when the run wants it."""
    width = len(own())
    rows = [
        mpc.input(
            (lambda: np.array(own(), np.int64)) if mpc.me == owner else None,
            owner=owner, shape=(width,), dtype=_WORD, bound=_BOUND,
        )
        for owner in range(count)
    ]  # fmt: skip
    return np.array(mpc.reveal_all(*rows))


def _numbers(version: str) -> list[int]:
    """Returns the three numbers of a version.

    >>> _numbers("0.2.0"), _numbers("1.10.3rc1")
    ([0, 2, 0], [1, 10, 3])
    """
    found = [int(number) for number in re.findall(r"\d+", version)]
    return [*found, 0, 0, 0][:3]
