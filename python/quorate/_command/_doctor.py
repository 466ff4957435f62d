"""`quorate doctor`: looks at one party of a deployment and its links, and says whose fault a failure is."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import warnings
from pathlib import Path
from typing import Any

from quorate._command._doctor_certificates import replaced
from quorate._command._doctor_files import Party, disk, expiry, listens, party_of
from quorate._command._doctor_links import UNNAMED, Probes, Seen, exchanged
from quorate._command._exit_status import FAILED, OK
from quorate._command._findings import Findings
from quorate._quorate import WIRE_VERSION, __version__
from quorate.errors import ConfigError, QuorateError, RangeWarning
from quorate.session import Session, connect

__all__ = ["add_doctor", "run_doctor"]

_SESSION = "doctor"
_RELEASE = f"release {__version__}, wire version {WIRE_VERSION}"

#: Seconds by which a clock may differ: servers refuse signed calls beyond the second one.
_CLOCK_S, _WRONG_CLOCK_S = 5.0, 240.0


def add_doctor(doctor: argparse.ArgumentParser) -> None:
    """Adds the options of `quorate doctor`; those of sessions are added elsewhere."""
    doctor.add_argument("config", type=Path, help="this party's party.toml")
    doctor.add_argument(
        "--wait", metavar="S", type=_seconds, default=30.0, help="seconds to wait for the others (default: 30)"
    )
    doctor.add_argument("--alone", action="store_true", help="look at this party's own files and port only")
    doctor.add_argument("--json", action="store_true", help="print the findings as JSON, and nothing else")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds <= 3600:
        raise argparse.ArgumentTypeError("a number of seconds from 1 to 3600")
    return seconds


def run_doctor(options: argparse.Namespace, chosen: dict[str, Any]) -> int:
    """Looks, prints what it finds, and returns 0 if there is no fault, and 1 otherwise.

    Args:
        options: the command's options.
        chosen: options of the session, which are the same at all parties.
    """
    found = Findings(sys.stdout if not options.json else None)
    about: dict[str, Any] = {"version": __version__, "wire_version": WIRE_VERSION}
    try:
        party = party_of(options.config)
        about |= {"party": party.me, "protocol": party.protocol, "parties": len(party.addresses)}
        _look_here(party, found)
        if not options.alone and found.fault is None:
            _look_there(party, options, chosen, found, about)
    except ConfigError as error:
        found.wrong("configuration", str(error))
    if options.json:
        print(json.dumps({**about, "ok": found.fault is None, "fault": found.fault, "findings": found.as_list()}))
    else:
        print(f"\n{found.fault}" if found.fault else "\nno fault found")
    return OK if found.fault is None else FAILED


def _look_here(party: Party, found: Findings) -> None:
    """Looks at what needs no other party."""
    found.good("configuration", f"party {party.me} of {len(party.addresses)}, {party.protocol}, {_RELEASE}")
    for number in range(len(party.addresses)):
        expiry(party, number, found)
    disk(party, found)
    listens(party, found)


def _look_there(
    party: Party, options: argparse.Namespace, chosen: dict[str, Any], found: Findings, about: dict[str, Any]
) -> None:
    """Opens a session with the others while it tries their addresses, and compares what all of them see."""
    if not options.json:
        print(f"waits up to {options.wait:g} s for the other parties: run `quorate doctor` at all of them", flush=True)
    with Probes(party) as probes, party.for_doctor(options.wait) as config:
        try:
            session = connect(config, _SESSION, **{**chosen, "strict": False})
        except QuorateError as error:
            _blame(party, probes, error, found)
            return
        found.good(
            "links", "all parties have a session, with the pinned certificates, one protocol and the same options"
        )
        try:
            with session as mpc:
                _compare(party, mpc, probes, found, about)
        except QuorateError as error:
            found.wrong("session", f"the session with all parties has ended: {error}")


def _blame(party: Party, probes: Probes, error: QuorateError, found: Findings) -> None:
    """Finds the party at fault where no session could be opened: by its address, else by the session's own error."""
    text = str(error)
    faults = {peer: why for peer, _ in party.peers if (why := probes.fault(peer)) is not None}
    if isinstance(error, ConfigError) and UNNAMED not in faults.values():  # about this party, or a peer that it names
        found.wrong("links", text)
        return
    for peer, address in party.peers:
        if peer in faults:
            found.wrong("address", f"party {peer} {faults[peer].format(address=address)}", peer)
        else:
            found.good("address", f"party {peer} listens at {address}", peer)
    found.wrong("links", text)


def _compare(party: Party, mpc: Session, probes: Probes, found: Findings, about: dict[str, Any]) -> None:
    """Compares releases, clocks and addresses of all parties, and measures the links."""
    seen = exchanged(party, mpc, probes)
    _releases(seen, found)
    replaced(party, seen, found)
    _clocks(seen, found)
    for peer, address in party.peers:
        ms = probes.milliseconds(peer)
        if ms is not None:
            found.good("address", f"party {peer} listens at {address}, {ms:.3g} ms away", peer)
    _reached(seen, found)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RangeWarning)  # it multiplies zeros
        network = mpc.measure_network()
    about |= {
        "rtt_ms": network.rtt_ms,
        "mbit_per_s": network.mbit,
        "clocks_s": [one.ahead_s for one in seen],
        "releases": [one.release for one in seen],
        "reaches": [list(one.reaches) for one in seen],
    }
    found.good("network", f"round trips of {network.rtt_ms:.3g} ms and {network.mbit:.3g} Mbit/s among all parties")


def _releases(seen: list[Seen], found: Findings) -> None:
    releases = {one.release for one in seen}
    if len(releases) == 1:
        found.good("releases", f"all parties run {releases.pop()}")
        return
    listed = ", ".join(f"party {party} {one.release}" for party, one in enumerate(seen))
    found.good("releases", f"the parties run different releases ({listed}), which have one wire version")


def _clocks(seen: list[Seen], found: Findings) -> None:
    """Compares each clock with the median of all; of two, none is known to be right."""
    middle = statistics.median(one.ahead_s for one in seen)
    apart = max(one.ahead_s for one in seen) - min(one.ahead_s for one in seen)
    if len(seen) == 2 and apart > _CLOCK_S:
        text = f"the clocks of the two parties are {apart:.3g} s apart: let both follow a time server (NTP)"
        (found.wrong if apart > _WRONG_CLOCK_S else found.doubtful)("clocks", text)
        return
    for party, one in enumerate(seen):
        off = one.ahead_s - middle
        side = "ahead of" if off > 0 else "behind"
        text = f"the clock of party {party} is {abs(off):.3g} s {side} the others': let it follow a time server (NTP)"
        if abs(off) > _WRONG_CLOCK_S:
            found.wrong("clocks", text, party)
        elif abs(off) > _CLOCK_S:
            found.doubtful("clocks", text, party)
    if apart <= _CLOCK_S:
        found.good("clocks", f"they differ by at most {apart * 1e3:.0f} ms, round trips included")


def _reached(seen: list[Seen], found: Findings) -> None:
    """Compares which addresses answer whom. A party calls those with lower numbers."""
    for one, row in enumerate(seen):
        for other, is_reached in enumerate(row.reaches):
            text = f"party {one} does not reach party {other} at its address"
            if one > other and not is_reached:
                found.doubtful("address", f"{text}: open the port of party {other} to party {one}", other)
            elif not is_reached:
                found.good("address", f"{text}; that is needed by parties with higher numbers alone", other)
