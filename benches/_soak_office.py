"""The operators and the requester of a soak: campaigns that open and close, jobs on request, and a schedule."""

from __future__ import annotations

import contextlib
import datetime
import json
import random
import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _soak_clients import Traffic
from _soak_clock import Clock
from _soak_oracle import ABOVE, Jobs, Member, Problems, Round, read_back, settle
from _soak_servers import Server, free_ports

import quorate_client
from quorate import jobs as programs
from quorate.campaigns import approve, close, end, invitations
from quorate_client import Campaign, ClientKey, JobFailed, JobRefused, NoResult, NotStored
from quorate_client.invitation import Invitation
from quorate_client.keys import to_text

__all__ = ["Office"]

#: Seconds within which a job may start: simulated ones, of which each hour passes in some seconds.
_WITHIN_S = 6 * 86_400

#: How often a program on a campaign is asked for before the campaign counts as unread.
_TRIES = 4

_ROUND = """
from pathlib import Path

import quorate as qr

def program(mpc, campaign, number):
    with Path({ran!r}.format(mpc.me)).open("a") as ran:
        ran.write(f"{{number}}\\n")
    people = mpc.campaign(campaign)
    people.answer({{"above": people["x"] > {above}}})
    return {{"sum": people["x"].sum().reveal(), "count": people.present.sum().reveal()}}
"""

_SUM = """
from pathlib import Path

import numpy as np
import quorate as qr

def program(mpc, number):
    with Path({ran!r}.format(mpc.me)).open("a") as ran:
        ran.write(f"{{number}}\\n")

    def of(party):
        own = np.array([number % 1000 + party]) if mpc.me == party else None
        return mpc.input(own, shape=(1,), dtype=qr.int(32), bound=2000, owner=party)

    return {{"sum": (of(0) + of(1) + of(2)).sum().reveal()}}
"""

_APPROVAL = """
program = "{name}.py"
requesters = ["{key}"]
times = 100000
per_day = 100000
timeout_s = 300
runs = "any"
[parameters.number]
type = "integer"
low = 0
high = 1000000
{more}
"""


class Office:
    """Three servers, their operators, and a requester of jobs.

    Args:
        folder: where all files are.
        clock: the clock of all processes; it is installed here.
        traffic: counts requests.
        members: clients of a campaign.
        open_s: simulated seconds from the opening of a campaign to its closing time.
    """

    def __init__(self, folder: Path, clock: Clock, traffic: Traffic, members: int, open_s: float) -> None:
        self.folder, self.clock, self.traffic = folder, clock, traffic
        self._members, self._open_s = members, open_s
        ports = free_ports(6)
        self.servers = [Server(folder, me, ports[me], clock) for me in range(3)]
        self.fields = [server.write(ports[3:]) for server in self.servers]
        listed = "\n".join("[[servers]]\n" + "".join(f'{name} = "{value}"\n' for name, value in one.items())
                           for one in self.fields)  # fmt: skip
        (folder / "servers.toml").write_text(f'protocol = "rss"\n{listed}')
        self.key = ClientKey.generate()
        self.rounds: list[Round] = []
        self.problems, self.jobs = Problems(), Jobs()
        self.unread = 0
        self._numbers = 0
        self._mutex = threading.Lock()
        deployment = quorate_client.Deployment.load(folder / "servers.toml")
        self._asks = quorate_client.jobs(deployment, key=self.key, store=folder / "requests")
        self._schedules = quorate_client.schedules(deployment, key=self.key, store=folder / "requests")
        self._programs = {name: self._program(name, text, more) for name, text, more in (
            ("round", _ROUND, '[parameters.campaign]\ntype = "campaign"'), ("sum", _SUM, ""))}  # fmt: skip

    def _program(self, name: str, text: str, more: str) -> Path:
        file = self.folder / f"{name}.py"
        file.write_text(text.format(ran=str(self.folder / "ran{}"), above=ABOVE))
        approval = file.with_suffix(".toml")
        approval.write_text(_APPROVAL.format(name=name, key=to_text(self.key.id), more=more))
        program = programs.read_approval(approval)
        for server in self.servers:
            with contextlib.closing(server.opened()) as store:
                programs.approve(store, program)
        return file

    @property
    def stores(self) -> list[Path]:
        """The files of the servers' stores."""
        return [server.store_file for server in self.servers]

    # ---- campaigns -------------------------------------------------------------------------------------------------

    def open(self, rng: random.Random) -> Round:
        """Approves another campaign at all servers; every second one has invitations."""
        number = len(self.rounds)
        invited = self._members if number % 2 else 0
        keys = sorted((ClientKey.generate() for _ in range(self._members)), key=lambda key: to_text(key.id))
        closes = datetime.datetime.fromtimestamp(time.time() + self._open_s, datetime.timezone.utc)
        column = {"name": "x", "dtype": "int(64)", "shape": [], "low": "0", "high": "1000000"}
        result = {"name": "above", "dtype": "bit", "shape": []}
        campaign = Campaign.from_json(json.dumps({
            "name": f"round{number}", "id": to_text(secrets.token_bytes(16)), "protocol": "rss", "options": {},
            "program": "", "at_least": 1, "closes": closes.strftime("%Y-%m-%dT%H:%M:%SZ"), "again": 1,
            "check": "bound", "origins": [], "servers": self.fields, "invitations": invited,
            "clients": [] if invited else [to_text(key.id) for key in keys],
            "slots": [{"name": "people", "per_client": 1, "columns": [column], "results": [result]}],
        }, separators=(",", ":"), sort_keys=True).encode())  # fmt: skip
        secrets_of = []
        for server in self.servers:
            with contextlib.closing(server.opened()) as store:
                approve(store, campaign, server.me, server.key())
                secrets_of.append(invitations(store, campaign))
        invited_by = [Invitation(place, tuple(each)) for place, each in enumerate(zip(*secrets_of, strict=True))]
        file = self.folder / f"{campaign.name}.json"
        file.write_bytes(campaign.json)
        store_of = self.folder / "outboxes"
        members = [
            Member(key, quorate_client.client(campaign, key=key, store=store_of,
                                              invitation=invited_by[place] if invited else None), place)
            for place, key in enumerate(keys)
        ]  # fmt: skip
        made = Round(campaign.name, campaign, file, members)
        self.rounds.append(made)
        return made

    def close(self, one: Round) -> None:
        """Closes a campaign at all servers, and compares their stores with what its clients were told."""
        for server in self.servers:
            with contextlib.closing(server.opened()) as store:
                close(store, one.campaign.hash)
        one.state = "closed"
        for member in one.members:
            member.busy.acquire()
        try:
            settle(one, self.stores, self.problems)
        finally:
            for member in one.members:
                member.busy.release()

    def read(self, one: Round) -> None:
        """Has a job read a campaign, and compares what it reveals. A job that failed after its look may be the last."""
        for _ in range(_TRIES if one.wanted()["count"] else 0):
            told = self.run("round", {"campaign": one.campaign.hash.hex()})
            if told is not None:
                read_back(one, self.stores, told, self.problems)
                one.is_answered = True
                break
        self.unread += not one.is_answered
        one.state = "read"

    def end(self, one: Round) -> None:
        """Ends a campaign at all servers: packets are erased, and results stay for some days."""
        one.state = "ended"
        for server in self.servers:
            with contextlib.closing(server.opened()) as store:
                end(store, one.campaign.hash)
        for path in [key for key in self.traffic.bodies if key[0].startswith(one.path)]:
            del self.traffic.bodies[path]

    # ---- jobs ------------------------------------------------------------------------------------------------------

    def run(self, name: str, parameters: dict[str, Any]) -> dict[str, Any] | None:
        """Asks for a job, waits for its end, and returns its results; None if it ended without any."""
        with self._mutex:
            self._numbers += 1
            number = self._numbers
        job = self._asks.make(self._programs[name], {"number": number, **parameters}, within_s=_WITHIN_S)
        self.jobs.asked[job] = number
        try:
            self._patiently(lambda: self._asks.send(job, wait_s=60))
            result = self._patiently(lambda: self._asks.wait(job, wait_s=120))
        except JobFailed as error:
            self.jobs.failed[f"{error.state} {error.why}".strip()] += 1
            return None
        except (JobRefused, quorate_client.Refused) as error:
            self.problems.add(f"a job was refused: {error}")
            return None
        if result is None:
            self.problems.add(f"job {job.hex()[:16]} has not ended within some minutes")
            return None
        self.jobs.done.add(job)
        values = dict(result.values)
        if name == "sum" and values != {"sum": 3 * (number % 1000) + 3}:
            self.problems.add(f"job {job.hex()[:16]} has revealed {values}")
        return values

    def _patiently(self, ask: Callable[[], Any]) -> Any:
        """Asks again while servers are down."""
        for _ in range(5):
            with contextlib.suppress(NotStored, NoResult, quorate_client.Unreachable):
                return ask()
        return None

    def schedule(self) -> bytes:
        """Asks for a job on each simulated day; returns the id of the schedule."""
        asked = self._schedules.make(self._programs["sum"], {"number": 0}, every="day 03:00")
        self._patiently(lambda: self._schedules.send(asked, wait_s=60))
        return asked

    def check_jobs(self) -> list[int]:
        """Compares what ran at each server with what the requester was told; returns the numbers of runs."""
        return [self.jobs.check(server.me, server.store_file, self.folder / f"ran{server.me}", self.problems)
                for server in self.servers]  # fmt: skip
